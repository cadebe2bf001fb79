"""NVIDIA's driver, called through ctypes: devices, memory, streams, images of kernels and launches.

Nothing here knows of plans or of a framework. The context is the device's primary one, which every framework in the process
shares, so addresses, streams and events of theirs and ours go together. Sizes are bytes, addresses and handles are ints.

Calls other than a launch are made inside ``with device:``, which makes the context current on the thread for their length and
allows them while somebody captures a stream: the thread's capture mode is relaxed meanwhile, and what goes to streams of our own is
not recorded.
"""

from __future__ import annotations

import collections
import ctypes
import os
import sys
import threading
from ctypes import POINTER, byref, c_char_p, c_float, c_int, c_size_t, c_uint, c_ubyte, c_uint64, c_void_p
from typing import Any, Callable, Deque, Dict, List, NoReturn, Optional, Tuple

from ._errors import DeviceError, OutOfMemoryError, UnsupportedError

MIN_VERSION = 11080  # the oldest driver taken, CUDA 11.8
HIGHEST_ATTRIBUTE = 150

OUT_OF_MEMORY = 2
INVALID_CONTEXT = 201
LOSSY_QUERY = 402  # of a stream whose last launch lets the next begin early
NOT_READY = 600
# An image that was refused for what it is: no code for this device, a format or a version that the driver does not know, no compiler.
UNFIT = frozenset((200, 209, 218, 221, 222))

_p, _i, _u, _s, _a = c_void_p, c_int, c_uint, c_size_t, c_uint64

# Every function that is called: the name that it is exported by, its arguments, and whether a driver may lack it.
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
    "function_load": ("cuFuncLoad", (_p,), True),  # 12.4; before, a function is loaded when it is asked for
    "function_get": ("cuFuncGetAttribute", (POINTER(_i), _i, _p), False),
    "function_set": ("cuFuncSetAttribute", (_p, _i, _i), False),
    "launch": ("cuLaunchKernelEx", (_p, _p, _p, _p), False),
}

FUNC_MAX_THREADS, FUNC_MAX_SHARED, FUNC_CARVEOUT = 0, 8, 9


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
    """The driver library. Its functions are attributes, named as in the table above; each returns a code, 0 for success."""

    init: Callable[..., int]
    launch: Callable[..., int]

    def __init__(self, library: ctypes.CDLL, path: str) -> None:
        self.path = path
        self.number = 0
        for name, (exported, arguments, optional) in _FUNCTIONS.items():
            function = getattr(library, exported, None)
            if function is None and not optional:
                raise UnsupportedError("{}: the driver has no {}; it is older than CUDA 11.8, or no driver".format(path, exported))
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
            raise UnsupportedError("{} supports CUDA {}, want 11.8 (driver 520) or newer".format(path, version_text(self.number)))
        count = c_int()
        self.check(self.device_count(byref(count)), "cuDeviceGetCount")
        self.devices = count.value
        if self.devices == 0:
            raise UnsupportedError("the driver, {}, finds no GPU".format(path))

    def __getattr__(self, name: str) -> Callable[..., int]:  # for type checkers: __init__ sets what there is
        raise AttributeError(name)

    def name_of(self, code: int) -> str:
        """Returns a code's name, number and the driver's sentence."""
        name, text = c_char_p(), c_char_p()
        if self.error_name(code, byref(name)) or not name.value:
            return "CUDA error {}".format(code)
        words = "{} ({})".format(name.value.decode(), code)
        if self.error_string(code, byref(text)) == 0 and text.value:
            words += ": " + text.value.decode()
        return words

    def fail(self, code: int, what: str) -> NoReturn:
        """Raises the error that a code is."""
        if code == OUT_OF_MEMORY:
            raise OutOfMemoryError("{}: {}".format(what, self.name_of(code)))
        raise DriverError("{}: {}".format(what, self.name_of(code)), code)

    def check(self, code: int, what: str) -> None:
        """Raises the error that a code is, if it is one."""
        if code:
            self.fail(code, what)


class DriverError(DeviceError):
    """A call of the driver that failed. code is its number."""

    def __init__(self, message: str, code: int = 0, **fields: Any) -> None:
        super().__init__(message, **fields)
        self.code = code


def version_text(number: int) -> str:
    """Returns a CUDA version as people write it: 12040 is 12.4."""
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
_devices: Dict[int, "Device"] = {}


def driver() -> Driver:
    """Returns the driver, started. `UnsupportedError` says why there is none; it is found out once."""
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
    """Returns why no GPU can be used, None if one can."""
    try:
        driver()
    except UnsupportedError as e:
        return str(e)
    return None


def device(ordinal: int) -> "Device":
    """Returns a device by its number, as frameworks count them: among those that CUDA_VISIBLE_DEVICES leaves."""
    found = _devices.get(ordinal)
    if found is None:
        drv = driver()
        if not 0 <= ordinal < drv.devices:
            raise UnsupportedError("no device cuda:{}: the driver finds {}".format(ordinal, drv.devices))
        with _lock:
            found = _devices.get(ordinal)
            if found is None:
                found = _devices[ordinal] = Device(drv, ordinal)
    return found


class _Thread(threading.local):
    """What the calls on one thread write their results to."""

    def __init__(self) -> None:
        self.modes: List[c_int] = []
        self.context = c_void_p()


_RELAXED = 2
LIMBO_BYTES, LIMBO_COUNT = 256 << 20, 64


class Device:
    """A GPU and a hold on its primary context, for the life of the process. Calls may come from any thread."""

    def __init__(self, drv: Driver, ordinal: int) -> None:
        self.driver = drv
        self.ordinal = ordinal
        handle, context = c_int(), c_void_p()
        drv.check(drv.device_get(byref(handle), ordinal), "cuDeviceGet")
        name = ctypes.create_string_buffer(256)
        drv.check(drv.device_name(name, len(name), handle), "cuDeviceGetName")
        self.name = name.value.decode("utf-8", "replace")
        self.attributes: Dict[int, int] = {}
        value = c_int()
        for attribute in range(1, HIGHEST_ATTRIBUTE + 1):
            if drv.device_attribute(byref(value), attribute, handle) == 0:
                self.attributes[attribute] = value.value
        drv.check(drv.context_retain(byref(context), handle), "cuDevicePrimaryCtxRetain")
        self.context: int = context.value or 0
        self._thread = _Thread()
        self._own: Optional[int] = None
        self._limbo: Deque[Tuple[int, int]] = collections.deque()
        self._sizes: Dict[int, int] = {}
        # What gives memory back, if it can, where the device has too little: true if something was given back.
        self.reclaim: List[Callable[[], bool]] = []

    def __enter__(self) -> "Device":
        drv, thread = self.driver, self._thread
        drv.check(drv.context_push(self.context), "cuCtxPushCurrent")
        mode = c_int(_RELAXED)
        code = drv.capture_mode(byref(mode))
        if code:
            drv.context_pop(byref(thread.context))
            drv.fail(code, "cuThreadExchangeStreamCaptureMode")
        thread.modes.append(mode)
        return self

    def __exit__(self, *_: Any) -> None:
        drv, thread = self.driver, self._thread
        drv.capture_mode(byref(thread.modes.pop()))
        drv.context_pop(byref(thread.context))

    @property
    def stream(self) -> int:
        """A stream of our own, which waits for no other."""
        if self._own is None:
            with _lock:
                if self._own is None:
                    self._own = self.new_stream()
        return self._own

    def new_stream(self) -> int:
        """Makes a stream that waits for no other (CU_STREAM_NON_BLOCKING)."""
        handle = c_void_p()
        with self:
            self.driver.check(self.driver.stream_create(byref(handle), 1), "cuStreamCreate")
        return handle.value or 0

    def close_stream(self, stream: int) -> None:
        """Gives a stream of new_stream up; what is on it still runs."""
        with self:
            self.driver.check(self.driver.stream_destroy(stream), "cuStreamDestroy")

    def synchronize(self, stream: Optional[int] = None) -> None:
        """Waits for a stream, or for all work of the process on this device."""
        with self:
            if stream is None:
                self.driver.check(self.driver.context_synchronize(), "cuCtxSynchronize")
            else:
                self.driver.check(self.driver.stream_synchronize(stream), "cuStreamSynchronize")

    def capture(self, stream: int) -> int:
        """Returns the number of the capture that a stream is in, 0 if it is in none."""
        if stream in (0, 1):
            return 0  # the legacy stream cannot be captured
        status, number = c_int(), c_uint64()
        with self:
            code = self.driver.capture_info(stream, byref(status), byref(number), None, None, None)
            if code == LOSSY_QUERY and self.driver.capture_info_v3 is not None:
                code = self.driver.capture_info_v3(stream, byref(status), byref(number), None, None, None, None)
        self.driver.check(code, "cuStreamGetCaptureInfo")
        return number.value if status.value == 1 else 0

    def memory_info(self) -> Tuple[int, int]:
        """Returns the device's free and whole memory."""
        free, total = c_size_t(), c_size_t()
        with self:
            self.driver.check(self.driver.memory_info(byref(free), byref(total)), "cuMemGetInfo")
        return free.value, total.value

    def alloc(self, size: int, what: str = "memory") -> int:
        """Allocates device memory, at least a byte, at a multiple of 256. Where there is too little, what can be given back is first."""
        address = c_uint64()
        size = max(size, 1)
        with self:
            if len(self._limbo) > LIMBO_COUNT or self._limbo_bytes() > LIMBO_BYTES:
                self.flush()
            code = self.driver.alloc(byref(address), size)
            if code == OUT_OF_MEMORY and self.flush():
                code = self.driver.alloc(byref(address), size)
            for give in self.reclaim if code == OUT_OF_MEMORY else ():
                if give():
                    self.flush()
                    code = self.driver.alloc(byref(address), size)
                if code != OUT_OF_MEMORY:
                    break
            if code == OUT_OF_MEMORY:
                free, total = self.memory_info()
                raise OutOfMemoryError(
                    "cuda:{}: no {} bytes for {}: {} of {} are free".format(self.ordinal, size, what, free, total)
                )
            self.driver.check(code, "cuMemAlloc")
        self._sizes[address.value] = size
        return address.value

    def release(self, address: int) -> None:
        """Gives memory of alloc up. It is freed by a later alloc or flush, after all work that is queued on the device by then.

        It calls nothing of the driver, so it may come from a destructor, and from any thread.
        """
        self._limbo.append((address, self._sizes.pop(address)))

    def flush(self) -> bool:
        """Frees what was released, and reports whether there was any. The driver waits for the device before it frees."""
        freed = False
        with self:
            while True:
                try:
                    address, _ = self._limbo.popleft()
                except IndexError:
                    return freed
                self.driver.check(self.driver.free(address), "cuMemFree")
                freed = True

    def allocated(self) -> int:
        """The bytes of device memory that are ours, with those that are released and not yet freed."""
        return sum(list(self._sizes.values())) + self._limbo_bytes()

    def _limbo_bytes(self) -> int:
        return sum(size for _, size in list(self._limbo))

    def host_alloc(self, size: int) -> Tuple[int, int]:
        """Allocates pinned host memory and returns its address here and on the device."""
        host, address = c_void_p(), c_uint64()
        with self:
            self.driver.check(self.driver.host_alloc(byref(host), size, 3), "cuMemHostAlloc")  # portable and mapped
            self.driver.check(self.driver.host_address(byref(address), host, 0), "cuMemHostGetDevicePointer")
        return host.value or 0, address.value

    def host_free(self, host: int) -> None:
        """Frees memory of host_alloc. Nothing on the device uses it any more."""
        with self:
            self.driver.check(self.driver.host_free(host), "cuMemFreeHost")

    def register(self, host: int, size: int) -> None:
        """Pins memory that the process has mapped, so that copies from and to it need no staging. It stays mapped until unregister."""
        with self:
            self.driver.check(self.driver.host_register(host, size, 3), "cuMemHostRegister")

    def unregister(self, host: int) -> None:
        """Takes register back. No copy uses the memory any more."""
        with self:
            self.driver.check(self.driver.host_unregister(host), "cuMemHostUnregister")

    def to_device(self, address: int, host: int, size: int, stream: int) -> None:
        """Queues a copy from host memory. Where that is pinned, it is read until the stream has passed."""
        if size:
            with self:
                self.driver.check(self.driver.copy_to_device(address, host, size, stream), "cuMemcpyHtoDAsync")

    def to_host(self, host: int, address: int, size: int, stream: int) -> None:
        """Queues a copy to host memory, and waits for it."""
        if size:
            with self:
                self.driver.check(self.driver.copy_to_host(host, address, size, stream), "cuMemcpyDtoHAsync")
                self.driver.check(self.driver.stream_synchronize(stream), "cuStreamSynchronize")

    def read(self, address: int, size: int, stream: int) -> bytes:
        """Returns bytes of device memory as they are when the stream has passed what is queued on it."""
        data = ctypes.create_string_buffer(max(size, 1))
        self.to_host(ctypes.addressof(data), address, size, stream)
        return data.raw[:size]

    def fill(self, address: int, value: int, size: int, stream: int) -> None:
        """Queues a memset."""
        if size:
            with self:
                self.driver.check(self.driver.fill(address, value, size, stream), "cuMemsetD8Async")

    def event(self, timing: bool = False) -> "Event":
        """Makes an event."""
        return Event(self, timing)

    def join(self, waiting: int, ahead: int) -> None:
        """Makes one stream wait for what is queued on another."""
        if waiting != ahead:
            event = self.event()
            event.record(ahead)
            event.wait(waiting)

    def load(self, image: bytes) -> "Module":
        """Loads a cubin or PTX text. A `DriverError` with a code in UNFIT says that another image may do."""
        return Module(self, image)


class Event:
    """A point in a stream's work."""

    def __init__(self, of: Device, timing: bool) -> None:
        self.device = of
        handle = c_void_p()
        with of:
            of.driver.check(of.driver.event_create(byref(handle), 0 if timing else 2), "cuEventCreate")
        self.handle: Optional[int] = handle.value

    def record(self, stream: int) -> None:
        """Takes the point at which a stream's work is now."""
        with self.device as d:
            d.driver.check(d.driver.event_record(self.handle, stream), "cuEventRecord")

    def wait(self, stream: int) -> None:
        """Lets a stream wait for the point."""
        with self.device as d:
            d.driver.check(d.driver.stream_wait(stream, self.handle, 0), "cuStreamWaitEvent")

    def passed(self) -> bool:
        """Whether the point has been passed."""
        with self.device as d:
            code = d.driver.event_query(self.handle)
            if code != NOT_READY:
                d.driver.check(code, "cuEventQuery")
            return code == 0

    def synchronize(self) -> None:
        """Waits until the point is passed."""
        with self.device as d:
            d.driver.check(d.driver.event_synchronize(self.handle), "cuEventSynchronize")

    def since(self, begin: "Event") -> float:
        """Returns the milliseconds from another event to this one; both were made with timing, and are passed."""
        took = c_float()
        with self.device as d:
            d.driver.check(d.driver.event_elapsed(byref(took), begin.handle, self.handle), "cuEventElapsedTime")
        return took.value

    def __del__(self) -> None:
        if getattr(self, "handle", None) and not sys.is_finalizing():
            with self.device as d:
                d.driver.event_destroy(self.handle)
            self.handle = None


class Module:
    """A loaded image, and its functions. It stays loaded for the life of the process: graphs may hold its functions."""

    def __init__(self, of: Device, image: bytes) -> None:
        self.device = of
        self._functions: Dict[str, int] = {}
        self._shared: Dict[str, int] = {}
        self._carveout: Dict[str, int] = {}
        log = ctypes.create_string_buffer(16 << 10)
        # CU_JIT_ERROR_LOG_BUFFER and its size.
        options = (c_int * 2)(5, 6)
        values = (c_void_p * 2)(ctypes.addressof(log), len(log))
        handle = c_void_p()
        with of:
            code = of.driver.module_load(byref(handle), image + b"\0", 2, options, values)
        said = log.value.decode("utf-8", "replace").strip()
        of.driver.check(code, "cuModuleLoadDataEx" + (": " + said if said else ""))
        self.handle = handle.value

    def function(self, name: str, max_shared: int = 0, carveout: Optional[int] = None) -> int:
        """Returns a kernel, whose launches may ask for up to max_shared bytes of dynamic shared memory, and which has the share
        carveout (percent) of a multiprocessor's memory as such."""
        drv = self.device.driver
        with self.device:
            function = self._functions.get(name)
            if function is None:
                handle, threads = c_void_p(), c_int()
                drv.check(drv.module_function(byref(handle), self.handle, name.encode()), "cuModuleGetFunction({})".format(name))
                # A function that is loaded with its first launch could not be captured.
                if drv.function_load is not None:
                    drv.check(drv.function_load(handle), "cuFuncLoad({})".format(name))
                drv.check(drv.function_get(byref(threads), FUNC_MAX_THREADS, handle), "cuFuncGetAttribute({})".format(name))
                function = self._functions[name] = handle.value or 0
            if max_shared > self._shared.get(name, 0):  # less would refuse the launches that there are
                drv.check(drv.function_set(function, FUNC_MAX_SHARED, max_shared), "cuFuncSetAttribute({})".format(name))
                self._shared[name] = max_shared
            if carveout is not None and self._carveout.get(name) != carveout:
                drv.check(drv.function_set(function, FUNC_CARVEOUT, carveout), "cuFuncSetAttribute({})".format(name))
                self._carveout[name] = carveout
        return function
