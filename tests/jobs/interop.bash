# A parser generated from spec/ksy reads the golden files as striae does, and all that striae writes.

need_node kaitai-struct-compiler@0.11.0 js-yaml@4
need_python kaitaistruct==0.11
cargo build --release -p striae --bin striae
cargo build -p striae-tests --example sion_kinds

# Compares the files in a folder.
compare() {
    local status=0 tally
    "$target/venv/bin/python" "tests/interop/$1" --parser "$target/ksy" \
        "$target/release/striae" "$2" | tee "$RUN_STATE/interop" || status=$?
    tally=$(tail -n 1 "$RUN_STATE/interop")
    note "$1: $tally"
    ((status == 0)) || fail "the two do not agree"
    [[ $tally =~ ^[1-9][0-9]*\ passed,\ 0\ failed$ ]] || fail "nothing was compared"
}

rm -rf "$target/ksy" "$target/kinds"
node tests/interop/compile_ksy.js spec/ksy/sion.ksy "$target/ksy"
"$target/debug/examples/sion_kinds" "$target/kinds"
compare sion_ksy.py tests/golden/sion
compare sion_kinds.py "$target/kinds"
rm -rf "$target/kinds"
