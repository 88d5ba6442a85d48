#!/usr/bin/env python3
"""Reads ffrecord files through spec/ksy/ffrecord.ksy and compares what it says with others.

    ffrecord_ksy.py [--parser DIR] STRIAE FOLDER      compare with FOLDER/expected.json and with the program STRIAE

FOLDER is tests/golden/ffrecord. Each file is read by the generated parser. From the parsed structure alone comes a
list of samples, which is compared with

  (a) expected.json, which says what was written, and
  (b) `striae ls --json FILE` and `striae cat FILE sample/I`.

Checksums are compared with CRCs that are computed here. Of damaged files it is stated below which must be refused.
Then the samples of each sound file are packed anew by `striae pack`, which must give the same file.

For --parser, the output and the exit status see sion_ksy.py.
"""

import argparse
import io
import json
import os
import sys
import tempfile
import zlib

from ksy import Program, Tally, differ, load, sha256

# Damaged golden files whose tables are in order: only checksums tell.
IN_ORDER = {
    "bad_checksum_byte.ffr": ["tables", 0],
    "bad_cut_in_last.ffr": [2],
    "bad_sample_byte.ffr": [2],
}


class File:
    """One file, parsed."""

    def __init__(self, kaitai, path):
        self.path = path
        with open(path, "rb") as file:
            self.bytes = file.read()
        self.parsed = kaitai.Ffrecord(kaitai.KaitaiStream(io.BytesIO(self.bytes)))

    def samples(self):
        """All samples in order."""
        for checksum, entry in zip(self.parsed.checksums, self.parsed.offsets):
            data = entry.data
            yield {"offset": entry.start, "bytes": len(data), "crc32": checksum, "sha256": sha256(data)}

    def wrong(self):
        """What has not the checksum that it should have."""
        parsed = self.parsed
        summed = zlib.crc32(self.bytes[4 : parsed.header_len])
        found = ["tables"] if parsed.checksum_meta not in (0, summed) else []
        for number, entry in enumerate(parsed.offsets):
            if zlib.crc32(entry.data) != parsed.checksums[number]:
                found.append(number)
        return found

    def listing(self):
        """What `striae ls --json` should print."""
        samples = [
            {"number": number, "address": f"sample/{number}"} | {key: value for key, value in sample.items() if key != "sha256"}
            for number, sample in enumerate(self.samples())
        ]
        meta_crc = self.parsed.checksum_meta or None
        return {"path": self.path, "format": "ffrecord", "samples": self.parsed.n, "meta_crc": meta_crc, "rows": samples}


def compare_expected(found, expected):
    problems = differ("size", len(found.bytes), expected["size"])
    problems += differ("sha256", sha256(found.bytes), expected["sha256"])
    problems += differ("n", found.parsed.n, expected["n"])
    problems += differ("checksum_meta", found.parsed.checksum_meta, expected["checksum_meta"])
    problems += differ("samples", list(found.samples()), expected["samples"])
    return problems + differ("what is wrong", found.wrong(), [])


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
        """`striae cat` of every sample, or of some of them if there are many."""
        problems, wrong = [], found.wrong()
        step = found.parsed.n // 40 + 1
        for number in range(0, found.parsed.n, step):
            done = self.run("cat", found.path, f"sample/{number}")
            problems += differ(f"exit status of cat {number}", done.returncode, int(number in wrong))
            problems += differ(f"cat {number}", sha256(done.stdout), sha256(found.parsed.offsets[number].data))
        return problems

    def compare_verdict(self, found):
        """`striae verify` finds what has the wrong checksum, and nothing else."""
        done = self.run("verify", "--json", found.path)
        report = json.loads(done.stdout)
        damage = [finding for finding in report["findings"] if finding["severity"] == "damage"]
        wrong = [finding.get("sample", "tables") for finding in damage]
        return differ("verify", wrong, found.wrong()) + differ("sound", report["sound"], not wrong)

    def compare_refused(self, path):
        """A damaged file: exit status 1, one line on stderr, and no crash."""
        done = self.run("ls", "--json", path)
        problems = differ("exit status of ls", done.returncode, 1)
        return problems + differ("lines on stderr", len(done.stderr.decode().splitlines()), 1)

    def compare_packed(self, found, folder):
        """The same samples, packed by striae, are the same file if ffrecord wrote it."""
        names = []
        for number, entry in enumerate(found.parsed.offsets):
            names.append(os.path.join(folder, f"sample{number}"))
            with open(names[-1], "wb") as file:
                file.write(entry.data)
        packed = os.path.join(folder, "packed.ffr")
        done = self.run("pack", "--format", "ffrecord", packed, *names)
        problems = differ("exit status of pack", done.returncode, 0)
        if problems:
            return problems
        with open(packed, "rb") as file:
            return differ("packed", sha256(file.read()), sha256(found.bytes))


def check_damaged(kaitai, tally, striae, path):
    """A golden file that somebody changed."""
    name = os.path.basename(path)
    if name not in IN_ORDER:
        tally.check(name, refusal(kaitai, path))
        tally.check(f"{name}: striae", striae.compare_refused(path))
        return
    found = File(kaitai, path)
    tally.check(name, differ("what is wrong", found.wrong(), IN_ORDER[name]))
    compare_program(tally, striae, name, found)


def compare_program(tally, striae, name, found):
    for problems in [striae.compare_listing(found), striae.compare_bytes(found), striae.compare_verdict(found)]:
        tally.check(f"{name}: striae", problems)


def check_valid(kaitai, tally, striae, path, expected):
    name = os.path.basename(path)
    found = File(kaitai, path)
    tally.check(name, compare_expected(found, expected))
    compare_program(tally, striae, name, found)
    if not name.startswith(("made_", "no_checksum")) and found.parsed.n:
        with tempfile.TemporaryDirectory() as folder:
            tally.check(f"{name}: striae", striae.compare_packed(found, folder))


def refusal(kaitai, path):
    """A list with one problem if the parser accepts the file."""
    try:
        list(File(kaitai, path).samples())
    except (kaitai.KaitaiStructError, EOFError):
        return []
    return ["is read, expected to be refused"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parser", metavar="DIR")
    parser.add_argument("striae", metavar="STRIAE")
    parser.add_argument("folder", metavar="FOLDER")
    args = parser.parse_args()

    kaitai, striae, tally = load("ffrecord", args.parser), Striae(args.striae), Tally()
    with open(os.path.join(args.folder, "expected.json"), encoding="utf-8") as file:
        expected = json.load(file)
    for name, wanted in sorted(expected.items()):
        path = os.path.join(args.folder, name)
        if "samples" in wanted:
            check_valid(kaitai, tally, striae, path, wanted)
        else:
            check_damaged(kaitai, tally, striae, path)
    print(f"{tally.passed} passed, {tally.failed} failed")
    if tally.passed + tally.failed == 0:
        return 2
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
