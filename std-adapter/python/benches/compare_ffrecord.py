"""Time of ffrecord's Python reader divided by that of striae.direct.Samples, for the same random samples of the same
file in the same run: above 1, striae is faster.

    python compare_ffrecord.py [FOLDER]

Each row is the median of the ratios of several rounds; in each round, the two take turns, and read other samples in
batches of 64. "Cold" means that the page cache has nothing of the file before each turn: striae reads past the cache,
and ffrecord, which does so only on the file system of its authors, through it. "Warm" means that all is in the cache,
and that striae is told to read through it (direct=False). Needs the package ffrecord 1.4.0, which its authors publish as
source only: PYTHONPATH may lead to it.
"""

import os
import statistics
import sys
import tempfile
import time

import ffrecord
import numpy

import striae.direct

ROUNDS = 11
BATCH = 64


def write(path, count, size):
    """Writes samples with ffrecord's own writer."""
    random = numpy.random.default_rng(1)
    writer = ffrecord.FileWriter(path, count)
    for _ in range(count):
        writer.write_one(random.integers(0, 256, size, dtype=numpy.uint8))
    writer.close()


def batches(random, count, number):
    """Batches of random samples, none twice in a batch."""
    return [random.choice(count, BATCH, replace=False).tolist() for _ in range(number)]


def forget(path):
    """Drops the pages of a file from the page cache."""
    with open(path, 'rb') as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def seconds(read, all_batches, path, cold):
    if cold:
        forget(path)
    start = time.perf_counter()
    for batch in all_batches:
        read(batch)
    return time.perf_counter() - start


def row(name, path, shape, number, cold, checked):
    count, size = shape
    random = numpy.random.default_rng(2)
    theirs = ffrecord.FileReader(path, check_data=checked)
    own = striae.direct.Samples(path, direct=cold, checked=checked)
    out = numpy.empty((BATCH, size), dtype=numpy.uint8)

    def read(batch):
        return own.read(batch, out=out)

    first = batches(random, count, 1)[0]
    assert all((a == b).all() for a, b in zip(theirs.read(first), read(first), strict=True)), 'equal bytes'
    all_ratios = {'one array for each sample': own.__getitems__, 'one array of all, used again': read}
    for what, act in all_ratios.items():
        ratios = []
        for turn in range(ROUNDS):
            chosen = batches(random, count, number)
            acts = [theirs.read, act] if turn % 2 else [act, theirs.read]
            one, other = (seconds(each, chosen, path, cold) for each in acts)
            ratios.append(one / other if turn % 2 else other / one)
        middle = statistics.median(ratios)
        print(f'{name + ", " + what:64} {middle:6.2f}   {min(ratios):6.2f} to {max(ratios):.2f}', flush=True)
    theirs.close()


def main():
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as folder:
        print(f'{"ffrecord / striae":64} median   range of {ROUNDS}')
        for name, count, size, number in [
            ('4 KiB', 16384, 4096, 64),
            ('100 KB', 2048, 100_000, 16),
            ('1 MiB', 512, 1 << 20, 4),
        ]:
            path = os.path.join(folder, f'{size}.ffr')
            write(path, count, size)
            for checked in [False, True]:
                for cold in [True, False]:
                    words = f'{name}, {"cold" if cold else "warm"}{", checked" if checked else ""}'
                    row(words, path, (count, size), number, cold, checked)
            os.remove(path)


if __name__ == '__main__':
    main()
