"""DLPack capsules, read and made with ctypes, to exchange arrays with JAX and others without a copy.

Capsules of both protocol versions can be read. Made capsules have the first version, which all readers accept.
"""

from __future__ import annotations

import atexit
import collections
import ctypes
import struct
import sys
from ctypes import c_char_p, c_void_p
from typing import Any, Deque, Dict, List, Optional, Tuple

from ._arrays import SIZES, contiguous_strides
from ._device import Device
from ._errors import ArgumentError

CPU, CUDA, CUDA_HOST, MANAGED = 1, 2, 3, 13
_INT, _UINT, _FLOAT, _BFLOAT, _BOOL = 0, 1, 2, 4, 6
_NAMES = {
    (_FLOAT, 32): "f32",
    (_FLOAT, 64): "f64",
    (_FLOAT, 16): "f16",
    (_BFLOAT, 16): "bf16",
    (_INT, 64): "i64",
    (_INT, 32): "i32",
    (_UINT, 8): "u8",
    (_BOOL, 8): "bool",
}
_CODES = {name: code for code, name in _NAMES.items()}


# DLTensor: data, device_type, device_id, ndim, code, bits, lanes, shape, strides, byte_offset.
_TENSOR = struct.Struct("=QiiiBBHQQQ")
# The fields after it in a DLManagedTensor: manager_ctx, deleter.
_MANAGED = struct.Struct("=QQ")
# The fields before it in a DLManagedTensorVersioned: major, minor, manager_ctx, deleter, flags.
_VERSIONED = struct.Struct("=IIQQQ")

_Deleter = ctypes.CFUNCTYPE(None, c_void_p)
_python = ctypes.pythonapi
_is = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, c_char_p)(("PyCapsule_IsValid", _python))
_pointer_of = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(("PyCapsule_GetPointer", _python))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, c_char_p)(("PyCapsule_SetName", _python))
_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", _python))
_keep = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", _python))

# Capsule names. They must outlive the capsules.
_FRESH, _USED = b"dltensor", b"used_dltensor"
_FRESH_VERSIONED, _USED_VERSIONED = b"dltensor_versioned", b"used_dltensor_versioned"


def _numbers(address: int, n: int) -> Tuple[int, ...]:
    return struct.unpack("={}q".format(n), ctypes.string_at(address, 8 * n)) if n else ()


class Taken:
    """A capsule's memory, which stays valid until close, or until this object is collected. strides are in elements."""

    def __init__(self, capsule: Any) -> None:
        self._address: Optional[int] = None
        if _is(capsule, _FRESH):
            address: int = _pointer_of(capsule, _FRESH)
            raw = ctypes.string_at(address, _TENSOR.size + _MANAGED.size)
            tensor = _TENSOR.unpack_from(raw)
            self._deleter: int = _MANAGED.unpack_from(raw, _TENSOR.size)[1]
            _rename(capsule, _USED)
        elif _is(capsule, _FRESH_VERSIONED):
            address = _pointer_of(capsule, _FRESH_VERSIONED)
            raw = ctypes.string_at(address, _VERSIONED.size + _TENSOR.size)
            major, minor, _, self._deleter, _ = _VERSIONED.unpack_from(raw)
            if major != 1:
                raise ArgumentError("a DLPack capsule of version {}.{}, want 1".format(major, minor))
            tensor = _TENSOR.unpack_from(raw, _VERSIONED.size)
            _rename(capsule, _USED_VERSIONED)
        else:
            raise ArgumentError("a DLPack capsule that was used before, or none: {!r}".format(capsule))
        self._address = address
        data, kind, number, n, code, bits, lanes, shape, strides, offset = tensor
        self.device: Tuple[int, int] = (kind, number)
        self.dtype = _NAMES.get((code, bits), "") if lanes == 1 else ""
        self.shape = _numbers(shape, n)
        self.strides = _numbers(strides, n) if strides else contiguous_strides(self.shape)
        self.pointer: int = data + offset

    def close(self) -> None:
        """Returns the memory to the capsule's maker. A second call does nothing."""
        address, self._address = self._address, None
        if address and self._deleter:
            _Deleter(self._deleter)(address)

    def __del__(self) -> None:
        self.close()


class Memory:
    """An array in this package's device memory, which any DLPack reader can use. It is released when the last reader releases it.

    stream is the stream that writes it. A reader names its own stream, and that stream waits.
    """

    def __init__(self, on: Device, dtype: str, shape: Tuple[int, ...], stream: int) -> None:
        self._on, self.dtype, self.shape, self.stream = on, dtype, tuple(shape), stream
        size = SIZES["u8" if dtype == "bool" else dtype]
        for n in self.shape:
            size *= n
        self.nbytes = size
        _look()
        self.pointer = on.pool.alloc(size, "an array {} of {}".format(list(shape), dtype))

    def __dlpack_device__(self) -> Tuple[int, int]:
        return CUDA, self._on.ordinal

    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Optional[bool] = None
    ) -> Any:
        if dl_device is not None and tuple(dl_device) != self.__dlpack_device__() or copy:
            raise BufferError("this memory is given as it is and where it is")
        if stream != -1:
            self._on.join(1 if stream is None else int(stream), self.stream)
        return _capsule(self, self.pointer, self.__dlpack_device__(), self.dtype, self.shape)

    def __del__(self) -> None:
        pointer = getattr(self, "pointer", 0)
        if pointer:
            self._on.pool.release(pointer)


# Capsules' structures with the owner of the memory, by the structure's address, until the reader calls the deleter.
_exports: Dict[int, Tuple[Any, Any]] = {}
# Capsules without a reader at the last check, with their structure's address. They have no destructor, because a Python
# destructor would lose the current error if an error drops the capsule.
_fresh: Deque[Tuple[Any, int]] = collections.deque()
_probe = (object(), 0)
_ALONE = sys.getrefcount(_probe[0])  # the reference count of an object that only a tuple refers to


def _look() -> None:
    """Releases the owners of capsules that no reader has used or can use."""
    for _ in range(len(_fresh)):
        try:
            entry = _fresh.popleft()
        except IndexError:
            return  # another thread checks too
        if _is(entry[0], _FRESH):
            if sys.getrefcount(entry[0]) == _ALONE:
                _exports.pop(entry[1], None)
            else:
                _fresh.append(entry)


def _capsule(owner: Any, pointer: int, device: Tuple[int, int], dtype: str, shape: Tuple[int, ...]) -> Any:
    """Returns a capsule for contiguous memory. The capsule keeps owner alive."""
    n = len(shape)
    head = _TENSOR.size + _MANAGED.size
    made = ctypes.create_string_buffer(head + 16 * n)
    address = ctypes.addressof(made)
    code, bits = _CODES[dtype]
    numbers = address + head
    _TENSOR.pack_into(made, 0, pointer, device[0], device[1], n, code, bits, 1, numbers, numbers + 8 * n, 0)
    _MANAGED.pack_into(made, _TENSOR.size, 0, _DELETE)
    struct.pack_into("={}q".format(2 * n), made, head, *shape, *contiguous_strides(shape))
    _exports[address] = made, owner
    capsule = _new(address, _FRESH, None)
    _fresh.append((capsule, address))
    return capsule


def _deleted(address: int, exports: Dict[int, Any] = _exports) -> None:
    # Any thread may call this.
    exports.pop(address, None)


_delete = _Deleter(_deleted)
_keep(_delete)
_DELETE = ctypes.cast(_delete, c_void_p).value


@atexit.register
def _leave() -> None:
    """Removes the deleters from the structures, because readers that outlive the interpreter must not call into it."""
    left: List[Any] = list(_exports.values())
    for export in left:
        _MANAGED.pack_into(export[0], _TENSOR.size, 0, 0)
        _keep(export)
