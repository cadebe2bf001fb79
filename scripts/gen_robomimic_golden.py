#!/usr/bin/env python3
"""Writes dataset/robomimic/testdata/kinds.hdf5, a small file in robomimic's layout with all that the reader tells apart, and hostile.hdf5 beside it,
whose sizes are lies and some of whose bytes are wrong.

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

path = sys.argv[1].replace("kinds", "hostile")
MANY = 10**15
with h5py.File(path, "w") as f:
    data = f.create_group("data")
    data.attrs["env_args"] = json.dumps({"env_name": "Lift", "env_kwargs": {}})
    data.attrs["problem_info"] = json.dumps({"language_instruction": list("lift it")})
    data.attrs["total"] = 99

    def demo(name, actions, samples):
        d = data.create_group(name)
        if actions is not None:
            d["actions"] = np.arange(actions * 2, dtype=np.float64).reshape(actions, 2)
        if samples is not None:
            d.attrs["num_samples"] = samples
        return d

    d = demo("demo_0", 3, MANY)
    d.create_dataset("obs/image", (MANY, 4, 4, 3), np.uint8, chunks=(1, 4, 4, 3))
    d.create_dataset("obs/deep", (MANY,), np.float32, chunks=(64,))
    d = demo("demo_1", None, MANY)
    d.create_dataset("actions", (MANY, 2), np.float64, chunks=(64, 2))
    d.create_dataset("obs/image", (MANY, 4, 4, 3), np.uint8, chunks=(1, 4, 4, 3))
    d.create_dataset("obs/wide", (0, MANY), np.float64, chunks=(1, 64), maxshape=(None, MANY))
    d = demo("demo_2", None, MANY)
    d.create_dataset("obs/deep", (MANY,), np.float32, chunks=(64,))
    d = demo("demo_3", 3, 3)
    d.attrs["broken"] = np.float32(1)
    d.attrs["fine"] = np.float32(1)
    d = demo("demo_4", None, 7)
    d["obs/a"], d["obs/b"], d["obs/c"] = np.zeros(4), np.zeros((4, 2)), np.zeros(3)
    d = demo("demo_5", 3, 3)
    d = demo("demo_6", 4, 4)
    headers = {name: h5py.h5o.get_info(data[name].id).addr for name in ("demo_5",)}
with open(path, "r+b") as f:
    content = bytearray(f.read())
    at = content.index(b"broken\0\0")
    content[at + 12] = 0  # the size of its type
    content[headers["demo_5"]] = 9  # the version of its header
    f.seek(0)
    f.write(content)
