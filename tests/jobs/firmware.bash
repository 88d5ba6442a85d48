# Cortex-M3 in QEMU: loggers whose power goes at every write; the memory of the first on the device.

readonly dir=core/firmware
readonly build="$target/firmware"
readonly elf="$build/thumbv7m-none-eabi/release/striae-firmware"
readonly least="$build/thumbv7m-none-eabi/release/least"
readonly netcdf="$build/thumbv7m-none-eabi/release/netcdf"
readonly board="$build/thumbv7m-none-eabi/release/board"
readonly same="$build/thumbv7m-none-eabi/release/same"
readonly devices="$target/bare-metal" # the job bare-metal builds `core` for that device there, too
readonly same_m4="$devices/thumbv7em-none-eabihf/release/same"
readonly images="$build/images"
readonly defmt_print="$target/tools/bin/defmt-print"

# Bytes at most: what core's documentation says, and a little room.
declare -rA bounds=(
    [logger_4]=576 [logger_8]=736
    [stack_create]=3600 [stack_open]=3600 [stack_open_in]=1400 [stack_name]=550
    [stack_chunk]=450 [stack_pieces]=400 [stack_end_frame]=1120 [stack_bring_back]=3800
    [code]=26200
    [fixed_3]=232 [stack_fixed_create]=1540 [stack_fixed_open]=1650 [stack_fixed_chunk]=300
    [stack_fixed_end_frame]=730 [stack_fixed_bring_back]=1700
    [own_4]=360 [stack_own_create]=1640 [stack_own_open]=1840 [stack_own_name]=550
    [stack_own_chunk]=180 [stack_own_end_frame]=720
)

# Builds both programs. Arguments: cargo's.
build() {
    (
        cd "$dir" # for the settings in .cargo
        CARGO_TARGET_THUMBV7M_NONE_EABI_LINKER=arm-none-eabi-ld \
            CARGO_TARGET_THUMBV7EM_NONE_EABIHF_LINKER=arm-none-eabi-ld \
            debian_cargo build --release -Zbuild-std=core "$@"
    )
}

text_size() {
    arm-none-eabi-size "$1" | awk 'NR == 2 { print $1 }'
}

# Runs a program: what it says, and in $images its report and images of its card.
run() {
    local status=0
    # Time is for a firmware that hangs.
    (cd "$images" && timeout 100 qemu-system-arm -cpu cortex-m3 -machine lm3s6965evb -nographic \
        -monitor none -serial none -semihosting-config enable=on,target=native -kernel "$1") \
        >"$build/log.defmt" || status=$?
    "$defmt_print" -e "$1" <"$build/log.defmt"
    ((status == 0)) || fail "the firmware ended with status $status"
    cat "$images/$2"
}

# A number of a report.
reported() {
    awk -v key="$1" '$1 == key { print $2; found = 1 } END { exit !found }' \
        "$images/${2-report.txt}"
}

must_be_bounded() {
    local key value
    for key in "${!bounds[@]}"; do
        value=$(reported "$key") || fail "$key is not in the report"
        ((value > 0 && value <= bounds[$key])) || fail "$key is $value, at most ${bounds[$key]}"
    done
}

# Compares the images with the report. Arguments: the Python, the comparison and its arguments.
agree() {
    local tally python=$1 comparison=$2
    shift 2
    tally=$("$python" "tests/interop/$comparison" "$@" | tee /dev/stderr | tail -n 1) ||
        fail "the images are not what the firmware logged"
    [[ $tally =~ ^[1-9][0-9]*\ passed,\ 0\ failed$ ]] || fail "nothing was compared"
    note "images: $tally"
}

# Runs the program that writes logs into files of a folder. Arguments: the machine, the program, the
# folder.
write_logs() {
    local status=0
    (cd "$3" && timeout 100 qemu-system-arm -machine "$1" -nographic -monitor none -serial none \
        -semihosting-config enable=on,target=native -kernel "$2") >"$build/log.defmt" || status=$?
    "$defmt_print" -e "$2" <"$build/log.defmt"
    ((status == 0)) || fail "the firmware ended with status $status"
}

own firmware
unset CARGO_PROFILE_RELEASE_DEBUG # defmt-print says where a line comes from
need_debian_rust gcc-arm-none-eabi qemu-system-arm
# Not optimised: that builds faster than it could ever gain here.
[[ -x $defmt_print ]] || cargo install --quiet --locked --debug --root "$target/tools" \
    --target-dir "$build/tools" defmt-print@1.2.0 || skip "cannot install defmt-print"
build_tested --bin striae

# All programs with the same features of what they stand on: each crate is compiled once.
readonly features=netcdf,same,board
build --target-dir "$build" --bin least --no-default-features --features "$features"
without=$(text_size "$least")
build --target-dir "$build" --features "$features"
rm -rf "$images"
mkdir "$images"
run "$elf" report.txt
echo "code $(($(text_size "$least") - without))" >>"$images/report.txt"
must_be_bounded
(($(reported wrong_without_syncs) > 0)) || fail "a card that ignores syncs is as good: nothing was checked"
note "$(reported cuts) cuts, $(reported runs) runs, $(reported boots) boots"
note "a Logger of 8 slots: $(reported logger_8) bytes, of 4: $(reported logger_4)"
note "its stack: $(reported stack_open) to open, $(reported stack_end_frame) to end a frame"
note "its code: $(reported code)"
note "a FixedLogger: $(reported fixed_3) bytes"
note "its stack: $(reported stack_fixed_open) to open, $(reported stack_fixed_end_frame) to end a frame"
note "an OwnLogger: $(reported own_4) bytes"
note "its stack: $(reported stack_own_open) to open, $(reported stack_own_end_frame) to end a frame"
need_program python3 python3
agree python3 firmware.py "$target/debug/striae" "$images"
need_gsd 5.0.1
agree "$target/venv-gsd-5.0.1/bin/python" firmware.py --gsd "$target/debug/striae" "$images"

need_python netCDF4
need_program ncdump netcdf-bin
run "$netcdf" netcdf.txt
(($(reported wrong_without_syncs netcdf.txt) > 0)) ||
    fail "no cut of the netCDF logger was checked"
note "netCDF: $(reported cuts netcdf.txt) cuts, $(reported runs netcdf.txt) runs"
agree "$target/venv/bin/python" firmware_netcdf.py "$target/debug/striae" "$images"

# As bare-metal builds `core`, which takes as long as all else here.
CARGO_PROFILE_RELEASE_DEBUG=0 build --bin same --no-default-features --features same \
    --target thumbv7em-none-eabihf --target-dir "$devices"
same_bytes "Cortex-M3" write_logs lm3s6965evb "$same"
same_bytes "Cortex-M4" write_logs mps2-an386 "$same_m4"

need_program mformat mtools
agree "$target/venv-gsd-5.0.1/bin/python" board.py --kills 10 "$target/debug/striae" "$board" \
    "$build/cards"
