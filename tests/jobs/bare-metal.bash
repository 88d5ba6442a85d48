# Cortex-M: no public function of core can panic; the sizes of programs; other devices build, too.

readonly triple=thumbv7em-none-eabihf
readonly dir=tests/bare-metal
readonly build="$target/bare-metal"
readonly library="$build/$triple/release/libstriae_bare_metal.a"
readonly cpu=(-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16)

# The library needs none, but cargo compiles `core` anew for another linker; the job firmware uses this one, too.
export CARGO_TARGET_THUMBV7EM_NONE_EABIHF_LINKER=arm-none-eabi-ld

readonly programs=$dir/programs
readonly linked="$build/$triple/release"

# Bytes of code at most that a program needs beside its card: what it has, and a little room.
declare -rA budgets=([logger]=26000 [own]=12800 [fixed]=10000 [sion]=15500
    [sion_fixed]=9200 [netcdf]=18000 [logger_async]=48000 [fixed_async]=20500)
# Bytes of memory at most of the future that logs, and that an executor keeps: likewise.
declare -rA futures=([logger_async]=2900 [fixed_async]=1500)

# Builds the library. Arguments: optimisation level, then cargo's.
build() {
    local level=$1
    shift
    CARGO_PROFILE_RELEASE_OPT_LEVEL=$level debian_cargo build --release --target "$triple" \
        -Zbuild-std=core --target-dir "$build" --manifest-path "$dir/Cargo.toml" "$@"
}

# The library's C functions. All of them: the linker is told about what the library has, not about
# what somebody remembered to write down.
entries() {
    arm-none-eabi-nm --defined-only "$library" 2>/dev/null |
        awk '$2 == "T" && $3 ~ /^gate_/ { print $3 }' | sort -u
}

# Links a program of these functions, and of nothing that they do not need.
link_options=()
link() {
    local program=$1 entry options=("${link_options[@]}")
    shift
    for entry; do
        options+=("-Wl,-u,$entry")
    done
    arm-none-eabi-gcc "${cpu[@]}" -ffreestanding -nostdlib -Wl,--gc-sections,--entry=0 \
        "${options[@]}" "$dir/host.c" "$library" -o "$build/$program.elf"
}

# Every one of these functions must link; if not, says which do not, and who would panic there.
must_link() {
    local entry
    link "$@" >"$build/link.log" 2>&1 && return
    echo "a panic can be reached:"
    for entry in "${@:2}"; do
        link one "$entry" >/dev/null 2>&1 || panic_path "$entry"
    done
    return 1
}

# The functions between an entry and its panic.
panic_path() {
    echo "  $1 through"
    local link_options=("-Wl,--unresolved-symbols=ignore-all")
    link one "$1" 2>/dev/null
    arm-none-eabi-objdump -d -C "$build/one.elf" | awk '
        /^[0-9a-f]+ <.*>:$/ { caller = $0; sub(/^[0-9a-f]+ </, "", caller); sub(/>:$/, "", caller) }
        /\tb[a-z.]*\t.*<.*panic|\tb[a-z.]*\t.*<.*_fail/ {
            callee = $0; sub(/^[^<]*</, "", callee); sub(/>[^>]*$/, "", callee)
            if (caller !~ /panic|_fail|rust_begin_unwind/) print "    " caller " -> " callee
        }' | sort -u
}

# With a negative control the library must not link, because of the panic and for no other reason.
must_not_link() {
    local all
    mapfile -t all < <(entries_at_s)
    if link "$1" "${all[@]}" "gate_$1" >"$build/link.log" 2>&1; then
        fail "the negative control $1 links: the gate sees nothing"
    fi
    grep -q 'undefined reference to .striae_panic_reached' "$build/link.log" ||
        { cat "$build/link.log"; fail "the negative control $1 does not link for another reason"; }
}

# All entries but the controls, and those that keep a bounds check of core's own at opt-level s: the
# text of a u64 (see src/text.rs).
entries_at_s() {
    entries | grep -vE '^gate_(text64_.*|bad|badwrite)$'
}

# Every public function of core must be named in the gate's sources.
check_names() {
    local name missing=()
    while read -r name; do
        grep -rqw -e "$name" "$dir/src" || missing+=("$name")
    done < <(find core/src -name '*.rs' -exec awk '
        FNR == 1 { tests = 0 }
        /^#\[cfg\(test\)\]/ { tests = 1 }
        !tests && /^ *pub (const |async )?fn / && !/_async[<(]/ {
            sub(/^ *pub (const |async )?fn /, ""); sub(/[<(].*/, ""); print
        }
    ' {} + | sort -u)
    ((${#missing[@]} == 0)) || fail "no entry in $dir/src calls: ${missing[*]}"
}

text_size() {
    arm-none-eabi-size "$1" | awk 'NR == 2 { print $1 }'
}

# Builds the programs, each optimised as a whole, as firmware is. Arguments: cargo's.
build_programs() {
    debian_cargo build --release --target "$triple" -Zbuild-std=core --target-dir "$build" \
        --manifest-path "$programs/Cargo.toml" "$@"
}

# What the programs use compiles for other devices: without compare-and-swap, and of another kind.
build_for() {
    debian_cargo check --release --lib --target "$1" -Zbuild-std=core --target-dir "$build" \
        --manifest-path "$programs/Cargo.toml"
}

# The bytes of code that a program has more than the card.
net_size() {
    echo $(($(text_size "$linked/$1") - $(text_size "$linked/nothing")))
}

# The bytes of memory of a program's future, which is all that it has in .bss.
future_size() {
    arm-none-eabi-size "$linked/$1" | awk 'NR == 2 { print $3 }'
}

# The functions and constants of a program by their size, the biggest first.
size_table() {
    echo "what $1 has, bytes:"
    arm-none-eabi-nm -S --size-sort -C -t d "$linked/$1" | sort -rk 2 | awk '$3 ~ /[tTwWrR]/ {
        size = $2 + 0; sum += size
        sub(/^[^ ]+ [^ ]+ [^ ]+ /, ""); printf "%6d %s\n", size, $0
    } END { printf "%6d in all\n", sum }'
}

must_fit() {
    local program size
    for program in "${!budgets[@]}"; do
        size=$(net_size "$program")
        size_table "$program"
        ((size <= budgets[$program])) ||
            fail "$program needs $size bytes of code, at most ${budgets[$program]}"
    done
    for program in "${!futures[@]}"; do
        size=$(future_size "$program")
        ((size > 0 && size <= futures[$program])) ||
            fail "the future of $program has $size bytes, at most ${futures[$program]}"
    done
}

report() {
    arm-none-eabi-size "$build/all.elf" "$build/one_task.elf"
    echo "the biggest functions:"
    arm-none-eabi-nm -S --size-sort -C "$build/all.elf" | tail -n 15
    note "$1 entries link without a panic"
    note "$(text_size "$build/all.elf") bytes of code"
    note "$(text_size "$build/one_task.elf") to read a task"
    note "$(text_size "$build/one_chunk.elf") to read a chunk"
    note "beside the card: $(net_size sion) to write a SION file"
    note "$(net_size sion_fixed) to write a SION file of a fixed shape"
    note "$(net_size logger) to log frames"
    note "$(net_size logger_async) to log frames to a card that is awaited," \
        "and $(future_size logger_async) of memory"
    note "$(net_size own) to log frames to own files"
    note "$(net_size fixed) to log frames of a fixed shape"
    note "$(net_size fixed_async) to a card that is awaited," \
        "and $(future_size fixed_async) of memory"
    note "$(net_size netcdf) to log netCDF records"
}

check_names
need_debian_rust gcc-arm-none-eabi

build 3
mapfile -t at_3 < <(entries)
((${#at_3[@]} > 0)) || fail "the library has no entry"
must_link all_at_3 "${at_3[@]}"

build s --features bad,badwrite # in one build with all else: the linker takes what is asked for
must_not_link bad
must_not_link badwrite
mapfile -t at_s < <(entries_at_s)
must_link all "${at_s[@]}"
must_link one_task gate_sion_read_one_task
must_link one_chunk gate_gsd_read_one_chunk

build_programs
build_programs --features async --bin logger_async --bin fixed_async
must_fit
build_for thumbv6m-none-eabi
build_for riscv32imac-unknown-none-elf
report "${#at_3[@]}"
