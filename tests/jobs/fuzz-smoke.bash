# Each fuzz target runs from its seeds, always the same inputs and as many; campaigns try others.

# Inputs of a target. Fewer where one takes long, for it looks at many power cuts, or writes files:
# each target takes about 5 seconds.
readonly runs=10000
declare -rA slow=(
    [gsd_recover]=700 [gsd_write]=1000 [sion_write]=1200 [sion_recover]=3500
    [c_gsd]=400 [c_sion]=800 [gsd_append]=7000 [gsd_verify]=7000 [hoomd_read]=7000 [sion_convert]=7000
)

# By the engine's own mutations. Those that know the formats are a campaign's: each new one of them
# may find what is to be mended first, and the replay of seeds makes the same few in every run.
export STRIAE_FUZZ_PLAIN=1

need_cargo_fuzz
targets=$(cargo +nightly fuzz list)
[[ -n $targets ]] || fail "there is no fuzz target"
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
work="$target/fuzz-smoke"
own fuzz fuzz-smoke

# Runs a target from its seeds; what it prints is in a log of its own, for two run at once.
smoke() {
    local name=$1 ran options=(-seed=1 -print_final_stats=1 "-artifact_prefix=$work/artifacts/")
    [[ -n $(ls -A "fuzz/seeds/$name") ]] || fail "$name has no seed"
    mkdir -p "$work/corpus/$name"
    # As `cargo fuzz run` starts it, which would look for what is to be built, once for each target.
    ASAN_OPTIONS=detect_odr_violation=0 "$target/fuzz/$host/release/$name" \
        "$work/corpus/$name" "fuzz/seeds/$name" "${options[@]}" "-runs=${slow[$name]-$runs}" \
        "-dict=fuzz/${name%%_*}.dict" >"$work/$name.log" 2>&1 || return
    ran=$(awk '$1 == "stat::number_of_executed_units:" { print $2 }' "$work/$name.log")
    ((${ran:-0} >= ${slow[$name]-$runs})) || fail "$name ran ${ran:-no} inputs"
    note "$name $ran runs"
}

# Waits for one of those that run. What it printed is shown if it failed.
reap() {
    local pid status=0
    wait -n -p pid || status=$?
    ((status == 0)) || { cat "$work/${names[$pid]}.log"; fail "${names[$pid]} ended with $status"; }
    unset "names[$pid]"
}

rm -rf "$work"
mkdir -p "$work/artifacts"
cargo +nightly fuzz build --target-dir "$target/fuzz" # all of them, as many at once as processors
declare -A names=()
for name in $targets; do
    ((${#names[@]} < 2)) || reap
    smoke "$name" &
    names[$!]=$name
done
while ((${#names[@]})); do
    reap
done

# An engine looks at all counters of a program after each input: a target's has none of the others' code.
counters=$(sed -n 's/.*(\([0-9]*\) inline 8-bit counters).*/\1/p' "$work"/*.log | sort -n)
fewest=$(head -n 1 <<<"$counters") most=$(tail -n 1 <<<"$counters")
((fewest > 0 && 10 * fewest < most)) || fail "programs have $fewest to $most counters: each holds all targets"

# A campaign as a newcomer begins it, with the programs that were built, and one that goes on.
python3 tests/jobs/campaign.py
begin=(fuzz/campaign --target-dir "$target/fuzz" --record "$work/campaigns.tsv")
"${begin[@]}" --time 2s --jobs 1 map_text | tee "$work/campaign.log"
grep -Eq '^map_text +[1-9]' "$work/campaign.log" || fail "the campaign ran no input"
"${begin[@]}" --until 2s --plain map_text
"${begin[@]}" --report | tee "$work/report.log"
for mutators in off on; do
    grep -Eq "^\| libfuzzer \| $mutators \| map_text \| [2-9] \|" "$work/report.log" || fail "no report"
done
"${begin[@]}" --until 1s map_text | grep '^map_text' && fail "what the record has did not count"
true
