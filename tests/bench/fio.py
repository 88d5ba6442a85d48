"""Speed of reads past the page cache, against those of fio by the same calls.

    fio.py [--turns N] STRIAE FOLDER

STRIAE is the program. The file has 1 GiB and is made in FOLDER, which must be on a disk. Both read as much in a turn,
at random or in order, with as many reads under way, and take turns.
"""

import argparse
import json
import os
import tempfile

import rows

LEN = 1 << 30
# What is measured, length of a read, how many are under way, and how many a turn has.
CASES = [("4 KiB at random", 4 << 10, 64, 1 << 16), ("1 MiB in order", 1 << 20, 32, 1 << 10)]
# The ways of striae, and what fio is told to do the same.
WAYS = [("ring", "io_uring", []), ("registered", "io_uring with registered buffers", ["--fixedbufs=1"])]


def fio(path, size, depth, count, more):
    """Bytes a second."""
    at_random = size < 1 << 20
    job = ["--name=reads", f"--filename={path}", "--ioengine=io_uring", "--direct=1", f"--bs={size}", *more]
    job += [f"--iodepth={depth}", f"--rw={'randread' if at_random else 'read'}", f"--io_size={size * count}"]
    job += [f"--size={LEN}", "--randrepeat=0", "--norandommap=1", "--thread", "--output-format=json"]
    return json.loads(rows.run("fio", *job))["jobs"][0]["read"]["bw_bytes"]


def striae(program, path, size, depth, count, way, seed):
    """Bytes a second."""
    how = ["--align", size, "--stream"] if size < 1 << 20 else ["--sequential"]
    how += ["--depth", depth, "--size", size, "--count", count, "--rung", way, "--seed", seed, "--turns", 1]
    said = json.loads(rows.run(program, "bench", "read", *how, "--json", path))
    return said["ways"][0]["mib_per_s"]["median"] * (1 << 20)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("striae")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    rows.head()
    with tempfile.TemporaryDirectory(dir=arguments.folder) as inside:
        path = os.path.join(inside, "bytes")
        with open(path, "wb") as file:
            for _ in range(LEN >> 20):
                file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
        for what, size, depth, count in CASES:
            for way, name, more in WAYS:
                ratios = []
                for turn in range(arguments.turns):
                    measures = [
                        lambda: fio(path, size, depth, count, more),
                        lambda: striae(arguments.striae, path, size, depth, count, way, turn + 1),
                    ]
                    speeds = {at: measures[at]() for at in ((0, 1) if turn % 2 else (1, 0))}
                    ratios.append(speeds[0] / speeds[1])
                rows.row(f"direct reads of {what}, {depth} at once, {name}", f"fio, {name}", ratios)


main()
