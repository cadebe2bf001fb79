"""DLPack capsules, read and made by ctypes: how arrays of JAX, and of others, come and go without a copy.

What is read may be of either version of the protocol, what is made is of the first, which all readers take.
"""

from __future__ import annotations

import atexit
import ctypes
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, Dict, List, Optional, Tuple

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


class _Tensor(ctypes.Structure):
    """DLTensor."""

    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", c_uint64),
    ]


class _Managed(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [("tensor", _Tensor), ("context", c_void_p), ("deleter", c_void_p)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned."""

    _fields_ = [
        ("major", c_uint32),
        ("minor", c_uint32),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("tensor", _Tensor),
    ]


_Deleter = ctypes.CFUNCTYPE(None, c_void_p)
_python = ctypes.pythonapi
# By address where a capsule is being destroyed: a reference to it must not be taken then.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", _python))
_pointer_at = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _python))
_is = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, c_char_p)(("PyCapsule_IsValid", _python))
_pointer_of = ctypes.PYFUNCTYPE(c_void_p, ctypes.py_object, c_char_p)(("PyCapsule_GetPointer", _python))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, c_char_p)(("PyCapsule_SetName", _python))
_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, c_void_p)(("PyCapsule_New", _python))
_keep = ctypes.PYFUNCTYPE(None, ctypes.py_object)(("Py_IncRef", _python))

# Names of capsules, which must outlive them.
_FRESH, _USED = b"dltensor", b"used_dltensor"
_FRESH_VERSIONED, _USED_VERSIONED = b"dltensor_versioned", b"used_dltensor_versioned"


class Taken:
    """What a capsule gave: memory that stays until close, or until this object dies. strides are in elements."""

    def __init__(self, capsule: Any) -> None:
        self._address: Optional[int] = None
        if _is(capsule, _FRESH_VERSIONED):
            address = _pointer_of(capsule, _FRESH_VERSIONED)
            versioned = _Versioned.from_address(address)
            if versioned.major != 1:
                version = "{}.{}".format(versioned.major, versioned.minor)
                raise ArgumentError("a DLPack capsule of version {}, want 1".format(version))
            self._deleter, tensor = versioned.deleter, versioned.tensor
            _rename(capsule, _USED_VERSIONED)
        elif _is(capsule, _FRESH):
            address = _pointer_of(capsule, _FRESH)
            managed = _Managed.from_address(address)
            self._deleter, tensor = managed.deleter, managed.tensor
            _rename(capsule, _USED)
        else:
            raise ArgumentError("a DLPack capsule that was used before, or none: {!r}".format(capsule))
        self._address = address
        n = tensor.ndim
        self.device = (tensor.device_type, tensor.device_id)
        self.dtype = _NAMES.get((tensor.code, tensor.bits), "") if tensor.lanes == 1 else ""
        self.told = "code {}, {} bits, {} lanes".format(tensor.code, tensor.bits, tensor.lanes)
        self.shape: Tuple[int, ...] = tuple(tensor.shape[:n]) if n else ()
        self.strides = tuple(tensor.strides[:n]) if n and tensor.strides else contiguous_strides(self.shape)
        self.pointer: int = (tensor.data or 0) + tensor.byte_offset

    def close(self) -> None:
        """Gives the memory back to who made the capsule. Closing twice is fine."""
        address, self._address = self._address, None
        if address and self._deleter:
            _Deleter(self._deleter)(address)

    def __del__(self) -> None:
        self.close()


class Memory:
    """An array in device memory of our own, which anybody who speaks DLPack can take; it is given up when the last that
    did lets go.

    stream is the one that writes it. Who takes it says on which stream it goes on, and that one waits.
    """

    def __init__(self, on: Device, dtype: str, shape: Tuple[int, ...], stream: int) -> None:
        self._on, self.dtype, self.shape, self.stream = on, dtype, tuple(shape), stream
        size = SIZES["u8" if dtype == "bool" else dtype]
        for n in self.shape:
            size *= n
        self.nbytes = size
        self.pointer = on.alloc(size, "an array {} of {}".format(list(shape), dtype))

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
            self._on.release(pointer)


# What capsules that live refer to, by the address of their structure.
_exports: Dict[int, Tuple[_Managed, Any, Any]] = {}


def _capsule(owner: Any, pointer: int, device: Tuple[int, int], dtype: str, shape: Tuple[int, ...]) -> Any:
    """Returns a capsule of contiguous memory, which keeps owner alive."""
    n = len(shape)
    numbers = (c_int64 * (2 * n + 1))(*shape, *contiguous_strides(shape))
    base = ctypes.addressof(numbers)
    code, bits = _CODES[dtype]
    managed = _Managed()
    t = managed.tensor
    t.data, t.device_type, t.device_id, t.ndim = pointer, device[0], device[1], n
    t.code, t.bits, t.lanes = code, bits, 1
    t.shape = ctypes.cast(base, POINTER(c_int64))
    t.strides = ctypes.cast(base + 8 * n, POINTER(c_int64))
    managed.deleter = ctypes.cast(_delete, c_void_p).value
    address = ctypes.addressof(managed)
    _exports[address] = managed, numbers, owner
    try:
        return _new(address, _FRESH, ctypes.cast(_destroy, c_void_p))
    except BaseException:
        del _exports[address]
        raise


def _deleted(address: int, exports: Dict[int, Any] = _exports) -> None:
    # Comes from whatever thread lets go of the memory.
    exports.pop(address, None)


def _destroyed(capsule: int, exports: Dict[int, Any] = _exports) -> None:
    if _is_valid(capsule, _FRESH):  # nobody took it
        exports.pop(_pointer_at(capsule, _FRESH), None)


_delete, _destroy = _Deleter(_deleted), _Deleter(_destroyed)
_keep(_delete)
_keep(_destroy)


@atexit.register
def _leave() -> None:
    """Readers that outlive the interpreter must not call into it: their structures stay, without a deleter."""
    left: List[Any] = list(_exports.values())
    for export in left:
        export[0].deleter = None
        _keep(export)
