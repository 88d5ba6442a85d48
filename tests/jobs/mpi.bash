# Ranks that are processes of Open MPI and of MPICH: every operation, ranks that fail, die or leave.

need_debian libclang-dev openmpi-bin libopenmpi-dev mpich libmpich-dev

need_program pkg-config pkg-config
own mpi-c-prefix mpi-c-work

# A program is bound to the MPI that it was built with: what binds it, and that alone, is built anew.
use() {
    export MPICC=mpicc.$1 MPIEXEC=mpiexec.$1
    cargo clean --quiet -p mpi-sys
}

# All that is built here has the same features, and what lies under it those of the job `test`, so that each crate is
# compiled once: byteorder's are asked for by striae-sdmmc, those of syn and once_cell by tests/Cargo.toml.
readonly packages=(-p striae-mpi -p striae-mpi-c -p striae-mpi-lab -p striae-sdmmc
    --features striae-mpi/mpi,striae-mpi/cli,striae-mpi-lab/mpi
    --features striae/default,striae/cli,striae-core/async,rustix/thread)

# The tests of the package under one MPI. Arguments: which, and how many jobs there are.
under() {
    local mpi=$1 wanted=$2 output="$RUN_STATE/mpi-$1"
    use "$mpi"
    cargo test "${packages[@]}" --test mpi | tee "$output"
    grep -qx "test result: ok. $wanted jobs of mpiexec.$mpi" "$output" || fail "not $wanted jobs ran"
    note "$mpi: $wanted jobs"
}

# ---- C programs, with the library of striae-mpi-c as installed ----

readonly package=mpi-adapter/c prefix="$target/mpi-c-prefix" work="$target/mpi-c-work"

# Starts processes in an empty folder: how many, a program, its arguments.
start() {
    local options=()
    [[ $MPIEXEC != *openmpi ]] || options=(--allow-run-as-root --oversubscribe --bind-to none)
    rm -rf "$work/files"
    mkdir "$work/files"
    (cd "$work/files" && STRIAE_QUIET=1 OMPI_MCA_btl_vader_single_copy_mechanism=none \
        timeout 120 "$MPIEXEC" "${options[@]}" -n "$1" "$work/$2" "${@:3}") | tee "$work/output"
    count=$((count + $(awk '$2 ~ /^(sets|errors)$/ { n += $1 } END { print n + 0 }' "$work/output")))
}

# Each set that SIONlib wrote with MPI, from the same calls, byte for byte. One of them has a fault
# of SIONlib, which its environment brings about.
same_as_sionlib() {
    local json command file sets=0
    for json in tests/golden/sion/m*.json; do
        grep -q '^ "env": null,$' "$json" || continue
        command=$(sed -n 's/^ "command": "mpirun -np \(.*\) --oversubscribe gen_mpi \(.*\)",$/\1 golden \2/p' "$json")
        read -ra command <<<"$command"
        start "${command[@]}"
        for file in "$work/files"/*; do
            cmp "$file" "tests/golden/sion/${file##*/}" || fail "other bytes than SIONlib's"
        done
        sets=$((sets + 1))
    done
    ((sets == 12)) || fail "$sets sets of SIONlib"
}

# C programs under one MPI: which, and the numbers of processes.
c_programs() {
    local mpi=$1 test processes flags count=0 warnings=(-std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -g)
    cargo build "${packages[@]}" --lib --example gsd_chunk
    rm -rf "$prefix" "$work"
    mkdir -p "$work"
    "$package/dist/install" "$target/debug" "$prefix"
    export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
    read -ra flags <<<"$(pkg-config --cflags --libs striae-mpi-c) -Wl,-rpath,$prefix/lib -Istd-adapter/c/tests"
    for test in golden parallel errors generic; do
        "$MPICC" "${warnings[@]}" "$package/tests/$test.c" -o "$work/$test" "${flags[@]}"
    done
    same_as_sionlib
    for processes in "${@:2}"; do
        for test in parallel errors generic; do
            start "$processes" "$test" .
        done
    done
    note "$mpi: $count C tests"
}

# What is installed: exported names, SONAME, sionconfig, the static library, C++.
c_library() {
    local flags count=0
    nm -D --defined-only "$prefix/lib/libstriae_mpi_c.so" | awk '{ print $3 }' | LC_ALL=C sort |
        diff <(LC_ALL=C sort std-adapter/c/tests/exports.txt "$package/tests/exports.txt") - ||
        fail "other names are exported"
    readelf -d "$prefix/lib/libstriae_mpi_c.so" | grep -q 'SONAME.*\[libstriae_mpi_c.so.0\]' || fail "no SONAME"
    for flags in mpi gen ser; do
        [[ $("$prefix/bin/sionconfig" --libs "--$flags") == *-lstriae_mpi_c ]] || fail "sionconfig --$flags"
    done
    ! "$prefix/bin/sionconfig" --libs --ompi 2>/dev/null || fail "sionconfig promises OpenMP"
    read -ra flags <<<"$("$prefix/bin/sionconfig" --cflags --mpi) $("$prefix/bin/sionconfig" --libs --mpi)"
    "$MPICC" std-adapter/c/tests/layout.c -o "$work/layout" "${flags[@]}"
    "$work/layout"
    "$MPICC" "$package/tests/parallel.c" -o "$work/static" -I"$prefix/include" -Istd-adapter/c/tests -DSION_MPI \
        "$prefix/lib/libstriae_mpi_c.a" -lgcc_s -lutil -lrt -lpthread -lm -ldl
    start 2 static .
    sed -n '/^```c$/,/^```$/{ /^```/!p }' "$package/README.md" >"$work/readme.c"
    "$MPICC" -Wall -Wextra -Werror "$work/readme.c" -o "$work/readme" "${flags[@]}"
    start 3 readme
    "${MPICC/mpicc/mpicxx}" -fsyntax-only -Wall -Wextra -Werror -DSION_MPI -DOMPI_SKIP_MPICXX \
        -DMPICH_SKIP_MPICXX -I"$prefix/include" -x c++ - <<<'#include <sion.h>
#include <gsd.h>' || fail "the headers are no C++"
}

under mpich 45
c_programs mpich 3
under openmpi 49
c_programs openmpi 1 2 4 8
c_library
# What no MPI makes a difference to.
cargo test "${packages[@]}" --lib --test program
cargo test "${packages[@]}" --doc
cargo clippy "${packages[@]}" --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" cargo doc --no-deps "${packages[@]}" --lib
