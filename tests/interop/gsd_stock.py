#!/usr/bin/env python3
"""Lets gsd and striae write and read the same files, in turns.

    gsd_stock.py [--programs N] [--seed S] [--parser DIR] [--keep DIR] OPS STRIAE GOLDEN

OPS is the example gsd_ops, STRIAE the program or `-` for none, GOLDEN tests/golden/gsd. Runs under a Python that has gsd, of any
version that can write.

  (a) gsd writes random files: striae must list and read what was written, library and program.
  (b) striae writes random files of all kinds, and golden files are read: fl and pygsd must do the same. Operations
      of the store fail here and in (c): striae gives up the frame and writes it again.
  (c) N random programs of operations in which gsd and striae append to one file in turns, commit, leave frames
      open, die, upgrade and truncate. After each turn fl, pygsd and striae list the same frames and bytes, and
      readers that were open before it still have what they had.

With --parser, the folder of the generated gsd.py, records, shadows and checksums are compared as in gsd_ksy.py.
With --keep some of the files of (b) and (c) are left in DIR with an expected.json for gsd_ksy.py.

One line for each disagreement, then `N passed, M failed`. Exit status 0 if nothing failed, else 1.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

import gsd.fl
import gsd.version

import gsd_model as model
from gsd_model import Contents, Striae

# What an address has as it is in the name of a chunk, besides letters and digits.
PLAIN = "/._-+,:@="

# Text came with layer 2.1; gsd of an earlier one refuses files that have it.
IS_OLD = tuple(int(part) for part in gsd.version.version.split(".")[:2]) < (3, 4)
TYPES = [kind for kind in model.SIZES if kind != "character" or not IS_OLD]


class Check:
    """What all parts use."""

    def __init__(self, args, folder):
        self.args = args
        self.folder = folder
        self.ops = Striae(args.ops)
        self.passed = self.failed = 0
        self.kept = {}
        self.ksy = None
        if args.parser:
            import gsd_ksy

            self.ksy = gsd_ksy
            self.kaitai = gsd_ksy.load("gsd", args.parser)

    def count(self, what, problems):
        for problem in problems[:3]:
            print(f"{what}: {problem[:600]}")
        if problems:
            self.failed += 1
            return False
        self.passed += 1
        return True

    def path(self, name):
        return os.path.join(self.folder, name)

    def everyone(self, path, contents, maybe=None):
        """What fl, pygsd and striae say otherwise."""
        problems = []
        for reader in ("fl", "pygsd"):
            try:
                file = gsd.fl.open(path, "r") if reader == "fl" else gsd.pygsd.GSDFile(open(path, "rb"))
                with file:
                    problems += model.read_gsd(file, reader, contents, maybe)
            except Exception as error:  # of any kind: it is to be reported
                problems.append(f"{reader}: {error!r}")
        problems += self.ops.read(path, contents, maybe)
        if self.ksy:
            found = self.ksy.File(self.kaitai, path)
            if found.commit and maybe is None:
                problems += self.ksy.compare_commit(found)
        return problems

    def program(self, path, contents):
        """What `striae ls --json` and `striae cat` say otherwise."""
        if self.args.striae == "-":
            return []
        done = subprocess.run([self.args.striae, "ls", "--json", path], capture_output=True, check=False)
        if done.returncode:
            return [f"striae ls: exit status {done.returncode}: {done.stderr.decode()}"]
        listed = json.loads(done.stdout)
        frames, problems = contents.trimmed(), []
        chunks = {
            (chunk["frame"], chunk["name"]): (chunk["type"], chunk["N"], chunk["M"])
            for chunk in listed["chunks"]
            if chunk["name"] != model.CHECKSUMS
        }
        wanted = {
            (number, name): chunk[:3] for number, frame in enumerate(frames) for name, chunk in frame.items()
        }
        if (listed["frames"], chunks) != (len(frames), wanted):
            problems.append(f"striae ls: {listed['frames']} frames, {chunks}, expected {len(frames)}, {wanted}")
        for number, frame in list(enumerate(frames))[-2:]:
            for name, chunk in frame.items():
                command = [self.args.striae, "cat", path, f"frame/{number}/{urllib.parse.quote(name, safe=PLAIN)}"]
                done = subprocess.run(command, capture_output=True, check=False)
                if (done.returncode, done.stdout) != (0, chunk[3]):
                    problems.append(f"{command}: {done}, expected {chunk[3]}")
        return problems

    def keep(self, name, path, contents):
        """Leaves a file for gsd_ksy.py."""
        if not self.args.keep:
            return
        shutil.copy(path, os.path.join(self.args.keep, name))
        chunks = [
            {"frame": number, "name": label, "type": kind, "N": n, "M": m, "sha256": hashlib.sha256(data).hexdigest()}
            for number, frame in enumerate(contents.trimmed())
            for label, (kind, n, m, data) in frame.items()
        ]
        self.kept[name] = {"kind": "valid", "nframes": len(contents.trimmed()), "chunks": chunks, "commit": True}
        if model.CHECKSUMS not in contents.names:
            self.kept[name]["names"] = contents.names


# ---- (a) ----


def gsd_writes(check, number):
    rng = model.rng_of(check.args.seed, "gsd writes", number)
    path, contents, names = check.path("a.gsd"), Contents(), model.random_names(rng)
    with gsd.fl.open(path, "w", application="gsd", schema="none", schema_version=[1, 2]) as file:
        for _ in range(rng.choice([0, 1, 3, 10, 60])):
            frame = model.random_frame(rng, TYPES, names)
            model.write_gsd(file, frame)
            file.end_frame()
            contents.add(frame)
            if rng.random() < 0.2:
                file.flush()
    problems = check.ops.read(path, contents) + check.program(path, contents)
    check.count(f"(a) {number}", problems)


# ---- (b) ----


def create(check, rng, path, shown=128):
    """A new file of striae, which shows that many slots; its layer, and whether frames carry checksums."""
    layer = rng.choice(["2.1", "2.1", "1.0"])
    checksums = rng.random() < 0.3
    align, names_len = rng.choice([1, 1, 8, 512]), rng.choice([1, 64, 300, 1024, 1024])
    slots = rng.choice([1, 3, 8, 128, 128])
    check.ops.ask("create", path, layer, align, int(checksums), slots, shown, names_len, memory(rng))
    return layer, checksums


def memory(rng):
    """Chunks that the writer has memory for: sometimes only those of one frame."""
    return rng.choice([10, 16, 100])


def types_of(layer):
    return TYPES if layer == "2.1" else [kind for kind in TYPES if kind != "character"]


def striae_writes(check, number):
    rng = model.rng_of(check.args.seed, "striae writes", number)
    path, contents, names = check.path("b.gsd"), Contents(), model.random_names(rng)
    # With fewer than 128 slots gsd is only promised that it can read.
    layer, checksums = create(check, rng, path, rng.choice([1, 2, 128]))
    for _ in range(rng.choice([0, 1, 3, 10, 60])):
        frame = {} if rng.random() < 0.1 else model.random_frame(rng, types_of(layer), names)
        check.ops.frame(rng, frame)
        contents.add(frame)
        if rng.random() < 0.3:
            check.ops.commit(rng)
    check.ops.ask("close")
    problems = check.everyone(path, contents) + check.program(path, contents)
    if check.count(f"(b) {number}", problems) and number < 60 and not checksums:
        check.keep(f"b{number:02}.gsd", path, contents)


def golden_is_read(check):
    with open(os.path.join(check.args.golden, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    for name, entry in sorted(expected.items()):
        path = os.path.join(check.args.golden, name)
        has_text = any(chunk["type"] == "character" for chunk in entry.get("chunks", []))
        if entry["kind"] == "valid" and not (IS_OLD and has_text):
            contents = read_contents(check, path, entry)
            check.count(f"(b) {name}", check.everyone(path, contents))


def read_contents(check, path, entry):
    """A golden file, by striae; other tests compare that with its checksums."""
    listed = json.loads(check.ops.ask("list", path))
    contents = Contents([bytes.fromhex(name).decode() for name in listed["names"]])
    contents.frames = [{} for _ in range(entry["nframes"])]
    for chunk in listed["chunks"]:
        value = (chunk["type"], chunk["N"], chunk["M"], bytes.fromhex(chunk["bytes"]))
        contents.frames[chunk["frame"]][bytes.fromhex(chunk["name"]).decode()] = value
    return contents


# ---- (c) ----

STARTS = ["v10_empty", "v10_unsorted_ids", "v20_hoomd14", "v21_index_129", "v21_names_70", "v21_zero_size"]


class Turns:
    """One file that is written in turns."""

    def __init__(self, check, number):
        self.check = check
        self.rng = model.rng_of(check.args.seed, "turns", number)
        self.number = number
        self.path = check.path("c.gsd")
        self.names = model.random_names(self.rng)
        self.contents = Contents()
        self.maybe = None  # names that may be there: of frames that were left open, or not committed
        self.layer = "2.1"
        self.acts = []
        self.readers = {}

    def start(self):
        choice = self.rng.random()
        if choice < 0.3:
            with gsd.fl.open(self.path, "w", application="gsd", schema="none", schema_version=[1, 2]):
                self.acts.append("gsd creates")
        elif choice < 0.5:
            name = self.rng.choice(STARTS)
            source = os.path.join(self.check.args.golden, name + ".gsd")
            with open(os.path.join(self.check.args.golden, "expected.json"), encoding="utf-8") as file:
                entry = json.load(file)[name + ".gsd"]
            self.contents = read_contents(self.check, source, entry)
            shutil.copy(source, self.path)
            self.layer = "{}.{}".format(*entry["gsd_version"])
            self.acts.append(name)
        else:
            self.layer, _ = create(self.check, self.rng, self.path)
            self.acts.append(f"striae creates {self.layer}")
            self.check.ops.ask("close")

    def frame(self):
        return model.random_frame(self.rng, types_of(self.layer), self.names)

    def lost(self, frame):
        """Names whose chunks are not in the file, while they may be."""
        self.maybe = (self.maybe or set()) | {name for name in frame if name not in self.contents.names}

    def gsd_turn(self):
        file = gsd.fl.open(self.path, "r+")
        if self.layer[0] == "2":
            self.layer = "2.0" if IS_OLD else "2.1"
        with file:
            if self.rng.random() < 0.1:
                file.upgrade()
                self.layer = "2.0" if IS_OLD else "2.1"
                self.acts.append("gsd upgrades")
            frames = [self.frame() for _ in range(self.rng.choice([0, 1, 1, 2, 5, 30]))]
            empty = self.rng.choice([0, 0, 0, 1, 3])
            behind = len(self.contents.trimmed()) + empty + len(frames)
            if not model.can_end_empty(self.path, behind - 1, min(map(len, frames), default=0)):
                empty = 0
            # Frames without chunks at the end of the file were forgotten when it was closed.
            self.contents.frames = self.contents.trimmed()
            for frame in [{}] * empty + frames:
                model.write_gsd(file, frame)
                file.end_frame()
                self.contents.add(frame)
                if self.rng.random() < 0.3 and (frame or not empty):
                    file.flush()
            self.acts.append(f"gsd appends {empty} + {[len(frame) for frame in frames]}")
            if self.rng.random() < 0.2:
                frame = self.frame()
                model.write_gsd(file, frame)  # and does not end it
                self.lost(frame)
                self.acts.append("and leaves a frame open")

    def striae_turn(self):
        ops = self.check.ops
        ops.ask("open", self.path, memory(self.rng))
        self.contents.frames = self.contents.trimmed()
        if self.rng.random() < 0.1:
            ops.ask("upgrade")
            self.layer = "2.1" if self.layer[0] == "1" else self.layer
            self.acts.append("striae upgrades")
        committed = self.contents.copy()
        count = self.rng.choice([0, 1, 1, 2, 5, 30])
        for _ in range(count):
            frame = {} if self.rng.random() < 0.1 else self.frame()
            ops.frame(self.rng, frame)
            self.contents.add(frame)
            if self.rng.random() < 0.3:
                ops.commit(self.rng)
                committed = self.contents.copy()
        self.acts.append(f"striae appends {count}")
        if self.rng.random() < 0.3:
            frame = self.frame()
            ops.write(self.rng, frame)
            left, self.contents = self.contents, committed
            for frame in [*left.frames, frame]:
                self.lost(frame)
            ops.ask("drop")
            self.acts.append("and dies")
        else:
            ops.ask(self.rng.choice(["close", "commit"]))
            self.acts.append("and ends")

    def truncate(self):
        if self.rng.random() < 0.5:
            with gsd.fl.open(self.path, "r+") as file:
                file.truncate()
            self.layer = "2.0" if IS_OLD else "2.1"
            self.acts.append("gsd truncates")
        else:
            self.check.ops.ask("open", self.path, memory(self.rng))
            self.check.ops.ask("truncate")
            self.check.ops.ask("close")
            self.acts.append("striae truncates")
        self.contents, self.maybe = Contents(), None
        self.close_readers()

    def close_readers(self):
        for reader, _, _ in self.readers.values():
            reader.close()
        self.readers = {}

    def read(self):
        """What readers say otherwise, those that are new and those that were open."""
        problems = self.check.everyone(self.path, self.contents, self.maybe)
        for name, (reader, contents, maybe) in self.readers.items():
            told = model.read_gsd(reader, name, contents, maybe)
            problems += [f"{problem} (it was open before)" for problem in told]
        self.close_readers()
        if not problems:
            for name, reader in model.open_readers(self.path).items():
                self.readers[name] = (reader, self.contents.copy(), self.maybe)
        return problems

    def run(self):
        problems = []
        try:
            self.start()
            problems = self.read()
            for _ in range(self.rng.choice([2, 4, 8])):
                if problems:
                    break
                turn = self.rng.random()
                if turn < 0.45:
                    self.gsd_turn()
                elif turn < 0.95:
                    self.striae_turn()
                else:
                    self.truncate()
                problems = self.read()
            if not problems and self.number % 20 == 0:
                problems = self.check.program(self.path, self.contents)
        except Exception as error:  # of any kind: it is to be reported
            problems.append(repr(error))
        self.close_readers()
        what = f"(c) {self.number}: {'; '.join(self.acts)}"
        if not self.check.count(what, problems) and self.check.args.keep:
            shutil.copy(self.path, os.path.join(self.check.args.keep, f"failed{self.number}.gsd"))


def empty_frames(check):
    """Frames without chunks that gsd appends: a file of striae bears as many as one of gsd's own."""
    for before in (0, 1, 3, 200):
        for empty in (1, 3, 60, 120):
            rng = model.rng_of(check.args.seed, "empty frames", before, empty)
            path, contents = check.path("c.gsd"), Contents()
            check.ops.ask("create", path, "2.1", 1, 0, 128, 128, 1024, 16)
            for _ in range(before):
                frame = {"a": model.random_chunk(rng, TYPES)}
                check.ops.write(rng, frame)
                check.ops.ask("end_frame")
                contents.add(frame)
            check.ops.ask("close")
            with gsd.fl.open(path, "r+") as file:
                for frame in [{}] * empty + [{"a": model.random_chunk(rng, TYPES)}]:
                    model.write_gsd(file, frame)
                    file.end_frame()
                    contents.add(frame)
            check.count(f"(c) {empty} empty frames behind {before}", check.everyone(path, contents))


# ---- main ----


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=1000, metavar="N")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one program of (c)")
    parser.add_argument("--seed", type=int, default=1, metavar="S")
    parser.add_argument("--parser", metavar="DIR", help="folder of the generated gsd.py")
    parser.add_argument("--keep", metavar="DIR", help="where to leave files")
    parser.add_argument("ops", metavar="OPS")
    parser.add_argument("striae", metavar="STRIAE")
    parser.add_argument("golden", metavar="GOLDEN")
    args = parser.parse_args()
    # gsd syncs for every flush; nothing here is ever cut.
    memory_fs = "/dev/shm" if os.path.isdir("/dev/shm") else None
    with tempfile.TemporaryDirectory(dir=memory_fs) as folder:
        check = Check(args, folder)
        if args.only is None:
            for number in range(100):
                gsd_writes(check, number)
                striae_writes(check, number)
            golden_is_read(check)
            empty_frames(check)
        for number in range(args.programs) if args.only is None else [args.only]:
            Turns(check, number).run()
        check.ops.end()
    if args.keep:
        with open(os.path.join(args.keep, "expected.json"), "w", encoding="utf-8") as file:
            json.dump(check.kept, file)
    print(f"{check.passed} passed, {check.failed} failed")
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
