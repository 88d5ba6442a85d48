# core, inspect and striae build without a warning with no feature, and with each one alone.

# The features in a manifest, one a line. A new one is found here, so none can be forgotten.
features_of() {
    awk '/^\[/ { within = $0 == "[features]" } within && /^[a-zA-Z0-9_-]+ *=/ { print $1 }' "$1"
}

# cargo's arguments for each set of features of a manifest, one set a line. All features, and those
# that are on by default, are what the jobs clippy and test build.
feature_sets() {
    echo --no-default-features
    features_of "$1" | grep -vx default | sed 's/^/--no-default-features --features /'
}

# No test runs here: features only add, and tests have all of them.
check() {
    local package=$1 manifest=$2 sets=0 arguments
    [[ -n $(features_of "$manifest") ]] || fail "no feature in $manifest"
    while read -ra arguments; do
        echo "== $package ${arguments[*]}"
        cargo clippy -p "$package" "${arguments[@]}" -- -D warnings </dev/null
        sets=$((sets + 1))
    done < <(feature_sets "$manifest")
    note "$package: $sets sets"
}

check striae-core core/Cargo.toml
check striae-inspect core/inspect/Cargo.toml
check striae-sdmmc core/sdmmc/Cargo.toml
check striae std-adapter/Cargo.toml
cargo clippy -p striae-hoomd -- -D warnings # alone: with what it asks of core and no more
