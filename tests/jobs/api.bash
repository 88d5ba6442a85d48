# The public API of each published library is the one that was reviewed, spec/api, and keeps its rules.

# It is said what cargo does not say: that the API changed, and how to record it.
own api api-mpi
mkdir -p "$target/api"
need_program python3 python3
export RUSTDOC=$PWD/tests/jobs/rustdoc-json RUSTDOCFLAGS="-Z unstable-options --output-format json"
changed=()

# Compares the API of a package with what rustdoc said of it in a target folder.
compare() {
    local package=$1 folder=$2
    python3 tests/jobs/api.py "$folder/doc/${package//-/_}.json" >"$target/api/$package.txt" ||
        fail "$package: its API breaks a rule, see above"
    diff -u "spec/api/$package.txt" "$target/api/$package.txt" || changed+=("$package")
}

check_changed() {
    ((${#changed[@]} == 0)) ||
        fail "the API of ${changed[*]} changed; cp ${target#"$PWD/"}/api/*.txt spec/api records it for review"
}

# The packages of the job doc, with its features: what rustdoc asks of the compiler is compiled once for both.
features=$(features_without_mpi)
cargo doc --quiet --no-deps --lib --workspace --exclude striae-mpi-c --features "$features"
for package in striae-core striae-hoomd striae-inspect striae-sdmmc striae-twin striae; do
    compare "$package" "$target"
done
# The last one needs an MPI: without one, the job is a skip, but not before the others were compared.
check_changed
need_debian libclang-dev openmpi-bin libopenmpi-dev
# In a folder of its own: in the common one, the job mpi builds what binds an MPI anew for each of two.
MPICC=mpicc.openmpi cargo doc --quiet --no-deps --lib -p striae-mpi --all-features --target-dir "$target/api-mpi"
compare striae-mpi "$target/api-mpi"
check_changed
note "$(cat "$target"/api/*.txt | wc -l) lines"
