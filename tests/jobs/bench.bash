# Every row of the benches, compared with the last table; not part of the default run: half an hour, on a quiet machine.

need_program python3 python3

mkdir -p "$target/bench"
new="$target/bench/table.md"
folders=("${STRIAE_BENCH_DIR-$target/bench}")
if [[ ! -v STRIAE_BENCH_DIR && -w /dev/shm ]]; then
    folders=(/dev/shm "${folders[@]}")
fi
printf '# %s processors, Linux %s, load %s\n' "$(nproc)" "$(uname -r)" "$(cut -d ' ' -f 1 /proc/loadavg)" >"$new"
for folder in "${folders[@]}"; do
    kind=$(stat -f -c %T "$folder")
    for bench in ${STRIAE_BENCHES-sion gsd blob direct}; do
        [[ $bench != direct || $kind != tmpfs ]] || continue # past the page cache of a disk
        printf '\n## %s, %s\n\n' "$bench" "$kind" >>"$new"
        STRIAE_BENCH_DIR=$folder cargo bench --quiet -p striae --bench "$bench" | tee -a "$new"
    done
done
note "the table is $new; cp ${new#"$PWD/"} std-adapter/benches/table.md records it"
python3 tests/jobs/bench.py std-adapter/benches/table.md "$new" || fail "some rows are slower than before"
