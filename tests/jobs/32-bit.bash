# Tests of core and of what inspects files on 32-bit i686.

need_debian_rust gcc-i686-linux-gnu libc6-dev-i386-cross
lib=/usr/i686-linux-gnu/lib
foreign_tests i686-unknown-linux-gnu i686-linux-gnu-gcc "env LD_LIBRARY_PATH=$lib $lib/ld-linux.so.2"
