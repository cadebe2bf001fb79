"""GPU devices: memory, streams, events and kernel images, independent of plans and frameworks.

The context is the device's primary context, which all frameworks in the process share, so addresses, streams and events are valid in
all of them. Sizes are bytes; addresses and handles are ints.

Calls other than a launch are made inside ``with device:``. It makes the context current on the thread, and relaxes the thread's
capture mode, so that the calls are allowed while another thread captures a stream. Work on our own streams is not captured.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from contextlib import contextmanager
from ctypes import byref, c_float, c_int, c_size_t, c_uint64, c_void_p
from typing import Any, Dict, Iterator, List, Optional, Tuple

from ._cuda import LOSSY_QUERY, NOT_READY, Driver, DriverError, driver
from ._errors import ForkError, UnsupportedError
from ._pool import Pool

HIGHEST_ATTRIBUTE = 150
FUNC_MAX_THREADS, FUNC_MAX_SHARED, FUNC_CARVEOUT = 0, 8, 9

_lock = threading.Lock()
_devices: Dict[int, "Device"] = {}


def device(ordinal: int) -> "Device":
    """Returns a device by the number that frameworks use, which counts the devices in CUDA_VISIBLE_DEVICES."""
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
    """A thread's nesting depth of `with device`, its capture mode before, and the memory that context_pop writes."""

    def __init__(self) -> None:
        self.depth = 0
        self.mode = c_int()
        self.context_at = ctypes.pointer(c_void_p())


_RELAXED = 2


class Device:
    """A GPU with its primary context, retained for the life of the process. Methods may be called from any thread."""

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
        self._joint: Optional[Event] = None
        self._joint_lock = threading.Lock()
        self.pool = Pool(self)

    def check_fork(self) -> None:
        """Raises `ForkError` in a process that was forked after the driver was started."""
        if os.getpid() != self.driver.pid:
            raise ForkError(
                "RoboCache used a GPU in process {} before process {} was forked from it, and a GPU cannot be used on "
                "this side: start workers with the 'spawn' or 'forkserver' method".format(self.driver.pid, os.getpid())
            )

    def __enter__(self) -> "Device":
        thread = self._thread
        if thread.depth == 0:
            self.check_fork()
            drv = self.driver
            drv.check(drv.context_push(self.context), "cuCtxPushCurrent")
            mode = c_int(_RELAXED)
            code = drv.capture_mode(byref(mode))
            if code:
                drv.context_pop(thread.context_at)
                drv.fail(code, "cuThreadExchangeStreamCaptureMode")
            # Set last: a destructor that runs during the calls above enters and leaves with depth 0.
            thread.mode, thread.depth = mode, 1
        else:
            thread.depth += 1
        return self

    def __exit__(self, *_: Any) -> None:
        thread = self._thread
        mode = thread.mode
        thread.depth -= 1
        if thread.depth == 0:
            self.driver.capture_mode(byref(mode))
            self.driver.context_pop(thread.context_at)

    @property
    def stream(self) -> int:
        """This package's stream, which waits for no other stream."""
        if self._own is None:
            with _lock:
                if self._own is None:
                    self._own = self.new_stream()
        return self._own

    def new_stream(self) -> int:
        """Returns a new stream that waits for no other stream (CU_STREAM_NON_BLOCKING)."""
        handle = c_void_p()
        with self:
            self.driver.check(self.driver.stream_create(byref(handle), 1), "cuStreamCreate")
        return handle.value or 0

    def close_stream(self, stream: int) -> None:
        """Destroys a stream from new_stream. Queued work still runs."""
        with self:
            self.driver.check(self.driver.stream_destroy(stream), "cuStreamDestroy")

    def synchronize(self, stream: Optional[int] = None) -> None:
        """Waits for a stream, or without one for all work of this process on the device."""
        with self:
            if stream is None:
                self.driver.check(self.driver.context_synchronize(), "cuCtxSynchronize")
            else:
                self.driver.check(self.driver.stream_synchronize(stream), "cuStreamSynchronize")

    def capture(self, stream: int) -> int:
        """Returns the number of the CUDA graph capture that a stream is in, or 0."""
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
        """Returns the device's free and total memory, bytes."""
        free, total = c_size_t(), c_size_t()
        with self:
            self.driver.check(self.driver.memory_info(byref(free), byref(total)), "cuMemGetInfo")
        return free.value, total.value

    def host_alloc(self, size: int) -> Tuple[int, int]:
        """Allocates pinned host memory. Returns its address on the host and on the device."""
        host, address = c_void_p(), c_uint64()
        with self:
            self.driver.check(self.driver.host_alloc(byref(host), size, 3), "cuMemHostAlloc")  # portable and mapped
            self.driver.check(self.driver.host_address(byref(address), host, 0), "cuMemHostGetDevicePointer")
        return host.value or 0, address.value

    def host_free(self, host: int) -> None:
        """Frees memory from host_alloc. The caller ensures that no work on the device uses it."""
        with self:
            self.driver.check(self.driver.host_free(host), "cuMemFreeHost")

    def register(self, host: int, size: int) -> None:
        """Pins memory that the process has mapped, so that copies need no staging. The caller keeps it mapped until unregister."""
        with self:
            self.driver.check(self.driver.host_register(host, size, 3), "cuMemHostRegister")

    def unregister(self, host: int) -> None:
        """Unpins memory. The caller ensures that no copy uses it."""
        with self:
            self.driver.check(self.driver.host_unregister(host), "cuMemHostUnregister")

    def to_device(self, address: int, host: int, size: int, stream: int) -> None:
        """Queues a copy from host memory. Pinned memory is read until the stream has passed the copy, other memory only during the call."""
        if size:
            with self:
                self.driver.check(self.driver.copy_to_device(address, host, size, stream), "cuMemcpyHtoDAsync")

    def to_host(self, host: int, address: int, size: int, stream: int) -> None:
        """Copies device memory to host memory after the stream's queued work, and waits."""
        if size:
            with self:
                self.driver.check(self.driver.copy_to_host(host, address, size, stream), "cuMemcpyDtoHAsync")
                self.driver.check(self.driver.stream_synchronize(stream), "cuStreamSynchronize")

    def read(self, address: int, size: int, stream: int) -> bytes:
        """Returns bytes of device memory, read after the stream's queued work."""
        data = ctypes.create_string_buffer(max(size, 1))
        self.to_host(ctypes.addressof(data), address, size, stream)
        return data.raw[:size]

    def fill(self, address: int, value: int, size: int, stream: int) -> None:
        """Queues a fill with a byte value."""
        if size:
            with self:
                self.driver.check(self.driver.fill(address, value, size, stream), "cuMemsetD8Async")

    def event(self, timing: bool = False) -> "Event":
        """Returns a new event."""
        return Event(self, timing)

    def join(self, waiting: int, ahead: int) -> None:
        """Makes the stream waiting wait for the work that is queued on the stream ahead."""
        if waiting != ahead:
            with self, self._joint_lock:
                if self._joint is None:
                    self._joint = self.event()
                # A wait is for the last record before it, so the event can be recorded again afterwards.
                drv, event = self.driver, self._joint.handle
                drv.check(drv.event_record(event, ahead), "cuEventRecord")
                drv.check(drv.stream_wait(waiting, event, 0), "cuStreamWaitEvent")

    def load(self, image: bytes) -> "Module":
        """Loads a cubin or PTX text. A `DriverError` with a code in UNFIT means that another image may be accepted."""
        return Module(self, image)


# The driver's errors after which each call of the process on the device fails, as in cudadrv.
_LOST = frozenset([226, 700, 702, 710, *range(714, 720)])


@contextmanager
def released() -> Iterator[None]:
    """Ignores the error of a release on a lost device. The driver releases all memory when the process ends."""
    try:
        yield
    except DriverError as e:
        if e.code not in _LOST:
            raise


class Event:
    """A point in a stream's work."""

    def __init__(self, of: Device, timing: bool) -> None:
        self.device = of
        handle = c_void_p()
        with of:
            of.driver.check(of.driver.event_create(byref(handle), 0 if timing else 2), "cuEventCreate")
        self.handle: Optional[int] = handle.value

    def record(self, stream: int) -> None:
        """Sets the event to the end of the stream's queued work."""
        with self.device as d:
            d.driver.check(d.driver.event_record(self.handle, stream), "cuEventRecord")

    def wait(self, stream: int) -> None:
        """Makes a stream wait for the event."""
        with self.device as d:
            d.driver.check(d.driver.stream_wait(stream, self.handle, 0), "cuStreamWaitEvent")

    def passed(self) -> bool:
        """Reports whether the stream has passed the event."""
        with self.device as d:
            code = d.driver.event_query(self.handle)
            if code != NOT_READY:
                d.driver.check(code, "cuEventQuery")
            return code == 0

    def synchronize(self) -> None:
        """Waits until the stream has passed the event."""
        with self.device as d:
            d.driver.check(d.driver.event_synchronize(self.handle), "cuEventSynchronize")

    def since(self, begin: "Event") -> float:
        """Returns the milliseconds from begin to this event. Both were made with timing=True, and have passed."""
        took = c_float()
        with self.device as d:
            d.driver.check(d.driver.event_elapsed(byref(took), begin.handle, self.handle), "cuEventElapsedTime")
        return took.value

    def __del__(self) -> None:
        if getattr(self, "handle", None) and not sys.is_finalizing() and os.getpid() == self.device.driver.pid:
            with self.device as d:
                d.driver.event_destroy(self.handle)
            self.handle = None


class Module:
    """A loaded kernel image. It stays loaded for the life of the process, because graphs may use its functions."""

    def __init__(self, of: Device, image: bytes) -> None:
        self.device = of
        self._functions: Dict[str, int] = {}
        self._shared: Dict[str, int] = {}
        self._carveout: Dict[str, int] = {}
        log = ctypes.create_string_buffer(16 << 10)
        # CU_JIT_ERROR_LOG_BUFFER and CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES.
        options = (c_int * 2)(5, 6)
        values = (c_void_p * 2)(ctypes.addressof(log), len(log))
        handle = c_void_p()
        with of:
            code = of.driver.module_load(byref(handle), image + b"\0", 2, options, values)
        said = log.value.decode("utf-8", "replace").strip()
        of.driver.check(code, "cuModuleLoadDataEx" + (": " + said if said else ""))
        self.handle = handle.value

    def function(self, name: str, max_shared: int = 0, carveout: Optional[int] = None) -> int:
        """Returns a kernel's handle.

        max_shared is the dynamic shared memory that launches may use, bytes. carveout is the share of a multiprocessor's on-chip memory
        to use as shared memory, percent.
        """
        drv = self.device.driver
        with self.device:
            function = self._functions.get(name)
            if function is None:
                handle, threads = c_void_p(), c_int()
                code = drv.module_function(byref(handle), self.handle, name.encode())
                drv.check(code, "cuModuleGetFunction({})".format(name))
                # Load it now: a function that is loaded by its first launch cannot be captured.
                if drv.function_load is not None:
                    drv.check(drv.function_load(handle), "cuFuncLoad({})".format(name))
                code = drv.function_get(byref(threads), FUNC_MAX_THREADS, handle)
                drv.check(code, "cuFuncGetAttribute({})".format(name))
                function = self._functions[name] = handle.value or 0
            if max_shared > self._shared.get(name, 0):  # a smaller limit would refuse existing launches
                code = drv.function_set(function, FUNC_MAX_SHARED, max_shared)
                drv.check(code, "cuFuncSetAttribute({})".format(name))
                self._shared[name] = max_shared
            if carveout is not None and self._carveout.get(name) != carveout:
                code = drv.function_set(function, FUNC_CARVEOUT, carveout)
                drv.check(code, "cuFuncSetAttribute({})".format(name))
                self._carveout[name] = carveout
        return function
