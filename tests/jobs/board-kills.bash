# The board with an SD card in QEMU, killed 200 times, with 20 cards; `firmware` has 10 kills.

readonly build="$target/firmware"

need_debian_rust gcc-arm-none-eabi qemu-system-arm
need_program mformat mtools
need_gsd 5.0.1
build_tested --bin striae
(
    cd core/firmware # for the settings in .cargo
    CARGO_TARGET_THUMBV7M_NONE_EABI_LINKER=arm-none-eabi-ld debian_cargo build --release \
        -Zbuild-std=core --target-dir "$build" --bin board --no-default-features --features board
)
"$target/venv-gsd-5.0.1/bin/python" tests/interop/board.py --cards 20 --kills 10 \
    "$target/debug/striae" "$build/thumbv7m-none-eabi/release/board" "$build/cards" |
    tee "$build/kills.txt"
note "$(tail -n 1 "$build/kills.txt")"
