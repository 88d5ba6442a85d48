# Faults that cargo-mutants puts into core are noticed by its tests, or explained in spec/mutants.tsv; takes days.

# A shard is a file: its operators and branches, and then, when those of all files were tried, results of its functions,
# which are nearly always noticed. One that ended is not run again while its text is the same, but for survivors if a
# row lacks; one that was interrupted goes on. STRIAE_MUTANTS is a pattern of git for the files: others are left out.
need_program python3 python3
cargo mutants --version || cargo install --locked --debug cargo-mutants || skip "cannot install cargo-mutants"
own mutants
work="$target/mutants"
tree="$work/tree"
ended="$work/ended.tsv" # shard, and how many mutants were caught, survived, ran too long, did not compile

# Places first, then what files say, then what writes them.
rooms=('core/src/*/layout*.rs' 'core/src/*/record*.rs' 'core/src/*/verdict*.rs' 'core/src/*/write/*.rs')
mapfile -t files < <(for room in "${rooms[@]}"; do git ls-files "$room"; done | awk '!seen[$0]++')
if [[ -v STRIAE_MUTANTS ]]; then
    mapfile -t files < <(printf '%s\n' "${files[@]}" | grep -xF "$(git ls-files "$STRIAE_MUTANTS")")
fi
((${#files[@]})) || fail "no file is to be mutated"

# Mutants are compiled in a copy at the same place, from what was compiled before: one costs some eight seconds of a
# processor.
rm -rf "$tree"
mkdir -p "$tree" "$work/shards"
git ls-files -z | tar --null --files-from=- -cf - | tar -xmf - -C "$tree"
touch "$ended"
host=$(rustc -vV | sed -n 's/^host: //p' | tr 'a-z-' 'A-Z_')
export CARGO_TARGET_DIR="$work/build" "CARGO_TARGET_${host}_RUNNER=$PWD/tests/jobs/mutants.py"
export STRIAE_SLOW=1 # sweeps are thinned as on hosts that are emulated: nothing is optimised here
ulimit -v $((8 << 20)) # KiB: a mutant may ask for all memory

# Tests must pass without a mutant; that they do is not looked at twice.
sound=$(git ls-files -z core tests/kit tests/golden | xargs -0 sha256sum | sha256sum)
if [[ ! -f $work/sound || $(<"$work/sound") != "$sound" ]]; then
    (cd "$tree" && rust_tests cargo test --profile mutants -p striae-core --lib --test all)
    echo "$sound" >"$work/sound"
fi

# Tries the mutants of a shard that were not caught yet.
try() {
    local file=$1 what=$2 out=$3 first status=0 programs=(--test all) which=(--exclude-re ' -> ')
    first=$(cut -d / -f 3 <<<"$file")
    [[ $file != */recover/* ]] || first=recover
    [[ $what == operators ]] || which=(--re ' -> ')
    ! grep -qF '#[cfg(test)]' "$file" || programs=(--lib "${programs[@]}")
    mkdir -p "$out"
    keep_unviable "$out"
    (
        cd "$tree"
        MUTANTS_FIRST=$first cargo mutants --in-place --iterate --output "$out" \
            --package striae-core --file "$file" "${which[@]}" --profile mutants --baseline skip --timeout 300 \
            "${programs[@]/#/--cargo-arg=}"
    ) || status=$?
    ((status == 0 || status == 2 || status == 3)) || fail "cargo mutants ends with $status for $file"
    mkdir -p "$out/mutants.out" # there is none if there is no mutant
    touch "$out"/mutants.out/{previously_caught,caught,unviable,missed,timeout}.txt
    keep_unviable "$out"
}

# The next run counts mutants that do not compile among those that were caught.
keep_unviable() {
    cat "$1"/{mutants.out/,}unviable.txt 2>/dev/null | sort -u >"$1/unviable.new" || true
    mv "$1/unviable.new" "$1/unviable.txt"
}

# The survivors of shards that ended, as rows of spec/mutants.tsv begin: file and mutant.
survivors() {
    local out rest
    while IFS=$'\t' read -r out rest; do
        cat "$work/shards/$out/mutants.out/missed.txt"
    done <"$ended" | sed -E 's/:[0-9]+:[0-9]+: /\t/' | sort -u
}
explained() {
    tail -n +2 spec/mutants.tsv | cut -f 1,2 | sort -u
}
unexplained() {
    comm -23 <(survivors) <(explained)
}

for what in operators results; do
    for file in "${files[@]}"; do
        name="$what/$file"
        shard="$name/$(sha256sum <"$file" | cut -c 1-12)"
        folder="$work/shards/$shard"
        out="$folder/mutants.out"
        if grep -qF "$shard"$'\t' "$ended" &&
            [[ -z $(comm -12 <(unexplained) <(sed -E 's/:[0-9]+:[0-9]+: /\t/' "$out/missed.txt" | sort -u)) ]]; then
            continue
        fi
        sed -i "\\|^$name/|d" "$ended"
        try "$file" "$what" "$folder"
        printf '%s\t%d\t%d\t%d\t%d\n' "$shard" \
            "$(sort -u "$out"/{previously_caught,caught}.txt | grep -vcxFf "$folder/unviable.txt" || true)" \
            "$(wc -l <"$out/missed.txt")" "$(wc -l <"$out/timeout.txt")" "$(wc -l <"$folder/unviable.txt")" >>"$ended"
    done
done

# A row is of a mutant that lives: one of an ended shard that is caught, or is none any more, goes.
stale=$(comm -13 <(survivors) <(explained) | while IFS=$'\t' read -r file mutant; do
    what=operators
    [[ $mutant != *' -> '* ]] || what=results
    ! grep -q "^$what/$file/" "$ended" || printf '%s\t%s\n' "$file" "$mutant"
done)
note "$(awk -F '\t' '{ caught += $2; lived += $3; long += $4 }
    END { printf "%d shards: %d caught, %d survived, %d ran too long", NR, caught, lived, long }' "$ended")"
[[ -z $(unexplained) ]] || printf 'spec/mutants.tsv does not explain:\n%s\n' "$(unexplained)"
[[ -z $stale ]] || printf 'spec/mutants.tsv explains what does not survive:\n%s\n' "$stale"
[[ -z $(unexplained)$stale ]] || fail "see above"
