# 32-bit ARM with an operating system, emulated, writes the logs that this machine writes; not part of the default run.

need_debian_rust gcc-arm-linux-gnueabihf libc6-dev-armhf-cross qemu-user-static
foreign_logs armv7-unknown-linux-gnueabihf arm-linux-gnueabihf-gcc \
    "qemu-arm-static -L /usr/arm-linux-gnueabihf"
