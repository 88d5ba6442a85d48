#!/usr/bin/env bash
# Builds all targets for OSS-Fuzz, which runs this in its builder and sets SRC (the repository is
# $SRC/striae), OUT (what is to be run: programs, dictionaries, seeds) and LIB_FUZZING_ENGINE (the
# flag of the compiler's own engine, or a library). RUSTFLAGS has the sanitizer that it wants.
set -euo pipefail

cd "$SRC/striae"
if [[ -f ${LIB_FUZZING_ENGINE-} ]]; then
    export CUSTOM_LIBFUZZER_PATH=$LIB_FUZZING_ENGINE # libfuzzer-sys links it in place of its own
fi
cargo fuzz build -O --debug-assertions
for target in $(cargo fuzz list); do
    cp "fuzz/target/x86_64-unknown-linux-gnu/release/$target" "$OUT/$target"
    cp "fuzz/${target%%_*}.dict" "$OUT/$target.dict"
    rm -f "$OUT/${target}_seed_corpus.zip"
    python3 -m zipfile -c "$OUT/${target}_seed_corpus.zip" "fuzz/seeds/$target"/*
done
