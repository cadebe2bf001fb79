#!/usr/bin/env python3
"""Writes internal/test/opstest/testdata/voxel_golden.json, voxels as other libraries make them.

    apt-get install python3-numpy python3-torch python3-open3d
    /usr/bin/python3 scripts/gen_voxel_golden.py

mmcv: its deterministic hard voxelisation, by the rules that its documentation and issues state, written here with numpy in
float32: cells by floor((p - min) / size), the upper bound exclusive, coordinates z, y, x, voxels in the order of their first
points, the first points of each kept. open3d: PointCloud.voxel_down_sample of Open3D itself, whose order is unspecified and
is sorted here. torch: index_add and scatter_reduce over the cells of a dense grid. Floats are bit patterns. The
seed is fixed: the same versions write the same file.
"""
import json
import os
import platform

import numpy as np
import open3d
import torch

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
VERSIONS = {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__, "open3d": open3d.__version__}
rng = np.random.default_rng(20240301)


def bits(a):
    a = np.ascontiguousarray(a)
    return a.view({4: np.int32, 8: np.int64}[a.itemsize]).ravel().tolist()


def mmcv_case(n, low, high, size, max_points, max_voxels, features):
    low, high, size = (np.array(x, np.float32) for x in (low, high, size))
    points = rng.uniform(low - 1, high + 1, (n, 3)).astype(np.float32)
    points[::7] = (low + size * rng.integers(0, 20, (len(points[::7]), 3))).astype(np.float32)  # on the borders of cells
    points = np.concatenate([points, rng.normal(size=(n, features)).astype(np.float32)], 1)
    grid = np.round((high.astype(np.float64) - low) / size).astype(np.int64)
    cell = np.floor((points[:, :3] - low) / size)
    voxels, coords, counts, number = [], [], [], {}
    for p, c in zip(points, cell):
        if (c < 0).any() or (c >= grid).any():
            continue
        key = tuple(int(x) for x in c[::-1])
        if key not in number:
            if len(voxels) >= max_voxels:
                continue
            number[key] = len(voxels)
            voxels.append(np.zeros((max_points, 3 + features), np.float32))
            coords.append(key)
            counts.append(0)
        v = number[key]
        if counts[v] < max_points:
            voxels[v][counts[v]] = p
            counts[v] += 1
    return {"oracle": "mmcv", "min": low.astype(float).tolist(), "max": high.astype(float).tolist(), "size": size.astype(float).tolist(),
            "maxPoints": max_points, "maxVoxels": max_voxels, "features": features, "points": bits(points),
            "values": bits(np.array(voxels, np.float32)), "coords": np.array(coords).ravel().tolist(), "counts": counts}


def open3d_case(n, size, spread, origin):
    points = origin + rng.normal(size=(n, 3)) * spread
    cloud = open3d.geometry.PointCloud(open3d.utility.Vector3dVector(points))
    low, high = cloud.get_min_bound() - size / 2, cloud.get_max_bound() + size / 2
    down, _, members = cloud.voxel_down_sample_and_trace(size, low, high)
    plain = np.asarray(cloud.voxel_down_sample(size).points)
    means = np.asarray(down.points)
    # Both functions give the same voxels; the trace also says whose points they hold.
    assert sorted(map(tuple, plain.round(9))) == sorted(map(tuple, means.round(9)))
    inverse = np.full(n, -1)
    cells = []
    for v, m in enumerate(members):
        inverse[np.asarray(m)] = v
        cells.append(tuple(np.floor((points[m[0]] - low) / size).astype(int)))
    order = sorted(range(len(cells)), key=lambda v: cells[v])
    rank = np.empty(len(order), int)
    rank[order] = np.arange(len(order))
    return {"oracle": "open3d", "cell": size, "points": bits(points), "values": bits(means[order]), "inverse": rank[inverse].tolist()}


def torch_case(n, cells, features, reduce):
    points = torch.from_numpy(rng.uniform(0, cells, (n, 3)).astype(np.float32))
    values = torch.from_numpy(rng.normal(size=(n, features)).astype(np.float32))
    x, y, z = points.floor().long().T
    index = (z * cells + y) * cells + x
    if reduce in ("max", "min"):
        out = torch.zeros(cells ** 3, features)
        out.scatter_reduce_(0, index[:, None].expand(-1, features), values, "a" + reduce, include_self=False)
    else:
        out = torch.zeros(cells ** 3, features, dtype=torch.float64).index_add_(0, index, values.double())
        if reduce == "mean":
            out /= torch.bincount(index, minlength=cells ** 3).clamp(min=1)[:, None]
        out = out.float()
    return {"oracle": "torch", "cells": cells, "features": features, "reduce": reduce, "points": bits(points.numpy()), "data": bits(values.numpy()),
            "values": bits(out.numpy())}


cases = [
    mmcv_case(300, [0, -4, -3], [7, 4, 1], [.5, .5, 4], 5, 40, 1),
    mmcv_case(400, [0, -2, -1], [4, 2, 1], [.2, .2, .4], 3, 1000, 2),
    mmcv_case(200, [-1, -1, -1], [1, 1, 1], [.1, .1, .1], 1, 50, 0),
    open3d_case(300, .5, 1.0, np.zeros(3)),
    open3d_case(300, .05, .1, np.array([500000.0, 4000000.0, 12.0])),  # a map's coordinates
] + [torch_case(400, 4, 3, r) for r in ("sum", "mean", "max", "min")]

with open(os.path.join(ROOT, "internal/test/opstest/testdata/voxel_golden.json"), "w", encoding="ascii") as f:
    lines = ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases)
    f.write('{"versions":' + json.dumps(VERSIONS) + ',"cases":[\n' + lines + "\n]}\n")
