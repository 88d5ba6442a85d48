#!/usr/bin/env python3
"""Compares images of the firmware's card with what the device says of them.

    firmware.py [--gsd] STRIAE DIR

STRIAE is the program, DIR has the firmware's report.txt and image-RUN-BOOT.gsd. An image is the card behind a
cut, or behind the end of a run. A line of the report about one: RUN-BOOT, 1 if the log had been begun, and of each
acknowledged frame the boot that it was logged in. These frames must be there with their values; one more may be,
of the boot that was cut; nothing else. With --gsd gsd's readers must say the same; it runs under a Python
that has gsd then.

One line for each disagreement, then `N passed, M failed`. Exit status 0 if nothing failed, else 1.
"""

import argparse
import json
import pathlib
import re
import struct
import subprocess
import sys

TYPES = {"boot": ("uint32", 1), "acceleration": ("float32", 3), "signal": ("int16", 2)}
CHECKSUMS = "striae/crc32c"
MAGIC = bytes.fromhex("df65df65df65df65")


def frame_values(frame, boot):
    """The chunks of a frame: name, bytes. As in core/firmware/src/check.rs, written a second time."""
    signal = []
    for row in range(frame % 5):
        a = 1000 * frame + 10 * row
        signal += [a + boot, -a]
    return {
        "boot": struct.pack("<I", boot),
        "acceleration": struct.pack("<3f", frame, -float(frame), frame / 4 + boot),
        "signal": struct.pack(f"<{len(signal)}h", *signal),
    }


def striae(program, *args):
    done = subprocess.run([program, *args], capture_output=True, check=False)
    if done.returncode:
        raise ValueError(f"striae {args[0]}: status {done.returncode}, {done.stderr.decode()[:300]}")
    return done.stdout


def read_by_striae(program, path):
    """Frames of a file: name, (type, M, bytes); and all names."""
    striae(program, "verify", path)
    listed = json.loads(striae(program, "ls", "--json", path))
    frames = [{} for _ in range(listed["frames"])]
    for chunk in listed["chunks"]:
        frame, name = chunk["frame"], chunk["name"]
        data = striae(program, "cat", path, chunk["address"])
        frames[frame][name] = (chunk["type"], chunk["M"], data)
    return frames, listed["names"]


def read_by_gsd(module, path):
    """The same by gsd: `fl` or `pygsd`."""
    frames = []
    with module(path) as file:
        names = file.find_matching_chunk_names("")
        for frame in range(file.nframes):
            chunks = {}
            for name in names:
                if file.chunk_exists(frame, name):
                    data = file.read_chunk(frame, name)
                    m = data.shape[1] if data.ndim == 2 else 1
                    if not data.size:
                        m = TYPES[name][1]  # pygsd does not say
                    chunks[name] = (data.dtype.name, m, data.tobytes())
            frames.append(chunks)
    return frames, names


def problems(frames, names, boots, last_boot):
    """What is wrong with a log."""
    if not len(boots) <= len(frames) <= len(boots) + 1:
        yield f"{len(frames)} frames, acknowledged {len(boots)}"
    if not set(names) <= {*TYPES, CHECKSUMS}:
        yield f"names {names}"
    for number, chunks in enumerate(frames):
        boot = boots[number] if number < len(boots) else last_boot
        values = frame_values(number, boot)
        if set(chunks) != {*values, CHECKSUMS}:
            yield f"frame {number} has the chunks {sorted(chunks)}"
            continue
        for name, data in values.items():
            if chunks[name] != (*TYPES[name], data):
                yield f"frame {number}, {name}: {chunks[name]}, should be {(*TYPES[name], data)}"


def readers(args):
    yield "striae", lambda path: read_by_striae(args.striae, path)
    if args.gsd:
        import gsd.fl
        import gsd.pygsd

        yield "gsd.fl", lambda path: read_by_gsd(lambda path: gsd.fl.open(path, "r"), path)
        yield "gsd.pygsd", lambda path: read_by_gsd(lambda path: gsd.pygsd.GSDFile(open(path, "rb")), path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--gsd", action="store_true")
    parser.add_argument("striae")
    parser.add_argument("dir", type=pathlib.Path)
    args = parser.parse_args()
    report = (args.dir / "report.txt").read_text()
    passed = failed = 0
    for run, boot, begun, boots in re.findall(r"^image (\d)-(\d) ([01]) \[([\d, ]*)\]$", report, re.M):
        path = args.dir / f"image-{run}-{boot}.gsd"
        if begun == "0" and path.read_bytes()[:8] != MAGIC:
            continue  # there is no log yet
        boots = [int(number) for number in boots.split(",") if number]
        for reader, read in readers(args):
            try:
                found = list(problems(*read(str(path)), boots, int(boot)))
            except Exception as error:  # any: it must be readable
                found = [repr(error)]
            for text in found[:3]:
                print(f"{path.name}, {reader}: {text}")
            passed, failed = (passed, failed + 1) if found else (passed + 1, failed)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
