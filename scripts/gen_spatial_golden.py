#!/usr/bin/env python3
"""Writes internal/test/opstest/testdata/spatial_golden.json: depth images as points by numpy's float32, seeded choices, and
PerAct's grid (peract/agent, voxel/voxel_grid.py) by numpy.

    apt-get install python3-numpy
    /usr/bin/python3 scripts/gen_spatial_golden.py
"""
import json
import os

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
F = np.float32
random = np.random.default_rng(61)


def deproject(depth, k, scale, near, far):
    fx, fy, cx, cy = (F(x) for x in k)
    raw = depth.astype(F)
    z = raw * F(scale)
    v, u = (x.astype(F) for x in np.mgrid[: depth.shape[-2], : depth.shape[-1]])
    with np.errstate(invalid="ignore"):
        mask = np.isfinite(raw) & (raw != 0) & (z >= F(near)) & (z <= F(far))
        points = np.stack([(u - cx) * z / fx, (v - cy) * z / fy, z], -1)
    return np.where(mask[..., None], points, F(np.nan)), mask


def bits(a):
    return a.view({4: np.uint32, 1: np.uint8}[a.dtype.itemsize]).ravel().tolist()


def depths():
    k = [517.3, 516.5, 318.6 / 40, 255.3 / 40]  # TUM's fr1 camera, with its centre in a small image
    for words, shape, scale, near, far in (
        (True, (2, 9, 16), 1 / 5000, 0.5, 4.0),
        (True, (1, 12, 7), 0.001, 0.1, 60.0),
        (False, (3, 8, 11), 1.0, 0.3, 3.0),
    ):
        if words:
            depth = random.integers(0, 65536, shape).astype(np.uint16)
            depth[random.random(shape) < 0.1] = 0
            stored = np.stack([depth & 255, depth >> 8], -1).astype(np.uint8)
        else:
            depth = random.uniform(0, 4, shape).astype(F)
            depth.flat[:4] = [0, np.nan, np.inf, F(0.3)]
            stored = depth
        points, mask = deproject(depth, k, scale, near, far)
        yield {
            "words": words, "shape": shape, "depth": bits(stored), "intrinsics": k, "scale": scale, "near": near, "far": far,
            "points": bits(points), "mask": mask.ravel().astype(int).tolist(),
        }  # fmt: skip


def peract():
    """PerAct's VoxelGrid.coords_to_bounding_voxel_grid, of one cloud, with means and features in float64."""
    for lo, hi in (([-0.3, -0.5, 0.6], [0.7, 0.5, 1.6]), ([0, 0, 0], [1, 2, 3])):
        lo, hi = np.array(lo, F), np.array(hi, F)
        res = (hi - lo) / F(100 + 1e-12)
        points = random.uniform(lo - res * 3, hi + res * 3, (150, 3)).astype(F)
        edges = lo + random.integers(-2, 103, (150, 3)).astype(F) * res  # and the neighbours of the borders between cells
        points = np.concatenate([points, edges, np.nextafter(edges, F(9)), np.nextafter(edges, F(-9)), points[:50]]).astype(F)
        shifted = lo - res
        index = np.floor((points - shifted) / (res + F(1e-12))).astype(np.int32)
        index = np.maximum(np.minimum(index, 101), 0)
        count = np.zeros((102,) * 3, int)
        total = np.zeros((102,) * 3 + (3,))
        np.add.at(count, tuple(index.T), 1)
        np.add.at(total, tuple(index.T), points.astype(float))
        count, total = count[1:-1, 1:-1, 1:-1], total[1:-1, 1:-1, 1:-1]
        cells = np.flatnonzero(count)
        yield {
            "min": [float(x) for x in lo], "max": [float(x) for x in hi], "points": bits(points), "cells": cells.tolist(),
            "counts": count.ravel()[cells].tolist(), "means": (total.reshape(-1, 3)[cells] / count.ravel()[cells, None]).ravel().tolist(),
        }  # fmt: skip


def mix(x):
    x ^= x >> 16
    x = x * 0x85EBCA6B % 2**32
    x ^= x >> 13
    x = x * 0xC2B2AE35 % 2**32
    return x ^ x >> 16


def first(seed, row, n):
    """The rule of ops.FarthestOptions."""
    lane = 2**34 + row
    k = mix(mix((seed + 0x9E3779B9) % 2**32) ^ seed >> 32)
    return mix(mix(k ^ lane % 2**32) ^ lane >> 32) * n >> 32


with open(os.path.join(ROOT, "internal/test/opstest/testdata/spatial_golden.json"), "w") as f:
    json.dump({"deproject": list(depths()), "peract": list(peract()), "firsts": [first(7, row, 1000) for row in range(3)]}, f, separators=(",", ":"))
    f.write("\n")
