#!/usr/bin/env python3
"""Compares what striae and gsd's package say about trajectories of the schema hoomd.

    gsd_hoomd.py EXAMPLE FOLDER      compare
    gsd_hoomd.py --expect FOLDER     print what the package reads in the files of FOLDER, as JSON

EXAMPLE is the program made of tests/examples/gsd_hoomd.rs, FOLDER is tests/golden/gsd. Compared are

  (a) golden files: what the package reads, what EXAMPLE reads, and FOLDER/hoomd.json, which --expect made;
  (b) random frames that the package wrote, read by both;
  (c) random frames that EXAMPLE wrote, read by the package, with the frames that were meant;
  (d) files that both append to in turns;
  (e) parts of all of these that EXAMPLE converted, and of files of any chunks that gsd wrote: they must have the
      frames of the whole, read by the package with the file layer in C and with the one in Python.

A package before 5.0 knows neither version 2.0 of the schema nor double precision; (a) is left out then, and all
files are of version 1.4.

Frames are JSON: floats are texts, so that no digit is lost; arrays have their values row by row. A quantity is
{"type", "N", "M", "values"}. The last line says how many comparisons passed and failed.
"""

import argparse
import copy
import inspect
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import warnings

import gsd.fl
import gsd.hoomd
import gsd.pygsd
import numpy

KNOWS_2_0 = "precision" in inspect.signature(gsd.hoomd.open).parameters
TOPOLOGY = {"bonds": 2, "angles": 3, "dihedrals": 4, "impropers": 4, "pairs": 2}
FLOATS = {
    "mass": 1,
    "charge": 1,
    "diameter": 1,
    "moment_inertia": 3,
    "position": 3,
    "orientation": 4,
    "velocity": 3,
    "angmom": 4,
}
INTEGERS = {"typeid": 1, "body": 1, "image": 3}
DEFAULTS = {
    "mass": [1],
    "charge": [0],
    "diameter": [1],
    "moment_inertia": [0, 0, 0],
    "position": [0, 0, 0],
    "orientation": [1, 0, 0, 0],
    "velocity": [0, 0, 0],
    "angmom": [0, 0, 0, 0],
    "typeid": [0],
    "body": [-1],
    "image": [0, 0, 0],
    "value": [0],
}


# ---- frames as JSON ----


def shown_float(value):
    return repr(float(value))


def shown_array(array):
    """The values of an array, row by row."""
    flat = numpy.asarray(array).ravel()
    if flat.dtype.kind == "f":
        return [shown_float(value) for value in flat]
    return [int(value) for value in flat]


def shown_floats(array):
    array = numpy.asarray(array)
    return {"type": array.dtype.name, "values": shown_array(array)}


def shown_quantity(value):
    if isinstance(value, str):
        n = max(len(value.encode()), 1)  # striae writes a NUL for an empty text
        return {"type": "character", "N": n, "M": 1, "values": [value]}
    value = numpy.asarray(value)
    n, m = value.shape if value.ndim == 2 else (value.shape[0], 1)
    return {"type": value.dtype.name, "N": n, "M": m, "values": shown_array(value)}


def shown_frame(frame):
    """A frame of the package."""
    configuration, particles = frame.configuration, frame.particles
    shown = {
        "configuration": {
            "step": int(configuration.step),
            "dimensions": int(configuration.dimensions),
            "box": shown_array(configuration.box),
        },
        "particles": {
            "N": int(particles.N),
            "types": list(particles.types),
            "type_shapes": list(particles.type_shapes),
        },
        "constraints": {
            "N": int(frame.constraints.N),
            "value": shown_floats(frame.constraints.value),
            "group": shown_array(frame.constraints.group),
        },
        "log": {name: shown_quantity(value) for name, value in frame.log.items()},
    }
    for name in FLOATS:
        shown["particles"][name] = shown_floats(getattr(particles, name))
    for name in INTEGERS:
        shown["particles"][name] = shown_array(getattr(particles, name))
    for name in TOPOLOGY:
        bonds = getattr(frame, name)
        shown[name] = {
            "N": int(bonds.N),
            "types": list(bonds.types),
            "typeid": shown_array(bonds.typeid),
            "group": shown_array(bonds.group),
        }
    return shown


def read_by_package(path):
    """All that the package says about a file. State comes from the file layer, as 5.x does not read it."""
    with gsd.hoomd.open(path, "r") as trajectory:
        frames = [shown_frame(frame) for frame in trajectory]
    with gsd.fl.open(path, "r") as file:
        version = file.schema_version
        for number, frame in enumerate(frames):
            names = file.find_matching_chunk_names("state/")
            names = [name for name in names if file.chunk_exists(frame=number, name=name)]
            frame["state"] = {
                name[6:]: shown_quantity(file.read_chunk(frame=number, name=name)) for name in names
            }
    return {"version": f"{version[0]}.{version[1]}", "frames": frames}


def series_by_package(path, pattern, scalars):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        series = gsd.hoomd.read_log(path, scalar_only=scalars, glob_pattern=pattern)
    shown = {}
    for name, value in series.items():
        if isinstance(value.dtype, numpy.dtypes.StringDType):
            shown[name] = {"type": "character", "values": [str(text) for text in value.ravel()]}
        else:
            shown[name] = {"type": value.dtype.name, "values": shown_array(value)}
    return shown


def canonical(value, key=None):
    """The same with floats as bits and shapes of types as what they are."""
    if isinstance(value, dict):
        floats = str(value.get("type", "")).startswith("float")
        return {
            name: [bits(text) for text in item] if floats and name == "values" else canonical(item, name)
            for name, item in value.items()
        }
    if key == "box":
        return [bits(text) for text in value]
    if key == "type_shapes":
        return [json.loads(text) if isinstance(text, str) else text for text in value]
    if isinstance(value, list):
        return [canonical(item) for item in value]
    return value


def bits(text):
    number = float(text)
    return "nan" if number != number else struct.pack("<d", number).hex()


# ---- the program under test ----


class Example:
    """tests/examples/gsd_hoomd.rs."""

    def __init__(self, program):
        self.program = os.path.abspath(program)

    def run(self, *args, given=None):
        given = None if given is None else json.dumps(given).encode()
        done = subprocess.run([self.program, *args], input=given, capture_output=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{args}: {done.stderr.decode().strip()}")
        return json.loads(done.stdout) if done.stdout else None

    def read(self, path):
        return self.run("read", path)

    def series(self, path, pattern, scalars):
        return self.run("logs", path, pattern, *(["scalars"] if scalars else []))

    def write(self, path, frames, *options):
        self.run("write", path, *options, given=frames)

    def part(self, path, new, *frames):
        self.run("part", path, new, *(str(number) for number in frames))


class Tally:
    """Counts comparisons, and shows where two values differ."""

    def __init__(self):
        self.passed = self.failed = 0

    def compare(self, what, found, wanted):
        place = difference(canonical(found), canonical(wanted))
        if place is None:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED {what}: {place}")


def difference(found, wanted, place=""):
    """The first place where two values differ, or None."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        if found.keys() != wanted.keys():
            return f"{place}: {sorted(found)} not {sorted(wanted)}"
        places = (difference(found[key], wanted[key], f"{place}/{key}") for key in wanted)
        return next((place for place in places if place is not None), None)
    if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        places = (difference(*pair, f"{place}[{i}]") for i, pair in enumerate(zip(found, wanted)))
        return next((place for place in places if place is not None), None)
    return None if found == wanted else f"{place}: {str(found)[:200]} not {str(wanted)[:200]}"


# ---- golden files ----


def golden_files(folder):
    names = sorted(os.listdir(folder))
    paths = [os.path.join(folder, name) for name in names if name.endswith(".gsd") and name[0] == "v"]
    return [path for path in paths if is_hoomd(path)]


def is_hoomd(path):
    with open(path, "rb") as file:
        header = file.read(256)
    return header[112:176].rstrip(b"\0") == b"hoomd"


PATTERNS = ["*", "log/md/*", "*energy", "log/[a-m]*"]


def expect(folder):
    """What the package reads, a line for each frame."""
    print("{")
    paths = golden_files(folder)
    for path in paths:
        read = read_by_package(path)
        print(f' {json.dumps(os.path.basename(path))}: {{"version": {json.dumps(read["version"])}, "frames": [')
        lines = [json.dumps(frame, ensure_ascii=False) for frame in read["frames"]]
        print(",\n".join(f"  {line}" for line in lines))
        series = json.dumps(golden_series(path), ensure_ascii=False)
        print(f' ], "logs": {series}}}{"" if path == paths[-1] else ","}')
    print("}")


def golden_series(path):
    return {pattern: series_by_package(path, pattern, False) for pattern in PATTERNS if has_steps(path)}


def has_steps(path):
    """read_log fails if frame 0 has no step, and another frame has none as well."""
    with gsd.fl.open(path, "r") as file:
        steps = [file.chunk_exists(frame=i, name="configuration/step") for i in range(file.nframes)]
    return steps[0] or all(steps[1:])


def compare_golden(example, folder, tally):
    with open(os.path.join(folder, "hoomd.json"), encoding="utf-8") as file:
        expected = json.load(file)
    paths = golden_files(folder)
    tally.compare("golden files", [os.path.basename(path) for path in paths], sorted(expected))
    for path in paths:
        wanted = expected[os.path.basename(path)]
        read = example.read(path)
        read["logs"] = {pattern: example.series(path, pattern, False) for pattern in wanted["logs"]}
        tally.compare(f"{path} by striae", read, wanted)
        by_package = read_by_package(path)
        by_package["logs"] = golden_series(path)
        tally.compare(f"{path} by the package", by_package, wanted)


# ---- random frames ----


class Maker:
    """Makes frames as JSON. Some fields are left out, some are as in frame 0, some are defaults."""

    def __init__(self, seed, precision):
        self.random = random.Random(seed)
        self.precision = precision
        self.first = None

    def floats(self, count):
        values = [self.random.choice([0.0, 1.0, -1.5, self.random.gauss(0, 1e3)]) for _ in range(count)]
        given = self.random.choice(["float32", "float64"])
        return {"type": given, "values": [shown_float(rounded(value, given)) for value in values]}

    def types(self):
        names = self.random.sample(["A", "B", "type", "longer name", "C" * 40, ""], self.random.randrange(1, 4))
        return ["B"] if names == [""] else names  # the package writes that, and cannot read it

    def members(self, path):
        """N: often the same as in frame 0."""
        if self.first is not None and self.random.random() < 0.6:
            return self.first[path]["N"]
        return self.random.choice([0, 1, 2, 5, 17])

    def value(self, path, name, n):
        """A field's values, or None."""
        first = self.first and self.first[path]
        if self.random.random() < 0.3:
            return None
        if first and first["N"] == n and name in first and self.random.random() < 0.4:
            return copy.deepcopy(first[name])
        if self.random.random() < 0.2 and name in DEFAULTS:
            values = DEFAULTS[name] * n
            return values if name in INTEGERS else {"type": "float32", "values": [shown_float(v) for v in values]}
        if name in ("types", "type_shapes"):
            return self.types() if name == "types" else [json.dumps({"type": text}) for text in self.types()]
        if name == "group":
            return [self.random.randrange(100) for _ in range(n * TOPOLOGY.get(path, 2))]
        if name in INTEGERS:
            low = 0 if name == "typeid" else -3
            return [self.random.randrange(low, 4) for _ in range(n * INTEGERS[name])]
        return self.floats(n * FLOATS.get(name, 1))

    def group(self, path, names):
        n = self.members(path)
        made = {name: self.value(path, name, n) for name in names}
        return {"N": n} | {name: value for name, value in made.items() if value is not None}

    def log(self):
        """All of frame 0's quantities may be there, in any shape, and no others."""
        if self.first is None:
            names = ["a", "md/energy", "particles/f", "x/y"] + ["text"] * KNOWS_2_0
            names = self.random.sample(names, self.random.randrange(4))
        else:
            # The package cannot take a text from frame 0.
            names = [name for name in self.first["log"] if name == "text" or self.random.random() < 0.6]
        return {name: self.quantity(name) for name in names}

    def quantity(self, name):
        if name == "text":
            text = "".join(self.random.choice("abc xyz") for _ in range(self.random.randrange(1, 9))).strip() or "-"
            return {"type": "character", "N": len(text), "M": 1, "values": [text]}
        kind = {"a": "int64", "md/energy": "float64", "particles/f": "float32", "x/y": "uint8"}[name]
        n, m = {"a": (1, 1), "md/energy": (1, 1), "particles/f": (4, 3), "x/y": (2, 1)}[name]
        count = n * m
        if kind.startswith("float"):
            values = [shown_float(rounded(self.random.gauss(0, 1), kind)) for _ in range(count)]
        else:
            values = [self.random.randrange(0, 100) for _ in range(count)]
        return {"type": kind, "N": n, "M": m, "values": values}

    def frame(self):
        configuration = {
            "step": self.random.choice([None, 0, 7, self.random.randrange(2**63)]),
            "dimensions": self.random.choice([None, 2, 3]),
            "box": self.random.choice([None, [shown_float(rounded(v, "float32")) for v in (1, 2, 3, 0.1, 0, 0)]]),
        }
        if configuration["box"] and not KNOWS_2_0:
            configuration["dimensions"] = configuration["dimensions"] or 3  # it says so if nobody else does
        made = {
            "configuration": {name: value for name, value in configuration.items() if value is not None},
            "particles": self.group("particles", ["types", "type_shapes", *FLOATS, *INTEGERS]),
            "constraints": self.group("constraints", ["value", "group"]),
            "log": self.log(),
        }
        for path in TOPOLOGY:
            made[path] = self.group(path, ["types", "typeid", "group"])
        if self.first is None:
            self.first = made
        return made


def rounded(value, kind):
    return float(numpy.float32(value)) if kind == "float32" else float(value)


# ---- what frames mean ----


def filled(frames, precision):
    """The frames as a reader must see them: what is left out is as in frame 0, or a default."""
    first = None
    seen = []
    for frame in frames:
        frame = copy.deepcopy(frame)
        configuration = frame["configuration"]
        given = first["configuration"] if first else {"step": 0, "dimensions": 3, "box": ["1", "1", "1", "0", "0", "0"]}
        frame["configuration"] = {key: configuration.get(key, given[key]) for key in given}
        for path in ["particles", "constraints", *TOPOLOGY]:
            frame[path] = filled_group(frame[path], path, first and first[path], precision)
        frame["log"] = (copy.deepcopy(first["log"]) if first else {}) | frame["log"]
        frame["state"] = {}
        first = first or frame
        seen.append(frame)
    return seen


def filled_group(group, path, first, precision):
    n = group["N"]
    names = {"particles": [*FLOATS, *INTEGERS], "constraints": ["value", "group"]}.get(path, ["typeid", "group"])
    full = {"N": n}
    if path != "constraints":
        full["types"] = group.get("types", first["types"] if first else (["A"] if path == "particles" else []))
    if path == "particles":
        full["type_shapes"] = group.get("type_shapes", first["type_shapes"] if first else ["{}"])
    for name in names:
        if name in group:
            full[name] = as_written(group[name], precision)
        elif first and first["N"] == n:
            full[name] = first[name]
        else:
            row = [0] * TOPOLOGY.get(path, 2) if name == "group" else DEFAULTS[name]
            is_integer = name in INTEGERS or name == "group"
            full[name] = row * n if is_integer else {"values": [shown_float(v) for v in row * n]}
    return full


def as_written(value, precision):
    if isinstance(value, dict):
        kind = "float64" if precision == "double" else "float32"
        return {"values": [shown_float(rounded(float(text), kind)) for text in value["values"]]}
    return value


def without_types(frames):
    """Without the types of floats, which a value has that equals frame 0's."""
    frames = copy.deepcopy(frames)
    for frame in frames:
        for path in ("particles", "constraints"):
            for value in frame[path].values():
                if isinstance(value, dict):
                    value.pop("type", None)
    return frames


# ---- the package as a writer ----


def package_frame(frame):
    """A frame of the package from JSON."""
    made = gsd.hoomd.Frame()
    configuration = frame["configuration"]
    made.configuration.step = configuration.get("step")
    made.configuration.dimensions = configuration.get("dimensions")
    if "box" in configuration:
        given = made.configuration.dimensions
        made.configuration.box = [float(text) for text in configuration["box"]]
        made.configuration.dimensions = given
    for path in ["particles", "constraints", *TOPOLOGY]:
        group = getattr(made, path)
        for name, value in frame[path].items():
            setattr(group, name, package_value(path, name, value))
    for name, quantity in frame["log"].items():
        made.log[name] = package_quantity(quantity)
    return made


def package_value(path, name, value):
    if name == "type_shapes":
        return [json.loads(text) for text in value]
    if isinstance(value, dict):
        array = numpy.array([float(text) for text in value["values"]], dtype=value["type"])
        return array.reshape([-1, FLOATS[name]]) if FLOATS.get(name, 1) > 1 else array
    if name == "group":
        return numpy.array(value, dtype="uint32").reshape([-1, TOPOLOGY.get(path, 2)])
    if name == "image":
        return numpy.array(value, dtype="int32").reshape([-1, 3])
    if name in INTEGERS:
        return numpy.array(value, dtype="uint32" if name == "typeid" else "int32")
    return value


def package_quantity(quantity):
    if quantity["type"] == "character":
        return quantity["values"][0]
    values = [float(value) if isinstance(value, str) else value for value in quantity["values"]]
    array = numpy.array(values, dtype=quantity["type"])
    return array if quantity["M"] == 1 else array.reshape([quantity["N"], quantity["M"]])


def write_by_package(path, frames, mode, precision):
    how = {"precision": precision} if KNOWS_2_0 else {}
    with gsd.hoomd.open(path, mode, **how) as trajectory:
        for frame in frames:
            trajectory.append(package_frame(frame))


# ---- parts ----


def parted_frames(trajectory):
    """All frames, in which arrays of no values are alike."""
    frames = [shown_frame(frame) for frame in trajectory]
    for frame in frames:
        for group in frame.values():
            for value in group.values():
                if isinstance(value, dict) and not value["values"]:
                    value.pop("type")
    return frames


def has_empty_texts(path):
    """Whether there is a list of no types, which pygsd's arrays have no columns for."""
    with gsd.fl.open(path, "r") as file:
        names = [f"{group}/types" for group in ("particles", *TOPOLOGY)]
        places = [(i, name) for i in range(file.nframes) for name in names if file.chunk_exists(frame=i, name=name)]
        return any(len(file.read_chunk(frame=i, name=name)) == 0 for i, name in places)


def compare_parts(example, path, maker, tally):
    """(e) with some parts of a file, also such of which a text would have to come from frame 0 for the package."""
    with gsd.hoomd.open(path, "r") as trajectory:
        whole = parted_frames(trajectory)
    part = path + ".part"
    for _ in range(3):
        start = maker.random.randrange(len(whole))
        end, step = maker.random.randrange(start, len(whole) + 1), maker.random.choice([1, 1, 2, 3])
        example.part(path, part, start, end, step)
        what, wanted = f"{path}, {start}..{end}:{step}", whole[start:end:step]
        with gsd.hoomd.open(part, "r") as trajectory:
            tally.compare(f"{what}, by the package", parted_frames(trajectory), wanted)
        if not has_empty_texts(part):
            with open(part, "rb") as file:
                trajectory = gsd.hoomd.HOOMDTrajectory(gsd.pygsd.GSDFile(file))
                tally.compare(f"{what}, by the package and pygsd", parted_frames(trajectory), wanted)
        read = [frame["log"] for frame in example.read(part)["frames"]]
        tally.compare(f"{what}, logs by striae", read, [frame["log"] for frame in wanted])
        os.remove(part)


def write_any_chunks(path, maker):
    """A file in which any chunk of the schema may stand in any frame, also such as no program writes."""
    random, counts = maker.random, {}
    paths = ["particles", "constraints", *TOPOLOGY]
    with gsd.fl.open(path, "w", application="any", schema="hoomd", schema_version=[1, 4]) as file:
        for frame in range(maker.random.randrange(1, 7)):
            n = dict(counts)
            for group in paths:
                if random.random() < 0.3:
                    n[group] = random.choice([0, 1, 3])
                    file.write_chunk(f"{group}/N", numpy.array([n[group]], dtype="uint32"))
            counts = counts or {group: n.get(group, 0) for group in paths}
            n = counts | n
            dense = random.choice([0.1, 0.3, 0.6])
            for name, value in any_chunks(maker, n):
                if random.random() < dense:
                    file.write_chunk(name, value)
            for name in ["log/a", "log/particles/b"]:
                if frame == 0 or random.random() < 0.5:
                    file.write_chunk(name, numpy.array([random.random(), frame]))
            file.end_frame()
        file.write_chunk("configuration/step", numpy.array([77], dtype="uint64"))  # or the last would be lost
        for name in ["log/a", "log/particles/b"] if file.nframes == 0 else []:
            file.write_chunk(name, numpy.array([0.5]))
        file.end_frame()


def any_chunks(maker, n):
    """All chunks that a frame of so many members can have."""
    random = maker.random

    def numbers(rows, columns, *kinds):
        array = numpy.array([random.randrange(3) for _ in range(rows * columns)], dtype=random.choice(kinds))
        return array.reshape([rows, columns]) if columns > 1 else array

    def texts():
        rows = random.sample([b"a", b"bc", b"d"], random.randrange(1, 4))
        width = random.choice([3, 5])
        return numpy.array([list(row.ljust(width, b"\0")) for row in rows], dtype=random.choice(["int8", "uint8"]))

    yield "configuration/step", numbers(1, 1, "uint64")
    yield "configuration/dimensions", numbers(1, 1, "uint8")
    yield "configuration/box", numbers(6, 1, "float32", "float64")
    yield "particles/types", texts()
    yield "particles/type_shapes", numpy.array([list(b"{}\0")], dtype="int8")
    for name, columns in FLOATS.items():
        yield f"particles/{name}", numbers(n["particles"], columns, "float32", "float64")
    for name, columns in INTEGERS.items():
        yield f"particles/{name}", numbers(n["particles"], columns, "uint32" if name == "typeid" else "int32")
    yield "constraints/value", numbers(n["constraints"], 1, "float32", "float64")
    yield "constraints/group", numbers(n["constraints"], 2, "uint32", "int32")
    for group, columns in TOPOLOGY.items():
        yield f"{group}/types", texts()
        yield f"{group}/typeid", numbers(n[group], 1, "uint32")
        yield f"{group}/group", numbers(n[group], columns, "uint32", "int32")


def compare_random(example, folder, seed, tally):
    """(b), (c), (d) and (e) with the frames of one seed."""
    precision = "double" if KNOWS_2_0 and seed % 2 else "single"
    maker = Maker(seed, precision)
    frames = [maker.frame() for _ in range(maker.random.randrange(1, 7))]
    for frame in frames[1:]:
        frame["configuration"]["step"] = frame["configuration"].get("step", 0) or 1  # no empty frame
    wanted = without_types(filled(frames, precision))
    kind = "1.4" if precision == "single" and (seed % 3 == 0 or not KNOWS_2_0) else "2.0"
    path = os.path.join(folder, f"{seed}.gsd")

    write_by_package(path, frames, "w", precision)
    by_package = read_by_package(path)
    tally.compare(f"seed {seed}, by the package", without_types(by_package["frames"]), wanted)
    tally.compare(f"seed {seed}, of the package by striae", example.read(path), by_package)
    compare_series(example, path, maker, tally)
    compare_parts(example, path, maker, tally)

    example.write(path, frames, "create", precision, kind)
    tally.compare(f"seed {seed}, of striae by the package", without_types(read_by_package(path)["frames"]), wanted)
    tally.compare(f"seed {seed}, of striae by striae", example.read(path), read_by_package(path))
    compare_series(example, path, maker, tally)

    write_by_package(path, frames[:1], "w", precision)
    for number, frame in enumerate(frames[1:]):
        if number % 2 == seed % 2:
            example.write(path, [frame], "append", precision)
        else:
            write_by_package(path, [frame], "r+", precision)
    tally.compare(f"seed {seed}, of both by the package", without_types(read_by_package(path)["frames"]), wanted)
    tally.compare(f"seed {seed}, of both by striae", example.read(path), read_by_package(path))
    compare_parts(example, path, maker, tally)
    if precision == "single" and "text" not in maker.first["log"]:
        example.write(path, frames, "create", precision, "old")
        compare_parts(example, path, maker, tally)
    write_any_chunks(path, maker)
    compare_parts(example, path, maker, tally)
    os.remove(path)


def compare_special(example, folder, tally):
    """Frames that the package cannot write, or not as they are, but can read."""

    def bare(step=None, **particles):
        frame = {"configuration": {}, "particles": {"N": 0} | particles, "constraints": {"N": 0}, "log": {}}
        if step is not None:
            frame["configuration"]["step"] = step
        return frame | {path: {"N": 0} for path in TOPOLOGY}

    def floats(*values):
        return {"type": "float32", "values": [shown_float(value) for value in values]}

    without_bonds, with_bonds = bare(1), bare(0)
    without_bonds["bonds"]["types"], with_bonds["bonds"]["types"] = [], ["b"]
    empty_text = bare(1)
    empty_text["log"]["text"] = {"type": "character", "N": 1, "M": 1, "values": [""]}
    for what, frames in {
        "a type without a name": [bare(types=[""])],
        "types that are not ASCII": [bare(types=["\u00e4", "A", "\U0001d53d"]), bare(1, types=["\u00e4"])],
        "no types where frame 0 has some": [with_bonds, without_bonds],
        "no types of particles": [bare(types=[])],
        "an empty text": [empty_text],
        "zeros with a sign, and NaN": [
            bare(0, N=3, mass=floats(-0.0, 1, 2), charge=floats(-0.0, 0, 0), diameter=floats("nan", 1, 1)),
            bare(1, N=3, mass=floats(0, 1, 2), charge=floats(0, 0, 0), diameter=floats("nan", 1, 1)),
        ],
        "frames that are all alike": [bare(N=2, mass=floats(3, 4))] * 3,
        "frames of defaults": [bare()] * 3,
    }.items():
        path = os.path.join(folder, "special.gsd")
        example.write(path, frames, "create", "single", "2.0")
        wanted = without_types(filled(frames, "single"))
        tally.compare(f"{what}, by the package", without_types(read_by_package(path)["frames"]), wanted)
        tally.compare(f"{what}, by striae", example.read(path), read_by_package(path))


def compare_series(example, path, maker, tally):
    if not KNOWS_2_0 or not has_steps(path) or "text" in maker.first["log"]:
        return  # the package fails
    for pattern, scalars in [("*", False), ("log/*e*", False), ("*", True)]:
        found = example.series(path, pattern, scalars)
        tally.compare(f"{path}: log {pattern}", found, series_by_package(path, pattern, scalars))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--expect", action="store_true")
    parser.add_argument("--seeds", type=int, default=150)
    parser.add_argument("arguments", nargs="+")
    options = parser.parse_args()
    if options.expect:
        expect(options.arguments[0])
        return 0
    example, tally = Example(options.arguments[0]), Tally()
    with tempfile.TemporaryDirectory() as folder:
        if KNOWS_2_0:
            compare_golden(example, options.arguments[1], tally)
            compare_special(example, folder, tally)
        for seed in range(options.seeds):
            compare_random(example, folder, seed, tally)
    print(f"{tally.passed} passed, {tally.failed} failed")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
