"""NVIDIA's driver library through ctypes: finding it, its functions, and its error codes."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_ubyte, c_uint64, c_void_p
from typing import Any, Callable, Dict, List, NoReturn, Optional, Tuple

from ._errors import DeviceError, OutOfMemoryError, UnsupportedError

MIN_VERSION = 11080  # the oldest supported driver, CUDA 11.8

OUT_OF_MEMORY = 2
INVALID_CONTEXT = 201
LOSSY_QUERY = 402  # for a stream with a last launch that lets the next one begin early
NOT_READY = 600
# The driver refused an image: it has no code for this device, an unknown format or version, or needs a missing
# compiler.
UNFIT = frozenset((200, 209, 218, 221, 222))

_p, _i, _u, _s, _a = c_void_p, c_int, c_uint, c_size_t, c_uint64

# The driver's functions: exported name, argument types, and whether the function is optional.
_FUNCTIONS: Dict[str, Tuple[str, Tuple[Any, ...], bool]] = {
    "init": ("cuInit", (_u,), False),
    "version": ("cuDriverGetVersion", (POINTER(_i),), False),
    "error_name": ("cuGetErrorName", (_i, POINTER(c_char_p)), False),
    "error_string": ("cuGetErrorString", (_i, POINTER(c_char_p)), False),
    "device_count": ("cuDeviceGetCount", (POINTER(_i),), False),
    "device_get": ("cuDeviceGet", (POINTER(_i), _i), False),
    "device_name": ("cuDeviceGetName", (_p, _i, _i), False),
    "device_attribute": ("cuDeviceGetAttribute", (POINTER(_i), _i, _i), False),
    "context_retain": ("cuDevicePrimaryCtxRetain", (POINTER(_p), _i), False),
    "context_push": ("cuCtxPushCurrent_v2", (_p,), False),
    "context_pop": ("cuCtxPopCurrent_v2", (POINTER(_p),), False),
    "context_current": ("cuCtxGetCurrent", (POINTER(_p),), False),
    "context_synchronize": ("cuCtxSynchronize", (), False),
    "memory_info": ("cuMemGetInfo_v2", (POINTER(_s), POINTER(_s)), False),
    "alloc": ("cuMemAlloc_v2", (POINTER(_a), _s), False),
    "free": ("cuMemFree_v2", (_a,), False),
    "host_alloc": ("cuMemHostAlloc", (POINTER(_p), _s, _u), False),
    "host_free": ("cuMemFreeHost", (_p,), False),
    "host_address": ("cuMemHostGetDevicePointer_v2", (POINTER(_a), _p, _u), False),
    "host_register": ("cuMemHostRegister_v2", (_p, _s, _u), False),
    "host_unregister": ("cuMemHostUnregister", (_p,), False),
    "copy_to_device": ("cuMemcpyHtoDAsync_v2", (_a, _p, _s, _p), False),
    "copy_to_host": ("cuMemcpyDtoHAsync_v2", (_p, _a, _s, _p), False),
    "copy_on_device": ("cuMemcpyDtoDAsync_v2", (_a, _a, _s, _p), False),
    "fill": ("cuMemsetD8Async", (_a, c_ubyte, _s, _p), False),
    "stream_create": ("cuStreamCreate", (POINTER(_p), _u), False),
    "stream_destroy": ("cuStreamDestroy_v2", (_p,), False),
    "stream_synchronize": ("cuStreamSynchronize", (_p,), False),
    "stream_wait": ("cuStreamWaitEvent", (_p, _p, _u), False),
    "stream_capturing": ("cuStreamIsCapturing", (_p, POINTER(_i)), False),
    "capture_info": ("cuStreamGetCaptureInfo_v2", (_p, POINTER(_i), POINTER(_a), _p, _p, _p), False),
    "capture_info_v3": ("cuStreamGetCaptureInfo_v3", (_p, POINTER(_i), POINTER(_a), _p, _p, _p, _p), True),  # 12.3
    "capture_mode": ("cuThreadExchangeStreamCaptureMode", (POINTER(_i),), False),
    "event_create": ("cuEventCreate", (POINTER(_p), _u), False),
    "event_destroy": ("cuEventDestroy_v2", (_p,), False),
    "event_record": ("cuEventRecord", (_p, _p), False),
    "event_query": ("cuEventQuery", (_p,), False),
    "event_synchronize": ("cuEventSynchronize", (_p,), False),
    "event_elapsed": ("cuEventElapsedTime", (POINTER(c_float), _p, _p), False),
    "module_load": ("cuModuleLoadDataEx", (POINTER(_p), _p, _u, POINTER(_i), POINTER(_p)), False),
    "module_function": ("cuModuleGetFunction", (POINTER(_p), _p, c_char_p), False),
    "function_load": ("cuFuncLoad", (_p,), True),  # 12.4; earlier drivers load a function when it is first used
    "function_get": ("cuFuncGetAttribute", (POINTER(_i), _i, _p), False),
    "function_set": ("cuFuncSetAttribute", (_p, _i, _i), False),
    "launch": ("cuLaunchKernelEx", (_p, _p, _p, _p), False),
}

class LaunchAttribute(ctypes.Structure):
    """CUlaunchAttribute."""

    _fields_ = [("id", c_uint), ("pad", c_uint), ("value", c_uint64 * 8)]


class LaunchConfig(ctypes.Structure):
    """CUlaunchConfig."""

    _fields_ = [
        ("grid", c_uint * 3),
        ("block", c_uint * 3),
        ("shared", c_uint),
        ("stream", c_void_p),
        ("attributes", POINTER(LaunchAttribute)),
        ("count", c_uint),
    ]


DEPENDENT = 6  # CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION


class Driver:
    """The driver library. Its functions are attributes with the names in _FUNCTIONS; each returns a code, 0 for success."""

    init: Callable[..., int]
    launch: Callable[..., int]

    def __init__(self, library: ctypes.CDLL, path: str) -> None:
        self.path = path
        self.pid = os.getpid()
        self.number = 0
        for name, (exported, arguments, optional) in _FUNCTIONS.items():
            function = getattr(library, exported, None)
            if function is None and not optional:
                raise UnsupportedError("{} has no {}: it is older than CUDA 11.8, or no driver".format(path, exported))
            if function is not None:
                function.argtypes, function.restype = arguments, c_int
            setattr(self, name, function)
        code = self.init(0)
        if code == 34:
            raise UnsupportedError("{} is the stub of a toolkit, no driver".format(path))
        if code == 100:
            raise UnsupportedError("the driver, {}, finds no GPU".format(path))
        if code:
            raise UnsupportedError("the driver, {}, does not start: {}".format(path, self.name_of(code)))
        number = c_int()
        self.check(self.version(byref(number)), "cuDriverGetVersion")
        self.number = number.value
        if self.number < MIN_VERSION:
            supported = version_text(self.number)
            raise UnsupportedError("{} supports CUDA {}, want 11.8 (driver 520) or newer".format(path, supported))
        count = c_int()
        self.check(self.device_count(byref(count)), "cuDeviceGetCount")
        self.devices = count.value
        if self.devices == 0:
            raise UnsupportedError("the driver, {}, finds no GPU".format(path))

    def __getattr__(self, name: str) -> Callable[..., int]:  # for type checkers: __init__ sets the functions
        raise AttributeError(name)

    def name_of(self, code: int) -> str:
        """Returns a code's name, number and the driver's description."""
        name, text = c_char_p(), c_char_p()
        if self.error_name(code, byref(name)) or not name.value:
            return "CUDA error {}".format(code)
        words = "{} ({})".format(name.value.decode(), code)
        if self.error_string(code, byref(text)) == 0 and text.value:
            words += ": " + text.value.decode()
        return words

    def fail(self, code: int, what: str) -> NoReturn:
        """Raises the error for a code. what is the name of the failed call."""
        if code == OUT_OF_MEMORY:
            raise OutOfMemoryError("{}: {}".format(what, self.name_of(code)))
        raise DriverError("{}: {}".format(what, self.name_of(code)), code)

    def check(self, code: int, what: str) -> None:
        """Raises the error for a code that is not 0."""
        if code:
            self.fail(code, what)


class DriverError(DeviceError):
    """A driver call failed. code is the driver's error code."""

    def __init__(self, message: str, code: int = 0, **fields: Any) -> None:
        super().__init__(message, **fields)
        self.code = code


def version_text(number: int) -> str:
    """Returns a CUDA version as text: "12.4" for 12040."""
    return "{}.{}".format(number // 1000, number % 1000 // 10)


def _candidates() -> List[str]:
    named = os.environ.get("ROBOCACHE_LIBCUDA")
    if named:
        if "/" in named and not os.path.isabs(named):
            raise UnsupportedError("ROBOCACHE_LIBCUDA is {!r}, want an absolute path or a bare name".format(named))
        return [named]
    machine = os.uname().machine
    folders = [
        "/usr/lib/{}-linux-gnu".format(machine),
        "/usr/lib/{}-linux-gnu/nvidia/current".format(machine),
        "/usr/lib/{}-linux-gnu/tegra".format(machine),
        "/usr/lib64",
        "/usr/lib64/nvidia",
        "/usr/lib/wsl/lib",
        "/run/opengl-driver/lib",
        "/usr/local/nvidia/lib64",
        "/usr/local/nvidia/lib",
    ]
    return ["libcuda.so.1"] + [folder + "/libcuda.so.1" for folder in folders]


def _open() -> Driver:
    if not sys.platform.startswith("linux"):
        raise UnsupportedError("CUDA is used on Linux only, this is {}".format(sys.platform))
    stub: Optional[UnsupportedError] = None
    first = ""
    for name in _candidates():
        try:
            library = ctypes.CDLL(name)
        except OSError as e:
            first = first or str(e)
            continue
        try:
            return Driver(library, name)
        except UnsupportedError as e:
            if "stub" not in str(e):
                raise
            stub = stub or e
    raise stub or UnsupportedError("no CUDA driver: {}".format(first))


_lock = threading.Lock()
_driver: Optional[Driver] = None
_reason: Optional[str] = None


def driver() -> Driver:
    """Returns the started driver. If there is none, UnsupportedError has the reason; the search runs once."""
    global _driver, _reason
    if _driver is not None:
        return _driver
    with _lock:
        if _driver is None:
            if _reason is None:
                try:
                    _driver = _open()
                    return _driver
                except UnsupportedError as e:
                    _reason = str(e)
            raise UnsupportedError(_reason)
    return _driver


def reason() -> Optional[str]:
    """Returns the reason why no GPU can be used, or None if one can."""
    try:
        driver()
    except UnsupportedError as e:
        return str(e)
    return None
