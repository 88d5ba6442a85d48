# The tests of `powerpc` on s390x, which is big-endian and has 64 bits; emulated.

need_debian_rust gcc-s390x-linux-gnu libc6-dev-s390x-cross qemu-user-static
foreign_tests s390x-unknown-linux-gnu s390x-linux-gnu-gcc "qemu-s390x-static -L /usr/s390x-linux-gnu"
