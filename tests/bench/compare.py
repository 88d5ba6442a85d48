"""Names the rows of a table of ratios that are worse than in an older one by more than their range.

    compare.py OLD NEW

A row is `| what | baseline | median | low to high |` below a heading that says which bench and file system it is
of; a smaller ratio is better. A row is worse if its median is more than the older row's high end, and the older
row's median less than its low end. Rows that only one table has are named, too, but are no failure.
"""

import re
import sys

ROW = re.compile(r"\| (.+) \| (.+) \| ([0-9.]+) \| ([0-9.]+) to ([0-9.]+) \|$")


def rows(lines):
    """The median, low and high of each row, by its heading, what it measures and its baseline."""
    found, heading, named = {}, "", ""
    for line in lines:
        line = line.strip()
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if row := ROW.match(line):
            what, baseline, *numbers = row.groups()
            if what.startswith("the same"):
                what = f"{named}; {what}"
            else:
                named = what
            found[heading, what, baseline] = tuple(float(number) for number in numbers)
    return found


def of_file(path):
    """The rows of a file."""
    with open(path, encoding="utf-8") as lines:
        return rows(lines)


def compare(old, new):
    """What is to be said, and the rows that are worse."""
    lines, worse = [], []
    for key in sorted(old.keys() | new.keys()):
        name = ": ".join(key[:2])
        if key not in new or key not in old:
            lines.append(f"only {'before' if key in old else 'now'}: {name}")
            continue
        (before, _, most), (now, least, _) = old[key], new[key]
        if now > most and before < least:
            worse.append(key)
            lines.append(f"worse: {name}: {now:.2f}, and it was {before:.2f} ({most:.2f} at most)")
    return lines, worse


def check():
    """A row within either range is no worse; one outside both is. "The same" gets a name."""
    old = {("a", "b", "c"): (1.0, 0.9, 1.1)}
    assert not compare(old, {("a", "b", "c"): (1.1, 1.05, 1.2)})[1]
    assert not compare(old, {("a", "b", "c"): (1.3, 0.8, 1.4)})[1]
    assert compare(old, {("a", "b", "c"): (1.3, 1.2, 1.4)})[1] == [("a", "b", "c")]
    assert not compare(old, {("a", "b", "c"): (0.5, 0.4, 0.6)})[1]
    table = ["## a", "| b | c | 1 | 0.5 to 2 |", "| the same | c | 3 | 2 to 4 |"]
    assert rows(table) == {("a", "b", "c"): (1, 0.5, 2), ("a", "b; the same", "c"): (3, 2, 4)}


if __name__ == "__main__":
    check()
    lines, worse = compare(of_file(sys.argv[1]), of_file(sys.argv[2]))
    print("\n".join(lines))
    sys.exit(bool(worse))
