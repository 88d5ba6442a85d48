# Tests of core and of what inspects files on big-endian s390x, emulated.

need_debian_rust gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static
# All but the exhaustive cases of aligned reading: they are sums of u64 that no byte order enters,
# and took a third of the time. They run on i686, where pointers are short; so does all else.
foreign_tests s390x-unknown-linux-gnu s390x-linux-gnu-gcc "qemu-s390x-static -L /usr/s390x-linux-gnu" \
    --skip align::exhaustive:: --skip align::large::
