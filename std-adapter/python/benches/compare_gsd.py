"""Time of gsd 5.0.1 divided by that of striae.gsd, for the same calls in the same run: above 1, striae is faster.

    python compare_gsd.py [FOLDER]

Each row is the median of the ratios of several rounds; in each round, the two take turns. Needs gsd 5.0.1.
"""

import os
import statistics
import sys
import tempfile
import time

import gsd.fl
import gsd.hoomd
import numpy

import striae.gsd.fl
import striae.gsd.hoomd

ROUNDS = 7


def frames_of(package, count, particles, logs=0):
    """Frames of a simulation: step, position, and logged quantities."""
    random = numpy.random.default_rng(1)
    positions = random.random((particles, 3), dtype=numpy.float32)
    velocities = random.random((particles, 3), dtype=numpy.float32)
    for step in range(count):
        frame = package.hoomd.Frame()
        frame.configuration.step = step
        frame.configuration.box = [8, 8, 8, 0, 0, 0]
        frame.particles.N = particles
        frame.particles.position = positions + numpy.float32(step)
        frame.particles.velocity = velocities
        for log in range(logs):
            frame.log[f'quantity/{log}'] = numpy.array([step + log], dtype=numpy.float64)
        yield frame


def write(package, path, frames):
    with package.hoomd.open(path, 'w') as trajectory:
        trajectory.extend(frames)


def read_frames(package, path):
    with package.hoomd.open(path) as trajectory:
        for frame in trajectory:
            frame.particles.position[0, 0]


def read_later_frames(package, path):
    """All but frame 0, which also makes the arrays of defaults."""
    with package.hoomd.open(path) as trajectory:
        trajectory[0]
        start = time.perf_counter()
        for frame in trajectory[1:]:
            frame.particles.position[0, 0]
        return time.perf_counter() - start


def read_chunks(package, path):
    with package.fl.open(path, 'r') as file:
        for frame in range(file.nframes):
            file.read_chunk(frame, 'particles/position')


def read_log(package, path):
    package.hoomd.read_log(path)


def write_chunks(package, path, count, chunk):
    with package.fl.open(path, 'w', 'bench', 'none', (1, 0)) as file:
        for _ in range(count):
            file.write_chunk('a', chunk)
            file.write_chunk('b', chunk)
            file.end_frame()


def flush_each(package, path, count):
    data = numpy.arange(30, dtype=numpy.float32)
    with package.fl.open(path, 'w', 'bench', 'none', (1, 0)) as file:
        for _ in range(count):
            file.write_chunk('a', data)
            file.end_frame()
            file.flush()


def pread(path, size, count):
    """Reads `count` pieces of a file, each into new memory, as arrays are."""
    with open(path, 'rb', buffering=0) as file:
        for number in range(count):
            array = numpy.empty(size, dtype=numpy.uint8)
            os.preadv(file.fileno(), [array], number * size)


def seconds(act):
    start = time.perf_counter()
    own = act()
    return time.perf_counter() - start if own is None else own


def row(name, theirs, ours):
    theirs(), ours()  # so that both are in memory
    ratios = []
    for turn in range(ROUNDS):
        first, second = (theirs, ours) if turn % 2 else (ours, theirs)
        one, other = seconds(first), seconds(second)
        ratios.append(one / other if turn % 2 else other / one)
    print(f'{name:44} {statistics.median(ratios):6.2f}   {min(ratios):6.2f} to {max(ratios):.2f}', flush=True)


def compare(name, act, *arguments):
    row(name, lambda: act(gsd, *arguments), lambda: act(striae.gsd, *arguments))


def main():
    with tempfile.TemporaryDirectory(dir=sys.argv[1] if sys.argv[1:] else None) as folder:
        small, large = os.path.join(folder, 'small.gsd'), os.path.join(folder, 'large.gsd')
        log, out = os.path.join(folder, 'log.gsd'), os.path.join(folder, 'out.gsd')
        write(gsd, small, frames_of(gsd, 3000, 10))
        write(gsd, log, frames_of(gsd, 2000, 10, 10))
        write(gsd, large, frames_of(gsd, 60, 300000))
        print(f'{"gsd / striae":44} median   range of {ROUNDS}')
        compare('read 3000 frames of 10 particles', read_frames, small)
        compare('read 2000 frames with 10 logged quantities', read_frames, log)
        compare('read 60 frames of 300000 particles', read_frames, large)
        compare('  the same without frame 0', read_later_frames, large)
        row('  pread / striae, without frame 0', lambda: pread(large, 3600000, 59),
            lambda: read_later_frames(striae.gsd, large))
        compare('read_log of 10 quantities, 2000 frames', read_log, log)
        compare('read_chunk, 3000 of 120 bytes', read_chunks, small)
        compare('read_chunk, 60 of 3.6 MB', read_chunks, large)
        for name, count, particles, logs in [
            ('append 2000 frames of 10 particles', 2000, 10, 0),
            ('append 1000 frames with 10 quantities', 1000, 10, 10),
            ('append 20 frames of 300000 particles', 20, 300000, 0),
        ]:
            theirs = list(frames_of(gsd, count, particles, logs))
            ours = list(frames_of(striae.gsd, count, particles, logs))
            row(name, lambda: write(gsd, out, theirs), lambda: write(striae.gsd, out, ours))
        compare('write_chunk, 20000 of 40 bytes', write_chunks, out, 10000, numpy.arange(10, dtype=numpy.float32))
        compare('write_chunk, 40 of 4 MB', write_chunks, out, 20, numpy.zeros(1000000, dtype=numpy.float32))
        compare('write_chunk and flush, 500 frames', flush_each, out, 500)


if __name__ == '__main__':
    main()
