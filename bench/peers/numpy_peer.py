#!/usr/bin/env python3
"""Measures numpy, one thread, on the jobs of robocache bench:

    robocache bench resample forms fuse voxelize --list --json | bench/peers/numpy_peer.py > numpy.json
    robocache bench --backend cpu --compare numpy.json

Resample, forms and fuse are numpy.interp, a feature at a time, from float32 values to float32, with float64 times: numpy has no bf16. Jobs of
other kinds, and those with a gap limit, a mask or ages are left out, and said to be. Voxels are
numpy.bincount for occupancy, counts, sums and means; numpy has no fast maximum by cell, and those jobs are left out.
Times and points are not checked for order or range.
"""
import platform
import sys

import numpy as np

import common


def resample(src, times, targets, dst):
    for b in range(src.shape[0]):
        for d in range(src.shape[2]):
            dst[b, :, d] = np.interp(targets[b], times[b], src[b, :, d])


def resample_job(j, args):
    rng = np.random.default_rng(1)
    streams = j["streams"] if j["suite"] == "fuse" else [{"S": j["S"], "D": j["D"]}]
    width = sum(s["D"] for s in streams)
    each = sum(j["B"] * s["S"] * (4 * s["D"] + 8) for s in streams) + j["B"] * j["T"] * (4 * width + 8)
    sets = common.count_sets(each, args.rotate * 1e6)
    targets = common.targets(rng, j)
    inputs = []
    for _ in range(sets):
        inputs.append(([(common.values(rng, j["B"], s["S"], s["D"]), common.timestamps(rng, j["B"], s["S"], common.clock(j))) for s in streams],
                       np.empty((j["B"], j["T"], width), np.float32)))

    def run(i):
        sources, dst = inputs[i]
        at = 0
        for src, times in sources:
            d = src.shape[2]
            resample(src, times, targets, dst[:, :, at:at + d])
            at += d

    return run, sets


def voxel_job(j, args):
    rng = np.random.default_rng(1)
    n, reduce = j["cells"], j["reduce"]
    points = common.cloud(rng, j["points"], j["cloud"])
    features = common.values(rng, j["points"], j.get("features", 0))
    size = np.float32(20 / n)

    def run(_):
        cell = np.floor((points + np.float32(10)) / size).astype(np.int64)
        inside = ((cell >= 0) & (cell < n)).all(1)
        flat = ((cell[:, 2] * n + cell[:, 1]) * n + cell[:, 0])[inside]
        count = np.bincount(flat, minlength=n**3)
        if reduce == "occupancy":
            return (count > 0).astype(np.uint8)
        if reduce == "count":
            return count.astype(np.int32)
        sums = np.stack([np.bincount(flat, f[inside], n**3) for f in features.T], 1)
        return (sums if reduce == "sum" else sums / np.maximum(count, 1)[:, None]).astype(np.float32)

    return run, 1


def main():
    args = common.arguments(__doc__.split("\n")[0]).parse_args()
    args.rotate = 64 if args.rotate is None else args.rotate
    rows = []
    for j in common.jobs(args, ("resample", "forms", "fuse", "voxelize")):
        if j.get("reduce") in ("max", "min", "hard") or common.lacking(j, "valid", "age"):
            print(f"not measured: {j['suite']} {j['name']}", file=sys.stderr)
            continue
        common.tell(j, "numpy")
        run, sets = (voxel_job if j["suite"] == "voxelize" else resample_job)(j, args)
        rows.append(common.row(j, "", common.on_the_wall(run, sets, args), "wall", sets))
    common.write(f"numpy {np.__version__}", {"backend": "numpy", "name": "cpu", "product": platform.machine()}, rows)


if __name__ == "__main__":
    main()
