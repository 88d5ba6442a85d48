"""Speed of ranks that write together, against other ways to write as many bytes.

    mpi.py [--turns N] MPIEXEC LAB FOLDER

LAB is `striae-mpi-lab`, built for the MPI of MPIEXEC. In a turn all ways of a bench write once; the time is that of
the slowest rank. On a file system in memory syncs cost nothing, so commits are measured on others only.
"""

import argparse
import json
import os
import tempfile

import rows

A_FILE_EACH, PLAIN = "a file a rank, buffer of 4 KiB", "plain writes of as many bytes"
# What is measured, ranks, options, baseline, and the ways beside it. The baseline is the first way.
IN_MEMORY = [
    *(("open and close", ranks, ["write", "--bytes", "0"], "stdio", ["alone"]) for ranks in (2, 8, 32)),
    ("64 B records", 8, ["write", "--size", "64", "--bytes", "4194304"], "stdio", ["buffer"]),
    ("4 KiB records", 8, ["write", "--size", "4096"], "stdio", ["buffer"]),
    ("64 KiB in 64 B", 8, ["write", "--size", "64", "--bytes", "65536"], "stdio", ["coll"]),
    ("1 MiB in 4 KiB", 8, ["write", "--size", "4096", "--bytes", "1048576"], "stdio", ["coll"]),
]
ANYWHERE = [("F case", 8, ["blob"], "pwrite", ["cdf", "hdf5"])]
ON_DISK = [
    ("commit of a record a rank", ranks, ["commit", "--commits", "20"], first, ["meet", "set"])
    for ranks in (8, 64)
    for first in ("once", "twice")
]
SAY = {"stdio": A_FILE_EACH, "pwrite": PLAIN, "once": "one write, one sync", "twice": "two writes, two syncs"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("mpiexec")
    parser.add_argument("lab")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    cases = ANYWHERE + (IN_MEMORY if rows.kind(arguments.folder) == "tmpfs" else ON_DISK)
    start = [arguments.mpiexec, "--oversubscribe", *["--allow-run-as-root"][: os.getuid() == 0], "-n"]
    rows.head()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as inside:
        for what, ranks, options, first, others in cases:
            named = [part for way in (first, *others) for part in ("--way", way)]
            bench = [arguments.lab, "bench", *options, *named, "--turns", arguments.turns, "--json", inside]
            ways = json.loads(rows.run(*start, ranks, *bench))["ways"]
            for way in ways[1:]:
                rows.row(f"{ranks} ranks, {what}: {way['name']}", SAY[first], way["over_first"])


main()
