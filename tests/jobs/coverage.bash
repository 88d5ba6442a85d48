# Lines of core and inspect that no test and no seed reaches are those that spec/coverage.tsv explains.

need_nightly
own coverage coverage-data
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
# Those of core and of inspect count, and a generic function of them is compiled where it is called. Other packages have
# no counters, nor do build scripts of ours that run. Little is optimised: with counters, it takes longer than it saves.
options=(-Zprofile-rustflags)
for package in core inspect hoomd kit fuzz tests; do
    options+=(--config "profile.dev.package.striae-$package.rustflags=['-Cinstrument-coverage']")
done
options+=(--config "profile.dev.package.striae.rustflags=['-Cinstrument-coverage']")
for package in core inspect kit tests; do
    options+=(--config "profile.dev.package.striae-$package.opt-level=1")
done
export CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 LLVM_PROFILE_FILE="$work/%m.profraw"
# The program striae is built for the tests that start it, and writes its counts where they do.
programs=(cargo +nightly test -p striae-core -p striae-inspect -p striae -p striae-tests --lib --tests
    --target-dir "$target/coverage" "${options[@]}")
"${programs[@]}" --no-run --message-format=json-render-diagnostics >"$work/built.json"
# Left out: with a limit of file sizes, a process that ends cannot write its counts, and is killed; and laws that try
# very many cases, each of which is like others.
skipped=(limit_of_file_sizes given_up_takes_no_room when_the_limit_is_raised when_the_disk_is_not_full a_full_disk_leaves
    cannot_grow_is_named what_fails_leaves_all_that_was_there align::exhaustive there_can_be_a_canonical_file power_cut)
rust_tests "${programs[@]}" --no-fail-fast -- "${skipped[@]/#/--skip=}"
"$tools/llvm-profdata" merge --sparse "$work"/*.profraw -o "$work/all.profdata"
# One program at a time: of several, LLVM takes a function as the first one has it, and in one that does not call it,
# a function that is compiled where it is used is never reached.
while read -r program; do
    [[ $(readelf -WS "$program") == *__llvm_covmap* ]] || continue # it has no function of ours
    "$tools/llvm-cov" export --format=lcov --instr-profile="$work/all.profdata" "$program" \
        --sources "$PWD/core/src" "$PWD/core/inspect/src"
done < <(sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' "$work/built.json" | sort -u) >"$work/lines.lcov"
python3 tests/jobs/coverage.py "$work/lines.lcov" | tee "$work/report.txt"
note "$(sed -n 's/^\(core.*\) lines, \(.*\)/\1 lines, \2/p' "$work/report.txt" | paste -sd ';')"
