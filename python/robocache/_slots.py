"""Slots: memory that the helper process draws batches into, and that arrays here are made of without a copy.

A slot that was handed out belongs to its arrays: it goes back when the last of them, views and tensors over them
included, is gone.
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

# Names of rows' arrays in a batch, by the part that the helper process calls them.
_ROWS = {"episode": "episode_index", "tick": "frame_index", "anchor": "anchor", "dataset": "dataset_index"}
_SUFFIXES = {"values": "", "frames": "", "pad": "_is_pad", "valid": "_valid", "age": "_age"}
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
    """An array of a batch: its name, its dtype ("f32", "bf16", "bool"), its shape, and where it begins, in bytes, in a
    slot or in an argument of a plan. strides are in elements; in a slot they are those of contiguous arrays."""

    name: str
    dtype: str
    shape: Tuple[int, ...]
    at: int
    strides: Tuple[int, ...] = ()
    argument: int = 0

    @property
    def nbytes(self) -> int:
        """Bytes of its elements."""
        n = SIZES[self.dtype]
        for d in self.shape:
            n *= d
        return n


def arrays_of(described: List[Mapping[str, Any]]) -> List[Array]:
    """Returns the arrays of a batch by the names that users know. Two of one name are an error."""
    found: Dict[str, Array] = {}
    for a in described:
        part, name = a["part"], a["name"]
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
    """What the arrays of one slot are over. NumPy's views, and tensors made of them, keep it alive."""

    __slots__ = ("__array_interface__", "memory", "__weakref__")

    def __init__(self, memory: mmap.mmap, address: int, size: int) -> None:
        self.memory = memory
        self.__array_interface__ = {"data": (address, False), "shape": (size,), "typestr": "|u1", "version": 3}


class Pool:
    """The slots of one helper process.

    Slots may come back on any thread, at any time: garbage collection decides.
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
        """How many slots are handed out and not back yet."""
        return len(self._leases)

    def take_back(self) -> List[int]:
        """Returns the slots that came back, to be told to the helper process."""
        back: List[int] = []
        while self.returned:
            one = self.returned.popleft()
            slot = one if isinstance(one, int) else one.key
            self._leases.pop(slot, None)
            back.append(slot)
        return back

    def hand_out(self, slot: int) -> Dict[str, Any]:
        """Returns the arrays of a slot, which comes back when all of them are gone."""
        lease = _Lease(self.memory, self.address + slot * self.size, self.size)
        # No function of Python's is called when it is gone, which Ctrl-C could end before the slot is back.
        self._leases[slot] = weakref.KeyedRef(lease, cast(Any, self.returned.append), slot)
        whole = self._numpy.asarray(lease)
        ndarray = self._numpy.ndarray
        return {a.name: ndarray(a.shape, d, whole, a.at) for a, d in zip(self.arrays, self._dtypes)}

    def copy_out(self, slot: int) -> Dict[str, Any]:
        """Returns copies of the arrays of a slot, which is back at once."""
        return {name: x.copy() for name, x in self.hand_out(slot).items()}


def default_framework() -> str:
    """Returns "torch" if the program has imported it, else "numpy"."""
    return "torch" if "torch" in sys.modules else "numpy"


def converter(framework: str, arrays: List[Array]) -> Callable[[Dict[str, Any]], Dict[str, Any]]:
    """Returns what makes a batch of NumPy arrays one of a framework's, over the same memory where that can be."""
    if framework == "numpy":
        return lambda batch: batch
    half = [a.name for a in arrays if a.dtype == "bf16"]
    if framework == "torch":
        import torch

        from_numpy, bfloat16 = torch.from_numpy, torch.bfloat16

        def torches(batch: Dict[str, Any]) -> Dict[str, Any]:
            for name in half:  # for which NumPy has no dtype
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
            # Without 64-bit types JAX would cut nanoseconds off: such arrays stay NumPy's.
            wide = jax.config.jax_enable_x64
            return {
                name: x if not wide and x.dtype.itemsize == 8 and name not in _SMALL else array(x)
                for name, x in batch.items()
            }

        return jaxes
    raise UnsupportedError("loader: framework: got {!r}, want torch, numpy or jax".format(framework))


# Arrays of 64-bit integers whose values fit 32.
_SMALL = frozenset(("episode_index", "frame_index", "dataset_index"))
