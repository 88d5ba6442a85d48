# The Python package: a wheel in a clean environment, its tests, gsd's own tests, freud and MDAnalysis.

need_program python3 python3
own python-build python-venv python-gsd wheels

# A new virtual environment with these packages.
environment() {
    local folder=$1
    shift
    rm -rf "$folder"
    python3 -m venv "$folder" || { need_debian python3-venv; python3 -m venv "$folder"; }
    "$folder/bin/pip" install --quiet --disable-pip-version-check "$@" || skip "pip cannot install $*"
}

# Runs pytest; what it says last goes to the summary. Arguments: what is tested, then pytest's.
suite() {
    local name=$1
    shift
    "$python" -m pytest -q -rs -p no:cacheprovider --basetemp "$target/python-tests" "$@" |
        tee "$RUN_STATE/suite" || fail "$name do not pass"
    rm -rf "$target/python-tests"
    note "$name: $(tail -n 1 "$RUN_STATE/suite" | sed 's/ in .*//')"
}

# gsd's own tests of a version, from its source package on PyPI, over striae.gsd.
gsd_suite() {
    local folder="$target/python-gsd/gsd-$1"
    if [[ ! -d $folder ]]; then
        mkdir -p "$target/python-gsd"
        "$python" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary gsd \
            --dest "$target/python-gsd" "gsd==$1" || skip "pip cannot download gsd $1"
        tar -xzf "$target/python-gsd/gsd-$1.tar.gz" -C "$target/python-gsd"
    fi
    GSD_SUITE=$1 PYTHONPATH=tests/interop PYTHONDONTWRITEBYTECODE=1 \
        suite "gsd $1's tests over striae.gsd" -p striae_as_gsd "$folder/gsd/test"
}

[[ -x $target/python-build/bin/maturin ]] || environment "$target/python-build" 'maturin>=1.7,<2'
rm -rf "$target/wheels"
(cd std-adapter/python && "$target/python-build/bin/maturin" build --quiet --profile dev --out "$target/wheels")
environment "$target/python-venv" pytest freud-analysis MDAnalysis "$target"/wheels/striae-*.whl
python="$target/python-venv/bin/python"
note "$(cd "$target/wheels" && echo striae-*.whl)"

PYTHONDONTWRITEBYTECODE=1 suite 'its own tests' std-adapter/python/tests
! grep -q '^SKIPPED' "$RUN_STATE/suite" || fail "a test was skipped"
gsd_suite 5.0.1
gsd_suite 3.4.1
