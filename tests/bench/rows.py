"""Rows of the table of benches: ours and a named baseline take turns, and a row has the median of the ratios of their
times, and the range of their middle half, as `std-adapter/benches/table` prints them. Below 1 is faster."""

import os
import subprocess


def head():
    print("| what | baseline | ours / baseline, median | range |")
    print("|---|---|---|---|", flush=True)


def row(what, baseline, ratios):
    """A row of the ratios of all turns."""
    ordered = sorted(ratios)
    low, median, high = (ordered[(len(ordered) - 1) * quarter // 4] for quarter in (1, 2, 3))
    print(f"| {what} | {baseline} | {median:.2f} | {low:.2f} to {high:.2f} |", flush=True)


def kind(folder):
    """The file system of a folder, such as tmpfs."""
    return run("stat", "-f", "-c", "%T", folder).strip()


def run(*command, **environment):
    """What a program prints; it must succeed."""
    environment = {**os.environ, **environment}
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, text=True, check=False, env=environment)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))} failed ({done.returncode})")
    return done.stdout
