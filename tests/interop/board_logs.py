"""What must be in the logs of core/firmware's program `board`; see board.py."""

import json
import re
import struct
import subprocess

import gsd.fl
import gsd.pygsd

# The logs, and their files; that of `raw` is the card's second partition.
LOGS = {"raw": "RAW.GSD", "fat": "LOG.GSD", "sion": "LOG.SIO", "cdf": "LOG.NC"}
GSD_MAGIC = bytes.fromhex("df65df65df65df65")


def sample(n):
    """The chunks of frame n: name, (type, M, bytes). As core/firmware/src/bin/board/sample.rs has them, a second time."""
    x = float(n)
    rows = [number for row in range(n % 9) for number in (x, -x, x + row / 8)]
    return {
        "second": ("uint32", 1, struct.pack("<I", 10 * n)),
        "temperature": ("float32", 1, struct.pack("<f", 290 + n % 64 / 4)),
        "acceleration": ("float32", 3, struct.pack(f"<{len(rows)}f", *rows)),
    }


def run(*args):
    done = subprocess.run(args, capture_output=True, check=False)
    if done.returncode:
        raise ValueError(f"{args[:2]}: status {done.returncode}, {done.stderr.decode()[:300]}")
    return done.stdout


# ---- GSD ----


def gsd_frames(module, path):
    """The frames of a file by a reader of gsd: `fl` or `pygsd`."""
    frames = []
    with module(path) as file:
        for frame in range(file.nframes):
            chunks = {}
            for name, (_, m, _) in sample(frame).items():
                if file.chunk_exists(frame, name):
                    data = file.read_chunk(frame, name)
                    if data.size:  # else pygsd does not say
                        m = data.shape[1] if data.ndim == 2 else 1
                    chunks[name] = (data.dtype.name, m, data.tobytes())
            frames.append(chunks)
    return frames


def by_fl(path):
    return gsd_frames(lambda path: gsd.fl.open(path, "r"), path)


def by_pygsd(path):
    return gsd_frames(lambda path: gsd.pygsd.GSDFile(open(path, "rb")), path)


def by_striae(program, path):
    listed = json.loads(run(program, "ls", "--json", path))
    frames = [{} for _ in range(listed["frames"])]
    for chunk in listed["chunks"]:
        frame, name = chunk["frame"], chunk["name"]
        data = run(program, "cat", path, chunk["address"])
        frames[frame][name] = (chunk["type"], chunk["M"], data)
    return frames


def wrong_frames(frames, safe):
    if not safe <= len(frames) <= safe + 1:
        yield f"{len(frames)} frames, safe are {safe}"
    for number, chunks in enumerate(frames):
        if chunks != sample(number):
            yield f"frame {number} is {chunks}, should be {sample(number)}"


def wrong_gsd(striae, path, safe):
    if not safe and (not path.exists() or path.read_bytes()[:8] != GSD_MAGIC):
        return  # it is not begun
    run(striae, "verify", str(path))
    yield from wrong_frames(by_fl(str(path)), safe)


# ---- SIONlib ----


def sensor_records(n):
    """The records of the two tasks for sample n."""
    second, temperature, acceleration = (data for _, _, data in sample(n).values())
    return second + temperature, second + struct.pack("<I", n % 9) + acceleration


def wrong_sion(striae, path, safe):
    if not safe and (not path.exists() or subprocess.run([striae, "verify", str(path)], capture_output=True).returncode):
        return  # there was no commit yet
    run(striae, "verify", str(path))
    streams = [run(striae, "cat", str(path), f"task/{task}") for task in range(2)]
    samples, rest = divmod(len(streams[0]), 8)
    if rest or not safe <= samples <= safe + 1:
        yield f"{len(streams[0])} bytes of task 0, safe are {safe} records"
    for task, stream in enumerate(streams):
        expected = b"".join(sensor_records(n)[task] for n in range(samples))
        if stream != expected:
            yield f"task {task}: {len(stream)} bytes, should be {len(expected)}: {stream[:40]}..."


# ---- netCDF ----


def wrong_cdf(striae, path, safe):
    if not safe and (not path.exists() or not path.stat().st_size):
        return  # it is not begun
    run(striae, "verify", str(path))
    shown = run("ncdump", "-p", "9", str(path)).decode()
    assert 'temperature:units = "K"' in shown and ':title = "striae board"' in shown, shown[:500]
    numbers = dict(re.findall(r"\n (\w+) =\s*([^;]*?) ?;", shown[shown.index("\ndata:") :]))
    values = {name: [float(n) for n in text.split(",") if n.strip()] for name, text in numbers.items()}
    records = len(values.get("time", []))
    if not safe <= records <= safe + 1:
        yield f"{records} records, safe are {safe}"
    expected = {
        "time": [10 * n for n in range(records)],
        "temperature": [290 + n % 64 / 4 for n in range(records)],
    }
    if records and values != expected:
        yield f"the values are {values}"


# ---- all logs ----

CHECKS = {"raw": wrong_gsd, "fat": wrong_gsd, "sion": wrong_sion, "cdf": wrong_cdf}


def wrong(striae, log, path, safe):
    """What is wrong with a log of which so many records are safe."""
    try:
        return [f"{log}: {text}" for text in CHECKS[log](striae, path, safe)]
    except Exception as error:  # any: it must be readable
        return [f"{log}: {error!r}"]


def wrong_in_detail(striae, paths, safe):
    """What other readers find wrong with the logs."""
    found = []
    for log in ["raw", "fat"]:
        path = str(paths[log])
        for reader, frames in [("pygsd", by_pygsd(path)), ("striae", by_striae(striae, path))]:
            found += [f"{log}, {reader}: {text}" for text in wrong_frames(frames, safe[log])]
    return found


def wrong_control(striae, paths, safe):
    """Nothing, if a record that is lost or changed is found wrong."""
    found = []
    for log, path in paths.items():
        if not safe[log]:
            found.append(f"{log}: nothing was ever safe")
        if not wrong(striae, log, path, safe[log] + 2):
            found.append(f"{log}: records are missing, and nobody finds it")
    return found
