"""The operations deproject and farthest_points."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Tuple

from . import _call
from ._arrays import Group, View, framework_of, named, numpy_framework
from ._call import Call
from ._errors import ArgumentError
from ._options import mistake, number, whole


class Deprojected(NamedTuple):
    """The result of deproject. H rows and W columns; a batch has one more dimension in front of all fields.

    Attributes:
        points: float32 [H,W,3], x, y and z of each pixel, NaN if the depth is invalid. With compact=True [N,3]: the points of
            valid pixels alone, row by row, and those of a batch one image after the other.
        mask: bool [H,W], whether the depth is valid.
        counts: int64 [3], the number of pixels that are valid, without a depth (0, NaN or infinite), and out of range. None in
            JAX without jax_enable_x64.
        offsets: with compact=True, int64 [B+1], the first point of each image, and the number of all points. B is 1 without a batch.
        colors: with color, uint8 [N,3], the color of each point.
    """

    points: Any
    mask: Any
    counts: Any
    offsets: Any = None
    colors: Any = None


def deproject(
    depth: Any,
    K: Any,
    *,
    scale: Optional[float] = None,
    near: float = 0,
    far: float = float("inf"),
    poses: Any = None,
    compact: bool = False,
    color: Any = None,
    backend: str = "auto",
) -> Deprojected:
    """Turns depth images into points, in float32: z = depth * scale, x = (u - cx) * z / fx, y = (v - cy) * z / fy.

    u is the column and v the row; pixel centres are at integers, as in OpenCV and ROS. No gradient flows: a tensor that
    requires grad is an error outside torch.no_grad().

    Args:
      depth: [H,W] or [B,H,W], uint16, such as millimetres, or floats, which are computed as float32.
      K: fx, fy, cx, cy in pixels, [4] or [B,4].
      scale: metres per unit of depth. Default: 0.001 for uint16, 1 for floats.
      near, far: the smallest and the greatest valid depth in metres, both included.
      poses: [4,4] or [B,4,4], transforms that are applied to the points, for example from the camera to the world.
      compact: return the points of valid pixels alone, [N,3], which waits for a GPU. JAX needs jax_enable_x64.
      color: uint8 [H,W,3] or [B,H,W,3], the color of each pixel. It requires compact=True.
      backend: as in `resample`.

    Returns:
      `Deprojected`, with arrays of depth's framework on its device.

    Raises:
      The errors of `resample`.

    Example:
        >>> import numpy as np, robocache as rc
        >>> depth = np.array([[2000, 0]], np.uint16)
        >>> found = rc.deproject(depth, [128, 128, 0.5, 0.5], scale=0.001)
        >>> found.points[0, 0].tolist(), found.mask.tolist()
        ([-0.0078125, -0.0078125, 2.0], [[True, False]])
        >>> found = rc.deproject(depth, [128, 128, 0.5, 0.5], compact=True, color=[[[255, 0, 0], [0, 255, 0]]])
        >>> found.points.tolist(), found.colors.tolist(), found.offsets.tolist()
        ([[-0.0078125, -0.0078125, 2.0]], [[255, 0, 0]], [0, 1])
    """
    op = "deproject"
    depth = _array(op, "depth", depth, None)
    words = str(depth.dtype).rsplit(".", 1)[-1] == "uint16"
    arrays = {"Depth": depth if words else _floats(depth)}
    for name, arg, x in (("Intrinsics", "K", K), ("Poses", "poses", poses)):
        if x is not None or name == "Intrinsics":
            arrays[name] = _floats(_array(op, arg, x, depth))
    single, depth = _batched(op, "Depth", arrays, 2)
    if words:
        framework = framework_of(depth)
        assert framework is not None
        arrays["Depth"] = framework.words(depth)
    if color is not None:
        if not compact:
            raise mistake(op, "color", "an array", "None without compact=True")
        arrays["Color"] = _array(op, "color", color, depth, "u8")
        _, color = _batched(op, "Color", arrays, 3)
        b, h, w = color.shape[:3]
        arrays["Color"] = color.reshape((b, h, 3 * w)).reshape((b, h, w, 3))  # a copy if there are gaps in a row
    group = _group(op, arrays)
    shape = group.views["Depth"].shape[:3]
    pixels = (shape[0] * shape[1] * shape[2],) if compact else shape
    outputs = {
        "Points": group.output("points", None, "f32", pixels + (3,)),
        "Mask": group.output("mask", None, "bool", shape),
    }
    if compact:
        outputs["Offsets"] = group.output("offsets", None, "i64", (shape[0] + 1,))
    if color is not None:
        outputs["Colors"] = group.output("colors", None, "u8", pixels + (3,))
    try:
        outputs["Counts"] = group.output("counts", None, "i64", (shape[0], 3))
    except ArgumentError:  # JAX has no int64 unless it is enabled
        pass
    options = {"near": number(near, op, "near"), "far": number(far, op, "far")}
    if scale is not None:
        options["scale"] = number(scale, op, "scale")
        if options["scale"] == 0:
            raise mistake(op, "scale", "0", "a positive number")
    _run(op, options, group, outputs, backend)
    found: Dict[str, Any] = {}
    if compact:
        found["offsets"] = group.framework.result(outputs.pop("Offsets"))
        n = int(found["offsets"][-1])
        for name in ("Points", "Colors"):
            if name in outputs:
                found[name.lower()] = group.framework.head(outputs.pop(name), n)
    for name, view in outputs.items():
        found[name.lower()] = _result(group, view, single)
    return Deprojected(**{"counts": None, **found})


def farthest_points(points: Any, k: int, *, seed: int = 0, backend: str = "auto") -> Any:
    """Chooses k points that are far apart, and returns their indices, int64 [k], or [B,k] for a batch.

    After the first point, it is always the one with the greatest distance to its nearest chosen point; of several, the one
    with the lowest index. The choice is exact, with distances in float32, and the same on every backend. A point that is not
    finite is never chosen, so the points of `deproject` can be given as they are. Indices are -1 if no point is finite.

    Args:
      points: [N,3] or [B,N,3], floats, which are computed as float32.
      k: the number of points to choose, at most N and 16384.
      seed: chooses the first point of each row. Default: 0, which begins with point 0.
      backend: as in `resample`.

    Returns:
      An array of points' framework on its device. JAX needs jax_enable_x64.

    Raises:
      The errors of `resample`.

    Example:
        >>> import robocache as rc
        >>> rc.farthest_points([[0.0, 0, 0], [1, 0, 0], [3, 0, 0], [4, 0, 0]], 3).tolist()
        [0, 3, 1]
    """
    op = "farthest_points"
    arrays = {"Points": _floats(_array(op, "points", points, None))}
    single, _ = _batched(op, "Points", arrays, 2)
    group = _group(op, arrays)
    rows, n = group.views["Points"].shape[:2]
    k = whole(k, op, "k")
    if not 0 <= k <= n:
        raise mistake(op, "k", str(k), "0 to {}, the number of points".format(n))
    outputs = {"Indices": group.output("indices", None, "i64", (rows, k))}
    seed = whole(seed, op, "seed")
    if not 0 <= seed < 1 << 64:
        raise mistake(op, "seed", str(seed), "0 to 2^64-1")
    _run(op, {"seed": seed}, group, outputs, backend)
    return _result(group, outputs["Indices"], single)


def _array(op: str, arg: str, x: Any, like: Any, dtype: str = "f64") -> Any:
    """Returns x as an array of like's framework, or of its own. Other arrays and lists get the dtype."""
    if x is None:
        raise mistake(op, arg, "None", "an array", "missing argument")
    found = framework_of(x)
    wanted = (found or numpy_framework()) if like is None else framework_of(like)
    assert wanted is not None
    if found is wanted:
        return x
    try:
        made = wanted.asarray(x.tolist() if found is not None else x, like, True)
    except ArgumentError as e:
        e = named(arg, e)
        raise ArgumentError("{}: {}".format(op, e), op=op, arg=arg, kind=e.kind, got=e.got, want=e.want) from None
    numbers = wanted.cast(made, dtype)
    if dtype == "u8" and not (numbers == made).all():
        raise mistake(op, arg, "other numbers", "whole numbers from 0 to 255")
    return numbers


def _floats(x: Any) -> Any:
    """Returns floats, and also whole numbers of intrinsics and poses, as float32."""
    name = str(x.dtype).rsplit(".", 1)[-1]
    if name in ("float64", "float16", "bfloat16", "int64", "int32"):
        framework = framework_of(x)
        assert framework is not None
        return framework.cast(x, "f32")
    return x


def _batched(op: str, name: str, arrays: Dict[str, Any], rank: int) -> Tuple[bool, Any]:
    """Adds a batch dimension to an array that has none, and returns whether it had none, and the array."""
    x = arrays[name]
    shape = tuple(x.shape)
    if len(shape) not in (rank, rank + 1) or name != "Depth" and shape[-1] != 3:
        want = {"Depth": "[H,W] or [B,H,W]", "Points": "[N,3] or [B,N,3]", "Color": "[H,W,3] or [B,H,W,3]"}[name]
        raise mistake(op, name.lower(), "[{}]".format(",".join(map(str, shape))), want, "wrong shape")
    if len(shape) == rank:
        x = arrays[name] = x[None]
    return len(shape) == rank, x


def _group(op: str, arrays: Dict[str, Any]) -> Group:
    if any(hasattr(x, "requires_grad") for x in arrays.values()):
        from . import _torch

        _torch.refuse_gradients(op, arrays)
    return Group(op, arrays)


def _run(op: str, options: Dict[str, Any], group: Group, outputs: Dict[str, View], backend: str) -> None:
    """Computes the outputs."""
    device = _call.resolve(op, backend, group.device)
    key = tuple(options.items())
    _call.run(Call(op, {"options": options}, key, group.views, outputs, group.framework), device)


def _result(group: Group, view: View, single: bool) -> Any:
    """Returns an output, without the batch dimension if single."""
    x = group.framework.result(view)
    return x[0] if single else x
