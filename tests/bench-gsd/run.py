#!/usr/bin/env python3
"""Speed of striae against that of the gsd library, and of plain writes of as many bytes.

    run.py [--turns N] [--scale F] [--only PART] DRIVER SPEED FOLDER...

All cases, or a PART of them (writes, reads, uneven), with files in each FOLDER.

DRIVER is driver.c compiled with gsd.c; SPEED is `cargo build --release -p striae-tests --example gsd_speed`.
The programs take turns, so that a noisy machine disturbs all of them, and another one begins each turn, as
what ran before leaves warm memory behind. Plain writes are made twice: what the second ones are of the first
says what the other ratios can be trusted for. Printed are medians, and those of the
ratios of one turn; `cpu` is that of the time that processors worked, which other programs disturb less.
--scale makes all cases shorter or longer.
"""

import argparse
import os
import statistics
import subprocess
import tempfile

# Name, frames in memory, frames on a disk, unit, and how many units a second of a frame is worth.
WRITES = [
    ("small", "3 chunks of 10 rows, closed once", 200_000, 200_000, "k frames/s", 1e-3),
    ("small-100", "the same, committed each 100 frames", 100_000, 20_000, "k frames/s", 1e-3),
    ("small-1", "the same, committed each frame", 50_000, 400, "frames/s", 1),
    ("small_one_sync-1", "the same, ours with one sync", 50_000, 400, "frames/s", 1),
    ("large", "12 MB frames, closed once", 40, 40, "MB/s", 12),
    ("large-1", "12 MB frames, committed each frame", 40, 40, "MB/s", 12),
]
READS = [
    ("open", "open", 200),
    ("find", "find in a random frame", 200_000),
    ("find-next", "find in the next frame", 200_000),
    ("read", "find in a random frame and read 4 B", 100_000),
]
UNEVEN = [
    ("find", "find in a random frame of 1 to 7 chunks", 200_000),
    ("find-next", "find in the next frame of 1 to 7 chunks", 200_000),
]
MEMORY = [("memory", "open"), ("memory-find", "open and find")]
ENTRIES = 10_000_000


def seconds(*command):
    """What it says that one of what it does takes, and what processors worked for all of them."""
    with subprocess.Popen([*map(str, command)], stdout=subprocess.PIPE, text=True) as program:
        output = program.stdout.read()
        _, status, used = os.wait4(program.pid, 0)
        program.returncode = os.waitstatus_to_exitcode(status)
    if program.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed ({program.returncode})")
    return float(output), used.ru_utime + used.ru_stime


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


def median(pairs, index=0):
    return statistics.median(pair[index] for pair in pairs)


def ratio(of, to, index=0):
    """How many times faster the second is, as the median of all turns."""
    return statistics.median(a[index] / max(b[index], 1e-12) for a, b in zip(of, to))


def row(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def writes(arguments, folder, is_memory):
    path = os.path.join(folder, "written")
    for case, text, in_memory, on_disk, unit, worth in WRITES:
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
            "again": program(arguments.driver, "raw"),
        }
        taken = turns(programs, arguments.turns, clean)
        clean()
        speeds = [f"{worth / median(taken[name]):.4g}" for name in ("gsd", "ours", "raw")]
        ratios = [f"{ratio(taken[name], taken['ours']):.2f}" for name in ("gsd", "raw")]
        ratios.append(f"{ratio(taken['raw'], taken['again']):.2f}")
        cpu = f"{ratio(taken['gsd'], taken['ours'], 1):.2f}"
        row([f"{text}, {unit}", *speeds, *ratios, cpu])


def make(arguments, paths, case, frames):
    """A file of each of the programs."""
    for of, program in (("gsd", [arguments.driver, "gsd"]), ("ours", [arguments.speed])):
        subprocess.run([*program, case, paths[of], str(frames)], check=True)


def finds(arguments, paths, cases, entries):
    for case, text, count in cases:
        for of in ("gsd", "ours"):
            programs = {
                "gsd": lambda: seconds(arguments.driver, "gsd", case, paths[of], count),
                "ours": lambda: seconds(arguments.speed, case, paths[of], count),
            }
            taken = turns(programs, arguments.turns, lambda: None)
            speeds = [f"{median(taken[name]) * 1e6:.3g}" for name in ("gsd", "ours")]
            cpu = f"{ratio(taken['gsd'], taken['ours'], 1):.2f}"
            faster = f"{ratio(taken['gsd'], taken['ours']):.2f}"
            row([f"{text}, {entries:.0e} entries, file of {of}, us", *speeds, "", faster, "", "", cpu])


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
        subprocess.run([*program[of], "make", f"{path}.small", "1000"], check=True)
        for case, text in MEMORY:
            taken = {name: seconds(*command, case, path, 1)[0] for name, command in program.items()}
            kib = [f"{taken[name]:.0f}" for name in ("gsd", "ours")]
            less = f"{taken['gsd'] / max(taken['ours'], 1):.0f}"
            row([f"{text}, {entries:.0e} entries, file of {of}, KiB of memory", *kib, "", less, "", "", ""])
        os.remove(f"{path}.small")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--turns", type=int, default=11)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--only", choices=["writes", "reads", "uneven"])
    parser.add_argument("driver")
    parser.add_argument("speed")
    parser.add_argument("folder", nargs="+")
    arguments = parser.parse_args()
    for folder in arguments.folder:
        kind = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True).stdout.strip()
        with tempfile.TemporaryDirectory(dir=folder) as inside:
            print(f"\n{kind}, medians of {arguments.turns} turns\n")
            row(["what", "gsd", "ours", "raw", "ours/gsd", "ours/raw", "raw/raw", "ours/gsd, cpu"])
            row(["---"] * 8)
            if arguments.only in (None, "writes"):
                writes(arguments, inside, kind == "tmpfs")
            if arguments.only != "writes":
                reads(arguments, inside)


main()
