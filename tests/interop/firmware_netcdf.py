#!/usr/bin/env python3
"""Compares images of the netCDF logger's card with what the device says of them.

    firmware_netcdf.py STRIAE DIR

STRIAE is the program, DIR has netcdf.txt and image-RUN-BOOT.nc of core/firmware/src/bin/netcdf.rs. An image is the card
after a cut, or after the end of a run. A line of the report about one: RUN-BOOT, 1 if the log had been begun, and of each
record the boot that it was logged in. netCDF4, ncdump and striae must read these records, and no other.

One line for each disagreement, then `N passed, M failed`. Exit status 0 if nothing failed, else 1.
"""

import pathlib
import re
import subprocess
import sys

import netCDF4
import numpy as np


def expected(boots):
    """The values of a log. As in core/firmware/src/bin/netcdf.rs, written a second time."""
    records = np.arange(len(boots), dtype=">f4")
    rows = np.stack([290 + records, -records, records / 4 + np.array(boots, ">f4")], axis=1)
    return {
        "time": np.arange(len(boots), dtype=">i4"),
        "boot": np.array(boots, ">i2"),
        "temperature": rows.astype(">f4"),
    }


def by_netcdf4(path):
    with netCDF4.Dataset(path) as file:
        assert file.data_model == "NETCDF3_64BIT_OFFSET" and file.title == "probe 7"
        assert file["temperature"].units == "K"
        return {name: np.ma.getdata(variable[...]) for name, variable in file.variables.items()}


def run(*args):
    done = subprocess.run(args, capture_output=True, check=False)
    assert done.returncode == 0, f"{args[0]}: status {done.returncode}, {done.stderr[:300]}"
    return done.stdout


def by_ncdump(path):
    shown = run("ncdump", "-p", "9", path).decode()
    numbers = dict(re.findall(r"\n (\w+) =\s*([^;]*?) ?;", shown[shown.index("\ndata:") :]))
    values = {name: np.array([float(n) for n in text.split(",")]) for name, text in numbers.items()}
    values["temperature"] = values["temperature"].reshape(-1, 3)
    return values


def by_striae(program, path):
    run(program, "verify", path)
    found = {name: run(program, "cat", path, f"variable/{name}") for name in ["time", "boot", "temperature"]}
    return {
        "time": np.frombuffer(found["time"], ">i4"),
        "boot": np.frombuffer(found["boot"], ">i2"),
        "temperature": np.frombuffer(found["temperature"], ">f4").reshape(-1, 3),
    }


def main():
    program, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    readers = [("netCDF4", by_netcdf4), ("ncdump", by_ncdump), ("striae", lambda path: by_striae(program, path))]
    passed = failed = 0
    for image, begun, boots in re.findall(
        r"^netcdf (\d-\d) ([01]) \[([\d, ]*)\]$", (folder / "netcdf.txt").read_text(), re.M
    ):
        path = folder / f"image-{image}.nc"
        if begun == "0" and path.read_bytes()[:3] != b"CDF":
            continue  # there is no log yet
        wanted = expected([int(boot) for boot in boots.split(",") if boot])
        for reader, read in readers:
            try:
                found = read(str(path))
                assert found.keys() == wanted.keys(), f"variables {list(found)}"
                for name, values in wanted.items():
                    assert np.array_equal(found[name], values), f"{name} is {found[name]}, should be {values}"
                passed += 1
            except Exception as error:  # any: it must be readable
                print(f"{path.name}, {reader}: {error!r}")
                failed += 1
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
