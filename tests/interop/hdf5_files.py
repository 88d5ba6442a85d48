"""Writes the files of tests/golden/hdf5 that h5py makes, with what h5py reads of them as JSON.

usage: python3 hdf5_files.py FOLDER    (needs h5py)
"""

import json
import os
import sys

import h5py
import numpy as np

TYPES = ["<i4", ">i2", "<f8", ">f4", "u1", "<u8", "S5"]


def fill(file, count, attributes):
    for number in range(count):
        dtype = np.dtype(TYPES[number % len(TYPES)])
        values = np.arange(number * 3 + 1).astype(dtype)
        if number % 3 == 2:
            values = np.stack([values, values])
        file.create_dataset(f"dataset_{number:02}", data=values)
    file.create_dataset("scalar", data=np.int32(7))
    file.create_dataset("empty", shape=(0,), dtype="<i4")
    for number in range(attributes):
        file.attrs.create(f"-DIM_{number}", np.uint64(number * 1000), dtype="<u8")
    file.attrs.create("title", np.bytes_("a map"))
    file.attrs.create("shape", np.array([3, 4], dtype="<i4"))


def kind(dtype):
    order = "big" if dtype.byteorder == ">" else "little"
    return {"class": dtype.kind, "size": dtype.itemsize, "order": order}


def expected(path):
    datasets, attributes = {}, {}
    with h5py.File(path, "r") as file:
        for name in file:
            if file.get(name, getlink=True).__class__ is not h5py.HardLink:
                continue
            dataset = file[name]
            if not isinstance(dataset, h5py.Dataset):
                continue
            datasets[name] = {
                "shape": list(dataset.shape),
                "offset": dataset.id.get_offset(),
                "bytes": dataset[()].tobytes().hex(),
                **kind(dataset.dtype),
            }
        for name in file.attrs:
            attr = h5py.h5a.open(file.id, name.encode())
            values = np.empty(attr.shape, attr.dtype)
            attr.read(values)
            shape = list(attr.shape)
            attributes[name] = {"shape": shape, "bytes": values.tobytes().hex(), **kind(attr.dtype)}
    return {"datasets": datasets, "attributes": attributes}


def write(folder, name, libver, count, attributes):
    path = os.path.join(folder, name + ".h5")
    with h5py.File(path, "w", libver=libver) as file:
        fill(file, count, attributes)
        if libver == "earliest":
            file["soft"] = h5py.SoftLink("/dataset_00")
            file.create_group("group")
    with open(path + ".json", "w") as out:
        json.dump(expected(path), out, indent=1)
        out.write("\n")


def refused(folder, name, make, **options):
    with h5py.File(os.path.join(folder, f"refused_{name}.h5"), "w", **options) as file:
        make(file)


def compact(file):
    plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plist.set_layout(h5py.h5d.COMPACT)
    space = h5py.h5s.create_simple((4,))
    h5py.h5d.create(file.id, b"d", h5py.h5t.NATIVE_INT32, space, plist)


def main():
    folder = sys.argv[1]
    write(folder, "superblock0", "earliest", 20, 12)
    write(folder, "superblock2", ("v108", "v108"), 5, 4)
    write(folder, "superblock3", ("v110", "v110"), 5, 4)
    four = np.arange(4, dtype="<i4")
    refused(folder, "chunked", lambda file: file.create_dataset("d", data=four, chunks=(2,)))
    gzip = {"chunks": (2,), "compression": "gzip"}
    refused(folder, "filters", lambda file: file.create_dataset("d", data=four, **gzip))
    refused(folder, "compact", compact)
    external = {"shape": (4,), "dtype": "<i4", "external": [("other.bin", 0, 16)]}
    refused(folder, "external", lambda file: file.create_dataset("d", **external))
    refused(folder, "not_allocated", lambda file: file.create_dataset("d", (4,), "<i4"))
    refused(folder, "soft_link", lambda file: file.update({"d": h5py.SoftLink("/e")}))
    refused(folder, "dense_links", lambda file: fill(file, 20, 4), libver="latest")
    refused(folder, "dense_attributes", lambda file: fill(file, 2, 20), libver="latest")
    refused(folder, "user_block", lambda file: None, userblock_size=512)


main()
