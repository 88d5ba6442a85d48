# The Python package: a wheel in a clean environment, its tests, gsd's own tests, freud and MDAnalysis.

need_program python3 python3
own python-build python-venv python-gsd wheels

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
    need_gsd_source "$1" "$target/python-gsd"
    GSD_SUITE=$1 PYTHONPATH=tests/interop \
        suite "gsd $1's tests over striae.gsd" -p striae_as_gsd "$folder/gsd/test"
}

alone has_packages "$target/python-build" 'maturin>=1.7,<2'
rm -rf "$target/wheels"
(cd std-adapter/python && "$target/python-build/bin/maturin" build --quiet --profile dev --out "$target/wheels")
rm -rf "$target/python-venv"
alone has_packages "$target/python-venv" pytest freud-analysis MDAnalysis "$target"/wheels/striae-*.whl
python="$target/python-venv/bin/python"
note "$(cd "$target/wheels" && echo striae-*.whl)"

suite 'its own tests' std-adapter/python/tests
! grep -q '^SKIPPED' "$RUN_STATE/suite" || fail "a test was skipped"
gsd_suite 5.0.1
gsd_suite 3.4.1
