# C programs: our headers and libraries as installed, with ASan and valgrind, and gsd's own tests over gsd.h.

need_program gcc gcc
need_program g++ g++
need_program pkg-config pkg-config
need_program valgrind valgrind
need_python cython==3.1.4 numpy pytest
python="$target/venv/bin/python"
"$python" -c 'import os, sysconfig, sys
sys.exit(not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))' || need_debian python3-dev

readonly package=std-adapter/c prefix="$target/c-prefix" work="$target/c-work"
own c-prefix c-work
rm -rf "$prefix" "$work"
mkdir -p "$work"
build_tested --lib
"$package/dist/install" "$target/debug" "$prefix"

# ---- what is installed ----

export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
read -ra flags <<<"$(pkg-config --cflags --libs striae-c) -Wl,-rpath,$prefix/lib"
read -ra old_flags <<<"$("$prefix/bin/sionconfig" --cflags --ser) $("$prefix/bin/sionconfig" --libs --ser)"
[[ $("$prefix/bin/sionconfig" --path) == "$prefix" ]] || fail "sionconfig --path"
[[ $("$prefix/bin/sionconfig" --version) == 1.7.6* ]] || fail "sionconfig --version"
! "$prefix/bin/sionconfig" --libs --mpi 2>/dev/null || fail "sionconfig promises MPI"
nm -D --defined-only "$prefix/lib/libstriae_c.so" | awk '{ print $3 }' | LC_ALL=C sort |
    diff "$package/tests/exports.txt" - || fail "other names are exported"
readelf -d "$prefix/lib/libstriae_c.so" | grep -q 'SONAME.*\[libstriae_c.so.0\]' || fail "no SONAME"

readonly warnings=(-std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -g)
readonly static=("$prefix/lib/libstriae_c.a" -lgcc_s -lutil -lrt -lpthread -lm -ldl -lc)

# Runs a test in an empty folder: name, then the command before the program.
run_test() {
    local arguments=("$work/files")
    rm -rf "$work/files"
    mkdir "$work/files"
    [[ $1 != sion_golden* ]] || arguments+=("$PWD/tests/golden/sion" "$step")
    STRIAE_QUIET=1 "${@:2}" "$work/$1" "${arguments[@]}" >"$work/output" || fail "$1 (${2-plain})"
    count=$((count + $(awk '{ n += $1 } END { print n + 0 }' "$work/output")))
}

count=0
for test in layout gsd striae limits sion sion_keys sion_golden; do
    source="$package/tests/$test.c"
    gcc "${warnings[@]}" "$source" -o "$work/$test" "${flags[@]}" -lpthread
    step=3 run_test "$test"
    step=97 run_test "$test" valgrind -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite
    gcc "${warnings[@]}" -fsanitize=address,undefined -fno-sanitize-recover "$source" \
        -I"$prefix/include" -o "$work/$test-asan" "${static[@]}"
    step=11 run_test "$test-asan"
done
gcc "${warnings[@]}" "$package/tests/sion.c" -o "$work/sion" "${old_flags[@]}"
run_test sion
g++ -fsyntax-only -Wall -Wextra -Werror -I"$prefix/include" -x c++ - <<<'#include <gsd.h>
#include <sion.h>' || fail "the headers are no C++"

# ---- gsd's own tests, with its fl.pyx over our gsd.h ----

read -ra python_flags <<<"$("$python" -c 'import numpy, sysconfig
print("-I" + numpy.get_include(), "-I" + sysconfig.get_paths()["include"])')"

# Runs the tests of a version: version, how many there are at least, tests to leave out, options of gcc.
gsd_suite() {
    local tree="$work/gsd-$1"
    rm "$tree/gsd/gsd.c" "$tree/gsd/gsd.h" "$tree/gsd/fl.c"
    "$target/venv/bin/cython" -3 "$tree/gsd/fl.pyx" -o "$tree/fl.c"
    gcc -O1 -w -shared -fPIC "${python_flags[@]}" -DNPY_NO_DEPRECATED_API=NPY_1_7_API_VERSION \
        "$tree/fl.c" -o "$tree/gsd/fl.so" "${flags[@]}" "${@:4}"
    (cd "$tree" && "$python" -m pytest -q -p no:cacheprovider \
        -p gsd.pytest_plugin_validate --basetemp "$work/pytest" gsd/test \
        -k "not $3") | tee "$work/suite" || fail "the tests of gsd $1 do not pass"
    (($(awk '/ passed/ { print $1 }' "$work/suite") >= $2)) || fail "the tests of gsd $1 did not run"
    note "gsd $1's own tests: $(tail -n 1 "$work/suite" | sed 's/ in .*//')"
}

need_gsd_source 5.0.1 "$work"
# Programs that were compiled with gsd's own header run with our library.
mkdir "$work/header"
cp "$work/gsd-5.0.1/gsd/gsd.h" "$work/header/"
for test in layout gsd; do
    gcc "${warnings[@]}" "$package/tests/$test.c" -I"$work/header" -o "$work/$test" "${flags[@]}"
    run_test "$test"
done
note "$count C tests"

# It compares the size of the file after each write with the size before. striae puts new names in a
# new list, so that a crash never shows half of them, which adds 1024 bytes at the first write.
gsd_suite 5.0.1 145 test_maximum_write_buffer_size
need_gsd_source 3.4.1 "$work"
gsd_suite 3.4.1 131 test_of_this_name -DSTRIAE_GSD_3
