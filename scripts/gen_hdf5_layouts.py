#!/usr/bin/env python3
"""Writes HDF5 files with filters and types of PyTables, and in layouts of teams, whose values follow from formulas that the tests have.

    scripts/gen_hdf5_layouts.py dataset

It needs h5py and PyTables (Debian's python3-h5py and python3-tables), and the command zstd.
"""
import os
import subprocess
import sys

import h5py
import numpy as np
import tables

T = 300


def values():
    return (np.arange(T * 3).reshape(T, 3) % 101 - 50) / 8.0


def pytables(path):
    class Row(tables.IsDescription):
        time = tables.Time64Col(pos=0)
        held = tables.BoolCol(pos=1)
        q = tables.Float32Col(shape=(2,), pos=2)
        seconds = tables.Time32Col(pos=3)

        class pose(tables.IsDescription):
            _v_pos = 4
            x = tables.Float64Col()

    with tables.open_file(path, "w") as f:
        for lib in ("bzip2", "blosc", "blosc:lz4", "blosc:zlib", "blosc:zstd", "blosc:snappy", "lzo"):
            name = "x_" + lib.replace(":", "_")
            f.create_carray("/", name, obj=values(), filters=tables.Filters(5, lib), chunkshape=(128, 3))
        f.create_carray("/", "x_bits", obj=values(), filters=tables.Filters(5, "blosc:lz4", shuffle=False, bitshuffle=True), chunkshape=(128, 3))
        f.create_carray("/", "noise", obj=np.random.default_rng(1).integers(0, 256, (T, 3), np.uint8), filters=tables.Filters(5, "blosc"), chunkshape=(T, 3))
        f.create_array("/", "even", obj=np.arange(T) % 2 == 0)
        log = f.create_table("/log", "robot", Row, createparents=True, filters=tables.Filters(5, "blosc"), chunkshape=128)
        for i in range(T):
            r = log.row
            r["time"], r["held"], r["q"], r["seconds"], r["pose/x"] = 1.7e9 + i / 20, i % 3 == 0, [i, -i], 1_700_000_000 + i, i / 4
            r.append()


def other(path):
    with h5py.File(path, "w") as f:
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        plist.set_chunk((T, 3))
        plist.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, ())
        h5py.h5d.create(f.id, b"x_zstd", h5py.h5t.IEEE_F64LE, h5py.h5s.create_simple((T, 3)), plist)
        packed = subprocess.run(["zstd", "-c"], input=values().tobytes(), stdout=subprocess.PIPE, check=True).stdout
        f["x_zstd"].id.write_direct_chunk((0, 0), packed)
        stamps = (np.arange(T) * 10_000_000).astype("M8[ns]")
        f["stamp"] = stamps.astype(h5py.opaque_dtype(stamps.dtype))
        f.create_dataset("twice", data=np.arange(T * 3, dtype="i4").reshape(T, 3), chunks=(T, 3), scaleoffset=0, compression="gzip")


def main():
    folder = os.path.join(sys.argv[1], "hdf5/testdata")
    pytables(os.path.join(folder, "pytables.hdf5"))
    other(os.path.join(folder, "filters.hdf5"))


if __name__ == "__main__":
    main()
