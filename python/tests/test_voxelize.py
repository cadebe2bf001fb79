"""voxelize on NumPy arrays, against dictionaries of cells."""

import numpy as np
import pytest

import robocache as rc

rng = np.random.default_rng(7)
POINTS = rng.uniform(-1.2, 1.2, (3000, 3)).astype(np.float32)
POINTS[::500] = np.nan
FEATURES = rng.standard_normal((3000, 2)).astype(np.float32)
BOX = dict(size=(0.5, 0.25, 1), min=-1, max=1)


def cells(points=POINTS, lo=-1, size=(0.5, 0.25, 1), n=(4, 8, 2)):
    """The cell x, y, z of each point, or None, in float32 as the operation has it."""
    with np.errstate(invalid="ignore"):
        c = np.floor((points - points.dtype.type(lo)) / np.array(size, points.dtype))
        inside = ((c >= 0) & (c < n)).all(1)
    return [tuple(int(k) for k in row) if i else None for row, i in zip(c, inside)]


def grouped(**kwargs):
    groups = {}
    for i, c in enumerate(cells(**kwargs)):
        if c is not None:
            groups.setdefault(c, []).append(i)
    return groups


def test_every_point_is_accounted_for():
    found = rc.voxelize(POINTS, **BOX).found
    inside = sum(map(len, grouped().values()))
    assert found == rc.VoxelCounts(3000, inside, 3000 - 6 - inside, 6, 0, 0, 0)


@pytest.mark.parametrize("reduce", ["occupancy", "count", "sum", "mean", "max", "min"])
def test_a_dense_grid_holds_what_its_cells_points_give(reduce):
    features = None if reduce in ("occupancy", "count") else FEATURES
    v = rc.voxelize(POINTS, features, reduce=reduce, empty=3, **BOX)
    dtype = {"occupancy": np.uint8, "count": np.int32}.get(reduce, np.float32)
    assert v.grid.dtype == dtype and v.grid.shape == (2, 8, 4) + ((2,) if features is not None else ())
    assert v.values is v.coords is v.counts is None
    want = np.full(v.grid.shape, 3, np.float64)
    for (x, y, z), rows in grouped().items():
        f = FEATURES[rows].astype(np.float64)
        of = {
            "occupancy": lambda: 1,
            "count": lambda: len(rows),
            "sum": lambda: f.sum(0),
            "mean": lambda: f.mean(0),
            "max": lambda: f.max(0),
            "min": lambda: f.min(0),
        }
        want[z, y, x] = of[reduce]()
    assert np.allclose(v.grid, want, rtol=1e-6, atol=1e-6)
    other = rc.voxelize(POINTS, features, reduce=reduce, empty=3, order="xyz", **BOX).grid
    assert np.array_equal(other.swapaxes(0, 2), v.grid)
    if features is not None:
        assert rc.voxelize(POINTS, features, reduce=reduce, dtype="f64", **BOX).grid.dtype == np.float64
        assert np.signbit(rc.voxelize(POINTS[:1], FEATURES[:1], reduce=reduce, empty=-0.0, **BOX).grid).all()


def test_the_commonest_label():
    labels = rng.integers(0, 4, 3000).astype(np.int32)
    v = rc.voxelize(POINTS, labels=labels, reduce="majority", empty=-1, **BOX)
    for (x, y, z), rows in grouped().items():
        assert v.grid[z, y, x] == np.bincount(labels[rows]).argmax()
    s = rc.voxelize(POINTS, labels=labels, mode="sparse", reduce="majority", **BOX)
    assert s.values.dtype == np.int32 and np.array_equal(s.values, v.grid[tuple(s.coords.T)])


def test_sparse_voxels_are_the_cells_that_hold_points_in_order():
    v = rc.voxelize(POINTS, FEATURES, mode="sparse", **BOX)
    groups = grouped()
    keys = sorted((z, y, x) for x, y, z in groups)
    assert v.grid is None and v.coords.tolist() == [list(k) for k in keys]
    assert v.counts.tolist() == [len(groups[k[::-1]]) for k in keys]
    assert np.allclose(v.values, [FEATURES[groups[k[::-1]]].mean(0) for k in keys], atol=1e-6)
    assert v.row_splits.tolist() == [0, len(keys)] and v.found.voxels == len(keys)
    index = {k: i for i, k in enumerate(keys)}
    assert v.point_voxel.tolist() == [-1 if c is None else index[c[::-1]] for c in cells()]
    first = rc.voxelize(POINTS, FEATURES, mode="sparse", max_voxels=5, **BOX)
    assert np.array_equal(first.values, v.values[:5]) and first.found.dropped_voxels == len(keys) - 5
    assert first.found.in_range == v.found.in_range and first.found.dropped_points == v.counts[5:].sum()
    count = rc.voxelize(POINTS, mode="sparse", reduce="count", **BOX)
    assert count.values is None and np.array_equal(count.counts, v.counts)


@pytest.mark.parametrize("max_voxels", [None, 7])
def test_hard_voxels_come_in_the_order_of_their_first_points(max_voxels):
    v = rc.voxelize(POINTS, FEATURES, mode="hard", max_points=4, max_voxels=max_voxels, **BOX)
    groups = list(grouped().items())[:max_voxels]
    assert v.coords.tolist() == [list(c[::-1]) for c, _ in groups]
    assert v.values.shape == (len(groups), 4, 5) and v.counts.tolist() == [min(len(rows), 4) for _, rows in groups]
    for i, (_, rows) in enumerate(groups):
        rows = rows[:4]
        assert np.array_equal(v.values[i, : len(rows)], np.hstack([POINTS[rows], FEATURES[rows]]))
        assert (v.values[i, len(rows) :] == 0).all() and (v.point_voxel[rows] == i).all()
    assert v.found.voxels == len(groups)


def test_a_cloud_of_many_hard_voxels_is_counted_first_and_is_the_same():
    points = rng.uniform(0, 100, (20000, 3)).astype(np.float32)
    box = dict(size=1, min=0, max=100, mode="hard", max_points=200)
    counted, given = rc.voxelize(points, **box), rc.voxelize(points, max_voxels=len(points), **box)
    assert (
        counted.found == given.found
        and np.array_equal(counted.values, given.values)
        and np.array_equal(counted.coords, given.coords)
    )


def test_batches_have_a_leading_dimension_and_a_leading_column():
    offsets = np.array([0, 1000, 1000, 3000])
    dense = rc.voxelize(POINTS, reduce="count", offsets=offsets, **BOX)
    assert dense.grid.shape == (3, 2, 8, 4) and not dense.grid[1].any()
    assert np.array_equal(dense.grid[2], rc.voxelize(POINTS[1000:], reduce="count", **BOX).grid)
    for mode in ("sparse", "hard"):
        v = rc.voxelize(POINTS, mode=mode, offsets=offsets, **BOX)
        alone = [rc.voxelize(POINTS[a:b], mode=mode, **BOX) for a, b in zip(offsets, offsets[1:])]
        assert v.row_splits.tolist() == np.cumsum([0] + [x.found.voxels for x in alone]).tolist()
        assert np.array_equal(
            v.coords, np.vstack([np.c_[np.full(len(x.coords), i), x.coords] for i, x in enumerate(alone)])
        )
        assert np.array_equal(v.values, np.concatenate([x.values for x in alone]))


def test_poses_move_points_first():
    pose = np.eye(4, dtype=np.float32)
    pose[:3, 3] = 0.5, -0.25, 0
    moved = POINTS + np.float32([0.5, -0.25, 0])
    assert np.array_equal(
        rc.voxelize(POINTS, reduce="count", poses=pose, **BOX).grid, rc.voxelize(moved, reduce="count", **BOX).grid
    )
    two = np.stack([pose, np.eye(4, dtype=np.float32)])
    v = rc.voxelize(POINTS, reduce="count", poses=two, offsets=[0, 1500, 3000], **BOX)
    assert np.array_equal(v.grid[1], rc.voxelize(POINTS[1500:], reduce="count", **BOX).grid)


def test_float64_points_are_binned_in_float64():
    points = np.array([[0.3, 0.3, 0.3]], np.float64)
    v = rc.voxelize(points, size=0.1, min=0, max=1, mode="sparse")
    assert v.values.dtype == np.float64 and v.coords.tolist() == [[2, 2, 2]]  # 0.3/0.1 is below 3 in float64
    assert rc.voxelize(points.astype(np.float32), size=0.1, min=0, max=1, mode="sparse").coords.tolist() == [[3, 3, 3]]


def test_bounds_that_are_not_given_are_multiples_of_size_around_the_points():
    v = rc.voxelize(POINTS, size=0.5)
    inside = POINTS[np.isfinite(POINTS).all(1)]
    assert v.box.min == tuple(np.floor(inside.min(0) / 0.5) * 0.5) and v.found.out_of_range == 0
    assert v.grid.shape == v.box.cells[::-1]
    half = rc.voxelize(POINTS, size=0.5, min=0)
    assert half.box.min == (0, 0, 0) and half.box.max == v.box.max
    assert rc.voxelize(POINTS, size=0.5, max=0).box.min == v.box.min


def test_presets_give_other_libraries_rules():
    v = rc.voxelize(POINTS, FEATURES, size=0.2, min=-1, max=1, mode="hard", preset="mmcv")
    w = rc.voxelize(POINTS, FEATURES, size=0.2, min=-1, max=1, mode="hard", max_points=35, max_voxels=20000)
    assert v.values.shape[1:] == (35, 5) and np.array_equal(v.values, w.values)
    assert rc.voxelize(POINTS, size=0.2, min=-1, max=1, preset="mmcv", max_points=3, max_voxels=10).values.shape == (
        10,
        3,
        3,
    )
    points = POINTS[np.isfinite(POINTS).all(1)].astype(np.float64)
    o = rc.voxelize(points, size=0.3, preset="open3d")
    lo = points.min(0) - 0.15
    assert o.box.min == tuple(lo)
    groups = {}
    for p, c in zip(points, map(tuple, np.floor((points - lo) / 0.3).astype(int))):
        groups.setdefault(c, []).append(p)
    assert o.coords.tolist() == sorted(list(c) for c in groups)
    assert np.allclose(o.values, [np.mean(groups[tuple(c)], 0) for c in o.coords], atol=1e-14)


def test_out_is_as_long_as_it_is_and_not_written_beyond_what_was_found():
    n = rc.voxelize(POINTS, mode="sparse", **BOX).found.voxels
    out = {
        "values": np.full((n + 3, 3), 9, np.float32),
        "coords": np.full((n + 3, 3), 9, np.int32),
        "counts": np.full(n + 3, 9, np.int32),
    }
    v = rc.voxelize(POINTS, mode="sparse", out=out, **BOX)
    assert v.values is out["values"] and v.coords is out["coords"] and v.found.voxels == n
    assert all((x[n:] == 9).all() for x in out.values()) and (v.counts[:n] > 0).all()
    short = rc.voxelize(POINTS, mode="sparse", out={"coords": np.zeros((5, 3), np.int32)}, **BOX)
    assert short.found.voxels == 5 and short.found.dropped_voxels == n - 5 and short.values.shape == (5, 3)
    grid = np.zeros((2, 8, 4), np.uint8)
    assert rc.voxelize(POINTS, out={"grid": grid}, **BOX).grid is grid and grid.any()


def test_no_points_give_empty_results():
    none = POINTS[:0]
    assert not rc.voxelize(none, **BOX).grid.any()
    for mode in ("hard", "sparse"):
        v = rc.voxelize(none, mode=mode, **BOX)
        assert len(v.values) == len(v.coords) == len(v.counts) == len(v.point_voxel) == 0 and v.row_splits.tolist() == [
            0,
            0,
        ]


def test_points_and_features_may_be_columns_of_one_array():
    both = np.hstack([POINTS, FEATURES])
    v, w = rc.voxelize(both[:, :3], both[:, 3:], mode="hard", **BOX), rc.voxelize(POINTS, FEATURES, mode="hard", **BOX)
    assert np.array_equal(v.values, w.values)


MISUSES = {
    "no points": (dict(points=None), "points"),
    "points of two columns": (dict(points=POINTS[:, :2]), "points"),
    "points of integers": (dict(points=np.zeros((3, 3), np.int32)), "points"),
    "fewer features": (dict(features=FEATURES[:5], reduce="sum"), "features"),
    "features that nothing takes": (dict(features=FEATURES), "features"),
    "a size of 0": (dict(size=0), "size"),
    "a size of two": (dict(size=(1, 2)), "size"),
    "a size that is a word": (dict(size="big"), "size"),
    "a range without cells": (dict(min=1, max=1), "min, max"),
    "a range of infinity": (dict(max=np.inf), "min, max"),
    "too many cells": (dict(size=1e-6, min=0, max=1), "min, max"),
    "an unknown mode": (dict(mode="soft"), "mode"),
    "an unknown reduce": (dict(reduce="median"), "reduce"),
    "an unknown order": (dict(order="yxz"), "order"),
    "an unknown preset": (dict(preset="spconv"), "preset"),
    "a mode against the preset": (dict(preset="mmcv", mode="sparse"), "mode"),
    "bounds with open3d": (dict(preset="open3d"), "min"),
    "max_points of a dense grid": (dict(max_points=3), "max_points"),
    "max_points of 0": (dict(mode="hard", max_points=0), "max_points"),
    "max_points beyond 32 bits": (dict(mode="hard", max_points=1 << 40), "max_points"),
    "negative max_voxels": (dict(mode="hard", max_voxels=-1), "max_voxels"),
    "an empty value of hard voxels": (dict(mode="hard", empty=1), "empty"),
    "an empty value that does not fit": (dict(empty=0.5), "empty"),
    "no labels": (dict(reduce="majority"), "labels"),
    "labels of int64": (dict(reduce="majority", labels=np.zeros(3000, np.int64)), "labels"),
    "offsets of another dtype": (dict(offsets=np.array([0, 3000], np.int32)), "offsets"),
    "a pose of three": (dict(poses=np.eye(3, dtype=np.float32)), "poses"),
    "a dtype of integers": (dict(reduce="mean", dtype="i32"), "dtype"),
    "an out of another name": (dict(out={"voxels": POINTS}), "out"),
    "an out that is an array": (dict(out=POINTS), "out"),
    "an out that the mode has not": (dict(out={"coords": np.zeros((3, 3), np.int32)}), "out.coords"),
    "an out of another shape": (dict(out={"grid": np.zeros((1, 1, 1), np.uint8)}), "out.grid"),
    "an out that is not contiguous": (dict(out={"grid": np.zeros((4, 8, 4), np.uint8)[::2]}), "out.grid"),
}


@pytest.mark.parametrize("what", MISUSES)
def test_misuse_is_an_argument_error_that_names_the_argument(what):
    change, arg = MISUSES[what]
    call = dict(points=POINTS, **BOX)
    call.update(change)
    with pytest.raises(rc.ArgumentError) as e:
        rc.voxelize(call.pop("points"), call.pop("features", None), **call)
    assert (e.value.op, e.value.arg) == ("voxelize", arg), str(e.value)


def test_poses_need_bounds_and_a_cloud_without_finite_points_too():
    for change in (dict(poses=np.eye(4, dtype=np.float32)), dict(points=POINTS[::500])):
        call = dict(points=POINTS, size=1, **{k: v for k, v in change.items() if k != "points"})
        call["points"] = change.get("points", POINTS)
        with pytest.raises(rc.ArgumentError, match="min: missing argument"):
            rc.voxelize(call.pop("points"), **call)


def test_what_became_of_the_points_may_be_left_out():
    v, w = rc.voxelize(POINTS, found=False, **BOX), rc.voxelize(POINTS, **BOX)
    assert v.found is None and np.array_equal(v.grid, w.grid)
    sparse = rc.voxelize(POINTS, mode="sparse", **BOX)
    out = {name: np.zeros_like(getattr(sparse, name)) for name in ("values", "coords", "counts")}
    v = rc.voxelize(POINTS, mode="sparse", out=out, found=False, **BOX)
    assert v.found is None and np.array_equal(v.values, sparse.values) and v.values is out["values"]
    with pytest.raises(rc.ArgumentError) as e:
        rc.voxelize(POINTS, mode="hard", found=False, **BOX)
    assert e.value.arg == "found"


@pytest.mark.parametrize("empty", [np.zeros(2), "x", [0.0]])
def test_an_empty_value_that_is_no_number_is_refused_by_name(empty):
    with pytest.raises(rc.ArgumentError) as e:
        rc.voxelize(np.zeros((1, 3), np.float32), size=1, empty=empty)
    assert e.value.arg == "empty"


@pytest.mark.parametrize(
    "points, got, hint",
    [
        (np.zeros((9, 4), np.float32), "[9,4]", "features=points[:, 3:]"),
        (np.zeros((2, 9, 3), np.float32), "[2,9,3]", "offsets="),
        (np.zeros(9, np.float32), "[9]", "[N,3]"),
        (np.zeros((9, 2), np.float32), "[9,2]", "[N,3]"),
        (np.zeros((9, 3), np.float16), "f16", "float32 or float64"),
        (np.zeros((9, 3), np.int64), "i64", "float32 or float64"),
        (np.zeros((9, 3), np.uint16), "uint16", "float32 or float64"),
    ],
)
def test_what_is_wrong_with_points_is_said_with_bounds_and_without(points, got, hint):
    for bounds in ({}, dict(min=0, max=1)):
        with pytest.raises(rc.ArgumentError) as e:
            rc.voxelize(points, size=1, **bounds)
        assert (e.value.arg, e.value.got) == ("points", got) and hint in str(e.value)
