# Each fuzz target runs from its seeds, always the same inputs and as many; campaigns try others.

# Inputs of a target. Fewer where one takes long, for it looks at many power cuts, or writes files:
# each target takes about 5 seconds.
readonly runs=10000
declare -rA slow=(
    [gsd_recover]=700 [gsd_write]=1000 [sion_write]=1200 [sion_recover]=3500
    [gsd_append]=7000 [gsd_verify]=7000 [hoomd_read]=7000 [sion_convert]=7000
)

need_cargo_fuzz
targets=$(cargo +nightly fuzz list)
[[ -n $targets ]] || fail "there is no fuzz target"
work="$target/fuzz-smoke"
options=(-seed=1 -print_final_stats=1 "-artifact_prefix=$work/artifacts/")

rm -rf "$work/corpus"
mkdir -p "$work/artifacts"
for name in $targets; do
    [[ -n $(ls -A "fuzz/seeds/$name") ]] || fail "$name has no seed"
    mkdir -p "$work/corpus/$name"
    cargo +nightly fuzz run --target-dir "$target/fuzz" "$name" \
        "$work/corpus/$name" "fuzz/seeds/$name" -- "${options[@]}" "-runs=${slow[$name]-$runs}" \
        "-dict=fuzz/${name%%_*}.dict" 2>&1 | tee "$RUN_STATE/fuzz"
    ran=$(awk '$1 == "stat::number_of_executed_units:" { print $2 }' "$RUN_STATE/fuzz")
    ((${ran:-0} >= ${slow[$name]-$runs})) || fail "$name ran ${ran:-no} inputs"
    note "$name $ran runs"
done
