# Lines of core and inspect that no test and no seed reaches are those that spec/coverage.tsv explains.

need_nightly
own coverage
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
llvm=$(rustc +nightly -vV | sed -n 's/^LLVM version: \([0-9]*\).*/\1/p')
work="$target/coverage-data"

# LLVM's tools must be as new as the compiler's LLVM: those of the toolchain, else Debian's.
tools=$(rustc +nightly --print sysroot)/lib/rustlib/$host/bin
if [[ ! -x $tools/llvm-cov ]]; then
    tools=/usr/lib/llvm-$llvm/bin
fi
if [[ ! -x $tools/llvm-cov ]] && alone rustup +nightly component add llvm-tools; then
    tools=$(rustc +nightly --print sysroot)/lib/rustlib/$host/bin
fi
[[ -x $tools/llvm-cov ]] || need_debian "llvm-$llvm"

rm -rf "$work"
mkdir -p "$work"
# With --target, programs that only build have no counters.
export RUSTFLAGS=-Cinstrument-coverage LLVM_PROFILE_FILE="$work/%m.profraw"
programs=(cargo +nightly test -p striae-core -p striae-inspect -p striae-tests --lib --tests --examples
    --target "$host" --target-dir "$target/coverage")
"${programs[@]}" --no-run --message-format=json-render-diagnostics >"$work/built.json"
rust_tests "${programs[@]}" --no-fail-fast
"$tools/llvm-profdata" merge --sparse "$work"/*.profraw -o "$work/all.profdata"
# One program at a time: of several, LLVM takes a function as the first one has it, and in one that does not call it,
# a function that is compiled where it is used is never reached.
while read -r program; do
    "$tools/llvm-cov" export --format=lcov --instr-profile="$work/all.profdata" "$program" \
        --sources "$PWD/core/src" "$PWD/core/inspect/src"
done < <(sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' "$work/built.json" | sort -u) >"$work/lines.lcov"
python3 tests/jobs/coverage.py "$work/lines.lcov" | tee "$work/report.txt"
note "$(sed -n 's/^\(core.*\) lines, \(.*\)/\1 lines, \2/p' "$work/report.txt" | paste -sd ';')"
