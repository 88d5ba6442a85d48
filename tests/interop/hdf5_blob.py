#!/usr/bin/env python3
"""Reads containers that striae writes with h5py, h5ls and h5dump.

    hdf5_blob.py FOLDER

FOLDER is tests/golden/hdf5. Its files written_*.h5 have the bytes that striae's encoder makes, as a test of core asserts.
Each must have the two datasets `header_blob` and `data_blob`, whose bytes are those at the end of the file. The last
line says how many comparisons passed and failed; the exit status is 1 if one failed.
"""

import glob
import os
import re
import subprocess
import sys

import h5py


def by_h5py(path):
    with h5py.File(path, "r") as file:
        found = {name: file[name][()].tobytes() for name in file}
        types = {(file[name].dtype.str, file[name].ndim) for name in file}
    return found, types == {("|u1", 1)}


def by_h5ls(path):
    text = subprocess.run(["h5ls", path], check=True, capture_output=True, text=True).stdout
    return dict((name, int(size)) for name, size in re.findall(r"^(\w+) +Dataset \{(\d+)\}", text, re.M))


def by_h5dump(path, name):
    command = ["h5dump", "-d", name, "-o", "/dev/stdout", "-b", "FILE", "--enable-error-stack", path]
    done = subprocess.run(command, capture_output=True, check=False)
    return done.returncode == 0 and b"error" not in done.stderr.lower()


def main():
    passed = failed = 0

    def check(what, is_right):
        nonlocal passed, failed
        passed, failed = passed + is_right, failed + (not is_right)
        if not is_right:
            print("wrong:", what)

    for path in sorted(glob.glob(os.path.join(sys.argv[1], "written_*.h5"))):
        with open(path, "rb") as file:
            raw = file.read()
        found, is_plain = by_h5py(path)
        check(f"{path}: names", set(found) == {"header_blob", "data_blob"})
        check(f"{path}: types", is_plain)
        check(f"{path}: bytes", raw[512:] == found.get("header_blob", b"") + found.get("data_blob", b""))
        check(f"{path}: h5ls", by_h5ls(path) == {name: len(found[name]) for name in found})
        for name in found:
            check(f"{path}: h5dump {name}", by_h5dump(path, name))
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed != 0)


main()
