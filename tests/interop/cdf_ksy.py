#!/usr/bin/env python3
"""Reads classic netCDF files through spec/ksy/cdf.ksy and compares what it says with others.

    cdf_ksy.py [--parser DIR] STRIAE FOLDER...

The files are FOLDER/*.nc. Each is read by the generated parser. From the parsed structure alone comes a listing, and
the values of all variables, which are compared with

  (a) NAME.nc.json, if there is one, which says what netCDF-C or PnetCDF wrote, and
  (b) `striae ls --json FILE` and `striae cat FILE variable/NAME`.

Then it makes damaged files of those with a JSON, which parser and striae must refuse.

For --parser, the output and the exit status see sion_ksy.py.
"""

import argparse
import glob
import io
import json
import math
import os
import sys
import tempfile
import urllib.parse

import numpy as np

from ksy import Program, Tally, differ, load, sha256

TYPES = "byte char short int float double ubyte ushort uint int64 uint64".split()


def number(value, nc_type):
    """A number as JSON has it."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("inf" if value > 0 else "-inf")
    # The shortest decimal number that is this float.
    return float(str(np.float32(value))) if nc_type == 5 else value


class File:
    """One file, parsed."""

    def __init__(self, kaitai, path):
        self.path = path
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.io = kaitai.KaitaiStream(io.BytesIO(self.bytes))
        self.parsed = kaitai.Cdf(self.io)
        self.header_len = self.io.pos()
        self.vars = self.parsed.vars.items

    def attributes(self, of):
        """The attributes in a list; their values are a text, or numbers."""
        for att in of.items:
            nc_type = att.nc_type.value
            if nc_type == 2:
                values = att.values.text.decode(errors="replace")
            else:
                values = [number(value, nc_type) for value in att.values.numbers]
            yield {"name": att.name.value, "type": TYPES[nc_type - 1], "count": att.nelems.value, "value": values}

    def variable(self, var):
        records = self.parsed.num_records
        shape = [records if of.is_record else of.dim.length.value for of in var.dims]
        return {
            "address": "variable/" + urllib.parse.quote(var.name.value, safe="/._-+,:@="),
            "name": var.name.value,
            "type": TYPES[var.nc_type.value - 1],
            "dims": [of.dim.name.value for of in var.dims],
            "shape": shape,
            "record": var.is_record,
            "begin": var.begin.value,
            "vsize": var.vsize.value,
            "attributes": list(self.attributes(var.attributes)),
        }

    def listing(self):
        """What `striae ls --json` should print."""
        records = self.parsed.num_records
        dims = [
            {"name": dim.name.value, "length": records if dim.is_record else dim.length.value, "unlimited": dim.is_record}
            for dim in self.parsed.dims.items
        ]
        return {
            "path": self.path,
            "format": "cdf",
            "version": self.parsed.version,
            "numrecs": records,
            "dims": dims,
            "attributes": list(self.attributes(self.parsed.attributes)),
            "variables": [self.variable(var) for var in self.vars],
        }

    def values(self, var):
        """All values of a variable."""
        if not var.is_record:
            return var.values
        return b"".join(record.values for record in var.records)


def compare_expected(found, expected):
    """What the file's JSON says."""
    listing = found.listing()
    problems = differ("version", listing["version"], expected["version"])
    problems += differ("numrecs", listing["numrecs"], expected["numrecs"])
    problems += differ("header_len", found.header_len, expected["header_len"])
    problems += differ("recsize", found.parsed.recsize, expected["recsize"])
    dims = [(dim.name.value, dim.length.value) for dim in found.parsed.dims.items]
    problems += differ("dims", dims, [(dim["name"], dim["len"]) for dim in expected["dims"]])

    def described(attributes):
        return [{**{k: a[k] for k in ("name", "type", "value")}, "n": a["count"]} for a in attributes]

    problems += differ("attributes", described(listing["attributes"]), expected["gatts"])
    problems += differ("variables", len(found.vars), len(expected["vars"]))
    for var, listed, wanted in zip(found.vars, listing["variables"], expected["vars"]):
        of = f"variable {wanted['name']}"
        for key in ["name", "type", "record", "begin", "vsize"]:
            problems += differ(f"{of}: {key}", listed[key], wanted[key])
        problems += differ(f"{of}: dimids", [dim.dimid.value for dim in var.dims], wanted["dimids"])
        problems += differ(f"{of}: attributes", described(listed["attributes"]), wanted["atts"])
        problems += differ(f"{of}: values", sha256(found.values(var)), wanted["sha256_be"])
    return problems


class Striae(Program):
    """The program under test."""

    def compare_listing(self, found):
        """`striae ls --json`."""
        done = self.run("ls", "--json", found.path)
        problems = differ("exit status of ls", done.returncode, 0)
        try:
            listed = json.loads(done.stdout)
        except ValueError as error:
            return problems + [f"ls prints no JSON: {error}"]
        return problems + differ("ls", listed, found.listing())

    def compare_bytes(self, found):
        """`striae cat` of every variable, or of some of them if there are many."""
        problems = []
        for var in found.vars[:: len(found.vars) // 8 + 1]:
            name = var.name.value
            done = self.run("cat", found.path, f"variable/{urllib.parse.quote(name, safe='/-_.+,:@=')}")
            problems += differ(f"exit status of cat {name}", done.returncode, 0)
            problems += differ(f"cat {name}", sha256(done.stdout), sha256(found.values(var)))
        return problems

    def compare_refused(self, path):
        """A damaged file: exit status 1, or 2 if its magic is cut; one line on stderr, and no crash."""
        done = self.run("ls", "--json", path)
        problems = differ("exit status of ls", done.returncode, 2 if os.path.getsize(path) < 3 else 1)
        return problems + differ("lines on stderr", len(done.stderr.decode().splitlines()), 1)


def damaged(found):
    """Name and bytes of files that must be refused."""
    data, parsed = found.bytes, found.parsed
    wide = parsed.is_wide
    count = 8 if wide else 4
    dims_at = 4 + count

    def patched(offset, value, size=4):
        return data[:offset] + value.to_bytes(size, "big") + data[offset + size :]

    yield "version", patched(3, 3, 1)
    yield "tag of dim_list", patched(dims_at, 11)
    yield "dim_list is absent and has items", patched(dims_at, 0) if parsed.dims.items else patched(dims_at + 4, 1, count)
    yield "too many items", patched(dims_at + 4, 2**31, count)
    for length in range(0, found.header_len, max(1, found.header_len // 20)):
        yield f"cut to {length} bytes", data[:length]
    if not found.vars:
        return
    # The last variable: its dimids, attributes and the fields after them end the header.
    offset_len = 4 if parsed.version == 1 else 8
    at = found.header_len - offset_len - count - 4
    yield "type 0", patched(at, 0)
    yield "a type that the version does not have", patched(at, 12 if wide else 7)
    last = found.vars[-1]
    if last.dims and not last.attributes.items:
        at -= 4 + count + count
        yield "a dimid that is not there", patched(at, len(parsed.dims.items), count)
        record = [dim.dimid for dim in parsed.dims.items if dim.is_record]
        if len(last.dims) > 1 and record:
            yield "the record dimension is not the first", patched(at, record[0], count)


def check_damaged(kaitai, tally, striae, found, folder):
    for what, data in damaged(found):
        path = os.path.join(folder, "damaged.nc")
        with open(path, "wb") as file:
            file.write(data)
        what = f"{os.path.basename(found.path)}, {what}"
        tally.check(what, refusal(kaitai, path))
        tally.check(f"{what}: striae", striae.compare_refused(path))


def refusal(kaitai, path):
    """A list with one problem if the parser accepts the file."""
    try:
        File(kaitai, path)
    except (kaitai.KaitaiStructError, EOFError):
        return []
    return ["is read, expected to be refused"]


def check_file(kaitai, tally, striae, path):
    found, name = File(kaitai, path), os.path.basename(path)
    for problems in [striae.compare_listing(found), striae.compare_bytes(found)]:
        tally.check(f"{name}: striae", problems)
    if os.path.exists(f"{path}.json"):
        with open(f"{path}.json", encoding="utf-8") as file:
            tally.check(name, compare_expected(found, json.load(file)))
        with tempfile.TemporaryDirectory() as folder:
            check_damaged(kaitai, tally, striae, found, folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parser", metavar="DIR")
    parser.add_argument("striae", metavar="STRIAE")
    parser.add_argument("folders", metavar="FOLDER", nargs="+")
    args = parser.parse_args()

    kaitai, striae, tally = load("cdf", args.parser), Striae(args.striae), Tally()
    for folder in args.folders:
        paths = sorted(glob.glob(os.path.join(folder, "*.nc")))
        tally.check(folder, [] if paths else ["has no *.nc"])
        for path in paths:
            check_file(kaitai, tally, striae, path)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
