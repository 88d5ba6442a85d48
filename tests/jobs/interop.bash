# A parser generated from spec/ksy reads the golden files as striae does.

need_node kaitai-struct-compiler@0.11.0 js-yaml@4
need_python kaitaistruct==0.11
cargo build --release -p striae --bin striae

rm -rf "$target/ksy"
node tests/interop/compile_ksy.js spec/ksy/sion.ksy "$target/ksy"
status=0
"$target/venv/bin/python" tests/interop/sion_ksy.py --parser "$target/ksy" \
    "$target/release/striae" tests/golden/sion | tee "$RUN_STATE/interop" || status=$?
tally=$(tail -n 1 "$RUN_STATE/interop")
note "$tally"
((status == 0)) || fail "the two do not agree"
[[ $tally =~ ^[1-9][0-9]*\ passed,\ 0\ failed$ ]] || fail "nothing was compared"
