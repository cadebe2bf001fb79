"""deproject and farthest_points on NumPy arrays, against NumPy's own arithmetic and a loop in float64."""

import numpy as np
import pytest

import robocache as rc

rng = np.random.default_rng(61)
K = [517.3, 516.5, 18.6, 15.3]


def points_of(depth, k, scale):
    """Pixels as points by NumPy, each step rounded to float32."""
    fx, fy, cx, cy = np.asarray(k, np.float32)
    z = depth.astype(np.float32) * np.float32(scale)
    v, u = (x.astype(np.float32) for x in np.mgrid[: depth.shape[-2], : depth.shape[-1]])
    return np.stack([(u - cx) * z / fx, (v - cy) * z / fy, z], -1)


def test_words_become_points():
    depth = rng.integers(0, 5000, (30, 40)).astype(np.uint16)
    depth[::7] = 0
    got = rc.deproject(depth, K, scale=1 / 5000, near=0.2, far=0.9)
    z = depth.astype(np.float32) * np.float32(1 / 5000)
    mask = (depth > 0) & (z >= np.float32(0.2)) & (z <= np.float32(0.9))
    assert got.mask.dtype == bool and np.array_equal(got.mask, mask)
    assert got.points.dtype == np.float32 and np.array_equal(got.points[mask], points_of(depth, K, 1 / 5000)[mask])
    assert np.isnan(got.points[~mask]).all()
    assert got.counts.tolist() == [mask.sum(), (depth == 0).sum(), (~mask & (depth > 0)).sum()]
    far = rc.deproject(depth[:, ::2], K)  # millimetres, of every other column
    assert np.array_equal(far.points[far.mask], points_of(depth[:, ::2], K, 0.001)[depth[:, ::2] > 0])


def test_a_batch_has_intrinsics_and_poses_of_its_own():
    depth = rng.uniform(0.5, 4, (3, 11, 13)).astype(np.float32)
    depth[1, 2, 3] = np.nan
    ks = np.array([K, [400, 401, 5, 6], [300, 310, 7, 8]])
    got = rc.deproject(depth, ks, near=0.5)
    for i in range(3):
        alone = rc.deproject(depth[i], ks[i], near=0.5)
        assert np.array_equal(alone.points, got.points[i], equal_nan=True) and alone.points.shape == (11, 13, 3)
        assert np.array_equal(alone.points[alone.mask], points_of(depth[i], ks[i], 1)[alone.mask])
    assert got.counts.tolist() == [[143, 0, 0], [142, 1, 0], [143, 0, 0]]
    moved = rc.deproject(depth, ks, poses=np.array([[1.0, 0, 0, 2], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]))
    assert np.array_equal(moved.points[..., 0], got.points[..., 0] + np.float32(2), equal_nan=True)


@pytest.mark.parametrize("kept", [0.9, 0.1, 0])
def test_compact_points_are_those_of_valid_pixels_in_order(kept):
    depth = rng.integers(300, 5000, (3, 37, 41)).astype(np.uint16) * (rng.random((3, 37, 41)) < kept)
    color = rng.integers(0, 256, (3, 37, 82, 3)).astype(np.uint8)[:, :, ::2, ::-1]
    mask = (depth > 0) & (depth * np.float32(0.001) <= np.float32(4))
    got = rc.deproject(depth.astype(np.uint16), K, far=4, compact=True, color=color)
    assert np.array_equal(got.points, points_of(depth, K, 0.001)[mask]) and got.points.dtype == np.float32
    assert np.array_equal(got.colors, color[mask]) and got.colors.dtype == np.uint8
    assert got.offsets.tolist() == [0, *mask.sum((1, 2)).cumsum()] and got.offsets.dtype == np.int64
    assert np.array_equal(got.mask, mask) and got.counts[:, 0].tolist() == mask.sum((1, 2)).tolist()
    alone = rc.deproject(depth[1].astype(np.uint16), K, far=4, compact=True)
    assert np.array_equal(alone.points, points_of(depth[1], K, 0.001)[mask[1]]) and alone.colors is None
    assert alone.offsets.tolist() == [0, mask[1].sum()] and alone.mask.shape == (37, 41) and alone.counts.shape == (3,)
    grids = rc.voxelize(got.points, size=0.5, min=-4, max=4, offsets=got.offsets)  # as a batch of clouds
    assert grids.found.points == mask.sum() and grids.grid.shape[0] == 3
    dense = rc.deproject(depth.astype(np.uint16), K, far=4)
    assert dense.offsets is None and dense.colors is None


def test_colors_may_be_of_another_framework():
    torch = pytest.importorskip("torch")
    color = rng.integers(0, 256, (2, 3, 3)).astype(np.uint8)
    for other in (color, color.tolist(), torch.from_numpy(color)):
        got = rc.deproject(torch.ones(2, 3), K, compact=True, color=other)
        assert isinstance(got.colors, torch.Tensor) and got.points.shape == (6, 3)
        assert got.colors.tolist() == color.reshape(6, 3).tolist()


def farthest(points, k):
    chosen, nearest = [0], np.full(len(points), np.inf)
    while len(chosen) < k:
        d = points.astype(np.float64) - points[chosen[-1]]
        nearest = np.minimum(nearest, (d * d).sum(1))
        chosen.append(int(nearest.argmax()))
    return chosen


def test_the_farthest_points_are_those_of_a_loop():
    clouds = rng.integers(-20, 20, (5, 200, 3)).astype(np.float32) / 8  # on a lattice, with ties
    got = rc.farthest_points(clouds, 40)
    assert got.dtype == np.int64 and got.tolist() == [farthest(c, 40) for c in clouds]
    assert rc.farthest_points(clouds[2].astype(np.float64), 40).tolist() == got[2].tolist()
    assert rc.farthest_points(clouds[0], 3, seed=5)[0] != 0
    holes = rc.deproject(np.full((4, 4), 0, np.uint16), K)
    assert rc.farthest_points(holes.points.reshape(-1, 3), 2).tolist() == [-1, -1]


def peract(points, features, lo, hi):
    """PerAct's grid, by its rule: 102 cells along each axis, of which the border is cropped."""
    lo, hi = np.asarray(lo, np.float32), np.asarray(hi, np.float32)
    res = (hi - lo) / np.float32(100 + 1e-12)
    index = np.floor((points - (lo - res)) / (res + np.float32(1e-12))).astype(int).clip(0, 101)
    values = np.concatenate([points, features, np.ones((len(points), 1))], 1).astype(np.float64)
    grid = np.zeros((102, 102, 102, values.shape[1]))
    np.add.at(grid, tuple(index.T), values)
    grid = grid[1:-1, 1:-1, 1:-1]
    count = np.maximum(grid[..., -1:], 1)
    where = np.moveaxis(np.indices((100, 100, 100)), 0, -1) / 100
    return np.concatenate([grid[..., :-1] / count, where, grid[..., -1:] / count], -1)


def test_the_grid_of_peract():
    lo, hi = (-0.3, -0.5, 0.6), (0.7, 0.5, 1.6)
    points = rng.uniform(-0.6, 1.7, (5000, 3)).astype(np.float32)
    colours = rng.uniform(0, 1, (5000, 3)).astype(np.float32)
    want = peract(points, colours, lo, hi)
    got = rc.voxelize(points, colours, preset="peract", min=lo, max=hi)
    assert got.grid.dtype == np.float32 and got.grid.shape == (100, 100, 100, 10)
    assert np.array_equal(got.occupied, want[..., -1]) and got.occupied.sum() > 100
    assert np.array_equal(got.grid[..., 6:9], want[..., 6:9].astype(np.float32))
    assert np.allclose(got.grid, want, rtol=1e-6, atol=1e-7)
    plain = rc.voxelize(points, preset="peract", min=lo, max=hi)
    assert np.array_equal(plain.occupied, got.occupied) and plain.grid.shape[-1] == 7
    assert plain.found.in_range == rc.voxelize(points, colours, preset="peract", min=lo, max=hi).found.in_range
    rows = rc.voxelize(points, preset="peract", min=lo, max=hi, offsets=[0, 2000, 5000]).occupied
    assert np.array_equal(np.maximum(rows[0], rows[1]), got.occupied)


def compact_color(color):
    return rc.deproject(np.ones((2, 2), np.float32), K, compact=True, color=color)


@pytest.mark.parametrize(
    "call, arg",
    [
        (lambda: rc.deproject(np.zeros((2, 2), np.uint8), K), "depth"),
        (lambda: rc.deproject(np.zeros(4, np.float32), K), "depth"),
        (lambda: rc.deproject(np.zeros((2, 2), np.float32), [1, 2, 3]), "K"),
        (lambda: rc.deproject(np.zeros((2, 2), np.float32), None), "K"),
        (lambda: rc.deproject(np.zeros((2, 2), np.float32), K, scale=-1), "scale"),
        (lambda: rc.deproject(np.zeros((2, 2), np.float32), K, near=2, far=1), "far"),
        (lambda: rc.deproject(np.zeros((2, 2), np.float32), K, color=np.zeros((2, 2, 3), np.uint8)), "color"),
        (lambda: compact_color(np.zeros((2, 2), np.uint8)), "color"),
        (lambda: compact_color(np.zeros((2, 3, 3), np.uint8)), "color"),
        (lambda: compact_color(np.zeros((2, 2, 3), np.float32)), "color"),
        (lambda: compact_color([[[0.5, 0, 0]] * 2] * 2), "color"),
        (lambda: rc.voxelize(np.zeros((5, 3)), preset="peract", min=0), "max"),
        (lambda: rc.voxelize(np.zeros((5, 3)), preset="peract", min=0, max=1, size=1), "size"),
        (lambda: rc.voxelize(np.zeros((5, 3)), preset="peract", min=1, max=0), "min, max"),
        (lambda: rc.voxelize(np.zeros((5, 3))), "size"),
        (lambda: rc.farthest_points(np.zeros((5, 2), np.float32), 1), "points"),
        (lambda: rc.farthest_points(np.zeros((5, 3), np.float32), 6), "k"),
        (lambda: rc.farthest_points(np.zeros((20000, 3), np.float32), 20000), "k"),
        (lambda: rc.farthest_points(np.zeros((5, 3), np.float32), 2, seed=-1), "seed"),
    ],
)
def test_a_wrong_argument_is_named(call, arg):
    with pytest.raises(rc.ArgumentError) as e:
        call()
    assert e.value.arg == arg
