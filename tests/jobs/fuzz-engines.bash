# Campaigns by AFL++ and counts of lines work, and OSS-Fuzz gets all programs; rustup may download.

# fuzz/campaign installs what it misses, as for anybody: cargo-afl, a nightly toolchain, LLVM's
# tools. What is below builds AFL++ and libFuzzer.
need_program make make
need_program c++ g++
need_program python3 python3
own fuzz-engines
work="$target/fuzz-engines"
some=(gsd_plain map_text) # what all targets share is most of what is built
rm -rf "$work/campaigns.tsv" "$work/campaign/afl" "$work/campaign/coverage/html" "$work/oss-fuzz"
mkdir -p "$work"

campaign=(fuzz/campaign --target-dir "$work" --record "$work/campaigns.tsv")
"${campaign[@]}" --engine afl --time 10s "${some[@]}" | tee "$work/afl.log"
for name in "${some[@]}"; do
    grep -Eq "^$name +[0-9,]+ +[1-9][0-9,]* +[0-9,]+ +[1-9]" "$work/afl.log" ||
        fail "$name ran no input, or reached nothing"
    note "$name $(awk -v name="$name" '$1 == name { print $3 }' "$work/afl.log") runs by AFL++"
done
"${campaign[@]}" --report | tee "$work/report.log"
for name in "${some[@]}"; do
    grep -q "^| afl | off | $name |" "$work/report.log" || fail "no report of $name"
done

"${campaign[@]}" --coverage "${some[@]}" | tee "$work/lines.log"
for package in core core/inspect; do
    grep -Eq "^$package/src +[1-9][0-9]* of +[1-9]" "$work/lines.log" ||
        fail "no line of $package is counted"
done
[[ -s $work/campaign/coverage/html/index.html ]] || fail "there is no page of lines"
left=$(git ls-files --others --exclude-standard | grep '\.profraw$' || true)
[[ -z $left ]] || fail "counts are left in the packages' folders: $left"
note "$(sed -n "s/^\(core.src\) *\([0-9]* of *[0-9]* lines\).*/\1: \2/p" "$work/lines.log" | tr -s " ")"

# What its builder has: the repository without a target folder, these variables, nightly as `cargo`.
export SRC="$work/oss-fuzz/src" OUT="$work/oss-fuzz/out" WORK="$work/oss-fuzz/work"
mkdir -p "$SRC/striae" "$OUT" "$WORK"
git ls-files -z | tar --null --files-from=- -cf - | tar -xf - -C "$SRC/striae"
need_cargo_fuzz
(
    cd "$SRC"
    unset CARGO_TARGET_DIR
    export FUZZING_ENGINE=libfuzzer FUZZING_LANGUAGE=rust SANITIZER=address ARCHITECTURE=x86_64
    export LIB_FUZZING_ENGINE=-fsanitize=fuzzer RUSTUP_TOOLCHAIN=nightly
    export RUSTFLAGS="--cfg fuzzing -Zsanitizer=address -Cdebuginfo=1 -Cforce-frame-pointers"
    bash striae/fuzz/oss-fuzz/build.sh
)

# Each program reads its dictionary, and accepts the seeds of its archive, the repository's.
programs=0
for source in fuzz/fuzz_targets/*.rs; do
    name=$(basename "$source" .rs)
    for file in "$name" "$name.dict" "${name}_seed_corpus.zip"; do
        [[ -s $OUT/$file ]] || fail "OSS-Fuzz gets no $file"
    done
    python3 -m zipfile -e "$OUT/${name}_seed_corpus.zip" "$WORK/$name"
    diff -r "$SRC/striae/fuzz/seeds/$name" "$WORK/$name" || fail "the seeds of $name are others"
    ASAN_OPTIONS=detect_odr_violation=0 "$OUT/$name" -runs=0 -print_final_stats=1 \
        "-dict=$OUT/$name.dict" "$WORK/$name" >"$WORK/$name.log" 2>&1 ||
        { cat "$WORK/$name.log"; fail "$name does not run on its seeds"; }
    ran=$(awk '$1 == "stat::number_of_executed_units:" { print $2 }' "$WORK/$name.log")
    seeds=$(find "$WORK/$name" -type f | wc -l)
    ((ran >= seeds)) || fail "$name ran ${ran:-no} of $seeds seeds"
    programs=$((programs + 1))
done
((programs == $(find "$OUT" -type f -executable | wc -l))) ||
    fail "OSS-Fuzz gets a program that is no target"
note "$programs programs for OSS-Fuzz"
