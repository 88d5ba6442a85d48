# Tests of core and of what inspects files on powerpc, which is big-endian and has 32 bits; emulated.

need_debian_rust gcc-powerpc-linux-gnu libc6-dev-powerpc-cross qemu-user-static
foreign_tests powerpc-unknown-linux-gnu powerpc-linux-gnu-gcc "qemu-ppc-static -L /usr/powerpc-linux-gnu"
