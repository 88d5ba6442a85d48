# core and striae build with no feature, with each one alone, and with all; core's unit tests pass.

# The features in a manifest, one a line. A new one is found here, so none can be forgotten.
features_of() {
    awk '/^\[/ { within = $0 == "[features]" } within && /^[a-zA-Z0-9_-]+ *=/ { print $1 }' "$1"
}

# cargo's arguments for each set of features of a manifest, one set a line.
feature_sets() {
    echo --no-default-features
    features_of "$1" | sed 's/^/--no-default-features --features /'
    echo --all-features
}

check() {
    local package=$1 manifest=$2 sets=0 arguments
    [[ -n $(features_of "$manifest") ]] || fail "no feature in $manifest"
    while read -ra arguments; do
        echo "== $package ${arguments[*]}"
        cargo build -p "$package" "${arguments[@]}" </dev/null
        sets=$((sets + 1))
    done < <(feature_sets "$manifest")
    note "$package: $sets sets"
}

test_core() {
    local arguments
    while read -ra arguments; do
        rust_tests cargo test -p striae-core --lib "${arguments[@]}" </dev/null
    done < <(feature_sets core/Cargo.toml)
    cargo test -p striae-core --no-default-features
}

check striae-core core/Cargo.toml
check striae-inspect core/inspect/Cargo.toml
check striae std-adapter/Cargo.toml
cargo build -p striae-hoomd # alone: with what it asks of core and no more
test_core
