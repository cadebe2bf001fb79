"""The package and the command line give the same bits for the same arrays."""

import os
import pathlib
import subprocess

import numpy as np
import pytest

import robocache as rc

S = 1_000_000_000
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def robocache(*args):
    done = subprocess.run(
        [os.environ["ROBOCACHE_BINARY"], *map(str, args), "--backend", "cpu"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert done.returncode == 0, done.stderr.decode()


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


@pytest.mark.parametrize(
    "flags, rules",
    [
        ([], {}),
        (["--method", "nearest", "--tolerance", "20ms"], dict(kind="nearest", tolerance=0.02)),
        (["--method", "pchip", "--edge", "fill", "--fill", "-7.5"], dict(kind="pchip", edge="fill", fill=-7.5)),
        (
            ["--method", "window-mean", "--window", "300ms", "--edge", "hold"],
            dict(kind="window-mean", window=0.3, edge="hold"),
        ),
        (["--max-gap", "250ms", "--fill-gaps", "--dtype", "bf16"], dict(max_gap=0.25, fill_gaps=True, dtype="bf16")),
        (["--method", "slerp", "--quat", "wxyz"], dict(kind="slerp", quat="wxyz")),
    ],
)
def test_resample_of_an_archive(tmp_path, flags, rules):
    rng = np.random.default_rng(1)
    values = rng.standard_normal((3, 40, 8)).astype(np.float32)
    times = np.sort(rng.integers(0, 5 * S, (3, 40)))
    targets = rng.integers(0, 5 * S, (3, 100))
    targets[:, ::7] = times[:, : 100 // 7 + 1]
    lengths = np.array([40, 31, 2])
    np.savez(tmp_path / "in.npz", values=values, times=times, targets=targets, lengths=lengths)
    robocache("resample", tmp_path / "in.npz", "-o", tmp_path / "out.npz", *flags)
    want = np.load(tmp_path / "out.npz")
    got = rc.resample(values, times, targets, lengths=lengths, snap=1e-6, valid=True, age=True, **rules)
    assert same(got.values, want["values"])
    assert same(got.valid.view(np.uint8), want["valid"]) and same(got.age, want["age"])


def test_fuse_of_an_archive(tmp_path):
    rng = np.random.default_rng(2)
    t1, t2, targets = np.sort(rng.random(50)), np.sort(rng.random(9)), np.sort(rng.random(70))
    a, b = rng.standard_normal((50, 3)), rng.standard_normal((9, 2)).astype(np.float32)
    arrays = {"a.values": a, "a.times": t1, "b.values": b, "b.times": t2, "targets": targets}
    np.savez(tmp_path / "in.npz", **arrays)
    robocache(
        "fuse",
        tmp_path / "in.npz",
        "-o",
        tmp_path / "out.npz",
        "--stream",
        "b:previous",
        "--stream",
        "a::100ms",
        "--edge",
        "fill",
    )
    want = np.load(tmp_path / "out.npz")
    rules = dict(edge="fill", snap=1e-6)
    got = rc.fuse(
        [rc.Stream(b, t2, kind="previous", **rules), rc.Stream(a, t1, max_gap=0.1, **rules)],
        targets,
        valid=True,
        age=True,
    )
    assert same(got.values, want["values"])
    assert same(got.valid.view(np.uint8), want["valid"]) and same(got.age, want["age"])


@pytest.mark.parametrize(
    "flags, options, names",
    [
        (["--mode", "count"], dict(reduce="count"), {"grid": "grid"}),
        (["--mode", "mean"], dict(reduce="mean"), {"grid": "grid"}),
        (
            ["--mode", "hard", "--max-points", "3"],
            dict(mode="hard", max_points=3),
            {"values": "voxels", "counts": "num_points"},
        ),
        (
            ["--mode", "sparse", "--reduce", "max"],
            dict(mode="sparse", reduce="max"),
            {"values": "features", "counts": "counts"},
        ),
        (["--preset", "mmcv"], dict(preset="mmcv"), {"values": "voxels", "counts": "num_points"}),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_voxelize_of_an_archive(tmp_path, flags, options, names, dtype):
    rng = np.random.default_rng(3)
    points, features = rng.normal(0, 3, (5000, 3)).astype(dtype), rng.standard_normal((5000, 2)).astype(dtype)
    points[17] = np.nan
    np.savez(tmp_path / "in.npz", points=points, features=features)
    robocache("voxelize", tmp_path / "in.npz", "-o", tmp_path / "out.npz", "--size", "0.7,0.7,1.3", *flags)
    want = np.load(tmp_path / "out.npz")
    taken = None if options.get("reduce") == "count" else features
    got = rc.voxelize(points, taken, size=(0.7, 0.7, 1.3), **options)
    names = dict(names, coords="coords", point_voxel="point_voxel") if "grid" not in names else names
    for ours, theirs in names.items():
        assert same(getattr(got, ours), want[theirs]), ours
    assert got.box.min == tuple(want["min"]) and got.box.max == tuple(want["max"])


def test_voxelize_on_open3ds_grid(tmp_path):
    points = np.random.default_rng(4).normal(0, 3, (2000, 3))
    np.savez(tmp_path / "in.npz", points=points)
    robocache("voxelize", tmp_path / "in.npz", "-o", tmp_path / "out.npz", "--size", "0.9", "--preset", "open3d")
    want = np.load(tmp_path / "out.npz")
    got = rc.voxelize(points, size=0.9, preset="open3d")
    assert same(got.values, want["features"]) and same(got.coords, want["coords"])
    assert got.box.min == tuple(want["min"]) and got.box.max == tuple(want["max"])


def test_streams_of_a_flight_log(tmp_path):
    log = REPOSITORY / "examples" / "data" / "flight.ulg"
    robocache("resample", log, "-o", tmp_path / "all.npz", "--hz", "50", "--stream", "airspeed")
    out = np.load(tmp_path / "all.npz")
    # Onto its own clock again: every target is a sample, and stays what it is.
    values, times = out["airspeed.values"], out["times"]
    assert same(rc.resample(values, times, times), values)
