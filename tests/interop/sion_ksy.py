#!/usr/bin/env python3
"""Reads the golden SIONlib sets through spec/ksy/sion.ksy and compares what it says with others.

    sion_ksy.py [--parser DIR] STRIAE GOLDEN     compare with GOLDEN/*.json and with the program STRIAE
    sion_ksy.py [--parser DIR] --no-striae GOLDEN            compare with GOLDEN/*.json only

For each GOLDEN/NAME.json the set it describes is read by the generated parser, file by file: the main set,
and each buddy set beside it. From the parsed structure alone comes a list of tasks with their chunks, streams
and key-value records. That list is compared with

  (a) NAME.json, which was made when SIONlib wrote the set, and
  (b) `striae ls --json --keys FILE` and `striae cat FILE task/N`.

Then it makes files that no golden set has, from golden ones: fileformat_version 2, unclosed ones without
commit fields, and damaged ones that must not be read.

DIR holds sion.py as written by compile_ksy.js. Without --parser it is compiled into a temporary folder by
node; see compile_ksy.js for the npm packages. Needs kaitaistruct 0.11 from PyPI.

One line for each disagreement, then `N passed, M failed`. Exit status 0 if nothing failed, 1 if something
did, 2 if nothing could be tested.
"""

import argparse
import glob
import io
import json
import os
import re
import struct
import sys
import tempfile

from ksy import Program, Tally, differ, load, refused_status, sha256

KEYVAL_INLINE = 51


def order(is_big):
    return "big" if is_big else "little"


# ---- the parsed structure ----


class Physical:
    """One physical file, parsed."""

    def __init__(self, kaitai, path):
        self.kaitai = kaitai
        self.path = path
        with open(path, "rb") as file:
            self.bytes = file.read()
        stream = kaitai.KaitaiStream(io.BytesIO(self.bytes))
        self.parsed = kaitai.Sion(stream)
        self.meta1 = self.parsed.meta1
        self.closed = self.parsed.is_closed
        if self.closed:
            self.meta1.meta2  # read now, so that a damaged file is refused here

    def prefix(self):
        return self.meta1.filenameprefix.split(b"\0")[0]

    def records(self, data):
        """The key-value records of a stream."""
        is_big = self.parsed.endianness.meta_is_big
        stream = self.kaitai.KaitaiStream(io.BytesIO(data))
        return self.kaitai.Sion.RecordStream(is_big, stream).records

    def tasks(self, index):
        """The tasks of this file, which has number `index` in its set, without their numbers in the set."""
        for task in self.meta1.tasks:
            found = {
                "globalrank": task.globalrank,
                "file": index,
                "local": task.local,
                "chunksize": task.chunksize,
                "chunks": None,
                "bytes": None,
                "start": task.start,
                "stored": task.stored,
            }
            if self.closed:
                data = b"".join(block.data for block in task.blocks)
                found["chunks"] = [block.blocksize for block in task.blocks]
                found["bytes"] = len(data)
                found["sha256"] = sha256(data)
                if self.meta1.keyval_mode == KEYVAL_INLINE:
                    found["keys"] = [
                        {"key": record.key, "bytes": record.len, "sha256": sha256(record.value)}
                        for record in self.records(data)
                    ]
            yield found


class Set:
    """The physical files of a set, found as SIONlib finds them: by the name of file 0."""

    def __init__(self, kaitai, path):
        self.path = path
        self.files = [Physical(kaitai, path)]
        meta1 = self.files[0].meta1
        if meta1.nfiles > 1 and meta1.fileformat_version >= 3 and meta1.filenumber == 0:
            for number in range(1, meta1.nfiles):
                file = Physical(kaitai, f"{path}.{number:06d}")
                if (file.meta1.nfiles, file.meta1.filenumber) != (meta1.nfiles, number):
                    raise ValueError(f"{file.path}: not file {number} of {meta1.nfiles}")
                self.files.append(file)
        self.closed = all(file.closed for file in self.files)
        self.tasks = []
        for index, file in enumerate(self.files):
            for task in file.tasks(index):
                self.tasks.append({"task": len(self.tasks)} | task)
        if not self.closed:
            for task in self.tasks:
                task["chunks"] = task["bytes"] = None

    def listing(self):
        """What `striae ls --json --keys` should print, but for the names of files."""
        first = self.files[0]
        meta1 = first.meta1
        wanted = ["task", "globalrank", "file", "local", "chunksize", "chunks", "bytes"]
        tasks = []
        for task in self.tasks:
            address = f"task/{task['task']}"
            shown = {name: task[name] for name in wanted} | {"address": address}
            if "keys" in task and self.closed:
                shown["keys"] = [
                    {"key": key["key"], "address": f"{address}/key/{key['key']}", "bytes": key["bytes"]}
                    for key in task["keys"]
                ]
            tasks.append(shown)
        return {
            "format": "sion",
            "fileformat_version": meta1.fileformat_version,
            "meta_order": order(first.parsed.endianness.meta_is_big),
            "data_order": order(first.parsed.endianness.data_is_big),
            "keyval": {50: "none", KEYVAL_INLINE: "inline"}.get(meta1.keyval_mode),
            "closed": self.closed,
            "fsblksize": meta1.fsblksize,
            "ntasks": len(self.tasks),
            "files": [{"path": os.path.basename(f.path), "ntasks": f.meta1.ntasks} for f in self.files],
            "tasks": tasks,
        }


# ---- (a): what was recorded when SIONlib wrote the set ----


def compare_meta(found, meta):
    """META1, META2 and the mapping of file 0 with the `meta` of NAME.json."""
    meta1 = found.meta1
    endianness = found.parsed.endianness
    pairs = {
        "meta_endian": order(endianness.meta_is_big),
        "data_endian": order(endianness.data_is_big),
        "raw_endian": found.bytes[4:8].hex(),
        "version": meta1.version,
        "patch": meta1.patchlevel,
        "ffv": meta1.fileformat_version,
        "fsblksize": meta1.fsblksize,
        "ntasks": meta1.ntasks,
        "nfiles": meta1.nfiles,
        "filenumber": meta1.filenumber,
        "flag1": meta1.flag1,
        "flag2": meta1.flag2,
        "keyvalmode": meta1.keyval_mode,
        "prefix": found.prefix().decode(),
        "end_of_header": meta1.commit_start,
        "meta1_len": meta1.end,
        "maxchunks": meta1.commit_fields.maxchunks,
        "start_of_varheader": meta1.commit_fields.start_of_varheader,
        "first": meta1.first,
        "globalskip": meta1.globalskip,
        "meta2_end": meta1.meta2_end,
        "mapping_size": meta1.mapping_size,
        "mapping": mapping(meta1),
        "file_len": len(found.bytes),
    }
    problems = []
    for name, value in pairs.items():
        if name in meta:
            problems += differ(f"meta.{name}", value, meta[name])
    for name in meta.keys() - pairs.keys():
        problems.append(f"meta.{name} is not compared")
    return problems


def mapping(meta1):
    if not meta1.has_mapping:
        return None
    return [[entry.filenumber, entry.lrank] for entry in meta1.mapping.entries]


def compare_task(task, file, expected):
    """One task with its entry in NAME.json, where chunk sizes are as stored and `file` is a filenumber."""
    problems = []
    for name, value in {
        "globalrank": task["globalrank"],
        "file": file.meta1.filenumber,
        "lrank": task["local"],
        "chunksize_stored": task["stored"],
        "start": task["start"],
        "globalskip": file.meta1.globalskip,
        "chunks": task["chunks"],
        "length": task["bytes"],
        "sha256": task["sha256"],
    }.items():
        problems += differ(f"task {task['task']}: {name}", value, expected[name])
    keys = [{"key": k["key"], "length": k["bytes"], "sha256": k["sha256"]} for k in task.get("keys", [])]
    return problems + differ(f"task {task['task']}: keyval", keys, expected.get("keyval", []))


def compare_closed(found, expected):
    """The main set with NAME.json."""
    problems = compare_meta(found.files[0], expected["meta"])
    # NAME.json lists the tasks of a set by global rank, the structure by file and local rank.
    by_place = {(task["file"], task["lrank"]): task for task in expected["tasks"]}
    problems += differ("number of tasks", len(found.tasks), len(by_place))
    for task in found.tasks:
        file = found.files[task["file"]]
        entry = by_place.get((file.meta1.filenumber, task["local"]))
        if entry is None:
            problems.append(f"task {task['task']} is not in the list")
        else:
            problems += compare_task(task, file, entry)
    last = found.files[0]
    mapped = 0 if last.meta1.mapping_size is None else 4 + 8 * len(mapping(last.meta1) or [])
    trailing = last.meta1.bytes_behind_meta2 - mapped
    return problems + differ("trailing bytes", trailing, expected.get("trailing_bytes", trailing))


def compare_unclosed(found, expected):
    """An unclosed set: of its tasks only globalrank is known."""
    ranks = [task["globalrank"] for task in expected.get("expected_in_order_of_ranks", [])]
    problems = differ("closed", found.closed, False)
    return problems + differ("globalranks", [task["globalrank"] for task in found.tasks], ranks)


def compare_buddy(found, index, expected):
    """One file of a buddy set with its entry in NAME.json."""
    file = found.files[index]
    tasks = [task for task in found.tasks if task["file"] == index]
    problems = []
    for name, value in {
        "filenumber": file.meta1.filenumber,
        "nfiles": file.meta1.nfiles,
        "ntasks": file.meta1.ntasks,
        "globalranks": [task["globalrank"] for task in tasks],
        "chunksizes": [task["stored"] for task in tasks],
        "blockcount": [len(task["chunks"]) for task in tasks],
        "lengths": [task["bytes"] for task in tasks],
        "sha256": [task["sha256"] for task in tasks],
        "mapping": mapping(file.meta1),
        "prefix": file.prefix().decode(),
    }.items():
        problems += differ(name, value, expected[name])
    return problems


# ---- (b): what striae says ----


class Striae(Program):
    """The program under test."""

    def compare_listing(self, found):
        """`striae ls --json --keys`."""
        expected = found.listing()
        done = self.run("ls", "--json", "--keys", found.path)
        problems = differ("exit status of ls", done.returncode, 0 if found.closed else 1)
        try:
            shown = json.loads(done.stdout)
        except ValueError as error:
            return problems + [f"ls prints no JSON: {error}"]
        for name, value in expected.items():
            if name == "files":
                listed = shown.get("files") or []
                names = [os.path.basename(file.get("path", "")) for file in listed]
                problems += differ("ls: paths", names, [file["path"] for file in value])
                counts = [file.get("ntasks") for file in listed]
                problems += differ("ls: ntasks of files", counts, [file["ntasks"] for file in value])
            elif name == "tasks":
                problems += self.compare_tasks(shown.get("tasks") or [], value)
            elif value is not None:
                problems += differ(f"ls: {name}", shown.get(name), value)
        return problems

    def compare_tasks(self, shown, expected):
        problems = differ("ls: number of tasks", len(shown), len(expected))
        for found, task in zip(shown, expected):
            for name, value in task.items():
                problems += differ(f"ls: task {task['task']}: {name}", found.get(name, "missing"), value)
        return problems

    def compare_streams(self, found):
        """`striae cat --task` for every task."""
        problems = []
        for task in found.tasks:
            done = self.run("cat", found.path, f"task/{task['task']}")
            problems += differ(f"exit status of cat task/{task['task']}", done.returncode, 0)
            problems += differ(f"cat task/{task['task']}", sha256(done.stdout), task["sha256"])
        return problems

    def compare_refused(self, path):
        """A damaged file: exit status 1, or 2 if the magic is not there; one line on stderr, and no crash."""
        done = self.run("ls", "--json", path)
        problems = differ("exit status of ls", done.returncode, refused_status(path, b"sion"))
        return problems + differ("lines on stderr", len(done.stderr.decode().splitlines()), 1)

    def check(self, tally, what, found):
        tally.check(f"{what}: striae", self.compare_listing(found))
        if found.closed:
            tally.check(f"{what}: striae", self.compare_streams(found))


# ---- golden sets ----


def buddy_sets(folder, expected):
    """The names of file 0 of each buddy set, and for each the entries of its files in NAME.json."""
    sets = {}
    for entry in expected.get("buddy_files", []):
        name, number = re.fullmatch(r"(.*?)(?:\.(\d{6,}))?", entry["name"]).groups()
        sets.setdefault(os.path.join(folder, name), {})[int(number or 0)] = entry
    return sets


def check_golden(kaitai, tally, striae, path):
    """NAME.json and the sets that it describes."""
    with open(path, encoding="utf-8") as file:
        expected = json.load(file)
    folder, name = os.path.dirname(path), expected["name"]

    problems = []
    for entry in expected["files"]:
        with open(os.path.join(folder, entry["name"]), "rb") as file:
            problems += differ(f"sha256 of {entry['name']}", sha256(file.read()), entry["sha256"])
    tally.check(name, problems)

    found = Set(kaitai, os.path.join(folder, expected["main_file"]))
    compare = compare_closed if expected["closed"] else compare_unclosed
    tally.check(name, differ("closed", found.closed, expected["closed"]) or compare(found, expected))
    if striae:
        striae.check(tally, name, found)

    read = {os.path.basename(file.path) for file in found.files}
    for buddy, entries in buddy_sets(folder, expected).items():
        found = Set(kaitai, buddy)
        read |= {os.path.basename(file.path) for file in found.files}
        what = os.path.basename(buddy)
        tally.check(what, differ("files", len(found.files), len(entries)))
        for index, entry in sorted(entries.items()):
            tally.check(entry["name"], compare_buddy(found, index, entry))
        if striae:
            striae.check(tally, what, found)
    listed = sorted(entry["name"] for entry in expected["files"])
    tally.check(name, differ("files that were read", sorted(read), listed))


# ---- files that no golden set has ----


def version_2(golden):
    """A file of fileformat_version 2, from a little-endian one of version 3 or 5 with the same data.

    Bytes 32 to 51 go, and 20 zeros come behind the commit fields: data stay where they are.
    """
    (ntasks,) = struct.unpack_from("<i", golden, 24)
    end = 1088 + 16 * ntasks
    made = bytearray(golden[:32] + golden[52:end] + bytes(20) + golden[end:])
    struct.pack_into("<i", made, 16, 2)
    return bytes(made)


def write(folder, name, data):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def made_readable(golden):
    """Name, bytes, golden original and whether closed, of files that must be read.

    A file of version 2 has no filenumber, so it is a single one, whatever nfiles says.
    """
    for name in ["s02_three_unequal_noncontig", "c05_v3_of_s02"]:
        yield f"version_2_of_{name[:3]}", version_2(golden(name)), name, True
    data = bytearray(version_2(golden("s02_three_unequal_noncontig")))
    struct.pack_into("<i", data, 28, 3)
    yield "version_2_nfiles_3", bytes(data), "s02_three_unequal_noncontig", True
    data = bytearray(golden("s02_three_unequal_noncontig"))
    data[52 : 52 + 1024] = b"p" * 1024
    yield "prefix_without_nul", bytes(data), "s02_three_unequal_noncontig", True
    data = bytearray(golden("c04_v4_of_s03"))
    struct.pack_into("<q", data, 36, KEYVAL_INLINE << 32)
    yield "flag1_before_version_5", bytes(data), "c04_v4_of_s03", True
    data = bytearray(golden("p01_mapped_np2_6tasks_2files"))
    struct.pack_into("<i", data, 28, 1)
    data += b"bytes that nobody looks at"
    yield "bytes_behind_meta2", bytes(data), None, True
    for left in [1124, 1125, 1128, 1135]:
        cut = golden("s02_three_unequal_noncontig")[:left]
        yield f"no_commit_fields_{left}", cut, "s02_three_unequal_noncontig", False
    data = bytearray(golden("s02_three_unequal_noncontig"))
    struct.pack_into("<q", data, 1128, 0)
    yield "start_of_varheader_0", bytes(data), "s02_three_unequal_noncontig", False


def made_damaged(golden):
    """Name and bytes of files that must be refused."""
    data = golden("s02_three_unequal_noncontig")
    for left in [0, 3, 4, 19, 20, 1075, 1076, 1123, 1136, 7680, 7703, 7704, 7775]:
        yield f"cut_at_{left}", data[:left]

    def changed(offset, form, value):
        made = bytearray(data)
        struct.pack_into(form, made, offset, value)
        return bytes(made)

    yield "magic", changed(0, "<4s", b"soin")
    yield "fileformat_version_1", changed(16, "<i", 1)
    yield "fileformat_version_6", changed(16, "<i", 6)
    yield "endianness_0001", b"sion\0\0\0\1" + golden("c01_be_of_s02")[8:]
    yield "fsblksize_0", changed(20, "<i", 0)
    yield "ntasks_0", changed(24, "<i", 0)
    yield "ntasks_max", changed(24, "<i", 2**31 - 1)
    yield "nfiles_0", changed(28, "<i", 0)
    yield "chunksize_negative", changed(1100, "<q", -1)
    yield "maxchunks_0", changed(1124, "<i", 0)
    yield "maxchunks_max", changed(1124, "<i", 2**31 - 1)
    yield "start_of_varheader_negative", changed(1128, "<q", -1)
    yield "start_of_varheader_far", changed(1128, "<q", 2**60)
    yield "start_of_varheader_in_a_hole", changed(1128, "<q", 2048)
    yield "blockcount_0", changed(7680, "<q", 0)
    yield "blockcount_4", changed(7680, "<q", 4)
    yield "blocksize_negative", changed(7704, "<q", -9)
    yield "blocksize_above_chunksize", changed(7704, "<q", 513)
    yield "blocksize_max", changed(7704, "<q", 2**63 - 1)


def compare_with_original(found, original):
    """A file that was made from another one: all tasks must be the same, as far as it can know them."""
    names = ["globalrank", "file", "local", "chunksize", "start"]
    if found.closed:
        names += ["chunks", "bytes", "sha256"]
    tasks = [[{name: task[name] for name in names} for task in which.tasks] for which in (found, original)]
    return differ("tasks", *tasks)


def check_made(kaitai, tally, striae, golden_dir):
    """The files above, each read by the parser and by striae."""

    def path_of(name):
        return os.path.join(golden_dir, name + ".sion")

    def golden(name):
        with open(path_of(name), "rb") as file:
            return file.read()

    with tempfile.TemporaryDirectory() as folder:
        for name, data, original, closed in made_readable(golden):
            path = write(folder, name + ".sion", data)
            try:
                found = Set(kaitai, path)
                problems = differ("closed", found.closed, closed)
                if original:
                    problems += compare_with_original(found, Set(kaitai, path_of(original)))
            except unreadable(kaitai) as error:
                tally.check(name, [f"cannot be read: {error!r}"])
                continue
            tally.check(name, problems)
            if striae:
                striae.check(tally, name, found)
        for name, data in made_damaged(golden):
            path = write(folder, name + ".sion", data)
            tally.check(name, refusal(kaitai, path))
            if striae:
                tally.check(f"{name}: striae", striae.compare_refused(path))


def refusal(kaitai, path):
    """A list with one problem if the parser accepts the file."""
    try:
        Set(kaitai, path)
    except unreadable(kaitai):
        return []
    return ["is read, expected to be refused"]


# ---- main ----


def unreadable(kaitai):
    """What the parser raises for a file that is none, or is damaged; KeyError is for NAME.json."""
    return (kaitai.KaitaiStructError, EOFError, OSError, ValueError, KeyError)


def arguments(description, folder):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--no-striae", action="store_true", help="do not run the program")
    parser.add_argument("--parser", metavar="DIR", help="folder of the generated sion.py")
    parser.add_argument("paths", nargs="+", metavar="PATH", help=f"STRIAE {folder}, or only {folder}")
    args = parser.parse_args()
    if len(args.paths) != (1 if args.no_striae else 2):
        parser.error(f"expected STRIAE {folder}, or --no-striae {folder}")
    return args


def main():
    args = arguments(__doc__.splitlines()[0], "GOLDEN")
    golden_dir = args.paths[-1]
    striae = None if args.no_striae else Striae(args.paths[0])
    paths = sorted(glob.glob(os.path.join(golden_dir, "*.json")))
    if not paths:
        print(f"{golden_dir}: no golden set", file=sys.stderr)
        return 2
    tally = Tally()
    kaitai = load("sion", args.parser)
    for path in paths:
        try:
            check_golden(kaitai, tally, striae, path)
        except unreadable(kaitai) as error:
            tally.check(os.path.basename(path), [f"cannot be read: {error!r}"])
    try:
        check_made(kaitai, tally, striae, golden_dir)
    except (struct.error, *unreadable(kaitai)) as error:
        tally.check("files made from golden ones", [f"cannot be made: {error!r}"])
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
