#!/usr/bin/env python3
"""Writes dataset/robomimic/testdata/kinds.hdf5: a small file in robomimic's layout with all that the reader tells apart.

    scripts/gen_robomimic_golden.py dataset/robomimic/testdata/kinds.hdf5

It needs h5py (Debian's python3-h5py). What it writes follows from the formulas below, which the test repeats.
"""
import json
import sys

import h5py
import numpy as np

with h5py.File(sys.argv[1], "w") as f:
    data = f.create_group("data")
    data.attrs["env_args"] = json.dumps({"env_name": "Lift", "env_kwargs": {"control_freq": 20}})
    data.attrs["total"] = 15
    for name, steps in (("demo_10", 3), ("demo_2", 5), ("demo_0", 7)):
        demo = data.create_group(name)
        demo.attrs["num_samples"] = steps
        demo.attrs["ep_meta"] = json.dumps({"lang": "lift the " + name})
        demo["actions"] = np.arange(steps * 2, dtype=np.float64).reshape(steps, 2) / 8
        demo["rewards"] = np.arange(steps, dtype=np.float32)
        demo["obs/small"] = np.arange(steps, dtype=np.uint8) + 250 - steps
        demo["obs/large"] = np.int64(2) ** 53 + np.arange(steps, dtype=np.int64)
        image = np.arange(steps * 4 * 6 * 3, dtype=np.int64).reshape(steps, 4, 6, 3) % 251
        demo.create_dataset("obs/image", data=image.astype(np.uint8), chunks=(1, 4, 6, 3), compression="gzip")
        demo["obs/depth"] = np.zeros((steps, 4, 6), dtype=np.float32)
        demo["obs/short"] = np.zeros((steps - 1, 2), dtype=np.float32)
        demo["obs/none"] = np.zeros((steps, 0), dtype=np.float64)
        demo["obs/note"] = np.array([b"a"] * steps)
        demo["scale"] = np.float64(2)
    mask = f.create_group("mask")
    mask["train"] = np.array([b"demo_0", b"demo_10"])
    mask["valid"] = np.array([b"demo_2", b"demo_7"])
