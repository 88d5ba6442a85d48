# The tests of `powerpc` on i686, which is little-endian and has 32 bits.

need_debian_rust gcc-i686-linux-gnu libc6-dev-i386-cross
lib=/usr/i686-linux-gnu/lib
foreign_tests i686-unknown-linux-gnu i686-linux-gnu-gcc "env LD_LIBRARY_PATH=$lib $lib/ld-linux.so.2"
