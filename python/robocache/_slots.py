"""Slots: shared memory into which the helper process draws batches. Arrays use it without a copy.

A slot belongs to its arrays until the last of them is gone, views and tensors included. Then the helper process may use it again.
"""

from __future__ import annotations

import ctypes
import importlib
import mmap
import os
import sys
import weakref
from collections import deque
from typing import Any, Callable, Deque, Dict, List, Mapping, NamedTuple, Tuple, Union, cast

from . import _arrays
from ._errors import ArgumentError, OutOfMemoryError, UnsupportedError

# The batch's names for arrays with one element per row, by the helper process's names.
_ROWS = {"episode": "episode_index", "tick": "frame_index", "anchor": "anchor", "dataset": "dataset_index"}
_SUFFIXES = {"values": "", "frames": "", "pad": "_is_pad", "valid": "_valid", "age": "_age", "grid": "_grid"}
_STORED = ("stored", "select", "keys")  # parts that frames are made from
SIZES = dict(_arrays.SIZES, bool=1)
_NUMPY = {"f32": "<f4", "f64": "<f8", "f16": "<f2", "bf16": "<u2", "i64": "<i8", "u8": "|u1", "bool": "|b1"}
TORCH = {
    "f32": "float32",
    "f64": "float64",
    "f16": "float16",
    "bf16": "bfloat16",
    "i64": "int64",
    "u8": "uint8",
    "bool": "bool",
}


class Array(NamedTuple):
    """An array in a batch.

    dtype is a name such as "f32", "bf16" or "bool". at is the offset in a slot, or in an argument of a plan, in bytes. It is -1 for frames
    that are made from stored ones. strides are in elements, and empty in a slot, where arrays are contiguous. argument is the index of the plan's argument.
    """

    name: str
    dtype: str
    shape: Tuple[int, ...]
    at: int
    strides: Tuple[int, ...] = ()
    argument: int = 0

    @property
    def nbytes(self) -> int:
        """The size of its elements, bytes."""
        n = SIZES[self.dtype]
        for d in self.shape:
            n *= d
        return n


def arrays_of(described: List[Mapping[str, Any]]) -> List[Array]:
    """Returns a batch's arrays with the names for users. Two arrays with one name are an ArgumentError."""
    found: Dict[str, Array] = {}
    for a in described:
        part, name = a["part"], a["name"]
        if part in _STORED:
            continue
        key = name + _SUFFIXES[part] if name else _ROWS[part]
        if key in found:
            raise ArgumentError(
                "loader: streams: two arrays of a batch would be called {!r}, want the stream by another name, in a "
                "plan: {{name: ..., from: ...}}".format(key),
                op="loader",
                arg="streams",
                got=key,
            )
        dtype = "bool" if part in ("pad", "valid") else a["dtype"]
        found[key] = Array(key, dtype, tuple(a["shape"]), a["at"], tuple(a.get("strides", ())), a.get("argument", 0))
    return list(found.values())


class _Lease:
    """The owner of a slot. NumPy views of it, and tensors made from these, keep it alive."""

    __slots__ = ("__array_interface__", "memory", "__weakref__")

    def __init__(self, memory: mmap.mmap, address: int, size: int) -> None:
        self.memory = memory
        self.__array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3}


class Pool:
    """The slots of one helper process.

    A slot may be returned on any thread at any time, because garbage collection returns it.
    """

    def __init__(self, fd: int, slots: int, size: int, arrays: List[Array]) -> None:
        import numpy

        self._numpy = numpy
        self.slots = slots
        self.size = size
        self.arrays = arrays
        self.returned: Deque[Union[int, "weakref.KeyedRef[int, _Lease]"]] = deque()
        self._leases: Dict[int, "weakref.KeyedRef[int, _Lease]"] = {}
        length = slots * size
        try:
            if os.fstat(fd).st_size < length:
                raise OutOfMemoryError(
                    "the helper process of robocache gave less memory than {} slots need".format(slots)
                )
            self.memory = mmap.mmap(fd, length)
        except OSError as e:
            raise OutOfMemoryError("cannot map {} bytes of memory: {}".format(length, e)) from e
        self.address = ctypes.addressof(ctypes.c_char.from_buffer(self.memory))
        self._dtypes = [numpy.dtype(_NUMPY[a.dtype]) for a in arrays]

    @property
    def held(self) -> int:
        """The number of slots that arrays use."""
        return len(self._leases)

    def take_back(self) -> List[int]:
        """Returns the numbers of the slots that are free again, for the helper process."""
        back: List[int] = []
        while self.returned:
            one = self.returned.popleft()
            slot = one if isinstance(one, int) else one.key
            self._leases.pop(slot, None)
            back.append(slot)
        return back

    def hand_out(self, slot: int) -> Dict[str, Any]:
        """Returns the arrays of a slot. The slot is returned when all of them are gone."""
        lease = _Lease(self.memory, self.address + slot * self.size, self.size)
        # The callback is a C function, because Ctrl-C could interrupt a Python function before the slot is returned.
        self._leases[slot] = weakref.KeyedRef(lease, cast(Any, self.returned.append), slot)
        whole = self._numpy.asarray(lease)
        ndarray = self._numpy.ndarray
        return {a.name: ndarray(a.shape, d, whole, a.at) for a, d in zip(self.arrays, self._dtypes)}

    def copy_out(self, slot: int) -> Dict[str, Any]:
        """Returns copies of a slot's arrays, and returns the slot at once."""
        return {name: x.copy() for name, x in self.hand_out(slot).items()}


def default_framework() -> str:
    """Returns "torch" if the program has imported it, else "numpy"."""
    return "torch" if "torch" in sys.modules else "numpy"


def converter(framework: str, arrays: List[Array]) -> Callable[[Dict[str, Any]], Dict[str, Any]]:
    """Returns a function from a batch of NumPy arrays to a batch of a framework's arrays, over the same memory if possible."""
    if framework == "numpy":
        return lambda batch: batch
    half = [a.name for a in arrays if a.dtype == "bf16"]
    if framework == "torch":
        import torch

        from_numpy, bfloat16 = torch.from_numpy, torch.bfloat16

        def torches(batch: Dict[str, Any]) -> Dict[str, Any]:
            for name in half:  # NumPy has no bfloat16
                batch[name] = batch[name].view("<i2")
            out = {name: from_numpy(x) for name, x in batch.items()}
            for name in half:
                out[name] = out[name].view(bfloat16)
            return out

        return torches
    if framework == "jax":
        jax = importlib.import_module("jax")
        array = importlib.import_module("jax.numpy").array

        def jaxes(batch: Dict[str, Any]) -> Dict[str, Any]:
            for name in half:
                batch[name] = batch[name].view(jax.numpy.bfloat16)
            # Without 64-bit types JAX would truncate nanoseconds, so such arrays stay NumPy arrays.
            wide = jax.config.jax_enable_x64
            return {
                name: x if not wide and x.dtype.itemsize == 8 and name not in _SMALL else array(x)
                for name, x in batch.items()
            }

        return jaxes
    raise UnsupportedError("loader: framework: got {!r}, want torch, numpy or jax".format(framework))


# Arrays with 64-bit integers that fit 32 bits.
_SMALL = frozenset(("episode_index", "frame_index", "dataset_index"))
