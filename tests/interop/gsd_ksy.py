#!/usr/bin/env python3
"""Reads GSD files through spec/ksy/gsd.ksy and compares what it says with others.

    gsd_ksy.py [--parser DIR] STRIAE FOLDER      compare with FOLDER/expected.json and with the program STRIAE
    gsd_ksy.py [--parser DIR] --no-striae FOLDER             compare with FOLDER/expected.json only

FOLDER is tests/golden/gsd, or one with files that striae wrote and an expected.json of the same form. Each file
is read by the generated parser. From the parsed structure alone comes a list of names and chunks, which is
compared with

  (a) expected.json, which says what was written, and
  (b) `striae ls --json FILE` and `striae cat FILE frame/I/NAME`.

The commit record, the shadow and the checksums of frames are compared with CRCs that are computed here. Of
damaged files it is stated below which must be refused. Then it makes more of them, from golden ones.

For --parser, the output and the exit status see sion_ksy.py.
"""

import argparse
import io
import json
import os
import struct
import sys
import tempfile
import urllib.parse

from sion_kinds import crc32c
from ksy import Program, Tally, differ, load, refused_status, sha256

# What an address has as it is in the name of a chunk, besides letters and digits.
PLAIN = "/._-+,:@="

CHECKSUMS = b"striae/crc32c"
TYPES = "uint8 uint16 uint32 uint64 int8 int16 int32 int64 float32 float64 character".split()


def shown(name):
    """A name as lists have it: text, or the bytes of what is none."""
    try:
        return name.decode()
    except UnicodeDecodeError:
        return {"hex": name.hex()}


# ---- the parsed structure ----


PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/._-+,:@=")


def encoded(name):
    """A name as it stands in an address."""
    return "".join(chr(byte) if byte in PLAIN else f"%{byte:02X}" for byte in name)


class File:
    """One file, parsed."""

    def __init__(self, kaitai, path):
        self.kaitai = kaitai
        self.path = path
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.parsed = kaitai.Gsd(kaitai.KaitaiStream(io.BytesIO(self.bytes)))
        self.header = self.parsed.header
        self.commit = self.header.commit if self.header.has_commit else None
        self.names = []
        if self.header.namelist_allocated_entries:
            self.parsed.names.last_byte  # read now, so that a damaged list is refused here
            self.names = [name.value for name in self.parsed.names.names[: self.parsed.num_names]]
        used = self.parsed.num_entries
        self.all_entries = self.parsed.index.entries[:used] if used else []
        # Copies of the entry before fill an index up; they are no chunks.
        self.entries = [
            entry for entry in self.all_entries if not entry.slot or self.raw(entry.slot) != self.raw(entry.slot - 1)
        ]

    def raw(self, slot):
        """The bytes of an entry."""
        return self.bytes[self.header.index_location + 32 * slot :][:32]

    def chunks(self):
        """All chunks in the order of the index."""
        for entry in self.entries:
            yield {
                "frame": entry.frame,
                "name": shown(self.names[entry.id]),
                "address": f"frame/{entry.frame}/{encoded(self.names[entry.id])}",
                "type": TYPES[entry.kind - 1],
                "N": entry.n,
                "M": entry.m,
                "sha256": sha256(entry.data),
            }

    def listing(self):
        """What `striae ls --json` should print."""
        header = self.header
        return {
            "format": "gsd",
            "gsd_version": f"{header.gsd_version.major}.{header.gsd_version.minor}",
            "application": shown(header.application.value),
            "schema": shown(header.schema.value),
            "schema_version": f"{header.schema_version.major}.{header.schema_version.minor}",
            "frames": self.parsed.num_frames,
            "names": [shown(name) for name in self.names],
            "chunks": [
                {key: value for key, value in chunk.items() if key != "sha256"} for chunk in self.chunks()
            ],
        }

    def names_used(self):
        """Bytes of the name list that names take."""
        if self.header.gsd_version.major >= 2:
            return sum(len(name) + 1 for name in self.names)
        return 64 * len(self.names)


# ---- (a): what was written ----


def compare_expected(found, expected):
    header = found.header
    layout = {
        "index_location": header.index_location,
        "index_allocated": header.index_allocated_entries,
        "namelist_location": header.namelist_location,
        "namelist_allocated": header.namelist_allocated_entries,
        "index_used": found.parsed.num_entries,
        "namelist_bytes_used": found.names_used(),
    }
    listing = found.listing()
    pairs = {
        "size": len(found.bytes),
        "sha256": sha256(found.bytes),
        "layout": layout,
        "gsd_version": [header.gsd_version.major, header.gsd_version.minor],
        "schema_version": [header.schema_version.major, header.schema_version.minor],
        "application": listing["application"],
        "schema": listing["schema"],
        "names": listing["names"],
        "nframes": listing["frames"],
        "commit": found.commit is not None,
    }
    problems = []
    for name, value in pairs.items():
        if name in expected:
            problems += differ(name, value, expected[name])
    chunks = [{key: value for key, value in chunk.items() if key != "address"} for chunk in found.chunks()]
    if "chunks" in expected:
        by_place = {(chunk["frame"], str(chunk["name"])): chunk for chunk in expected["chunks"]}
        problems += differ("number of chunks", len(chunks), len(expected["chunks"]))
        for chunk in chunks:
            wanted = by_place.get((chunk["frame"], str(chunk["name"])))
            problems += differ(f"chunk {chunk['name']} of frame {chunk['frame']}", chunk, wanted)
    return problems


# ---- the commit record ----


def commit_crc(image):
    """The checksum that a record must have, from the bytes 8 to 47 and 176 to 255 of a header."""
    return crc32c(image[:32] + image[40:116])


def compare_commit(found):
    """A record that holds, with what it covers. One that gsd has made stale is not looked at."""
    commit, header, data = found.commit, found.header, found.bytes
    image = data[8:48] + data[176:256]
    used = len(found.all_entries)
    if commit.commit_crc != commit_crc(image) or commit.layer != header.gsd_version.major:
        return []
    if used > commit.entries and header.index_allocated_entries > commit.entries:
        return []  # gsd has filled slots that were shown and empty
    problems = []
    names = data[header.namelist_location :][: commit.names_len]
    shown_slots = header.index_allocated_entries
    for what, value, wanted in [
        ("entries", commit.entries, used),
        ("slots that are shown", shown_slots, used or shown_slots),
        ("frames", found.parsed.num_frames <= shown_slots, True),
        ("index_reserved is enough", commit.index_reserved >= shown_slots, True),
        ("data_end in the file", commit.data_end <= len(data), True),
        ("names", commit.names, len(found.names)),
        ("names_len", commit.names_len, found.names_used()),
        ("crc_from in the index", commit.crc_from <= used, True),
        ("names_crc", commit.names_crc, crc32c(names)),
        ("ident_crc", commit.ident_crc, crc32c(data[40:44] + data[48:176])),
        ("one_sync", commit.one_sync in (0, 1), True),
        ("shadow is aligned", commit.shadow % 256, 0),
    ]:
        problems += differ(f"commit: {what}", value, wanted)
    covered = data[header.index_location :][32 * commit.crc_from : 32 * commit.entries]
    problems += differ("commit: index_crc", commit.index_crc, crc32c(covered))
    problems += compare_shadow(found, image)
    problems += compare_places(found)
    if commit.checksums:
        problems += compare_checksums(found)
    return problems


def compare_shadow(found, image):
    """The shadow of the last commit; the one before it may have made the file what it is."""
    number = found.commit.sequence % 2
    start = found.commit.shadow + 256 * number
    data = found.bytes[start : start + 256]
    problems = differ("shadow: crc", found.parsed.shadows[number].crc, crc32c(data[:252]))
    # gsd may have changed the minor version of the layer.
    old, new, now = (part[:36] + part[38:] for part in (data[8:128], data[128:248], image))
    return problems + differ("shadow: has the header", now in (old, new), True)


def compare_places(found):
    """Header, blocks, shadow and chunks do not overlap, and end in front of data_end."""
    header, commit = found.header, found.commit
    slots = max(commit.index_reserved, header.index_allocated_entries)
    index = header.index_location
    if commit.entries == 0:
        index -= 32 * (slots - header.index_allocated_entries)
    spans = [
        (0, 256, "header"),
        (index, 32 * slots, "index"),
        (header.namelist_location, 64 * header.namelist_allocated_entries, "names"),
        (commit.shadow, 512, "shadows"),
    ]
    spans += [(entry.location, entry.len, f"chunk in slot {entry.slot}") for entry in found.entries if entry.len]
    spans.sort()
    problems = [
        f"{second} at {start} overlaps {first}"
        for (before, length, first), (start, _, second) in zip(spans, spans[1:])
        if before + length > start
    ]
    end = max(start + length for start, length, _ in spans)
    return problems + differ(f"data_end is behind {end}", commit.data_end >= end, True)


def compare_checksums(found):
    """Each frame's checksums with the chunks that they cover."""
    problems, frames = [], {}
    for entry in found.entries:
        frames.setdefault(entry.frame, {})[entry.id] = entry
    if CHECKSUMS not in found.names:
        return differ("frames without checksums", len(frames), 0)
    own = found.names.index(CHECKSUMS)
    for frame, entries in frames.items():
        if own not in entries:
            continue  # written by gsd, or before checksums were asked for
        last = entries.pop(own)
        data = last.data
        rows = found.kaitai.Gsd.Checksums(found.kaitai.KaitaiStream(io.BytesIO(data))).rows
        wanted = []
        for number in sorted(entries):
            entry = entries[number]
            wanted.append((number, crc32c(entry.data + without_location(found, entry))))
        wanted.append((own, crc32c(data[:-8] + without_location(found, last))))
        problems += differ(f"checksums of frame {frame}", [(row.id, row.crc) for row in rows], wanted)
    return problems


def without_location(found, entry):
    """The 32 bytes of an entry with its location set to zero."""
    raw = found.raw(entry.slot)
    return raw[:16] + bytes(8) + raw[24:]


# ---- (b): what striae says ----


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
        for name, value in found.listing().items():
            problems += differ(f"ls: {name}", listed.get(name), value)
        return problems

    def compare_bytes(self, found):
        """`striae cat` of every chunk, or of some of them if there are many."""
        problems = []
        step = len(found.entries) // 40 + 1
        for entry in found.entries[::step]:
            name = found.names[entry.id]
            address = f"frame/{entry.frame}/{urllib.parse.quote(name, safe=PLAIN)}"
            done = self.run("cat", found.path, address)
            what = f"cat {address}"
            problems += differ(f"exit status of {what}", done.returncode, 0)
            problems += differ(what, sha256(done.stdout), sha256(entry.data))
        return problems

    def compare_refused(self, path):
        """A damaged file: exit status 1, or 2 if the magic is not there; one line on stderr, and no crash."""
        done = self.run("ls", "--json", path)
        problems = differ("exit status of ls", done.returncode, refused_status(path, bytes.fromhex("df65df65df65df65")))
        return problems + differ("lines on stderr", len(done.stderr.decode().splitlines()), 1)

    def check(self, tally, what, found):
        tally.check(f"{what}: striae", self.compare_listing(found))
        tally.check(f"{what}: striae", self.compare_bytes(found))


# ---- files of a folder ----

# Damaged golden files that can be read, and the chunks that are left; all others must be refused.
READABLE = {
    "bad_app_not_nul_terminated.gsd": 9,
    "bad_index_alloc_0.gsd": 0,
    "bad_index_alloc_too_small_for_used.gsd": 4,
    "bad_name_invalid_utf8.gsd": 9,
    "bad_overlapping_data.gsd": 9,
    "bad_torn_last_frame.gsd": 8,
    "bad_v1_junk_after_nul_in_name.gsd": 10,
    "bad_version_2_9_accepted.gsd": 9,
}
# Those in which searching by halves, as gsd and striae do, and reading in order find different things, or
# frame and name do not say which chunk is meant. striae's tests say what it makes of them.
AMBIGUOUS = {
    "bad_dup_frame_id.gsd": 9,
    "bad_dup_names.gsd": 9,
    "bad_entry4_frame_decreases.gsd": None,
    "bad_hole_entry4_location_0.gsd": 4,
    "bad_stale_entries_after_end.gsd": 9,
}


def check_damaged(kaitai, tally, striae, path):
    """A golden file that somebody changed."""
    name = os.path.basename(path)
    used = READABLE.get(name, AMBIGUOUS.get(name))
    if used is None:
        tally.check(name, refusal(kaitai, path))
        if striae and name not in AMBIGUOUS:
            tally.check(f"{name}: striae", striae.compare_refused(path))
        return
    found = File(kaitai, path)
    tally.check(name, differ("entries", len(found.entries), used))
    if striae and name in READABLE:
        striae.check(tally, name, found)


def check_valid(kaitai, tally, striae, path, expected):
    name = os.path.basename(path)
    found = File(kaitai, path)
    problems = compare_expected(found, expected)
    if found.commit:
        problems += compare_commit(found)
    tally.check(name, problems)
    if striae:
        striae.check(tally, name, found)


def refusal(kaitai, path):
    """A list with one problem if the parser accepts the file."""
    try:
        found = File(kaitai, path)
        for entry in found.entries:
            entry.data
    except unreadable(kaitai):
        return []
    return ["is read, expected to be refused"]


# ---- damaged files that no folder has ----


def made_damaged(data):
    """Name and bytes of files that must be refused, from a sound one of layer 2 with index and names in front."""
    index, slots, names, units = struct.unpack_from("<4Q", data, 8)
    for left in [0, 7, 8, 255, 256, index + 31, index + 32 * slots - 1, names + 64 * units - 1]:
        yield f"cut_at_{left}", data[:left]

    def changed(offset, form, value):
        made = bytearray(data)
        struct.pack_into(form, made, offset, value)
        return bytes(made)

    yield "index_location_0", changed(8, "<Q", 0)
    yield "index_location_255", changed(8, "<Q", 255)
    yield "index_location_max", changed(8, "<Q", 2**64 - 32)
    yield "index_allocated_wraps", changed(16, "<Q", 2**59)
    yield "namelist_location_0", changed(24, "<Q", 0)
    yield "namelist_location_max", changed(24, "<Q", 2**64 - 64)
    yield "namelist_allocated_wraps", changed(32, "<Q", 2**58 + 1)
    for version in [0, 2, 4, 0xFFFF, 3 << 16, 0xFFFFFFFF]:
        yield f"gsd_version_{version:#x}", changed(44, "<I", version)
    yield "names_not_terminated", changed(names + 64 * units - 1, "<B", 1)
    yield "location_255", changed(index + 16, "<q", 255)
    yield "location_negative", changed(index + 16, "<q", -1)
    yield "n_max", changed(index + 8, "<Q", 2**64 - 1)
    yield "m_0", changed(index + 24, "<I", 0)
    yield "id_unknown", changed(index + 28, "<H", 65535)
    yield "type_0", changed(index + 30, "<B", 0)
    yield "type_12", changed(index + 30, "<B", 12)
    yield "flags_1", changed(index + 31, "<B", 1)


def check_made(kaitai, tally, striae, golden):
    with open(golden, "rb") as file:
        data = file.read()
    with tempfile.TemporaryDirectory() as folder:
        for name, made in made_damaged(data):
            path = os.path.join(folder, name + ".gsd")
            with open(path, "wb") as file:
                file.write(made)
            tally.check(name, refusal(kaitai, path))
            if striae:
                tally.check(f"{name}: striae", striae.compare_refused(path))


# ---- main ----


def unreadable(kaitai):
    """What the parser raises for a file that is none, or is damaged; KeyError is for expected.json."""
    return (kaitai.KaitaiStructError, EOFError, OSError, OverflowError, ValueError, KeyError)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--no-striae", action="store_true", help="do not run the program")
    parser.add_argument("--parser", metavar="DIR", help="folder of the generated gsd.py")
    parser.add_argument("paths", nargs="+", metavar="PATH", help="STRIAE FOLDER, or only FOLDER")
    args = parser.parse_args()
    if len(args.paths) != (1 if args.no_striae else 2):
        parser.error("expected STRIAE FOLDER, or --no-striae FOLDER")
    folder = args.paths[-1]
    striae = None if args.no_striae else Striae(args.paths[0])
    with open(os.path.join(folder, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    tally = Tally()
    kaitai = load("gsd", args.parser)
    for name, entry in sorted(expected.items()):
        path = os.path.join(folder, name)
        try:
            if entry["kind"] == "bad":
                check_damaged(kaitai, tally, striae, path)
            else:
                check_valid(kaitai, tally, striae, path, entry)
        except unreadable(kaitai) as error:
            tally.check(name, [f"cannot be read: {error!r}"])
    golden = os.path.join(folder, "v21_sparse_chunks.gsd")
    if os.path.exists(golden):
        check_made(kaitai, tally, striae, golden)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
