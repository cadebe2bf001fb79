"""CuPy arrays, on CuPy's current stream. bf16 is uint16, as in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, List, Optional, Tuple

import numpy as np

from . import _numpy
from ._arrays import Framework, View, wrong
from ._errors import OutOfMemoryError


if TYPE_CHECKING:
    cupy: Any  # any version
else:
    import cupy

_DTYPES = {
    "f32": "float32",
    "f64": "float64",
    "f16": "float16",
    "bf16": "uint16",
    "i64": "int64",
    "i32": "int32",
    "u8": "uint8",
    "bool": "bool",
}


class CuPy(Framework):
    """The framework CuPy."""

    name = "cupy"

    def view(self, x: Any) -> View:
        name = _numpy.name_of(x.dtype)
        if not name:
            raise wrong(str(x.dtype), "one of " + ", ".join(_DTYPES.values()))
        apart = x.ndim and x.shape[-1] > 1 and x.strides[-1] != x.itemsize
        if apart or any(s < 0 or s % x.itemsize for s in x.strides):
            with cupy.cuda.Device(x.device.id):
                x = cupy.ascontiguousarray(x)
        return self._view(x, name)

    @staticmethod
    def _view(x: Any, name: str) -> View:
        strides = tuple([s // x.itemsize for s in x.strides])
        return View(x, name, x.shape, strides, x.data.ptr, x.device.id)

    def output(self, x: Any) -> View:
        name = _numpy.name_of(x.dtype)
        if not name:
            raise wrong(str(x.dtype), "one of " + ", ".join(_DTYPES.values()))
        return self._view(x, name)

    def empty(self, dtype: str, shape: Tuple[int, ...], device_: int, like: Any) -> View:
        try:
            with cupy.cuda.Device(device_):
                return self._view(cupy.empty(shape, _DTYPES[dtype]), "u8" if dtype == "bool" else dtype)
        except cupy.cuda.memory.OutOfMemoryError as e:
            raise OutOfMemoryError("no memory for an array {} of {}: {}".format(list(shape), dtype, e)) from e

    def bounds(self, points: View) -> Optional[Tuple[List[float], List[float]]]:
        x = points.array
        x = x[cupy.isfinite(x).all(1)]
        return (x.min(0).tolist(), x.max(0).tolist()) if len(x) else None

    def asarray(self, x: Any, like: Any, floats: bool) -> Any:
        with cupy.cuda.Device(like.device.id):
            return cupy.asarray(_numpy.framework.asarray(x, None, floats))

    def stream(self, device_: int) -> int:
        with cupy.cuda.Device(device_):
            stream: int = cupy.cuda.get_current_stream().ptr
        return stream

    def write(self, arena: memoryview, at: int, view: View) -> None:
        array = cupy.asnumpy(view.array)
        _numpy.framework.write(arena, at, view._replace(array=array))

    def read(self, view: View, arena: memoryview, at: int) -> None:
        view.array.set(np.ndarray(view.array.shape, view.array.dtype, arena, at))


framework = CuPy()
