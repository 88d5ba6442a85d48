#!/usr/bin/env python3
"""Has netCDF-C, PnetCDF and SciPy read and continue the files of the example cdf_kinds.

    cdf_stock.py CDF_KINDS DIR

CDF_KINDS is the example, DIR a folder for its files. Every file is checked by ncvalidator, shown by ncdump, and read by
netCDF4 and, up to CDF-2, by SciPy: they must give the values that the example says. Then netCDF4 appends a record,
striae two more, and all is read again.

One line for each disagreement, then `N passed, M failed`. Exit status 0 if nothing failed, else 1.
"""

import pathlib
import re
import subprocess
import sys

import netCDF4
import numpy
import scipy.io

FILL = {"i2": -7, "S1": b"\0"}
UNWRITTEN = {**netCDF4.default_fillvals, **FILL}


def expected(variable, varid, records, has_records, holes):
    """The values of a variable, as the example writes them."""
    shape = variable.shape[1:] if has_records else variable.shape
    count = int(numpy.prod(shape, dtype=int))
    kind = variable.dtype.str[1:]
    blocks = []
    for record in range(records if has_records else 1):
        numbers = (37 * varid + 11 * record * has_records + numpy.arange(count)) % 100
        if kind == "S1":
            block = (numbers % 26 + ord("a")).astype("u1").view("S1").reshape(shape)
        else:
            block = numbers.astype(variable.dtype.newbyteorder("=")).reshape(shape)
        fill = UNWRITTEN[kind]
        if has_records and holes and record == holes - 1:
            block[...] = fill
        elif has_records and holes and record == holes - 2 and shape:
            block[..., 1::2] = fill
        blocks.append(block)
    if not has_records:
        return blocks[0]
    return numpy.stack(blocks) if blocks else numpy.empty((0, *shape), variable.dtype)


def run(*args):
    done = subprocess.run(args, capture_output=True, check=False)
    text = (done.stdout + done.stderr).decode(errors="replace")
    assert done.returncode == 0 and "Error" not in text, f"{args[0]}: {text[:300]}"
    return text


def same(found, wanted, who, name):
    found = numpy.asarray(found)
    assert found.shape == wanted.shape, f"{who}: {name} has shape {found.shape}"
    assert found.astype(wanted.dtype).tobytes() == wanted.tobytes(), f"{who}: {name} is {found}"


def check(path, records, holes, is_ours=True):
    """Every program reads the values of a file. netCDF-C leaves bytes after the end, which ncvalidator refuses."""
    if is_ours:
        run("ncvalidator", path)
    shown = run("ncdump", "-h", path)
    sole = netCDF4.Dataset(path)
    sole.set_auto_maskandscale(False)
    sole.set_auto_chartostring(False)
    variables = list(sole.variables.values())
    record = next(name for name, dim in sole.dimensions.items() if dim.isunlimited()) if sole.dimensions else ""
    assert f"{record} = UNLIMITED" in shown
    of_records = [record in variable.dimensions for variable in variables]
    if any(of_records):
        assert len(sole.dimensions[record]) == records, f"{len(sole.dimensions[record])} records"
    assert sole.title == "made by striae" and list(sole.i2) == [-300, 301, 302] and sole.f8[1] == 1e300
    wanted = [expected(v, n, records, r, holes) for n, (v, r) in enumerate(zip(variables, of_records))]
    for variable, values in zip(variables, wanted):
        same(variable[...], values, "netCDF4", variable.name)
        assert variable.units == "K"
    names = [variable.name for variable in variables]
    is_classic = sole.data_model != "NETCDF3_64BIT_DATA"
    sole.close()
    if is_classic:
        with scipy.io.netcdf_file(path, mmap=False) as file:
            for name, values in zip(names, wanted):
                same(file.variables[name][...], values, "scipy", name)
    return record if any(of_records) else None


def append(path, record, number):
    """netCDF4 appends a record."""
    file = netCDF4.Dataset(path, "a")
    file.set_auto_maskandscale(False)
    file.set_auto_chartostring(False)
    for varid, variable in enumerate(file.variables.values()):
        if record in variable.dimensions:
            variable[number] = expected(variable, varid, number + 1, True, 0)[number]
    file.close()


def try_file(kinds, path):
    numbers = {"no": 0, "so": 5, "fi": 0}
    kind = path.name.split("_")[1][:2]
    records = 0 if "no_record" in path.name else numbers.get(kind, 3)
    holes = 0
    if "filled" in path.name:
        records = holes = 4
    record = check(str(path), records, holes)
    if record is None:
        return
    append(str(path), record, records)
    check(str(path), records + 1, holes, is_ours=False)
    run(kinds, str(path), "2")
    check(str(path), records + 3, holes)


def main():
    kinds, folder = sys.argv[1:]
    run(kinds, folder)
    paths = sorted(pathlib.Path(folder).glob("*.nc"))
    failed = 0
    for path in paths:
        try:
            try_file(kinds, path)
        except Exception as error:  # whatever a program does not read
            failed += 1
            print(f"{path.name}: {type(error).__name__}: {re.sub(chr(10), ' ', str(error))[:400]}")
    print(f"{len(paths) - failed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
