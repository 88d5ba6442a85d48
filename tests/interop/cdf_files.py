#!/usr/bin/env python3
"""Compares what striae makes of netCDF files with what netCDF-C, PnetCDF and NumPy make of them.

    cdf_files.py [--files N] STRIAE

N files (default: 6) with random contents are made by netCDF4, in turn in CDF-1, CDF-2 and CDF-5: all types, attributes
of all types, names and texts with special characters, NaN and infinities, dimensions without records, `_FillValue`.
Of each are compared:

  (a) `striae dump --cdl`, made a file again by ncgen: ncdump shows the same text of both, and netCDF4 the same bytes;
  (b) regions with strides of `striae cat` and the arrays of `striae extract`, with those of NumPy;
  (c) the file that `striae recover` makes: ncvalidator, ncmpidump, SciPy up to CDF-2, and the same bytes of values;
  (d) what it makes of 30 copies with a wrong bit, a wrong number or a cut: ncvalidator and `striae verify` accept it,
      and if the exit status is 0, `striae verify` accepts the copy, too.

For the output and the exit status see sion_ksy.py.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile

import netCDF4
import numpy as np
import scipy.io

from ksy import Tally, differ

KINDS = ["NETCDF3_CLASSIC", "NETCDF3_64BIT_OFFSET", "NETCDF3_64BIT_DATA"]
CLASSIC = ["i1", "S1", "i2", "i4", "f4", "f8"]
CDF5 = [*CLASSIC, "u1", "u2", "u4", "i8", "u8"]
NAMES = ["plain", "_under", "a b", "x(1)", "a;b", "größe", "T@2m", "a+b-c.d", "p%q", "a'b", 'a"b', "a:b", "a,b",
         "x[x]", "y{y}", "n#n", "v$v", "1st", "a\\b", "time", "x=y", "z<z>", "t~t", "données", "変数", "a&b|c"]
TEXTS = ["", "plain", 'with "quotes" and \\ backslash', "two\nlines\tand\ra\x07bell", "größer als 1 µm", "// no comment",
         "trailing NUL\0", "1, 2 ;", "%s\0inside", "}\n"]


def one_of_each(kind, rng, count):
    """`count` values of a type, the extremes among them."""
    dtype = np.dtype(kind)
    if dtype.kind == "S":
        return rng.integers(0, 256, count).astype("u1").view("S1")
    if dtype.kind == "f":
        bits = rng.integers(0, 2 ** (8 * dtype.itemsize), count, np.dtype(f"u{dtype.itemsize}"))
        values = bits.view(dtype).copy()
        values[np.isnan(values)] = np.nan  # CDL has one NaN
        some = rng.random(count) < 0.4
        special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.5, 1e10, np.finfo(dtype).max, np.finfo(dtype).tiny,
                            np.finfo(dtype).smallest_subnormal, 1 / 3], dtype)
        values[some] = rng.choice(special, some.sum())
        return values
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
    some = rng.random(count) < 0.3
    values[some] = rng.choice(np.array([limits.min, limits.max, 0, 1], dtype), some.sum())
    return values


def make(path, number):
    """Makes a random file."""
    rng, dice = np.random.default_rng(number), random.Random(number)
    model = KINDS[number % 3]
    kinds = CDF5 if number % 3 == 2 else CLASSIC
    file = netCDF4.Dataset(path, "w", format=model)
    file.set_fill_off() if number % 2 else file.set_fill_on()
    names = dice.sample(NAMES, len(NAMES))
    dims = {}
    for length in dice.sample([None, 1, 2, 3, 5, 7, 4], dice.randint(2, 7)):
        dims[names.pop()] = length
    for name, length in dims.items():
        file.createDimension(name, length)
    record = next((name for name, length in dims.items() if length is None), None)
    numrecs = dice.choice([0, 1, 3, 4])

    def attributes(of):
        for name in dice.sample(NAMES, dice.randint(0, 4)):
            kind = dice.choice(kinds)
            value = dice.choice(TEXTS) if kind == "S1" else one_of_each(kind, rng, dice.randint(1, 5))
            of.setncattr(name, value)

    attributes(file)
    pending = []
    for kind in dice.sample(kinds * 2, dice.randint(1, 2 * len(kinds))):
        if len(names) == 0:
            break
        of = dice.sample(sorted(set(dims) - {record}), dice.randint(0, min(3, len(dims) - (record is not None))))
        if record is not None and dice.random() < 0.5:
            of.insert(0, record)
        fill = one_of_each(kind, rng, 1)[0] if dice.random() < 0.4 and kind != "S1" else None
        variable = file.createVariable(names.pop(), kind, of, fill_value=fill)
        variable.set_auto_maskandscale(False)
        variable.set_auto_chartostring(False)
        attributes(variable)
        pending.append((variable, kind))
    for variable, kind in pending:
        shape = [numrecs if name == record else dims[name] for name in variable.dimensions]
        values = one_of_each(kind, rng, int(np.prod(shape, dtype=int))).reshape(shape)
        if values.size:
            variable[...] = values
    file.close()


def read(path):
    """Names and values of the variables of a file, big-endian, and how they are defined."""
    with netCDF4.Dataset(path) as file:
        file.set_auto_maskandscale(False)
        file.set_auto_chartostring(False)
        found = {}
        for name, variable in file.variables.items():
            values = np.asarray(variable[...])
            found[name] = values.astype(values.dtype.newbyteorder(">"))
        return found, file.data_model


def run(*args):
    done = subprocess.run(args, capture_output=True, check=False)
    problems = []
    if done.returncode or done.stderr:
        problems.append(f"{os.path.basename(args[0])} {args[1]}: status {done.returncode}, {done.stderr[:300]}")
    return done.stdout, problems


def same_values(what, found, wanted):
    problems = differ(f"{what}: names", list(found), list(wanted))
    for name in wanted:
        if name in found:
            same = found[name].shape == wanted[name].shape and found[name].tobytes() == wanted[name].tobytes()
            problems += differ(f"{what}: the values of {name!r}", same, True)
    return problems


def compare_cdl(striae, path, folder, wanted, model):
    text, problems = run(striae, "dump", "--cdl", path)
    if problems:
        return problems
    cdl, again = os.path.join(folder, "again.cdl"), os.path.join(folder, "again.nc")
    flags = ["-o"]
    if any(values.dtype == ">i8" for values in wanted.values()):
        # In CDF-5 ncgen 4.9.0 makes variables of type int64 those of type int; in netCDF-4 it does not.
        text, flags, model = text.replace(b'\t\t:_Format = "cdf5" ;\n', b""), ["-4", "-o"], "NETCDF4"
    with open(cdl, "wb") as file:
        file.write(text)
    _, problems = run("ncgen", *flags, again, cdl)
    if problems:
        return problems
    found, found_model = read(again)
    problems += differ("ncgen makes", found_model, model) + same_values("ncgen", found, wanted)
    if model == "NETCDF4":
        return problems
    shown = [run("ncdump", "-n", "x", name) for name in (path, again)]
    return problems + shown[0][1] + shown[1][1] + differ("ncdump", shown[1][0] == shown[0][0], True)


def compare_regions(striae, path, folder, wanted, dice):
    out = os.path.join(folder, "arrays")
    _, problems = run(striae, "extract", path, out)
    if problems:
        return problems
    addresses = run(striae, "ls", "--addresses", path)[0].decode().splitlines()
    problems += differ("addresses", len(addresses), len(wanted))
    arrays = sorted(os.listdir(out))
    problems += differ("arrays", len(arrays), len(wanted))
    extracted = sorted(np.load(os.path.join(out, name)).tobytes() for name in arrays)
    problems += differ("extract", extracted == sorted(values.tobytes() for values in wanted.values()), True)
    for address, (name, values) in zip(addresses, wanted.items()):
        flags, slices = [], []
        if values.size and values.ndim and dice.random() < 0.8:
            start = [dice.randrange(length) for length in values.shape]
            stride = [dice.randint(1, 3) for _ in values.shape]
            most = [-(-(length - first) // step) for length, first, step in zip(values.shape, start, stride)]
            count = [dice.randint(1, limit) for limit in most]
            slices = [slice(f, f + (n - 1) * s + 1, s) for f, n, s in zip(start, count, stride)]
            for flag, numbers in [("--start", start), ("--count", count), ("--stride", stride)]:
                flags += [flag, ",".join(map(str, numbers))]
        part = values[tuple(slices)] if slices else values
        found, failed = run(striae, "cat", path, address, *flags)
        problems += failed + differ(f"cat {name!r} {flags}", found == part.tobytes(), True)
    return problems


def compare_recovered(striae, path, folder, wanted, model):
    again = os.path.join(folder, "recovered.nc")
    _, problems = run(striae, "recover", path, again)
    problems += run(striae, "verify", again)[1]
    problems += run("ncvalidator", "-q", again)[1] + run("ncmpidump", again)[1]
    problems += same_values("recover", read(again)[0], wanted)
    if model != KINDS[2]:
        with scipy.io.netcdf_file(again, mmap=False) as file:
            found = {name.encode("latin-1").decode(): variable for name, variable in file.variables.items()}
            found = {name: np.asarray(variable[...]) for name, variable in found.items()}
            problems += same_values("scipy", found, wanted)
    return problems


def compare_damaged(striae, path, folder, _, dice):
    copy, again = os.path.join(folder, "damaged.nc"), os.path.join(folder, "saved.nc")
    with open(path, "rb") as file:
        whole = file.read()
    problems = []
    for number in range(30):
        damaged = bytearray(whole)
        at = dice.randrange(4, min(len(whole), 4000))
        match number % 3:
            case 0:
                damaged[at] ^= 1 << dice.randrange(8)
            case 1:
                damaged[at & ~3 : (at & ~3) + 4] = dice.choice([0, 1, 12, 2**31 - 1, 2**32 - 1]).to_bytes(4, "big")
            case _:
                del damaged[max(at, 64) :]
        with open(copy, "wb") as file:
            file.write(damaged)
        done = subprocess.run([striae, "recover", "--force", copy, again], capture_output=True, check=False)
        problems += differ(f"damage {number} at {at}: status", done.returncode in (0, 1, 2), True)
        if done.returncode == 2:
            continue
        found, failed = run(striae, "verify", again)
        problems += failed
        # A name with a null byte is kept; ncvalidator takes it for a shorter one, and the file for too long.
        if b"cannot be defined with the libraries" not in found:
            problems += run("ncvalidator", "-q", again)[1]
        if done.returncode == 0:
            problems += run(striae, "verify", copy)[1]
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=6)
    parser.add_argument("--from", type=int, default=0, dest="first")
    parser.add_argument("striae")
    args = parser.parse_args()
    tally = Tally()
    for number in range(args.first, args.first + args.files):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "file.nc")
            make(path, number)
            wanted, model = read(path)
            for check, more in [(compare_cdl, model), (compare_regions, random.Random(number)), (compare_recovered, model),
                                (compare_damaged, random.Random(number))]:
                tally.check(f"file {number}: {check.__name__}", check(args.striae, path, folder, wanted, more))
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
