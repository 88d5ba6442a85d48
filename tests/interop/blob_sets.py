#!/usr/bin/env python3
"""Rebuilds the arrays of E3SM-IO blob sets by an own reader and compares them with what striae says.

    blob_sets.py STRIAE FOLDER

FOLDER is tests/golden/blob: each folder in it has an expected.json, which says what was written, a canonical
file can*.nc and sets blob*.nc.NNNN and blob*.h5.NNNN of its values. The reader here knows the grammar of CDF-5
from its specification and shares nothing with striae; of HDF5 it uses h5py to fetch two strings of bytes. Compared:

  (a) the rebuilt arrays with the checksums in expected.json;
  (b) `striae cat`, also of regions with holes, `ls --json`, `extract` and `convert` with the rebuilt arrays, the last
      read by netCDF4 and checked by ncvalidator;
  (c) sets that `striae pack` writes of the canonical file, rebuilt by the reader here, if ../map has their maps; and
      ncvalidator, if it is installed, finds no mistake in those in CDF-5.

For the output and the exit status see sion_ksy.py.
"""

import argparse
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

import h5py
import netCDF4
import numpy as np

from ksy import Tally, differ, sha256

TYPES = {1: "i1", 2: "S1", 3: "i2", 4: "i4", 5: "f4", 6: "f8", 7: "u1", 8: "u2", 9: "u4", 10: "i8", 11: "u8"}
NAMES = {1: "byte", 2: "char", 3: "short", 4: "int", 5: "float", 6: "double",
         7: "ubyte", 8: "ushort", 9: "uint", 10: "int64", 11: "uint64"}


class Header:
    """A CDF-5 header of either byte order: `dims` (name, length), `atts`, `vars`, each with its `atts`."""

    def __init__(self, data, order):
        self.data, self.order, self.at = data, order, 4
        assert data[:4] == b"CDF\x05", data[:4]
        self.numrecs = self.number(8)
        self.dims = self.list(10, lambda: (self.name(), self.number(8)))
        self.atts = dict(self.list(12, self.att))
        self.vars = self.list(11, self.var)

    def number(self, size):
        self.at += size
        return int.from_bytes(self.data[self.at - size : self.at], self.order)

    def list(self, tag, item):
        found, count = self.number(4), self.number(8)
        assert found == tag or (found, count) == (0, 0), found
        return [item() for _ in range(count)]

    def name(self):
        length = self.number(8)
        start = self.at
        self.at += -(-length // 4) * 4
        return self.data[start : start + length].decode()

    def att(self):
        name, nc_type, count = self.name(), self.number(4), self.number(8)
        dtype = np.dtype(TYPES[nc_type]).newbyteorder(">" if self.order == "big" else "<")
        values = np.frombuffer(self.data, dtype, count, self.at)
        self.at += -(-values.nbytes // 4) * 4
        return name, values

    def var(self):
        name = self.name()
        dimids = [self.number(8) for _ in range(self.number(8))]
        atts = dict(self.list(12, self.att))
        nc_type, _vsize, begin = self.number(4), self.number(8), self.number(8)
        return {"name": name, "dimids": dimids, "atts": atts, "type": nc_type, "begin": begin}


class Subfile:
    """A subfile: its header, its decompositions, and `part(var, record, blob)`: the values of one blob."""

    def __init__(self, path):
        if open(path, "rb").read(4) == b"CDF\x05":
            self.bytes, self.is_hdf5 = open(path, "rb").read(), False
            self.header = Header(self.bytes, "big")
        else:
            with h5py.File(path) as file:
                self.bytes, self.is_hdf5 = file["data_blob"][:].tobytes(), True
                self.header = Header(file["header_blob"][:].tobytes(), "little")
        header = self.header
        self.ndecomps = int(header.atts["num_decompositions"][0])
        lengths = dict(header.dims)
        self.nblobs = lengths["nblobs"]
        climate = header.vars[5 * self.ndecomps :]
        self.time = next((number for number, (_, length) in enumerate(header.dims) if length == 0), None)
        self.records = [v for v in climate if v["dimids"][:1] == [self.time]]
        if self.is_hdf5:
            self.walk(climate)
        else:
            self.decode(climate)

    def size(self, var):
        return np.dtype(TYPES[var["type"]]).itemsize

    def decode(self, climate):
        """Variable-centric: tables in variables, blobs at blob_start."""
        table = {v["name"]: v for v in self.header.vars}
        lengths = [length for _, length in self.header.dims]

        def fixed(name):
            var = table[name]
            shape = [lengths[dimid] for dimid in var["dimids"]]
            dtype = np.dtype(TYPES[var["type"]]).newbyteorder(">")
            return np.frombuffer(self.bytes, dtype, int(np.prod(shape)), var["begin"]).reshape(shape)

        self.runs, self.starts, self.counts = [], [], []
        for k in range(1, self.ndecomps + 1):
            nreqs = fixed(f"D{k}.nreqs")
            offsets, counts = fixed(f"D{k}.offsets"), fixed(f"D{k}.lengths")
            self.runs.append([(offsets[p, : nreqs[p]], counts[p, : nreqs[p]]) for p in range(self.nblobs)])
            self.starts.append(fixed(f"D{k}.blob_start"))
            self.counts.append(fixed(f"D{k}.blob_count"))
        sizes = []
        for var in self.records:
            shape = [lengths[dimid] for dimid in var["dimids"][1:]]
            sizes.append(int(np.prod(shape)) * self.size(var))
        self.recsize = sizes[0] if len(sizes) == 1 else sum(-(-size // 4) * 4 for size in sizes)

    def walk(self, climate):
        """Process-centric: one blob after the other, each with its tables, then its variables."""
        at, little = 0, lambda kind: np.dtype(kind).newbyteorder("<")

        def take(kind, count):
            nonlocal at
            values = np.frombuffer(self.bytes, little(kind), count, at)
            at += values.nbytes
            return values

        self.runs = [[] for _ in range(self.ndecomps)]
        self.counts = [[] for _ in range(self.ndecomps)]
        self.places = {}
        lengths = [length for _, length in self.header.dims]
        for blob in range(self.nblobs):
            for k in range(self.ndecomps):
                nreqs, _start, count = int(take("i4", 1)[0]), take("i8", 1), int(take("i8", 1)[0])
                self.runs[k].append((take("i4", nreqs), take("i4", nreqs)))
                self.counts[k].append(count)
            for var in climate:
                is_record = var in self.records
                if "decomposition_ID" in var["atts"]:
                    count = self.counts[int(var["atts"]["decomposition_ID"][0]) - 1][blob]
                else:
                    dimids = var["dimids"][1:] if is_record else var["dimids"]
                    count = int(np.prod([lengths[dimid] for dimid in dimids])) if blob == 0 else 0
                size = count * self.size(var)
                self.places[var["name"], blob] = (at, size)
                at += size * (self.header.numrecs if is_record else 1)
        assert at == len(self.bytes), (at, len(self.bytes))

    def part(self, var, record, blob):
        dtype = np.dtype(TYPES[var["type"]])
        if self.is_hdf5:
            at, size = self.places[var["name"], blob]
            at += record * size
            return np.frombuffer(self.bytes, dtype.newbyteorder("<"), size // dtype.itemsize, at)
        at = var["begin"] + record * self.recsize
        decomposition = var["atts"].get("decomposition_ID")
        if decomposition is None:
            lengths = [length for _, length in self.header.dims]
            dimids = var["dimids"][1:] if var in self.records else var["dimids"]
            count = int(np.prod([lengths[dimid] for dimid in dimids]))
        else:
            k = int(decomposition[0]) - 1
            at += int(self.starts[k][blob]) * dtype.itemsize
            count = int(self.counts[k][blob])
        return np.frombuffer(self.bytes, dtype.newbyteorder(">"), count, at)


def rebuild(paths):
    """The canonical arrays of a set: for each variable its array, big-endian, and which elements are covered."""
    subfiles = [Subfile(path) for path in paths]
    first = subfiles[0]
    lengths = [length for _, length in first.header.dims]
    numrecs = first.header.numrecs
    found = {}
    for number, var in enumerate(first.header.vars[5 * first.ndecomps :]):
        is_record = any(v["name"] == var["name"] for v in first.records)
        dtype = np.dtype(TYPES[var["type"]]).newbyteorder(">")
        decomposition = var["atts"].get("decomposition_ID")
        dimids = list(var["dimids"] if decomposition is None else var["atts"]["global_dimids"])
        shape = [lengths[dimid] for dimid in dimids if not (is_record and dimid == first.time)]
        records = numrecs if is_record else 1
        values = np.zeros([records, int(np.prod(shape))], dtype)
        covered = np.zeros(int(np.prod(shape)), bool)
        for subfile in reversed(subfiles):  # of elements that several ranks cover, the lowest counts
            own = subfile.header.vars[5 * subfile.ndecomps + number]
            if decomposition is None:
                if subfile is first:
                    covered[:] = True
                    for record in range(records):
                        values[record] = subfile.part(own, record, 0)
                continue
            for blob in reversed(range(subfile.nblobs)):
                offsets, counts = subfile.runs[int(decomposition[0]) - 1][blob]
                if len(offsets) == 0:
                    continue
                where = np.concatenate([np.arange(o, o + n) for o, n in zip(offsets, counts)])
                covered[where] = True
                for record in range(records):
                    values[record, where] = subfile.part(own, record, blob)
        full = [records, *shape] if is_record else shape
        found[var["name"]] = (values.reshape(full), covered, NAMES[var["type"]])
    return found


class Striae:
    def __init__(self, program):
        self.program = program

    def run(self, *arguments):
        done = subprocess.run([self.program, *arguments], capture_output=True)
        problem = done.stderr.decode(errors="replace").strip()
        return done.stdout, [] if done.returncode == 0 else [f"status {done.returncode}: {problem}"]


def ncvalidator(path):
    """What ncvalidator finds."""
    if not shutil.which("ncvalidator"):
        return ["ncvalidator of pnetcdf-bin is not installed"]
    return differ("status", subprocess.run(["ncvalidator", "-q", path], capture_output=True).returncode, 0)


def compare_striae(tally, striae, name, paths, arrays):
    """What striae says of a set with the rebuilt arrays."""
    output, problems = striae.run("ls", "--json", paths[0])
    listed = json.loads(output) if not problems else {}
    tally.check(f"{name}: ls", problems)
    tally.check(f"{name}: format", differ("format", listed.get("format"), "blob"))
    variables = {v["name"]: v for v in listed.get("variables", [])}
    tally.check(f"{name}: names", differ("names", list(variables), list(arrays)))
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out.nc")
        _, problems = striae.run("convert", "--fill", "0", paths[0], out)
        tally.check(f"{name}: convert", problems)
        converted = netCDF4.Dataset(out) if not problems else None
        tally.check(f"{name}: ncvalidator", ncvalidator(out))
        npy = os.path.join(folder, "npy")
        tally.check(f"{name}: extract", striae.run("extract", "--fill", "0", paths[0], npy)[1])
        for variable, (values, covered, nc_type) in arrays.items():
            what = f"{name}: {variable}"
            entry = variables.get(variable, {})
            tally.check(what, differ("type", entry.get("type"), nc_type)
                        + differ("shape", entry.get("shape"), list(values.shape))
                        + differ("covered", entry.get("covered"), int(covered.sum())))
            output, problems = striae.run("cat", "--fill", "0", paths[0], f"variable/{variable}")
            tally.check(what, problems + differ("cat", sha256(output), sha256(values.tobytes())))
            if converted is not None:
                theirs = converted.variables[variable]
                theirs.set_auto_maskandscale(False)
                theirs.set_auto_chartostring(False)
                theirs = np.asarray(theirs[...]).astype(values.dtype)
                tally.check(what, differ("convert", sha256(theirs.tobytes()), sha256(values.tobytes())))
            path = os.path.join(npy, f"{variable}.npy")
            if os.path.exists(path):
                theirs = np.load(path).astype(values.dtype)
                tally.check(what, differ("extract", sha256(theirs.tobytes()), sha256(values.tobytes())))
            else:
                tally.check(what, [f"no {path}"])


def compare_regions(tally, striae, name, path, arrays):
    """Random regions of some variables, with a value for elements that no process covers."""
    dice = random.Random(name)
    with_holes = [variable for variable, (_, covered, _) in arrays.items() if not covered.all()]
    some = with_holes[:6] + dice.sample(list(arrays), min(6, len(arrays)))
    for variable in some:
        values, covered, nc_type = arrays[variable]
        fill = "x" if nc_type == "char" else str(dice.randint(-9, 99))
        filled = values.reshape(-1, covered.size).copy()
        filled[:, ~covered] = fill.encode() if nc_type == "char" else int(fill)
        filled = filled.reshape(values.shape)
        start = [dice.randrange(length) for length in values.shape]
        stride = [dice.randint(1, 3) for _ in values.shape]
        most = [-(-(length - first) // step) for length, first, step in zip(values.shape, start, stride)]
        count = [dice.randint(1, limit) for limit in most]
        part = filled[tuple(slice(f, f + (n - 1) * s + 1, s) for f, n, s in zip(start, count, stride))]
        flags = ["--fill=" + fill]
        for flag, numbers in [("--start", start), ("--count", count), ("--stride", stride)]:
            flags += [flag, ",".join(map(str, numbers))] if numbers else []
        output, problems = striae.run("cat", path, f"variable/{variable}", *flags)
        part = np.asarray(part, values.dtype)
        tally.check(f"{name}: {variable}", problems + differ(f"cat {flags}", sha256(output), sha256(part.tobytes())))


def compare_packed(tally, striae, folder, command):
    """Sets that striae packs of the canonical file."""
    words = dict(word.split("=") for word in command.split(" opts=")[0].split())
    map_path = os.path.join(folder, "..", "..", "map", words["map"])
    if not os.path.exists(map_path):
        return tally.check(f"{os.path.basename(folder)} packed", [f"no map {map_path}"])
    flags = ["--grouping", "round-robin" if words["mode"] == "rr" else "block"]
    flags += ["--unsorted"] if "-q" in command.split() else []
    canonical = glob.glob(os.path.join(folder, "can*.nc"))[0]
    for container, ending in [("cdf", "nc"), ("hdf5", "h5")]:
        theirs = sorted(glob.glob(os.path.join(folder, f"*.{ending}.[0-9][0-9][0-9][0-9]")))
        for subfiles in [int(words["nodes"]), int(words["np"])]:
            name = f"{os.path.basename(folder)} packed {ending} {subfiles}"
            with tempfile.TemporaryDirectory() as out:
                path = os.path.join(out, "set")
                _, problems = striae.run("pack", "--format", "blob", "--map", map_path, "--subfiles", str(subfiles),
                                         "--processes", words["np"], "--container", container, "--like", theirs[0],
                                         *flags, path, canonical)
                tally.check(f"{name}: pack", problems)
                if problems:
                    continue
                paths = sorted(glob.glob(f"{path}.*"))
                tally.check(name, differ("subfiles", len(paths), subfiles))
                wanted = rebuild(theirs)
                for variable, (values, covered, _) in rebuild(paths).items():
                    tally.check(f"{name}: {variable}",
                                differ("covered", int(covered.sum()), int(wanted[variable][1].sum()))
                                + differ("SHA-256", sha256(values.tobytes()), sha256(wanted[variable][0].tobytes())))
                for path in paths if container == "cdf" else []:
                    tally.check(f"{name}: ncvalidator", ncvalidator(path))


def compare_set(tally, striae, folder):
    with open(os.path.join(folder, "expected.json")) as file:
        expected = json.load(file)
    if striae is not None:
        compare_packed(tally, striae, folder, expected["command"])
    expected = {v["name"]: v for v in expected["variables"]}
    for container in ["nc", "h5"]:
        paths = sorted(glob.glob(os.path.join(folder, f"*.{container}.[0-9][0-9][0-9][0-9]")))
        name = f"{os.path.basename(folder)} {container}"
        arrays = rebuild(paths)
        for variable, (values, covered, _) in arrays.items():
            wanted = expected.pop(variable, None) if container == "h5" else expected.get(variable)
            tally.check(f"{name}: {variable}", differ("covered", int(covered.sum()), wanted["covered"])
                        + differ("SHA-256", sha256(values.tobytes()), wanted["sha256_be_holes_zero"]))
        if striae is not None:
            compare_striae(tally, striae, name, paths, arrays)
            compare_regions(tally, striae, name, paths[-1], arrays)
    tally.check(f"{folder}: missing", differ("variables", list(expected), []))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--no-striae", action="store_true", help="compare with expected.json only")
    parser.add_argument("arguments", nargs="+")
    options = parser.parse_args()
    *program, folder = options.arguments
    striae = None if options.no_striae else Striae(program[0])
    tally = Tally()
    for path in sorted(glob.glob(os.path.join(folder, "*", "expected.json"))):
        compare_set(tally, striae, os.path.dirname(path))
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed or not tally.passed else 0


if __name__ == "__main__":
    sys.exit(main())
