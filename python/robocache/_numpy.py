"""NumPy arrays. NumPy has no bfloat16: bf16 is uint16, or the bfloat16 of ml_dtypes if the arrays have it.

datetime64 and timedelta64 are converted to int64 nanoseconds.
"""

from __future__ import annotations

from typing import Any, Dict, List, Optional, Tuple

import numpy as np

from ._arrays import HOST, SIZES, Framework, View, contiguous_strides, wrong
from ._errors import OutOfMemoryError

_BOOL = np.dtype("bool")
_NAMES: Dict[Any, str] = {
    np.dtype("float32"): "f32",
    np.dtype("float64"): "f64",
    np.dtype("float16"): "f16",
    np.dtype("uint16"): "bf16",
    np.dtype("int64"): "i64",
    np.dtype("int32"): "i32",
    np.dtype("uint8"): "u8",
    _BOOL: "u8",
}
_DTYPES: Dict[str, Any] = {
    "f32": np.dtype("float32"),
    "f64": np.dtype("float64"),
    "f16": np.dtype("float16"),
    "bf16": np.dtype("uint16"),
    "i64": np.dtype("int64"),
    "i32": np.dtype("int32"),
    "u8": np.dtype("uint8"),
}


def name_of(dtype: Any) -> str:
    """Returns our name for a NumPy dtype in this machine's byte order, or ""."""
    found = _NAMES.get(dtype)
    if found is None and getattr(dtype, "name", "") == "bfloat16":
        found = _NAMES[dtype] = "bf16"
    return found or ""


def nanoseconds(x: Any) -> Any:
    """Returns datetime64 or timedelta64 as int64 nanoseconds; NaT is the smallest number.

    Times outside 1678 to 2262 are an ArgumentError.
    """
    ns = x.astype(x.dtype.kind + "8[ns]")
    fine = np.datetime_data(x.dtype)[0] in ("generic", "ns", "ps", "fs", "as")
    if not fine and not ((ns.astype(x.dtype) == x) | np.isnat(x)).all():  # NumPy's conversion overflows silently
        raise wrong("{} to {}".format(x.min(), x.max()), "times that 64 bits of nanoseconds hold: 1678 to 2262")
    return ns.view(np.int64)


class NumPy(Framework):
    """The framework NumPy."""

    name = "numpy"

    def view(self, x: Any) -> View:
        if isinstance(x, np.ma.MaskedArray):
            raise wrong("a masked array", "a plain one: fill or leave out what is masked", "wrong option")
        if x.dtype.kind in "mM":
            x = nanoseconds(x)
        name = name_of(x.dtype)
        if not name:
            native = x.dtype.newbyteorder("=")
            name = name_of(native)
            if not name:
                raise wrong(str(x.dtype), "one of " + ", ".join(d.name for d in _DTYPES.values()))
            x = x.astype(native)
        if x.ndim == 0:
            return View(x, name, (), (), x.__array_interface__["data"][0], HOST)
        size = x.itemsize
        if any(s < 0 or s % size for s in x.strides) or x.shape[-1] > 1 and x.strides[-1] != size:
            x = np.ascontiguousarray(x)
        return self._view(x, name)

    @staticmethod
    def _view(x: Any, name: str) -> View:
        strides = tuple([s // x.itemsize for s in x.strides]) if x.size else contiguous_strides(x.shape)
        return View(x, name, x.shape, strides, x.__array_interface__["data"][0], HOST)

    def output(self, x: Any) -> View:
        name = name_of(x.dtype)
        if not name:
            raise wrong(str(x.dtype), "one of " + ", ".join(d.name for d in _DTYPES.values()))
        if not x.flags.writeable:
            raise wrong("a read-only array", "one that can be written", "wrong option")
        return self._view(x, name)

    def empty(self, dtype: str, shape: Tuple[int, ...], device: int, like: Any) -> View:
        kind = _DTYPES[dtype] if dtype != "bool" else _BOOL
        dtype = "u8" if dtype == "bool" else dtype
        if dtype == "bf16" and like is not None and getattr(like.dtype, "name", "") == "bfloat16":
            kind = like.dtype
        try:
            return self._view(np.empty(shape, kind), dtype)
        except (MemoryError, ValueError) as e:
            raise OutOfMemoryError("no memory for an array {} of {}: {}".format(list(shape), dtype, e)) from e

    def bounds(self, points: View) -> Optional[Tuple[List[float], List[float]]]:
        x = np.asarray(points.array)
        x = x[np.isfinite(x).all(1)]
        return (x.min(0).tolist(), x.max(0).tolist()) if len(x) else None

    def asarray(self, x: Any, like: Any, floats: bool) -> Any:
        try:
            array = np.asarray(x)
        except (TypeError, ValueError) as e:
            raise wrong("{} ({})".format(type(x).__name__, e), "an array, or a list of numbers") from e
        if array.dtype.kind not in "biuf":
            raise wrong(type(x).__name__, "an array, or a list of numbers")
        return (
            array.astype(np.float64) if floats and isinstance(x, (list, tuple)) and array.dtype.kind != "f" else array
        )

    def write(self, arena: memoryview, at: int, view: View) -> None:
        x = view.array
        np.ndarray(x.shape, x.dtype, arena, at)[...] = x

    def read(self, view: View, arena: memoryview, at: int) -> None:
        x = view.array
        x[...] = np.ndarray(x.shape, x.dtype, arena, at)


framework = NumPy()
assert set(_DTYPES) == set(SIZES)
