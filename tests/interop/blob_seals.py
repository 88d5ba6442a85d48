#!/usr/bin/env python3
"""Sealed blob sets: other programs see the sets without a seal, and the seal is as spec/blob.md says.

    blob_seals.py STRIAE FOLDER

FOLDER is tests/golden/blob. striae packs each set of it, if ../map has its map, with and without `--seal`.
Compared:

  (a) what ncdump and ncmpidump, h5dump and h5ls print of both, the arrays that netCDF4 and h5py read, and
      ncvalidator's judgement;
  (b) both copies of the seal, found and computed anew by this program, which shares nothing with striae but
      the specification.

For the output and the exit status see sion_ksy.py.
"""

import glob
import json
import os
import struct
import subprocess
import sys
import tempfile

import h5py
import netCDF4
import numpy as np

from blob_sets import TYPES, Striae, Subfile
from ksy import Tally, differ

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    TABLE.append(byte)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def places(path, subfile):
    """The offsets of the header, of its end and of the first value."""
    length = -(-subfile.header.at // 4) * 4
    if not subfile.is_hdf5:
        return 0, length, min(var["begin"] for var in subfile.header.vars)
    with h5py.File(path) as file:
        header, data = file["header_blob"], file["data_blob"]
        return header.id.get_offset(), header.id.get_offset() + len(header), data.id.get_offset()


def blobs(subfile):
    """The bytes of each blob of each variable, variable by variable."""
    header, order = subfile.header, "<" if subfile.is_hdf5 else ">"
    lengths = [length for _, length in header.dims]
    parts = ["nreqs", "blob_start", "blob_count", "offsets", "lengths"]
    starts = [np.cumsum([0] + [int(n) for n in counts[:-1]]) for counts in subfile.counts]
    for number, var in enumerate(header.vars[: 5 * subfile.ndecomps]):
        k, part = divmod(number, 5)
        dtype = np.dtype(TYPES[var["type"]]).newbyteorder(order)
        if not subfile.is_hdf5:
            count = int(np.prod([lengths[dimid] for dimid in var["dimids"][1:]]))
            empty = header.vars[5 * k]["atts"]
            count = 0 if parts[part] in ("offsets", "lengths") and "max_nreqs" in empty else count
            size = count * dtype.itemsize
        for blob in range(subfile.nblobs):
            if not subfile.is_hdf5:
                at = var["begin"] + blob * size
                yield subfile.bytes[at : at + size]
                continue
            offsets, counts = subfile.runs[k][blob]
            yield [np.array([len(offsets)], dtype), np.array([starts[k][blob]], dtype),
                   np.array([subfile.counts[k][blob]], dtype), offsets, counts][part].tobytes()
    for var in header.vars[5 * subfile.ndecomps :]:
        records = header.numrecs if any(v is var for v in subfile.records) else 1
        for blob in range(subfile.nblobs):
            if "decomposition_ID" not in var["atts"] and blob > 0:
                yield b""
                continue
            yield b"".join(subfile.part(var, record, blob).tobytes() for record in range(records))


def mix(word, number):
    """A step of splitmix64."""
    mask = (1 << 64) - 1
    word = ((word ^ number) + 0x9E3779B97F4A7C15) & mask
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & mask
    word = (word ^ word >> 27) * 0x94D049BB133111EB & mask
    return word ^ word >> 31


def parts_of(path):
    """A subfile, its bytes, the places, and the checksums of its header and of all blobs."""
    subfile = Subfile(path)
    file = open(path, "rb").read()
    start, end, first = places(path, subfile)
    return subfile, file, (end, first), crc32c(file[start + 12 : end]), [crc32c(data) for data in blobs(subfile)], end - start


def identity(paths):
    """The identity of a set: of the checksums of the header and of the values of each blob."""
    both = [0, 0]
    for number, path in enumerate(paths):
        subfile, _, _, header, sums, _ = parts_of(path)
        count = subfile.nblobs
        for blob in range(count):
            numbers = [header if blob == 0 else 0] + sums[5 * subfile.ndecomps * count + blob :: count] + [0, 0]
            for which in (0, 1):
                word = mix(0x7374726961652031 + which, number << 32 | blob)
                for value in numbers:
                    word = mix(word, value)
                both[which] ^= word
    return struct.pack(">QQ", *both)


def check_seal(path, number, paths):
    """The problems of the seal of a subfile of a set."""
    subfile, file, (end, first), header, sums, header_len = parts_of(path)
    tie = identity(paths) + struct.pack(">II", number, len(paths))
    table = tie + struct.pack(f">{len(sums)}I", *sums)
    head = b"striae blob seal" + struct.pack(
        ">IIIIQQQI", 2, subfile.nblobs, len(subfile.header.vars), header, header_len, first,
        subfile.header.numrecs, crc32c(table))
    head += struct.pack(">I", crc32c(head))
    at = -(-end // 512) * 512
    problems = differ("copy 0", file[at : at + 64 + len(table)], head + table)
    problems += differ("copy 1", file[first - 64 - len(table) : first], table + head)
    between = file[end:at] + file[at + 64 + len(table) : first - 64 - len(table)]
    return problems + differ("rest of the gap", between.strip(b"\0"), b"")


def shown(command, path):
    """What a program prints of a file, without the file's folder."""
    done = subprocess.run([*command, os.path.basename(path)], capture_output=True, cwd=os.path.dirname(path))
    return done.returncode, done.stdout, done.stderr


def arrays(path):
    if open(path, "rb").read(3) == b"CDF":
        with netCDF4.Dataset(path) as file:
            file.set_auto_maskandscale(False)
            return {name: var[...].tobytes() for name, var in file.variables.items()}
    with h5py.File(path) as file:
        return {name: file[name][...].tobytes() for name in file}


def compare_set(tally, striae, folder, out):
    with open(os.path.join(folder, "expected.json")) as file:
        command = json.load(file)["command"]
    words = dict(word.split("=") for word in command.split(" opts=")[0].split())
    map_path = os.path.join(folder, "..", "..", "map", words["map"])
    canonical = glob.glob(os.path.join(folder, "can*.nc"))[0]
    for container, ending in [("cdf", "nc"), ("hdf5", "h5")]:
        like = sorted(glob.glob(os.path.join(folder, f"*.{ending}.[0-9][0-9][0-9][0-9]")))[0]
        name, paths = f"{os.path.basename(folder)} {container}", []
        for seal in [[], ["--seal"]]:
            path = os.path.join(out, f"{name}{''.join(seal)}".replace(" ", "_"), "set")
            os.mkdir(os.path.dirname(path))
            tally.check(f"{name}: pack", striae.run("pack", "--format", "blob", "--map", map_path, *seal, "--subfiles",
                                                    words["nodes"], "--container", container, "--processes",
                                                    words["np"], "--like", like, path, canonical)[1])
            paths.append(sorted(glob.glob(f"{path}.*")))
        commands = {"cdf": [["ncdump"], ["ncmpidump"], ["ncvalidator", "-q"]], "hdf5": [["h5dump"], ["h5ls"]]}
        for number, (plain, sealed) in enumerate(zip(*paths)):
            tally.check(f"{name}: seal", check_seal(sealed, number, paths[1]))
            tally.check(f"{name}: arrays", differ("arrays", arrays(sealed), arrays(plain)))
            for command in commands[container]:
                theirs = shown(command, sealed)
                tally.check(f"{name}: {command[0]}",
                            differ("status", theirs[0], 0) + differ("output", theirs, shown(command, plain)))


def main():
    program, folder = sys.argv[1:]
    tally = Tally()
    with tempfile.TemporaryDirectory() as out:
        for path in sorted(glob.glob(os.path.join(folder, "*", "expected.json"))):
            compare_set(tally, Striae(program), os.path.dirname(path), out)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
