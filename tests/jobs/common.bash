# What the jobs share. tests/run sources this file, then the job's, in a bash of its own with
# errexit, nounset and pipefail, in the top folder of the repository.

readonly target=$CARGO_TARGET_DIR
export PYTHONPYCACHEPREFIX="$target/pycache" # compiled modules are not left beside sources

# What the job test builds. Others that need a program or a library for this machine build it from
# the same packages and, because of the example, with their features for tests: each crate is compiled once.
readonly tested=(--workspace --exclude striae-mpi-c --exclude striae-python)
build_tested() {
    cargo build --quiet "${tested[@]}" --example same_bytes "$@"
}

# The features of all packages but those that need MPI, as cargo takes them. With the same ones in each job and for
# each package, what others are built on is looked at once.
features_without_mpi() {
    need_program python3 python3
    cargo metadata --no-deps --format-version 1 | python3 -c '
import json, sys
packages = json.load(sys.stdin)["packages"]
print(",".join(package["name"] + "/" + feature for package in packages for feature in package["features"]
    if feature not in ("default", "mpi")))'
}

# Ends the job: what it needs cannot be had.
skip() {
    echo "$*" >"$RUN_STATE/skip"
    echo "skipped: $*"
    exit 77
}

# Says something about the job in the summary.
note() {
    echo "$*" >>"$RUN_STATE/note"
    echo "note: $*"
}

# Folders of the target folder that no other job needs: `tests/run` removes them in CI.
own() {
    printf '%s\n' "$@" >>"$RUN_STATE/own"
}

fail() {
    echo "FAILED: $*"
    exit 1
}

# ---- what jobs need ----

# Runs a command while no other job looks for what it needs, or installs it. Such commands may use
# one another.
alone() {
    if [[ -n ${is_alone-} ]]; then
        "$@"
        return
    fi
    local is_alone=yes
    exec 9>"$RUN_SHARED/lock"
    flock 9
    "$@" 9>&- # a daemon that it leaves must not keep the lock
    exec 9>&-
}

# Debian packages; those that are missing are installed.
need_debian() {
    alone has_debian "$@"
}

has_debian() {
    local missing=() package
    command -v dpkg-query >/dev/null || skip "needs the Debian packages $*"
    for package; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
            missing+=("$package")
    done
    if ((${#missing[@]})); then
        install_debian "${missing[@]}"
    fi
}

install_debian() {
    [[ $(id -u) == 0 ]] || skip "needs the Debian packages $*; not root, so not installed"
    export DEBIAN_FRONTEND=noninteractive
    if [[ ! -f $RUN_SHARED/apt-updated ]]; then
        apt-get update -q || skip "apt-get update failed"
        touch "$RUN_SHARED/apt-updated"
    fi
    apt-get install -q -y --no-install-recommends "$@" || skip "cannot install $*"
}

# A program, else the Debian package that has it.
need_program() {
    alone has_program "$@"
}

has_program() {
    command -v "$1" >/dev/null || need_debian "$2"
}

# Python in a virtual environment, with these packages.
need_python() {
    alone has_packages "$target/venv" "$@"
}

# A virtual environment in a folder, with these packages. The pip of one installs for all: to make one with a pip of
# its own takes as long as to install packages. Modules are compiled when they are first used, which most never are.
has_packages() {
    local folder=$1 pip="$target/venv/bin/pip"
    shift
    need_program python3 python3
    [[ -x $pip ]] || python3 -m venv "$target/venv" ||
        { need_debian python3-venv; python3 -m venv "$target/venv"; }
    [[ -x $folder/bin/python ]] || python3 -m venv --without-pip "$folder"
    "$pip" --python "$folder/bin/python" install --quiet --no-compile --disable-pip-version-check "$@" ||
        skip "pip cannot install $*"
}

# A Python with this version of gsd, in a virtual environment of its own.
need_gsd() {
    alone has_packages "$target/venv-gsd-$1" --only-binary gsd "gsd==$1" kaitaistruct==0.11 pytest
}

# The source of a version of gsd, as PyPI has it, unpacked as gsd-VERSION in a folder. pip asks it for its name, which
# takes these packages.
need_gsd_source() {
    need_python cython==3.1.4 numpy "setuptools>=77" wheel
    alone has_gsd_source "$1"
    mkdir -p "$2"
    tar -xzf "$target/gsd-sources/gsd-$1.tar.gz" -C "$2"
}

has_gsd_source() {
    [[ -f $target/gsd-sources/gsd-$1.tar.gz ]] ||
        "$target/venv/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary gsd \
            --no-build-isolation --dest "$target/gsd-sources" "gsd==$1" ||
        skip "pip cannot download the source of gsd $1"
}

# These npm packages, and node; NODE_PATH leads to them.
need_node() {
    alone has_node "$@"
    export NODE_PATH="$target/npm/node_modules"
}

has_node() {
    need_program node nodejs
    need_program npm npm
    npm install --prefix "$target/npm" --silent --no-audit --no-fund "$@" ||
        skip "npm cannot install $*"
}

need_nightly() {
    cargo +nightly --version || skip "needs a nightly toolchain of rustup"
}

need_cargo_fuzz() {
    need_nightly
    cargo fuzz --version || cargo install --locked --debug cargo-fuzz || skip "cannot install cargo-fuzz"
}

# Targets whose standard library rustup may not have are built from Debian's sources of it, by the
# compiler of the same version: rustc and its library must match. See `debian_cargo`.
need_debian_rust() {
    need_debian rustc-web cargo-web rust-web-src "$@"
}

debian_cargo() {
    PATH=/usr/bin:$PATH RUSTC_BOOTSTRAP=1 cargo "$@"
}

# Where Debian's compiler builds packages of the workspace as `dev`: macros, which run here, are compiled once.
readonly debian="$target/debian"

# ---- tests that must be there ----

# Runs a command that runs Rust tests. It fails as well if there is no test, or none whose name
# starts as one that $must_run says.
rust_tests() {
    local output="$RUN_STATE/tests" count name
    "$@" 2>&1 | tee "$output"
    count=$(awk '/^running [0-9]+ tests?$/ { count += $2 } END { print count + 0 }' "$output")
    ((count > 0)) || fail "no test ran: $*"
    for name in ${must_run-}; do
        grep -q "^test $name" "$output" || fail "no test $name ran: $*"
    done
    note "$count tests"
}

# Compares logs that another machine writes with those that this one writes. Arguments: its name,
# and a command that writes them to the folder that it gets as its last argument.
same_bytes() {
    local machine=$1 logs="$RUN_STATE/same"
    shift
    rm -rf "$logs"
    (unset CARGO_PROFILE_DEV_OPT_LEVEL && build_tested)
    "$target/debug/examples/same_bytes" "$logs/here"
    mkdir "$logs/$machine"
    "$@" "$logs/$machine"
    diff -r "$logs/here" "$logs/$machine" || fail "$machine writes other bytes"
    note "$machine writes the same $(find "$logs/here" -type f | wc -l) logs"
}

# Compares the logs of a foreign host, of which nothing else runs. Arguments: target, linker, runner.
foreign_logs() {
    local triple=$1 variable
    own "debian/$triple"
    variable=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$triple")
    export "${variable}_LINKER=$2"
    debian_cargo build --quiet -p striae-core --example same_bytes --target "$triple" \
        -Zbuild-std=std,panic_unwind --target-dir "$debian"
    # shellcheck disable=SC2086 # the runner has options
    same_bytes "$triple" $3 "$debian/$triple/debug/examples/same_bytes"
}

# Tests of core and of what inspects files on a foreign host, emulated or not. Arguments: target,
# linker, runner, then those of the test programs.
foreign_tests() {
    local triple=$1 variable
    own "debian/$triple"
    variable=CARGO_TARGET_$(tr 'a-z-' 'A-Z_' <<<"$triple")
    export "${variable}_LINKER=$2" "${variable}_RUNNER=$3"
    export CARGO_PROFILE_DEV_OPT_LEVEL=1 # emulation is slow enough
    must_run="golden:: gsd_golden:: ffrecord::golden:: cdf::golden:: hostile:: layout_laws::
        gsd:: sion:: bytes_are_read_as_the_package_reads_the_file" rust_tests \
        debian_cargo test -p striae-core -p striae-hoomd -p striae-inspect --target "$triple" \
        -Zbuild-std=std,panic_unwind --target-dir "$debian"
    # shellcheck disable=SC2086 # the runner has options
    same_bytes "$triple" $3 "$debian/$triple/debug/examples/same_bytes"
}
