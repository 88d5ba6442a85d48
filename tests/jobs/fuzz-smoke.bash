# Each fuzz target runs for 12 seconds from its seeds, always the same inputs; campaigns try others.

readonly seconds=12

need_cargo_fuzz
targets=$(cargo +nightly fuzz list)
[[ -n $targets ]] || fail "there is no fuzz target"
work="$target/fuzz-smoke"
options=("-max_total_time=$seconds" -seed=1 -print_final_stats=1 "-artifact_prefix=$work/artifacts/")

rm -rf "$work/corpus"
mkdir -p "$work/artifacts"
for name in $targets; do
    [[ -n $(ls -A "fuzz/seeds/$name") ]] || fail "$name has no seed"
    mkdir -p "$work/corpus/$name"
    cargo +nightly fuzz run --target-dir "$target/fuzz" "$name" \
        "$work/corpus/$name" "fuzz/seeds/$name" -- "${options[@]}" \
        "-dict=fuzz/${name%%_*}.dict" 2>&1 | tee "$RUN_STATE/fuzz"
    runs=$(awk '$1 == "stat::number_of_executed_units:" { print $2 }' "$RUN_STATE/fuzz")
    ((${runs:-0} > 0)) || fail "$name ran no input"
    note "$name $runs runs"
done
