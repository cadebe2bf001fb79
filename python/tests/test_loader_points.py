"""Points from depth images in batches: those of deproject and farthest_points, by a plan."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest

import robocache as rc
from loader_data import binary
from robocache._errors import Error

K = [30.0, 31.0, 19.5, 14.5]


def png(image: np.ndarray) -> bytes:
    """Returns a 16-bit grey png."""

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + row.astype(">u2").tobytes() for row in image)
    head = struct.pack(">IIBBBBB", image.shape[1], image.shape[0], 16, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def peract(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """PerAct's occupied cells, by its rule: 102 cells along each axis, of which the border is cropped."""
    size = (high - low) / np.float32(100 + 1e-12)
    index = np.floor((points - (low - size)) / (size + np.float32(1e-12))).astype(int).clip(0, 101)
    grid = np.zeros((102, 102, 102), np.uint8)
    grid[tuple(index.T)] = 1
    return grid[1:-1, 1:-1, 1:-1]


def test_points_are_those_of_the_operations(tmp_path):
    binary()
    images = np.random.default_rng(4).integers(2000, 20000, (4, 30, 40))  # 5000 a metre
    times = [1 + i / 10 for i in range(4)]
    for i, image in enumerate(images):
        (tmp_path / "{}.png".format(i)).write_bytes(png(image))
    (tmp_path / "depth.txt").write_text("".join("{:.1f} {}.png\n".format(t, i) for i, t in enumerate(times)))
    (tmp_path / "groundtruth.txt").write_text("".join("{:.1f} {:.1f} 0 0 0 0 0 1\n".format(t, t) for t in times))
    low, high = np.float32([0, -1, 0.5]), np.float32([2, 1, 3])
    points = {"k": 8, "intrinsics": K, "min": low.tolist(), "max": high.tolist(), "near": 0.5, "grid": "peract"}
    plan = {
        "version": 1,
        "rate": 10,
        "shuffle": "none",
        "streams": [{"name": "pose"}, {"name": "seen", "points": points}],
        "windows": {"seen": {"at": [-0.1, 0]}},
    }
    with rc.Loader(tmp_path, batch=4, plan=plan, framework="numpy") as loader:
        batch = next(iter(loader))
    got, grid = np.asarray(batch["seen"]), np.asarray(batch["seen_grid"])
    assert grid.shape == (4, 2, 100, 100, 100) and grid.dtype == np.uint8
    for row, cells in zip(got.reshape(-1, 8, 3), grid.reshape(-1, 100, 100, 100)):
        assert np.array_equal(cells, peract(row, low, high)) and 0 < cells.sum() <= 8
    assert np.array_equal(grid[0, 1], rc.voxelize(got[0, 1], preset="peract", min=low, max=high).occupied)
    assert got.shape == (4, 2, 8, 3) and got.dtype == np.float32
    for i, t in enumerate(times):
        pose = np.eye(4, dtype=np.float32)
        pose[0, 3] = t
        dense = rc.deproject(images[i].astype(np.uint16), K, scale=1 / 5000, near=0.5, poses=pose).points.reshape(-1, 3)
        inside = dense[((dense >= low) & (dense <= high)).all(-1)]
        assert len(inside) > 8
        want = inside[rc.farthest_points(inside, 8)]
        assert np.array_equal(got[i, 1], want)
        assert i == 3 or np.array_equal(got[i + 1, 0], want)
    with rc.Loader(tmp_path, batch=4, plan=plan, keys=["lerobot", "seen_grid"], framework="numpy") as loader:
        assert np.array_equal(grid, next(iter(loader))["seen_grid"])
    points["k"] = 0
    with pytest.raises(Error, match=r"streams\[1\]\.points\.k: got 0"):
        rc.Loader(tmp_path, batch=4, plan=plan, framework="numpy")
