"""The operation voxelize."""

from __future__ import annotations

import math
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _call, _options
from ._arrays import SIZES, Group, View, check_outputs, contiguous_strides, dtype_name, takes
from ._call import Call
from ._errors import near
from ._options import mistake, number, whole

_OP = "voxelize"
_FEATURES = ("sum", "mean", "max", "min")
_OUTPUTS = {
    "Grid": "grid",
    "Values": "values",
    "Coords": "coords",
    "Counts": "counts",
    "RowSplits": "row_splits",
    "PointVoxel": "point_voxel",
}
_MOST_CELLS = 1 << 40
_ONE_RUN = 64 << 20  # bytes of voxels that are made before it is known how many there are

Size = Union[float, Sequence[float]]
_Vector = Tuple[float, float, float]


class VoxelCounts(NamedTuple):
    """What became of the points: points = in_range + out_of_range + not_finite.

    voxels are those written, dropped_voxels those beyond max_voxels or the length of the outputs. dropped_points are in
    range, and in no voxel that was written, or beyond max_points. The last three are 0 of a dense grid.
    """

    points: int
    in_range: int
    out_of_range: int
    not_finite: int
    voxels: int
    dropped_voxels: int
    dropped_points: int


class Box(NamedTuple):
    """The grid: its bounds and the size of a cell, each x, y, z."""

    min: Tuple[float, float, float]
    max: Tuple[float, float, float]
    size: Tuple[float, float, float]

    @property
    def cells(self) -> Tuple[int, int, int]:
        """The number of cells along x, y and z."""
        x, y, z = (cells_along(lo, hi, size) for lo, hi, size in zip(*self))
        return x, y, z


class Voxels(NamedTuple):
    """What voxelize returns; what a mode has not is None. N points, F features, V voxels, P points a voxel.

    grid: dense, [Z,Y,X], or [Z,Y,X,F] of features. values: hard, [V,P,3+F], x, y, z, then the features, 0 beyond a
    voxel's points; sparse, [V,F], or [V] int32 of a majority. coords [V,3] int32: the cells, in the order of the grid's
    dimensions, or [V,4] with the row in front. counts [V] int32: the points in each. row_splits [B+1] int64: where each
    row's voxels begin. point_voxel [N] int32: each point's voxel, or -1. found: what became of the points, or None if
    not asked for. box: the grid's bounds.
    """

    grid: Any
    values: Any
    coords: Any
    counts: Any
    row_splits: Any
    point_voxel: Any
    found: Optional[VoxelCounts]
    box: Box


def voxelize(
    points: Any,
    features: Any = None,
    *,
    size: Size,
    min: Optional[Size] = None,
    max: Optional[Size] = None,
    mode: Optional[str] = None,
    reduce: Optional[str] = None,
    order: Optional[str] = None,
    max_points: Optional[int] = None,
    max_voxels: Optional[int] = None,
    empty: float = 0,
    preset: Optional[str] = None,
    labels: Any = None,
    offsets: Any = None,
    poses: Any = None,
    dtype: Any = None,
    out: Optional[Mapping[str, Any]] = None,
    found: bool = True,
    check: bool = False,
    backend: str = "auto",
) -> Voxels:
    """Sorts points [N,3] with features [N,F] into the cells of a grid, and accounts for each of them.

    points are float32, or float64, which is binned in float64; features float32, float64, float16 or bfloat16 (that of
    ml_dtypes in NumPy). Clouds with more columns are points=x[:, :3], features=x[:, 3:]. No gradient flows: a tensor
    that requires grad is refused outside of no_grad. A point's cell is floor((p - min) / size) on each axis. size, min
    and max are in the points' unit: one number, or x, y, z. Unless given, min and max are the multiples of size next to
    the outermost finite points.

    mode: dense (default), a grid [Z,Y,X] of every cell; hard, voxels in the order of their first points, with the first
    max_points of each (32 unless given); sparse, voxels in the order of their cells. reduce: what a cell makes of its
    points: occupancy (uint8; dense, default), count (int32), mean (sparse, default), sum, max or min of the features
    (of the points where there are none), or majority of labels [N] int32. order: of the grid's dimensions and of
    coords, "zyx" (default, x is the fastest) or "xyz". max_voxels bounds the voxels of each row; the others are
    dropped, and counted. empty: the value of a dense grid's empty cells. dtype: f32 or f64, of sums, means and extremes
    and of hard voxels; f64 unless given if what goes into them is.

    preset: another library's rules: "mmcv" (hard voxels of mmcv's deterministic layer, 35 points and 20000 voxels
    unless given) or "open3d" (the sparse means of voxel_down_sample, on the grid that it lays; float64 points give its
    numbers).

    offsets [B+1] int64: where the points of each row of a batch begin; a dense grid then has a leading B, coords a
    leading column. poses [4,4] or [B,4,4]: applied to the points first. out: arrays to write, by the names of `Voxels`;
    where values, coords or counts is given the voxels are as many as it has room for, and what is beyond those found is
    not written. found: whether to say what became of the points, for which a GPU is waited for; without it found is
    None, and a dense grid, or voxels in out, can be captured in a CUDA graph. check, backend and errors are as in
    `resample`.

    Example:
        >>> import numpy as np, robocache as rc
        >>> points = np.array([[0.1, 0.1, 0.1], [0.2, 0.1, 0.1], [1.5, 0.5, 0.5], [9.0, 0.0, 0.0]], np.float32)
        >>> voxels = rc.voxelize(points, size=1, min=0, max=(2, 1, 1), mode="sparse")
        >>> voxels.coords.tolist(), voxels.counts.tolist(), voxels.found.out_of_range
        ([[0, 0, 0], [0, 0, 1]], [2, 1], 1)
    """
    options = _settings(preset, mode, reduce, order, max_points, max_voxels, empty)
    arrays = {"Points": points, "Features": features, "Labels": labels, "Offsets": offsets, "Poses": poses}
    if points is None:
        raise mistake(_OP, "points", "None", "an array [N,3]", "missing argument")
    if any(hasattr(x, "requires_grad") for x in arrays.values()):
        from . import _torch

        _torch.refuse_gradients(_OP, arrays)
    group = Group(_OP, {name: x for name, x in arrays.items() if x is not None})
    _check_points(group.views["Points"], features is not None)
    box = _box(group, size, min, max, preset)
    job = _Job(group, options, box, dtype, out, backend)
    return job.run(found, check)


def _check_points(points: View, features: bool) -> None:
    """Checks what bounds are looked for in."""
    shape = points.shape
    if len(shape) != 2 or shape[1] != 3:
        want = "[N,3]"
        if len(shape) == 3 and shape[2] == 3:
            want += ": points.reshape(-1, 3), with offsets=numpy.arange(B + 1) * N"
        elif len(shape) == 2 and shape[1] > 3 and not features:
            want += ": points[:, :3], with features=points[:, 3:]"
        raise mistake(_OP, "points", "[{}]".format(",".join(map(str, shape))), want, "wrong shape")
    if points.dtype not in ("f32", "f64"):
        raise mistake(_OP, "points", points.dtype, takes("Points"), "wrong dtype")


def _settings(
    preset: Optional[str],
    mode: Optional[str],
    reduce: Optional[str],
    order: Optional[str],
    max_points: Optional[int],
    max_voxels: Optional[int],
    empty: float,
) -> Dict[str, Any]:
    """Returns the options as a request has them."""
    o: Dict[str, Any] = {}
    if preset == "mmcv":
        o.update(mode="hard", max_points=35, max_voxels=20000)
    elif preset == "open3d":
        o.update(mode="sparse", reduce="mean", order="xyz")
    elif preset is not None:
        raise mistake(_OP, "preset", preset, "mmcv or open3d", near=near(str(preset), ("mmcv", "open3d")))
    for name, x in (("mode", mode), ("reduce", reduce), ("order", order)):
        if x is None:
            continue
        x = _options.name(x, _OP, name)
        if preset is not None and x != o.get(name, x):
            raise mistake(_OP, name, "{!r} with preset {!r}".format(x, preset), repr(o[name]))
        o[name] = x
    o.setdefault("mode", "dense")
    if o["mode"] == "hard":
        o.setdefault("max_points", 32)
    if max_points is not None:
        o["max_points"] = whole(max_points, _OP, "max_points")
        if not 0 < o["max_points"] < 1 << 31:
            raise mistake(_OP, "max_points", str(max_points), "1 to 2^31-1")
    if max_voxels is not None:
        o["max_voxels"] = whole(max_voxels, _OP, "max_voxels")
    value = number(empty, _OP, "empty")
    if repr(value) != "0.0":  # the other zero is a value too
        o["empty"] = value
    return o


def _vector(x: Size, arg: str) -> _Vector:
    try:
        if isinstance(x, str):
            raise TypeError
        values = [float(v) for v in x] if hasattr(x, "__len__") else [float(x)] * 3  # type: ignore[union-attr]
        a, b, c = values
    except (TypeError, ValueError):
        raise mistake(_OP, arg, x, "a number, or three for x, y and z") from None
    return a, b, c


def _box(group: Group, size: Size, lo: Optional[Size], hi: Optional[Size], preset: Optional[str]) -> Box:
    """Returns the grid that was asked for, or one around the points."""
    sizes = _vector(size, "size")
    if preset == "open3d":
        if lo is not None or hi is not None:
            raise mistake(
                _OP, "min" if lo is not None else "max", "a number with preset 'open3d'", "None: it lays its own grid"
            )
        if len(set(sizes)) != 1:
            raise mistake(_OP, "size", sizes, "one number with preset 'open3d': its cells are cubes")
    given_lo = None if lo is None else _vector(lo, "min")
    given_hi = None if hi is None else _vector(hi, "max")
    if given_lo is not None and given_hi is not None:
        return Box(given_lo, given_hi, sizes)
    points = group.views["Points"]
    if not all(s > 0 for s in sizes):
        return Box((0.0,) * 3, (0.0,) * 3, sizes)  # the helper process says what is wrong
    if "Poses" in group.views:
        raise mistake(
            _OP,
            "min" if lo is None else "max",
            "None with poses",
            "bounds: those of the points are of before the poses",
            "missing argument",
        )
    bounds = group.framework.bounds(points)
    if bounds is None:
        raise mistake(
            _OP,
            "min",
            "None, and no finite points",
            "bounds: there are no points to lay a grid around",
            "missing argument",
        )
    axes = [
        _open3d(a, b, s)
        if preset == "open3d"
        else _around(a, b, s, given_lo and given_lo[k], given_hi and given_hi[k], points.dtype)
        for k, (a, b, s) in enumerate(zip(bounds[0], bounds[1], sizes))
    ]
    x, y, z = axes
    return Box((x[0], y[0], z[0]), (x[1], y[1], z[1]), sizes)


def _open3d(lo: float, hi: float, size: float) -> Tuple[float, float]:
    least = lo - size / 2
    return least, least + (math.floor((hi - least) / size) + 1) * size


def _around(
    lo: float, hi: float, size: float, least: Optional[float], most: Optional[float], dtype: str
) -> Tuple[float, float]:
    """Returns the bounds along an axis, by the rule of the command line."""

    def f32(x: float) -> float:
        return _options.as_f32(x) if dtype == "f32" else x

    if least is None:
        least = math.floor(lo / size) * size
        if most is not None:
            least = most - max_(math.ceil((most - lo) / size), 1) * size
        if lo < least or f32(lo) < f32(least):
            least -= size
    if most is None:
        last = math.floor((hi - least) / size)
        if dtype == "f32":
            last = max_(last, math.floor(f32(f32(f32(hi) - f32(least)) / f32(size))))
        most = least + (max_(last, 0) + 1) * size
    return least, most


max_ = max  # voxelize's own max and min are bounds


def cells_along(lo: float, hi: float, size: float) -> int:
    """Returns the number of cells along an axis, halves rounded away from zero, or 0 where there can be none."""
    try:
        n = (hi - lo) / size
        whole_part = math.floor(n)
    except (ZeroDivisionError, OverflowError, ValueError):
        return 0
    count = whole_part + (n - whole_part >= 0.5)
    return count if 0 < count < 1 << 31 else 0


class _Job:
    """One voxelize."""

    def __init__(
        self,
        group: Group,
        options: Dict[str, Any],
        box: Box,
        dtype: Any,
        out: Optional[Mapping[str, Any]],
        backend: str,
    ) -> None:
        self.group, self.options, self.box = group, options, box
        self.device = _call.resolve(_OP, backend, group.device)
        self.mode = options["mode"]
        self.reduce = options.get("reduce") or {"dense": "occupancy", "sparse": "mean"}.get(self.mode, "")
        self.out = _given(out)
        views = group.views
        points = views["Points"]
        self.points = points.shape[0] if points.shape else 0
        features = views.get("Features")
        self.features = (
            features.shape[-1]
            if features is not None and len(features.shape) > 1
            else 3
            if self.reduce in _FEATURES
            else 0
        )
        offsets = views.get("Offsets")
        self.rows = 1 if offsets is None else max_((offsets.shape or (1,))[0] - 1, 0)
        wide = (
            points.dtype == "f64"
            and (features is None or self.mode == "hard")
            or features is not None
            and features.dtype == "f64"
        )
        self.dtype = "f64" if wide else "f32"
        if dtype is not None:
            self.dtype = dtype_name(dtype, "dtype", _OP)
            if self.dtype not in ("f32", "f64"):
                raise mistake(_OP, "dtype", self.dtype, "f32 or f64", "wrong dtype")
        cells = box.cells
        self.cells = cells if options.get("order") == "xyz" else cells[::-1]

    def run(self, wanted: bool, check: bool) -> Voxels:
        """Computes it; wanted says whether what became of the points is."""
        given = [self.out[n] for n in ("Values", "Coords", "Counts") if self.out.get(n) is not None]
        if self.mode not in ("hard", "sparse"):
            views, counts = self._compute(0, self.options, wanted=wanted, check=check)
        elif given:
            length = (getattr(given[0], "shape", None) or (0,))[0]
            views, counts = self._compute(length, self.options, wanted=wanted, check=check)
        elif not wanted:
            want = "True, or values, coords or counts in out: how many voxels there are is not known"
            raise mistake(_OP, "found", "False in mode {!r}".format(self.mode), want)
        else:
            most = self._most()
            if most * self._voxel_bytes() > max_(_ONE_RUN, 4 * self.points):
                most = self._found(most)
            views, counts = self._compute(most, self.options)
        found = (
            VoxelCounts(**{name: counts[name] for name in VoxelCounts._fields})
            if counts is not None and wanted
            else None
        )
        framework = self.group.framework
        results: Dict[str, Any] = dict.fromkeys(_OUTPUTS.values())
        for name, view in views.items():
            if name in ("Values", "Coords", "Counts") and not given and found is not None:
                results[_OUTPUTS[name]] = framework.head(view, found.voxels)
            else:
                results[_OUTPUTS[name]] = framework.result(view)
        return Voxels(found=found, box=self.box, **results)

    def _most(self) -> int:
        """Returns how many voxels there can be."""
        x, y, z = self.cells
        most: int = min(self.points, self.rows * x * y * z)
        bound = self.options.get("max_voxels", 0)
        return min(most, self.rows * int(bound)) if bound > 0 else most

    def _voxel_bytes(self) -> int:
        return sum(
            SIZES[d] * math.prod(s[1:])
            for n, (d, s) in self._shapes(1, self.options).items()
            if n in ("Values", "Coords", "Counts")
        )

    def _found(self, most: int) -> int:
        """Returns how many voxels there are, by a first run that keeps only their coordinates and counts."""
        options = {"mode": "sparse", "reduce": "count"}
        for name in ("order", "max_voxels"):
            if name in self.options:
                options[name] = self.options[name]
        _, counts = self._compute(most, options, keep=False)
        assert counts is not None
        return counts["voxels"]

    def _shapes(self, v: int, options: Mapping[str, Any]) -> Dict[str, Tuple[str, Tuple[int, ...]]]:
        """Returns the dtypes and shapes of the outputs for v voxels."""
        mode, reduce = options["mode"], options.get("reduce") or self.reduce
        batched = "Offsets" in self.group.views
        if mode not in ("hard", "sparse"):
            shape = ((self.rows,) if batched else ()) + self.cells
            if math.prod(shape) > _MOST_CELLS:
                shape = (0,) * len(shape)
            if reduce in _FEATURES:
                return {"Grid": (self.dtype, shape + (self.features,))}
            return {"Grid": ("u8" if reduce == "occupancy" else "i32", shape)}
        shapes: Dict[str, Tuple[str, Tuple[int, ...]]] = {}
        if mode == "hard":
            shapes["Values"] = (self.dtype, (v, max_(options["max_points"], 0), 3 + self.features))
        elif reduce in _FEATURES:
            shapes["Values"] = (self.dtype, (v, self.features))
        elif reduce == "majority":
            shapes["Values"] = ("i32", (v,))
        shapes["Coords"] = ("i32", (v, 4 if batched else 3))
        shapes["Counts"] = ("i32", (v,))
        shapes["RowSplits"] = ("i64", (self.rows + 1,))
        shapes["PointVoxel"] = ("i32", (self.points,))
        return shapes

    def _compute(
        self, v: int, options: Mapping[str, Any], keep: bool = True, wanted: bool = True, check: bool = False
    ) -> Tuple[Dict[str, View], Optional[Dict[str, int]]]:
        """Computes v voxels; returns the outputs and the counters, if they are wanted. keep=False is a run to count."""
        group = self.group
        outputs: Dict[str, View] = {}
        for name, (dtype, shape) in self._shapes(v, options).items():
            if keep or name in ("Values", "Coords", "Counts"):
                outputs[name] = group.output(
                    "out." + _OUTPUTS[name], self.out.get(name) if keep else None, dtype, shape
                )
        if keep:
            for name, x in self.out.items():
                if x is not None and name not in outputs:
                    raise mistake(_OP, "out." + _OUTPUTS[name], "an array", "None in mode {!r}".format(self.mode))
            if self.out:
                check_outputs(_OP, outputs, group.views, self.out)
                for name, view in outputs.items():
                    if view.strides != contiguous_strides(view.shape) and 0 not in view.shape:
                        raise mistake(
                            _OP, "out." + _OUTPUTS[name], str(view.strides), "a contiguous array", "wrong strides"
                        )
        inputs = group.views
        if not keep:
            inputs = {n: x for n, x in inputs.items() if n in ("Points", "Offsets", "Poses")}
        box = self.box
        grid = {"min": _json(box.min), "max": _json(box.max), "size": _json(box.size)}
        key = (tuple(options.items()), tuple(box))
        call = Call(_OP, {"options": options, "grid": grid}, key, inputs, outputs, group.framework, wanted)
        return outputs, _call.run(call, self.device, check)


def _json(v: _Vector) -> List[Union[float, str]]:
    return [number(x, _OP, "min") for x in v]


def _given(out: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """Returns the outputs that were given, by their names in a request."""
    if out is None:
        return {}
    if isinstance(out, Voxels):
        out = {name: getattr(out, name) for name in _OUTPUTS.values()}
    if not isinstance(out, Mapping):
        raise mistake(_OP, "out", type(out).__name__, "a mapping from the names of Voxels to arrays")
    names = {python: go for go, python in _OUTPUTS.items()}
    for name in out:
        if name not in names:
            raise mistake(_OP, "out", repr(name), "one of " + ", ".join(names))
    return {names[name]: x for name, x in out.items() if x is not None}
