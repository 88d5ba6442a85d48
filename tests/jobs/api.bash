# The public API of each published library is the one that was reviewed, spec/api, and keeps its rules.

# It is said what cargo does not say: that the API changed, and how to record it.
own api
mkdir -p "$target/api"
need_program python3 python3
# The packages of the job doc, with its features: what rustdoc asks of the compiler is compiled once for both.
features=$(features_without_mpi)
RUSTDOC=$PWD/tests/jobs/rustdoc-json RUSTDOCFLAGS="-Z unstable-options --output-format json" \
    cargo doc --quiet --no-deps --lib --workspace --exclude striae-mpi-c --features "$features"
changed=()
while read -r package; do
    python3 tests/jobs/api.py "$target/doc/${package//-/_}.json" >"$target/api/$package.txt" ||
        fail "$package: its API breaks a rule, see above"
    diff -u "spec/api/$package.txt" "$target/api/$package.txt" || changed+=("$package")
done <<<"striae-core
striae-hoomd
striae-inspect
striae-sdmmc
striae-twin
striae
striae-mpi"
((${#changed[@]} == 0)) ||
    fail "the API of ${changed[*]} changed; cp ${target#"$PWD/"}/api/*.txt spec/api records it for review"
note "$(cat "$target"/api/*.txt | wc -l) lines"
