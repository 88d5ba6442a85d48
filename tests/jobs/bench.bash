# Every row of the benches, compared with the last table; not part of the default run: 13 minutes on a quiet machine.

# STRIAE_BENCHES names parts: sion, gsd, blob and direct are benches of striae; peer is beside gsd 5.0.1, whose sources
# pip fetches, fio beside fio, mpi of ranks. STRIAE_BENCH_DIR is a folder for files; otherwise there are two, in memory
# and on a disk.
parts=${STRIAE_BENCHES-sion gsd blob direct peer fio mpi}
mkdir -p "$target/bench"
new="$target/bench/table.md"

gsd_driver() {
    local sources="$target/bench/gsd-5.0.1"
    need_program cc gcc
    need_gsd_source 5.0.1 "$target/bench"
    cc -O3 -DNDEBUG -I "$sources/gsd" -o "$sources/driver" tests/bench/driver.c "$sources/gsd/gsd.c"
    cargo build --quiet --release -p striae-tests --example gsd_speed
}

# All is built before anything is measured.
cargo bench --quiet -p striae --no-run
for part in $parts; do
    case $part in
    peer) gsd_driver ;;
    fio)
        need_program fio fio
        cargo build --quiet --release -p striae
        ;;
    mpi)
        need_debian openmpi-bin libopenmpi-dev clang libclang-dev
        MPICC=mpicc.openmpi cargo build --quiet --release -p striae-mpi-lab --features mpi
        ;;
    esac
done

folders=("${STRIAE_BENCH_DIR-$target/bench}")
if [[ ! -v STRIAE_BENCH_DIR && -w /dev/shm ]]; then
    folders=(/dev/shm "${folders[@]}")
fi
printf '# %s processors, Linux %s, load %s\n' "$(nproc)" "$(uname -r)" "$(cut -d ' ' -f 1 /proc/loadavg)" >"$new"
for folder in "${folders[@]}"; do
    kind=$(findmnt --first-only -no FSTYPE -T "$folder")
    for part in $parts; do
        begin=$SECONDS
        case $part in
        direct | fio) [[ $kind != tmpfs ]] || continue ;; # past the page cache of a disk
        esac
        printf '\n## %s, %s\n\n' "$part" "$kind" >>"$new"
        case $part in
        peer) python3 tests/bench/gsd.py --turns 7 "$target/bench/gsd-5.0.1/driver" "$target/release/examples/gsd_speed" "$folder" ;;
        fio) python3 tests/bench/fio.py "$target/release/striae" "$folder" ;;
        mpi) python3 tests/bench/mpi.py mpiexec.openmpi "$target/release/striae-mpi-lab" "$folder" ;;
        *) STRIAE_BENCH_DIR=$folder cargo bench --quiet -p striae --bench "$part" ;;
        esac | tee -a "$new"
        note "$part on $kind took $((SECONDS - begin)) s"
    done
done
note "the table is $new; cp ${new#"$PWD/"} std-adapter/benches/table.md records it"
python3 tests/bench/compare.py std-adapter/benches/table.md "$new" || fail "some rows are slower than before"
