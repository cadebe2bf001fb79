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
_ONE_RUN = 64 << 20  # bytes of voxels to allocate without a first run that counts them

Size = Union[float, Sequence[float]]
_Vector = Tuple[float, float, float]


class VoxelCounts(NamedTuple):
    """How many points and voxels voxelize counted: points = in_range + out_of_range + not_finite.

    voxels were written; dropped_voxels were found, but exceed max_voxels or the length of the outputs. dropped_points are in range, but
    in a dropped voxel or after the first max_points. The last three are 0 for a dense grid.
    """

    points: int
    in_range: int
    out_of_range: int
    not_finite: int
    voxels: int
    dropped_voxels: int
    dropped_points: int


class Box(NamedTuple):
    """The grid: its bounds and its cell size, each (x, y, z) in the points' unit."""

    min: Tuple[float, float, float]
    max: Tuple[float, float, float]
    size: Tuple[float, float, float]

    @property
    def cells(self) -> Tuple[int, int, int]:
        """The number of cells along x, y and z."""
        x, y, z = (cells_along(lo, hi, size) for lo, hi, size in zip(*self))
        return x, y, z


class Voxels(NamedTuple):
    """The result of voxelize. Fields that the mode does not have are None. N points, F features, V voxels, P points per voxel.

    Attributes:
        grid: dense: [Z,Y,X], or [Z,Y,X,F] with a reduction of features.
        values: hard: [V,P,3+F], x, y, z, then the features, 0 after a voxel's last point. sparse: [V,F], or int32 [V] for majority.
        coords: int32 [V,3], the cell of each voxel, in the order of the grid's dimensions; [V,4] for a batch, with the row first.
        counts: int32 [V], the number of points in each voxel.
        row_splits: int64 [B+1], the first voxel of each row.
        point_voxel: int32 [N], the voxel of each point, or -1.
        found: `VoxelCounts`, or None with found=False. box: the `Box` of the grid.
        occupied: with preset "peract", float32 [100,100,100] in the order x, y, z, 1 in cells that have points, else 0.
    """

    grid: Any
    values: Any
    coords: Any
    counts: Any
    row_splits: Any
    point_voxel: Any
    found: Optional[VoxelCounts]
    box: Box
    occupied: Any = None


def voxelize(
    points: Any,
    features: Any = None,
    *,
    size: Optional[Size] = None,
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
    """Sorts points into the cells of a grid, and counts where each point went.

    A point's cell is floor((p - min) / size) on each axis. For clouds with more columns, use points=x[:, :3],
    features=x[:, 3:]. No gradient flows: a tensor that requires grad is an error outside torch.no_grad().

    Args:
      points: [N,3], float32 or float64. float64 points are binned in float64.
      features: [N,F], float32, float64, float16 or bfloat16 (in NumPy from ml_dtypes).
      size, min, max: cell size and bounds, in the points' unit: one number, or (x, y, z). Default of min and max: the
        multiples of size around all finite points.
      mode: "dense" (default): a grid [Z,Y,X] with every cell. "hard": voxels in the order of their first points, with the first
        max_points of each. "sparse": voxels in the order of their cells.
      reduce: the value of a cell: "occupancy" (uint8, default for dense), "count" (int32), "mean" (default for sparse), "sum",
        "max" or "min" of the features, or of the points without features; or "majority" of labels.
      order: the order of the grid's dimensions and of coords: "zyx" (default, x is contiguous) or "xyz".
      max_points: points to keep in each hard voxel. Default: 32.
      max_voxels: limit on the voxels in each row; later voxels are dropped and counted. Default: no limit.
      empty: the value of a dense grid's empty cells. Default: 0.
      preset: the rules of another library: "mmcv" (its deterministic hard voxels; defaults are 35 points and 20000 voxels), or
        "open3d" (the sparse means of voxel_down_sample on its own grid; with float64 points, equal numbers), or "peract"
        (its float32 grid [100,100,100,7+F] with min and max, without size: means of x, y, z and the features, index / 100,
        occupied; by offsets [B,100,100,100,7+F]).
      labels: int32 [N], for majority.
      offsets: int64 [B+1], the first point of each row of a batch. A dense grid is then [B,Z,Y,X], and coords [V,4].
      poses: [4,4] or [B,4,4], transforms that are applied to the points first. They require min and max.
      dtype: "f32" or "f64", for sums, means, extremes and hard voxels. Default: f64 if their inputs are float64, else f32.
      out: arrays to write, a dict by the field names of `Voxels`, or a `Voxels`. With values, coords or counts, their length
        limits the voxels; entries after the last voxel are not written.
      found: count the points, which waits for a GPU. With False, a dense grid, or voxels in out, can be captured in a CUDA graph.
      check, backend: as in `resample`.

    Returns:
      `Voxels`, with arrays of the points' framework on their device.

    Raises:
      The errors of `resample`.

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
    if preset == "peract":
        unused = {"size": size, "labels": labels, "poses": poses, "dtype": dtype, "out": out, "empty": empty or None}
        from . import _peract

        return _peract.voxelize(arrays, options, unused, min, max, backend, found, check)
    if size is None:
        raise mistake(_OP, "size", "None", "the size of a cell", "missing argument")
    group = Group(_OP, {name: x for name, x in arrays.items() if x is not None})
    check_points(group.views["Points"], features is not None)
    box = _box(group, size, min, max, preset)
    job = Job(group, options, box, dtype, out, backend)
    return job.run(found, check)


def check_points(points: View, features: bool) -> None:
    """Checks the shape and dtype of points, because the bounds are computed from them."""
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
    """Returns the options for a request; a preset sets some of them."""
    o: Dict[str, Any] = {}
    if preset == "mmcv":
        o.update(mode="hard", max_points=35, max_voxels=20000)
    elif preset == "open3d":
        o.update(mode="sparse", reduce="mean", order="xyz")
    elif preset == "peract":
        o.update(mode="dense", reduce="mean", order="xyz")
    elif preset is not None:
        names = ("mmcv", "open3d", "peract")
        raise mistake(_OP, "preset", preset, "mmcv, open3d or peract", near=near(str(preset), names))
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
    if repr(value) != "0.0":  # -0.0 is sent, because it is another value
        o["empty"] = value
    return o


def vector(x: Size, arg: str) -> _Vector:
    """Returns a number for each axis, from one or three."""
    try:
        if isinstance(x, str):
            raise TypeError
        values = [float(v) for v in x] if hasattr(x, "__len__") else [float(x)] * 3  # type: ignore[union-attr]
        a, b, c = values
    except (TypeError, ValueError):
        raise mistake(_OP, arg, x, "a number, or three for x, y and z") from None
    return a, b, c


def _box(group: Group, size: Size, lo: Optional[Size], hi: Optional[Size], preset: Optional[str]) -> Box:
    """Returns the caller's grid, or one around the points."""
    sizes = vector(size, "size")
    if preset == "open3d":
        if lo is not None or hi is not None:
            raise mistake(
                _OP, "min" if lo is not None else "max", "a number with preset 'open3d'", "None: it lays its own grid"
            )
        if len(set(sizes)) != 1:
            raise mistake(_OP, "size", sizes, "one number with preset 'open3d': its cells are cubes")
    given_lo = None if lo is None else vector(lo, "min")
    given_hi = None if hi is None else vector(hi, "max")
    if given_lo is not None and given_hi is not None:
        return Box(given_lo, given_hi, sizes)
    points = group.views["Points"]
    if not all(s > 0 for s in sizes):
        return Box((0.0,) * 3, (0.0,) * 3, sizes)  # the helper process reports the error
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
        want = "bounds: there are no points to lay a grid around"
        raise mistake(_OP, "min", "None, and no finite points", want, "missing argument")
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
    """Returns the bounds along an axis, by the rule of the command line: multiples of size around lo and hi."""

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


max_ = max  # because max and min are arguments of voxelize


def cells_along(lo: float, hi: float, size: float) -> int:
    """Returns the number of cells along an axis, rounded to the nearest (halves away from zero), or 0 if there can be none."""
    try:
        n = (hi - lo) / size
        whole_part = math.floor(n)
    except (ZeroDivisionError, OverflowError, ValueError):
        return 0
    count = whole_part + (n - whole_part >= 0.5)
    return count if 0 < count < 1 << 31 else 0


class Job:
    """One call of voxelize."""

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
        self.preset: Optional[str] = None  # of the grid
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
        """Runs the call. wanted: whether to return the counts."""
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
        """Returns an upper bound for the number of voxels."""
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
        """Returns the number of voxels, by a first run that keeps only coordinates and counts."""
        options = {"mode": "sparse", "reduce": "count"}
        for name in ("order", "max_voxels"):
            if name in self.options:
                options[name] = self.options[name]
        _, counts = self._compute(most, options, keep=False)
        assert counts is not None
        return counts["voxels"]

    def _shapes(self, v: int, options: Mapping[str, Any]) -> Dict[str, Tuple[str, Tuple[int, ...]]]:
        """Returns the dtype and shape of each output for v voxels."""
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
        """Computes v voxels. Returns the outputs, and the counters or None if not wanted. keep=False is a run that only counts."""
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
        grid: Dict[str, Any] = {"min": _json(box.min), "max": _json(box.max)}
        if self.preset is None:
            grid["size"] = _json(box.size)
        else:
            grid["preset"] = self.preset
        key = (tuple(options.items()), tuple(box), self.preset)
        call = Call(_OP, {"options": options, "grid": grid}, key, inputs, outputs, group.framework, wanted)
        return outputs, _call.run(call, self.device, check)


def _json(v: _Vector) -> List[Union[float, str]]:
    return [number(x, _OP, "min") for x in v]


def _given(out: Optional[Mapping[str, Any]]) -> Dict[str, Any]:
    """Returns the caller's output arrays by their names in a request."""
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
