# Others read all that striae writes, and striae what they write: parsers generated from spec/ksy, gsd,
# netCDF-C, PnetCDF, SciPy and HDF5.

need_node kaitai-struct-compiler@0.11.0 js-yaml@4
need_python kaitaistruct==0.11 netCDF4 scipy h5py
need_program ncdump netcdf-bin
need_program ncvalidator pnetcdf-bin
need_program h5dump hdf5-tools
build_tested --bin striae --example sion_kinds --example cdf_kinds --example gsd_ops --example gsd_hoomd

# Runs a comparison. Its last line says how many there were, and none may have failed.
agree() {
    local status=0 tally name=$1
    shift
    "$@" | tee "$RUN_STATE/interop" || status=$?
    tally=$(tail -n 1 "$RUN_STATE/interop")
    note "$name: $tally"
    ((status == 0)) || fail "the two do not agree"
    [[ $tally =~ ^[1-9][0-9]*\ passed,\ 0\ failed$ ]] || fail "nothing was compared"
}

# Compares the files in a folder with what a generated parser and striae say of them.
compare() {
    agree "$1" "$target/venv/bin/python" "tests/interop/$1" --parser "$target/ksy" \
        "$target/debug/striae" "$2"
}

# gsd and striae write and read the same files: version of gsd, programs in which they take turns.
take_turns() {
    need_gsd "$1"
    rm -rf "$target/gsd-files"
    mkdir "$target/gsd-files"
    agree "gsd $1" "$target/venv-gsd-$1/bin/python" tests/interop/gsd_stock.py --programs "$2" \
        --parser "$target/ksy" --keep "$target/gsd-files" \
        "$target/debug/examples/gsd_ops" "$target/debug/striae" tests/golden/gsd
    compare gsd_ksy.py "$target/gsd-files"
    rm -rf "$target/gsd-files"
}

# gsd's own tests, each file of theirs written anew by striae before they read it or append to it.
gsd_suite() {
    local python="$target/venv-gsd-$1/bin/python" tests
    need_gsd "$1"
    tests=$("$python" -c 'import gsd, os; print(os.path.dirname(gsd.__file__))')/test
    rm -rf "$target/gsd-suite"
    GSD_OPS="$target/debug/examples/gsd_ops" PYTHONPATH=tests/interop \
        "$python" -m pytest -q -p no:cacheprovider -p gsd.pytest_plugin_validate -p gsd_suite \
        --basetemp "$target/gsd-suite" "$tests" | tee "$RUN_STATE/suite" ||
        fail "gsd's own tests do not pass"
    rm -rf "$target/gsd-suite"
    note "gsd's own tests: $(tail -n 1 "$RUN_STATE/suite" | sed 's/ in .*//')"
    note "$(grep '^striae wrote' "$RUN_STATE/suite")"
}

# Trajectories, written by one and read by the other: version of gsd, random files.
trajectories() {
    need_gsd "$1"
    agree "gsd.hoomd $1" "$target/venv-gsd-$1/bin/python" tests/interop/gsd_hoomd.py --seeds "$2" \
        "$target/debug/examples/gsd_hoomd" tests/golden/gsd
}

rm -rf "$target/ksy" "$target/kinds"
for format in sion gsd ffrecord cdf; do
    node tests/interop/compile_ksy.js "spec/ksy/$format.ksy" "$target/ksy"
done
"$target/debug/examples/sion_kinds" "$target/kinds"
compare sion_ksy.py tests/golden/sion
compare sion_kinds.py "$target/kinds"
rm -rf "$target/kinds"
agree netCDF "$target/venv/bin/python" tests/interop/cdf_stock.py \
    "$target/debug/examples/cdf_kinds" "$target/kinds"
agree cdf_ksy.py "$target/venv/bin/python" tests/interop/cdf_ksy.py --parser "$target/ksy" \
    "$target/debug/striae" tests/golden/cdf tests/golden/map "$target/kinds"
rm -rf "$target/kinds"
agree "netCDF files" "$target/venv/bin/python" tests/interop/cdf_files.py "$target/debug/striae"
agree blobs "$target/venv/bin/python" tests/interop/blob_sets.py "$target/debug/striae" tests/golden/blob
agree seals "$target/venv/bin/python" tests/interop/blob_seals.py "$target/debug/striae" tests/golden/blob
agree hdf5 "$target/venv/bin/python" tests/interop/hdf5_blob.py tests/golden/hdf5
compare ffrecord_ksy.py tests/golden/ffrecord
compare gsd_ksy.py tests/golden/gsd
take_turns 5.0.1 1000
take_turns 3.3.2 200
gsd_suite 5.0.1
trajectories 5.0.1 150
trajectories 3.4.1 50
trajectories 3.3.2 50
