"""GSD files as programs see them: what was written, and what three readers and two writers make of it."""

import json
import random
import struct
import subprocess

import gsd.fl
import gsd.pygsd
import numpy

SIZES = {
    "uint8": 1, "uint16": 2, "uint32": 4, "uint64": 8, "int8": 1, "int16": 2, "int32": 4, "int64": 8,
    "float32": 4, "float64": 8, "character": 1,
}  # fmt: skip
CHECKSUMS = "striae/crc32c"
NAMES = ["a", "b", "particles/position", "log/energy", "log/" + "x" * 40, "ä/ö", "n" * 63]


class Contents:
    """What a file holds: names in the order of their ids, and for each frame its chunks by name.

    A chunk is (type, N, M, bytes).
    """

    def __init__(self, names=(), frames=()):
        self.names = list(names)
        self.frames = [dict(frame) for frame in frames]

    def copy(self):
        return Contents(self.names, self.frames)

    def add(self, frame):
        """A frame at the end."""
        self.frames.append(dict(frame))
        self.use(frame)

    def use(self, frame):
        """The names of a frame."""
        self.names += [name for name in frame if name not in self.names]

    def trimmed(self):
        """As it is read: frames without chunks are not seen at the end."""
        frames = [dict(frame) for frame in self.frames]
        while frames and not frames[-1]:
            frames.pop()
        return frames

    def used(self):
        return sum(len(frame) for frame in self.frames)


# ---- random programs ----


def random_chunk(rng, types):
    kind = rng.choice(types)
    n, m = rng.choice([0, 1, 1, 2, 3, 7, 30]), rng.choice([1, 1, 1, 2, 3])
    if kind == "character":
        text = "".join(rng.choice("abc xyz") for _ in range(max(n, 1)))
        return kind, len(text), 1, text.encode()
    if kind.startswith("float"):
        form = "f" if kind == "float32" else "d"
        return kind, n, m, struct.pack(f"<{n * m}{form}", *(rng.uniform(-1, 1) for _ in range(n * m)))
    return kind, n, m, rng.randbytes(n * m * SIZES[kind])


def random_frame(rng, types, names):
    count = rng.choice([1, 1, 2, 3, min(6, len(names))])
    chosen = rng.sample(names, min(count, len(names)))
    return {name: random_chunk(rng, types) for name in chosen}


def random_names(rng):
    """Names of a program; sometimes so many that the name list has to grow."""
    names = list(NAMES)
    if rng.random() < 0.3:
        names += [f"many/{number:03}/{'y' * rng.randrange(20)}" for number in range(60)]
    return names


# ---- gsd ----


def array(chunk):
    kind, n, m, data = chunk
    if kind == "character":
        return data.decode()
    return numpy.frombuffer(data, dtype=kind).reshape((n, m) if m > 1 else (n,))


def write_gsd(file, frame):
    """Hands the chunks of a frame to gsd, which ends it on its own."""
    for name, chunk in frame.items():
        file.write_chunk(name, array(chunk))


def can_end_empty(path, frames, count):
    """Whether gsd can read again what it appends: `count` chunks of frames up to `frames`.

    gsd refuses an entry of a frame that is not below the number of slots, but writes it (errata).
    """
    with open(path, "rb") as file:
        header = file.read(256)
        location, slots = struct.unpack_from("<2Q", header, 8)
        file.seek(location)
        index = file.read(32 * slots)
    used = 0
    while used < slots and index[32 * used + 16 : 32 * used + 24] != bytes(8):
        used += 1
    if used + count > slots:
        slots *= 2
        while slots <= used + count:
            slots *= 2
    return frames < slots


def chunk_of(read):
    """A chunk as gsd returns it: type, shape, bytes."""
    if isinstance(read, str):
        return "character", (len(read.encode()),), read.encode()
    return str(read.dtype), read.shape, read.tobytes()


def wanted_of(chunk, reader):
    """What a reader of gsd returns for a chunk."""
    kind, n, m, data = chunk
    if kind == "character":
        if n == 0:
            return "int8", (0,), b""  # pygsd; fl fails
        data = data.rstrip(b"\0") if reader == "fl" else data
        return kind, (len(data),), data
    if n == 0 and reader == "pygsd":
        return kind, (0,), data
    return kind, (n, m) if m > 1 else (n,), data


def read_gsd(file, reader, contents, maybe=None):
    """A list of what a reader of gsd says otherwise; `maybe` are names that may be there as well."""
    frames = contents.trimmed()
    problems = []
    if file.nframes != len(frames):
        return [f"{reader}: {file.nframes} frames, expected {len(frames)}"]
    names = file.find_matching_chunk_names("")
    problems += names_differ(reader, [name for name in names if name != CHECKSUMS], contents.names, maybe)
    for number, frame in enumerate(frames):
        for name in names:
            where = f"{reader}: frame {number}, {name}"
            if not file.chunk_exists(number, name):
                if name in frame:
                    problems.append(f"{where}: is not there")
            elif name in frame and (reader, *frame[name][:2]) != ("fl", "character", 0):
                try:
                    found = chunk_of(file.read_chunk(number, name))
                except Exception as error:  # of any kind: it is to be reported
                    problems.append(f"{where}: {error!r}")
                    continue
                wanted = wanted_of(frame[name], reader)
                if found != wanted:
                    problems.append(f"{where}: is {found}, expected {wanted}")
            elif name not in frame and name != CHECKSUMS:
                problems.append(f"{where}: must not be there")
    return problems


def names_differ(reader, found, wanted, maybe):
    if maybe is None:
        return [] if found == wanted else [f"{reader}: names are {found}, expected {wanted}"]
    if len(set(found)) == len(found) and set(wanted) <= set(found) <= set(wanted) | maybe:
        return []
    return [f"{reader}: names are {found}, expected {wanted}, perhaps some of {sorted(maybe)}"]


def open_readers(path):
    """All readers of gsd, opened."""
    return {"fl": gsd.fl.open(path, "r"), "pygsd": gsd.pygsd.GSDFile(open(path, "rb"))}


# ---- striae ----


class Striae:
    """The example gsd_ops, which does what it is told."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def ask(self, *words):
        """Does an operation and returns the answer; an error is raised."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        answer, _, rest = self.process.stdout.readline().rstrip("\n").partition(" ")
        if answer != "ok":
            raise RuntimeError(f"striae: {words[0]}: {rest or 'it is gone'}")
        return rest

    def write(self, rng, frame):
        """The chunks of a frame, some of them in pieces."""
        for name, (kind, _, m, data) in frame.items():
            pieces = [data]
            if rng.random() < 0.2:
                cut = rng.randrange(len(data) + 1)
                pieces = [data[:cut], data[cut:]]
            operation = "chunk" if len(pieces) == 1 else "stream"
            self.ask(operation, name.encode().hex(), kind, m, *(piece.hex() or "-" for piece in pieces))

    def frame(self, rng, frame):
        """A frame. Now and then an operation of the store fails, and all of it is written again."""

        def write():
            self.write(rng, frame)
            self.ask("end_frame")

        self.insist(rng, write, lambda: self.ask("discard_frame"))

    def commit(self, rng):
        """A commit, which is asked for again if it fails."""
        self.insist(rng, lambda: self.ask("commit"), lambda: None)

    def insist(self, rng, work, before_again):
        if rng.random() < 0.3:
            self.ask("fail", rng.randrange(12))
        try:
            work()
        except RuntimeError as error:
            if "was told to fail" not in str(error):
                raise
            before_again()
            work()
        self.ask("fail", "-")

    def read(self, path, contents, maybe=None):
        """A list of what striae says otherwise."""
        listed = json.loads(self.ask("list", path))
        frames = contents.trimmed()
        names = [bytes.fromhex(name).decode() for name in listed["names"]]
        problems = names_differ("striae", [name for name in names if name != CHECKSUMS], contents.names, maybe)
        if listed["frames"] != len(frames):
            return problems + [f"striae: {listed['frames']} frames, expected {len(frames)}"]
        found = [{} for _ in frames]
        for chunk in listed["chunks"]:
            name = bytes.fromhex(chunk["name"]).decode()
            if name != CHECKSUMS:
                data = bytes.fromhex(chunk["bytes"])
                found[chunk["frame"]][name] = (chunk["type"], chunk["N"], chunk["M"], data)
        for number, (has, wanted) in enumerate(zip(found, frames)):
            if has != wanted:
                problems.append(f"striae: frame {number} is {has}, expected {wanted}")
        return problems

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def rng_of(seed, *words):
    return random.Random(f"{seed} {words}")
