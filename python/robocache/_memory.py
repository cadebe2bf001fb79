"""Arrays in memory from the helper process.

A memfd is mapped privately, and its descriptor closed; `mmap.mmap` would keep one open for each mapping. Writes to the arrays are visible
only in this process, and after a fork only in the process that wrote. The memory is unmapped with the last array in it.
"""

from __future__ import annotations

import ctypes
import importlib
import mmap
import os
from typing import Any, Callable, Dict, Mapping, Optional, Sequence

from ._arrays import SIZES
from ._errors import ArgumentError, OutOfMemoryError, UnsupportedError

_libc = ctypes.CDLL(None, use_errno=True)
_mmap = _libc.mmap64 if hasattr(_libc, "mmap64") else _libc.mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_int64]
_munmap = _libc.munmap
_munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_FAILED = ctypes.c_void_p(-1).value

_NUMPY = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "uint16", "i64": "int64", "i32": "int32", "u8": "uint8"}
_TORCH = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "bfloat16", "i64": "int64", "i32": "int32", "u8": "uint8"}


class _Mapping:
    """A mapping, which is unmapped when this object is collected."""

    def __init__(self, address: int, size: int) -> None:
        self.address = address
        self.size = size

    def __del__(self, munmap: Callable[[int, int], int] = _munmap) -> None:
        munmap(self.address, self.size)


def mapped(fd: int) -> Any:
    """Maps a whole file privately and closes it.

    Returns a ctypes array of its bytes, which keeps the mapping alive; None for fd -1.
    """
    if fd < 0:
        return None
    try:
        size = os.fstat(fd).st_size
        address = _mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE, fd, 0)
        if address == _FAILED:
            raise OutOfMemoryError("cannot map {} bytes: {}".format(size, os.strerror(ctypes.get_errno())))
    finally:
        os.close(fd)
    owner = _Mapping(address, size)
    data = (ctypes.c_ubyte * size).from_address(address)
    data.owner = owner  # type: ignore[attr-defined]  # an attribute of the object, not of the memory
    return data


def part(data: Any, spec: Mapping[str, Any]) -> memoryview:
    """Returns the bytes of an array with the helper process's description of it."""
    n = _bytes(spec)
    if n == 0:
        return memoryview(b"")
    return memoryview(data)[spec["at"] : spec["at"] + n]


def _bytes(spec: Mapping[str, Any]) -> int:
    n = SIZES[spec["dtype"]]
    for d in spec["shape"]:
        n *= int(d)
    return n


class Maker:
    """Makes a framework's arrays over mapped memory, without a copy."""

    def __init__(self, name: str) -> None:
        if name not in ("numpy", "torch"):
            raise ArgumentError(
                'framework: got {!r}, want "numpy" or "torch"'.format(name), arg="framework", got=repr(name), want="numpy or torch"
            )
        try:
            self._module = importlib.import_module(name)
        except ImportError as e:
            other = "torch" if name == "numpy" else "numpy"
            raise UnsupportedError('framework {0}: {0} is not installed; framework="{1}" is the other'.format(name, other)) from e
        self.name = name

    def array(self, data: Any, spec: Mapping[str, Any]) -> Any:
        """Returns the array with a description {"dtype", "shape", "at"}; at is an offset in bytes."""
        count = 1
        shape: Sequence[int] = spec["shape"]
        for d in shape:
            count *= d
        dtype = getattr(self._module, (_NUMPY if self.name == "numpy" else _TORCH)[spec["dtype"]])
        if count == 0:
            return self._module.empty(tuple(shape), dtype=dtype)
        return self._module.frombuffer(data, dtype=dtype, count=count, offset=spec["at"]).reshape(tuple(shape))

    def flags(self, data: Any, spec: Mapping[str, Any]) -> Any:
        """Returns a u8 array as a bool array."""
        return self.array(data, spec).view(self._module.bool if self.name == "torch" else bool)


def times_blob(times: Any) -> "tuple[str, bytes]":
    """Returns the dtype and bytes of a caller's times: 1-D, int64 nanoseconds or datetime64, or float64 or float32 seconds."""
    if hasattr(times, "detach"):  # torch
        times = times.detach().cpu().numpy()
    import numpy as np

    from ._numpy import nanoseconds

    array = np.asarray(times)
    if array.dtype.kind == "M":
        array = nanoseconds(array)
    if array.dtype.kind in "iu" and array.dtype != np.uint64:
        array = array.astype(np.int64, copy=False)
    names: Dict[str, str] = {"int64": "i64", "float64": "f64", "float32": "f32"}
    name: Optional[str] = names.get(array.dtype.name)
    if name is None or array.ndim != 1:
        raise ArgumentError(
            "times: got {} of shape {}, want one dimension of int64 nanoseconds, or float64 or float32 seconds".format(
                array.dtype, array.shape
            ),
            arg="times", got="{} {}".format(array.dtype, array.shape), want="[T] int64 ns, or float64 or float32 s",
        )  # fmt: skip
    return name, array.tobytes()
