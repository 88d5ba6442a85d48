#!/usr/bin/env python3
"""Reads all kinds of files that striae writes through spec/ksy/sion.ksy, and checks what it says.

    sion_kinds.py [--parser DIR] STRIAE KINDS     compare with KINDS/*.json and with the program STRIAE
    sion_kinds.py [--parser DIR] --no-striae KINDS            compare with KINDS/*.json only

KINDS is a folder that `cargo run -p striae-tests --example sion_kinds -- KINDS` made: sets, and for each a
NAME.json with what was written into it. The generated parser reads each set; its tasks, chunks, streams and
records are compared with NAME.json, and each seal with checksums that are computed here.

For --parser, the output and the exit status see sion_ksy.py.
"""

import glob
import json
import os
import struct
import sys

import sion_ksy
from ksy import Tally, differ, load, sha256
from sion_ksy import Set, Striae


def crc_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ 0x82F63B78 * (byte & 1)
        yield byte


CRC_TABLE = list(crc_table())


def crc32c(data):
    """CRC-32C, bit by bit as RFC 3720 defines it but for the table."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRC_TABLE[(crc ^ byte) & 0xFF] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def compare_seal(file, tasks):
    """A seal with the bytes that it seals."""
    meta1, seal = file.meta1, file.meta1.seal
    trailer, fields = seal.trailer, meta1.commit_fields
    start, trailer_start = meta1.seal_start, meta1.seal_trailer_start
    problems = []
    for name, value, expected in [
        ("is_stale", seal.is_stale, False),
        ("ntasks", trailer.ntasks, meta1.ntasks),
        ("maxchunks", trailer.maxchunks, fields.maxchunks),
        ("start_of_varheader", trailer.start_of_varheader, fields.start_of_varheader),
        ("meta1_crc", trailer.meta1_crc, crc32c(file.bytes[: 1088 + 16 * meta1.ntasks])),
        ("meta2_crc", trailer.meta2_crc, crc32c(file.bytes[fields.start_of_varheader : start])),
        ("chunks_crc", trailer.chunks_crc, crc32c(file.bytes[start:trailer_start])),
        ("trailer_crc", trailer.trailer_crc, crc32c(file.bytes[trailer_start : trailer_start + 44])),
    ]:
        problems += differ(f"seal: {name}", value, expected)
    if trailer.seal_version == 1:
        problems += differ("seal: start_of_seal", trailer.start_of_seal, start)
    else:
        length = start - fields.start_of_varheader - 8 * meta1.ntasks * (1 + fields.maxchunks)
        problems += differ("seal: mapping_size", trailer.mapping_size, (length - 4) // 8 if length else -1)
    for number, row in enumerate(seal.blocks):
        for local, crc in enumerate(row.crc):
            blocks = tasks[local].blocks
            data = blocks[number].data if number < len(blocks) else b""
            problems += differ(f"seal: crc of chunk {number} of task {local}", crc, crc32c(data))
    return problems


def compare_places(file, expected):
    """Where META2 is, and where the file ends."""
    meta1 = file.meta1
    maxchunks, start = meta1.commit_fields.maxchunks, meta1.commit_fields.start_of_varheader
    natural = meta1.first + maxchunks * meta1.globalskip
    end = meta1.seal_trailer_start + 64 if expected["sealed"] else meta1.seal_start
    if expected["state"] == "closed":
        problems = differ("start_of_varheader", start, natural)
        return problems + differ("length of the file", len(file.bytes), end)
    problems = [] if start >= natural else [f"META2 at {start} is in front of {natural}"]
    return problems + ([] if len(file.bytes) >= end else ["META2 or the seal is cut"])


def compare_file(file, number, expected):
    """One physical file with what all of a set have in common."""
    meta1, endianness = file.meta1, file.parsed.endianness
    single = 1 if expected["serial"] else 0
    problems = []
    for name, value, wanted in [
        ("version", (meta1.version, meta1.patchlevel, meta1.fileformat_version), (1007, 6, 5)),
        ("fsblksize", meta1.fsblksize, expected["fsblksize"]),
        ("nfiles", meta1.nfiles, expected["nfiles"]),
        ("filenumber", meta1.filenumber, number if expected["nfiles"] > 1 else single),
        ("flags", (meta1.flag1, meta1.flag2), ((51 if expected["keyval"] else 50) << 32, 0)),
        ("prefix", file.prefix().decode(), expected["prefix"]),
        ("meta order", sion_ksy.order(endianness.meta_is_big), expected["meta_order"]),
        ("data order", sion_ksy.order(endianness.data_is_big), expected["data_order"]),
        ("byte 6", endianness.data_byte_mirror, endianness.data_byte),
        ("byte 7", endianness.meta_byte_mirror, endianness.meta_byte),
        ("closed", file.closed, expected["state"] != "unclosed"),
    ]:
        problems += differ(name, value, wanted)
    if not file.closed:
        return problems + differ("META1 is whole", len(file.bytes) >= meta1.commit_start, True)
    problems += compare_places(file, expected)
    mapping = expected["mapping"] if number == 0 and expected["nfiles"] > 1 else None
    problems += differ("mapping", sion_ksy.mapping(meta1), mapping)
    if expected["serial"]:
        problems += differ("mapping_size", meta1.mapping_size, 0)
    problems += differ("sealed", meta1.has_seal, expected["sealed"])
    if meta1.has_seal:
        problems += compare_seal(file, meta1.tasks)
    for row, blocks in enumerate(meta1.meta2.blocks):
        unused = [size for task, size in zip(meta1.tasks, blocks.blocksize) if task.blockcount <= row]
        problems += differ(f"unused entries of row {row}", set(unused) - {0}, set())
    return problems


def compare_task(found, expected):
    problems = []
    for name in ["globalrank", "file", "local", "chunksize", "chunks"]:
        problems += differ(f"task {found['task']}: {name}", found[name], expected.get(name))
    if "stream" in expected:
        wanted = sha256(bytes.fromhex(expected["stream"]))
        problems += differ(f"task {found['task']}: sha256", found["sha256"], wanted)
        records = [
            {"key": record["key"], "bytes": len(record["value"]) // 2,
             "sha256": sha256(bytes.fromhex(record["value"]))}
            for record in expected["records"]
        ]
        problems += differ(f"task {found['task']}: records", found.get("keys", []), records)
    return problems


def compare_set(found, expected):
    """All files of a sealed set have its identity and the number of its last commit; core's writer writes single files."""
    trailers = [file.meta1.seal.trailer for file in found.files if file.closed and file.meta1.has_seal]
    numbers = {trailer.set_number for trailer in trailers}
    identities = {trailer.set_identity if trailer.seal_version == 2 else 0 for trailer in trailers}
    has_number = expected["nfiles"] > 1 and expected["name"].endswith("-std")
    problems = differ("set commits of the files", len(numbers) <= 1, True)
    problems += differ("identities of the files", len(identities) <= 1, True)
    problems += differ("has an identity", any(identities), has_number and bool(identities))
    return problems + differ("has a set commit", any(numbers), has_number and bool(numbers))


def check(kaitai, tally, striae, path):
    """NAME.json and the set that it describes."""
    with open(path, encoding="utf-8") as file:
        expected = json.load(file)
    name = expected["name"]
    found = Set(kaitai, os.path.join(os.path.dirname(path), name + ".sion"))
    for number, file in enumerate(found.files):
        tally.check(f"{name}, file {number}", compare_file(file, number, expected))
    problems = differ("number of files", len(found.files), expected["nfiles"])
    problems += compare_set(found, expected)
    problems += differ("number of tasks", len(found.tasks), len(expected["tasks"]))
    for task, wanted in zip(found.tasks, expected["tasks"]):
        problems += compare_task(task, wanted)
    tally.check(name, problems)
    if striae:
        striae.check(tally, name, found)


def main():
    if crc32c(b"123456789") != 0xE3069283:
        raise ValueError("the checksum is not CRC-32C")
    args = sion_ksy.arguments(__doc__.splitlines()[0], "KINDS")
    striae = None if args.no_striae else Striae(args.paths[0])
    paths = sorted(glob.glob(os.path.join(args.paths[-1], "*.json")))
    if not paths:
        print(f"{args.paths[-1]}: no description of a set", file=sys.stderr)
        return 2
    tally = Tally()
    kaitai = load("sion", args.parser)
    for path in paths:
        try:
            check(kaitai, tally, striae, path)
        except (struct.error, *sion_ksy.unreadable(kaitai)) as error:
            tally.check(os.path.basename(path), [f"cannot be read: {error!r}"])
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
