# Speed against gsd 5.0.1, whose sources pip fetches; not part of the default run: half an hour, best on a quiet machine.

need_python pip
need_program cc gcc

rm -rf "$target/bench-gsd"
mkdir -p "$target/bench-gsd"
"$target/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary gsd \
    --dest "$target/bench-gsd" gsd==5.0.1 || skip "pip cannot fetch the sources of gsd 5.0.1"
tar -xzf "$target/bench-gsd/gsd-5.0.1.tar.gz" -C "$target/bench-gsd" --strip-components 2 \
    gsd-5.0.1/gsd/gsd.c gsd-5.0.1/gsd/gsd.h
cc -O3 -DNDEBUG -I "$target/bench-gsd" -o "$target/bench-gsd/driver" \
    tests/bench-gsd/driver.c "$target/bench-gsd/gsd.c"
cargo build --release -p striae-tests --example gsd_speed

folders=("${STRIAE_BENCH_DIR-$target/bench-gsd}")
if [[ ! -v STRIAE_BENCH_DIR && -w /dev/shm ]]; then
    folders=(/dev/shm "${folders[@]}")
fi
python3 tests/bench-gsd/run.py ${STRIAE_BENCH_OPTIONS-} \
    "$target/bench-gsd/driver" "$target/release/examples/gsd_speed" "${folders[@]}" |
    tee "$target/bench-gsd/table.md"
note "the table is $target/bench-gsd/table.md"
