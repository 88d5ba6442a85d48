"""Compares lines that nothing reaches with those that spec/coverage.tsv explains.

    coverage.py LCOV            fails for a range of lines without a row, and for a row whose lines are reached now
    coverage.py LCOV --missing  prints rows for ranges that have none, with `?` as the reason

A line with a comment `// never: ...` explains itself. A row names its range by the file, the sum of the text of its
lines, and the first of them, for people: it stays right when code above it moves, and is wrong when the lines change.
A row with `rule` in place of the sum is of all lines of the files that begin with its path whose text its expression
matches as a whole, for what has one reason in many places.
"""

import hashlib
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXPLAINED = ROOT / 'spec' / 'coverage.tsv'
SOURCES = ['core/src', 'core/inspect/src']
LEAST = 97.0  # per cent of the lines of each


def counts(lcov):
    """How often each line was reached, of the files that count."""
    files, lines = {}, {}
    for text in Path(lcov).read_text().splitlines():
        kind, _, value = text.partition(':')
        if kind == 'SF':
            path = Path(value)
            place = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ''
            lines = files.setdefault(place, {}) if place.startswith(tuple(f'{source}/' for source in SOURCES)) else {}
        elif kind == 'DA':
            line, count = value.split(',')[:2]
            lines[int(line)] = lines.get(int(line), 0) + int(count)
    return files


def ranges(lines, text):
    """Lines that were not reached and follow one another; lines without code do not part them, empty ones do."""
    found, last = [], None
    for line in sorted(lines):
        if lines[line]:
            last = None
            continue
        if last is not None and all(between.strip() for between in text[last:line - 1]):
            found[-1][1] = line
        else:
            found.append([line, line])
        last = line
    return found


def is_explained_there(text, first, last):
    """Whether the code says itself, at the range's only line, why it is never reached."""
    return first == last and '// never' in text[first - 1]


class Rule:
    """The lines of the files whose path begins so that an expression matches."""

    def __init__(self, row):
        self.start, _, expression, _ = row
        self.expression = re.compile(expression)
        self.is_used = False

    def explains(self, place, line):
        if place.startswith(self.start) and self.expression.fullmatch(line.strip()):
            self.is_used = True
            return True
        return False


def key(place, text, first, last):
    lines = [line.strip() for line in text[first - 1:last]]
    return place, hashlib.sha256('\n'.join(lines).encode()).hexdigest()[:8], lines[0].replace('\t', ' ')


def main():
    files = counts(sys.argv[1])
    rows = [line.split('\t') for line in EXPLAINED.read_text().splitlines()[1:]]
    wrong = [f'{EXPLAINED.name}: no reason: {row}' for row in rows if len(row) != 4 or len(row[3]) < 5]
    rules = [Rule(row) for row in rows if row[1] == 'rule']
    rows = [row for row in rows if row[1] != 'rule']
    explained = {tuple(row[:2]): row for row in rows}
    wrong += [f'{EXPLAINED.name}: two rows are {row}' for row in rows if explained[tuple(row[:2])] is not row]
    seen, missing = set(), []
    for place, lines in sorted(files.items()):
        text = (ROOT / place).read_text().splitlines()
        others = {line: count for line, count in lines.items()
                  if count or not any(rule.explains(place, text[line - 1]) for rule in rules)}
        for first, last in ranges(others, text):
            if is_explained_there(text, first, last):
                continue
            row = key(place, text, first, last)
            seen.add(row[:2])
            if row[:2] not in explained:
                missing.append((f'{place}:{first}-{last}', row))
    if '--missing' in sys.argv:
        for row in dict.fromkeys(row for _, row in missing):
            print('\t'.join([*row, '?']))
        return 0
    for source in SOURCES:
        of_source = [lines for place, lines in files.items() if place.startswith(f'{source}/')]
        every = sum(len(lines) for lines in of_source)
        reached = sum(count > 0 for lines in of_source for count in lines.values())
        percent = 100 * reached / max(every, 1)
        print(f'{source}: {reached} of {every} lines, {percent:.2f} %')
        if percent < LEAST:
            wrong.append(f'{source}: less than {LEAST} %')
    wrong += [f'{place} is not reached: {row[2]}' for place, row in missing]
    wrong += [f'{EXPLAINED.name}: is reached, or other lines now: {place}: {row[2]}'
              for (place, number), row in explained.items() if (place, number) not in seen]
    wrong += [f'{EXPLAINED.name}: explains nothing: {rule.start}: {rule.expression.pattern}'
              for rule in rules if not rule.is_used]
    print('\n'.join(wrong))
    print(f'{len(missing)} ranges are not explained, {len(explained)} are')
    return 1 if wrong else 0


sys.exit(main())
