#!/usr/bin/env python3
"""Speed of striae against that of the gsd library, and of plain writes of as many bytes.

    gsd.py [--turns N] [--scale F] [--only PART] DRIVER SPEED FOLDER

All cases, or a PART of them (writes, reads, uneven), with files in FOLDER.

DRIVER is driver.c compiled with gsd.c; SPEED is `cargo build --release -p striae-tests --example gsd_speed`.
The programs take turns, so that a noisy machine disturbs all of them, and another one begins each turn, as
what ran before leaves warm memory behind. Plain writes are made twice: what the second ones are of the first
says what the other ratios can be trusted for. --scale makes all cases shorter or longer.
"""

import argparse
import os
import tempfile

import rows

# Name, frames in memory, frames on a disk.
WRITES = [
    ("small", "GSD, 3 chunks of 10 rows a frame, closed once", 200_000, 200_000),
    ("small-100", "GSD, 3 chunks of 10 rows a frame, committed each 100 frames", 100_000, 20_000),
    ("small-1", "GSD, 3 chunks of 10 rows a frame, committed each frame", 50_000, 400),
    ("small_one_sync-1", "GSD, 3 chunks of 10 rows a frame, committed each frame, ours with one sync", 50_000, 400),
    ("large", "GSD, frames of 12 MB, closed once", 40, 40),
    ("large-1", "GSD, frames of 12 MB, committed each frame", 40, 40),
]
READS = [
    ("open", "GSD, open", 200),
    ("find", "GSD, find in a random frame", 200_000),
    ("find-next", "GSD, find in the next frame", 200_000),
    ("read", "GSD, find in a random frame and read 4 B", 100_000),
]
UNEVEN = [
    ("find", "GSD, find in a random frame of 1 to 7 chunks", 200_000),
    ("find-next", "GSD, find in the next frame of 1 to 7 chunks", 200_000),
]
MEMORY = [("memory", "GSD, open"), ("memory-find", "GSD, open and find")]
ENTRIES = 10_000_000


def seconds(*command):
    """What a program says that one of what it does takes."""
    return float(rows.run(*command))


def turns(programs, count, prepare):
    """What each of the programs took, turn by turn."""
    taken = {name: [] for name in programs}
    order = list(programs)
    for _ in range(count):
        for name in order:
            prepare()
            taken[name].append(programs[name]())
        order.append(order.pop(0))
    return taken


def ratios(ours, base):
    return [our / max(other, 1e-12) for our, other in zip(ours, base)]


def writes(arguments, folder, is_memory):
    path = os.path.join(folder, "written")
    for case, text, in_memory, on_disk in WRITES:
        count = max(2, int((in_memory if is_memory else on_disk) * arguments.scale))

        def clean():
            if os.path.exists(path):
                os.remove(path)
            if not is_memory:
                os.sync()

        def program(*command):
            return lambda: seconds(*command, case, path, count)

        programs = {
            "gsd": program(arguments.driver, "gsd"),
            "ours": program(arguments.speed),
            "raw": program(arguments.driver, "raw"),
            "batch": program(arguments.driver, "batch"),  # the limit, if a commit has several frames
            "again": program(arguments.driver, "raw"),
        }
        taken = turns(programs, arguments.turns, clean)
        clean()
        rows.row(text, "gsd 5.0.1", ratios(taken["ours"], taken["gsd"]))
        rows.row(text, "plain writes of as many bytes", ratios(taken["ours"], taken["raw"]))
        if case in ("small", "small-100"):
            together = "plain writes of the frames of a commit together"
            rows.row(text, together, ratios(taken["ours"], taken["batch"]))
        rows.row(f"{text}: plain writes again", "plain writes of as many bytes", ratios(taken["again"], taken["raw"]))


def make(arguments, paths, case, frames):
    """A file of each of the programs."""
    for of, program in (("gsd", [arguments.driver, "gsd"]), ("ours", [arguments.speed])):
        rows.run(*program, case, paths[of], frames)


def finds(arguments, paths, cases, entries):
    for case, text, count in cases:
        for of in ("gsd", "ours"):
            programs = {
                "gsd": lambda: seconds(arguments.driver, "gsd", case, paths[of], count),
                "ours": lambda: seconds(arguments.speed, case, paths[of], count),
            }
            taken = turns(programs, arguments.turns, lambda: None)
            rows.row(f"{text}, {entries:.0e} entries, a file of {of}", "gsd 5.0.1", ratios(taken["ours"], taken["gsd"]))


def reads(arguments, folder):
    entries = max(1000, int(ENTRIES * arguments.scale))
    paths = {name: os.path.join(folder, name) for name in ("gsd", "ours")}
    if arguments.only != "uneven":
        make(arguments, paths, "make", entries)
        finds(arguments, paths, READS, entries)
        memory(arguments, paths, entries)
    if arguments.only != "reads":
        make(arguments, paths, "make-uneven", entries // 4)  # 4 chunks a frame, on average
        finds(arguments, paths, UNEVEN, entries)
    for path in paths.values():
        os.remove(path)


def memory(arguments, paths, entries):
    for of, path in paths.items():
        program = {"gsd": [arguments.driver, "gsd"], "ours": [arguments.speed]}
        rows.run(*program[of], "make", f"{path}.small", 1000)
        for case, text in MEMORY:
            kib = {name: seconds(*command, case, path, 1) for name, command in program.items()}
            print(f"| {text}, a file of {of}: memory, and {kib['gsd']:.0f} KiB of gsd | | {kib['ours']:.0f} KiB | |")
        os.remove(f"{path}.small")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--only", choices=["writes", "reads", "uneven"])
    parser.add_argument("driver")
    parser.add_argument("speed")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    is_memory = rows.kind(arguments.folder) == "tmpfs"
    with tempfile.TemporaryDirectory(dir=arguments.folder) as inside:
        rows.head()
        if arguments.only in (None, "writes"):
            writes(arguments, inside, is_memory)
        if arguments.only != "writes" and is_memory:
            reads(arguments, inside)  # of a file in the page cache: no file system is asked


main()
