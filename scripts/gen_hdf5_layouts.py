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
        log = f.create_table("/log", "robot", Row, createparents=True, chunkshape=128)
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


def layouts(folder):
    """Episodes of 12 actions, as teams keep them."""
    n = 12
    with h5py.File(os.path.join(folder, "droid.hdf5"), "w") as f:  # milliseconds in a group of timestamps
        f["action/joint_position"] = np.zeros((n, 7))
        f["observation/robot_state/joint_positions"] = np.zeros((n, 7))
        f["observation/extrinsics/left"] = np.zeros((n, 3, 4))
        f["observation/timestamp/control/step_start"] = 1_700_000_000_000 + np.arange(n) * 66
        f["observation/timestamp/control/step_end"] = 1_700_000_000_060 + np.arange(n) * 66
        f["observation/timestamp/skip_action"] = np.zeros(n, bool)
    with h5py.File(os.path.join(folder, "rates.hdf5"), "w") as f:  # attributes of a dataset and of a group
        f.create_dataset("camera/mean", data=np.zeros((2 * n, 2))).attrs["fps"] = 30
        robot = f.create_group("robot")
        robot.attrs["frequency"] = 100.0
        robot["q"], robot["tau"], robot["calibration"] = np.zeros((5 * n, 7)), np.zeros((5 * n, 7)), np.eye(3)
    with h5py.File(os.path.join(folder, "names.hdf5"), "w") as f:  # NAME_timestamp_us, NAME_ts, timestamps/NAME, units
        f["imu"], f["imu_timestamp_us"] = np.zeros((4 * n, 6)), np.arange(4 * n) * 5000
        f["joints"], f["joints_ts"] = np.zeros((2 * n, 6)), np.arange(2 * n) * 0.01
        f["hand/q"], f["timestamps/hand"] = np.zeros((3 * n, 2)), 1_700_000_000_000_000_000 + np.arange(3 * n) * 20_000_000
        f["gps/data"], f["gps/t"] = np.zeros((n, 2)), np.arange(n)
        f["gps/t"].attrs["units"] = "seconds since 2020-01-01"
        f["short"] = np.zeros((5, 2))
    with h5py.File(os.path.join(folder, "still.hdf5"), "w") as f:  # a clock that was not set is none
        f["action"], f["timestamp"], f["step_time"] = np.zeros((n, 3)), np.zeros(n), np.arange(n)
        f["map"] = np.zeros((n, 40, 40), np.float32)
    with h5py.File(os.path.join(folder, "mixed.hdf5"), "w") as f:  # actions without a clock beside data with one
        f["action"], f["joint/q"], f["joint/time"] = np.zeros((n, 3)), np.zeros((2 * n, 7)), np.arange(2 * n) * 0.05 + 7
    with h5py.File(os.path.join(folder, "after.hdf5"), "w") as f:  # states after the last action
        f["action"], f["timestamp"], f["obs/q"] = np.zeros((n, 3)), np.arange(n) * 0.05 + 3, np.zeros((n + 1, 3))
    with h5py.File(os.path.join(folder, "trials.hdf5"), "w") as f:  # RoboHive
        for k in range(2):
            f[f"Trial{k}/data/time"], f[f"Trial{k}/data/qp"], f[f"Trial{k}/derived/pose"] = np.arange(n) * 0.04, np.zeros((n, 9)), np.zeros((n, 7))

    def groups(name, paths, episode=True, **others):
        with h5py.File(os.path.join(folder, name), "w") as f:
            for p in paths:
                f[p + ("/action" if episode else "/rgb")] = np.zeros((n, 3))
                f[p + ("/obs/q" if episode else "/depth")] = np.zeros((n, 2))
            for key, value in others.items():
                f[key] = value

    groups("data.hdf5", ["data/trial_00", "data/trial_01"], returns=np.zeros(2), mask_train=0)
    groups("words.hdf5", ["pick_cup", "pour_water"])
    groups("deep.hdf5", ["kitchen/day1/run_1", "kitchen/day1/run_2", "office/day2/run_1"])
    groups("dates.hdf5", ["2024-05-01_10-00", "2024-05-02_09-30"], False)
    groups("arms.hdf5", ["left", "right"])
    groups("cameras.hdf5", ["camera_0", "camera_1"], False)
    groups("objects.hdf5", ["obj0", "obj1", "table"], False)


def main():
    folder = os.path.join(sys.argv[1], "hdf5/testdata")
    pytables(os.path.join(folder, "pytables.hdf5"))
    other(os.path.join(folder, "filters.hdf5"))
    folder = os.path.join(sys.argv[1], "hdf5/plain/testdata/layouts")
    os.makedirs(folder, exist_ok=True)
    layouts(folder)


if __name__ == "__main__":
    main()
