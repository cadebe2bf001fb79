"""Exported plans, their device buffers, and their instances.

A *plan* is the list of kernel launches for an operation with given shapes, options and device; the helper process makes it. An
*instance* is a plan with its own buffers and launch parameters, for one stream.
"""

from __future__ import annotations

import ctypes
import threading
from ctypes import byref, c_uint64, c_void_p
from typing import Any, Callable, Dict, Hashable, List, Mapping, Optional, Tuple

from ._cells import Cells
from ._cuda import DEPENDENT, LaunchAttribute, LaunchConfig
from ._device import Device, Module
from ._errors import Error, VersionError

VERSION = 1

Request = Dict[str, Any]


def _round(n: int, to: int) -> int:
    return (n + to - 1) // to * to


class Plan:
    """An exported plan with its loaded kernel images.

    header is the plan's JSON, payload the bytes that header refers to by offset, and request the request that it was made for.
    positions has, for each of the plan's arguments, the index of the caller's pointer.
    """

    def __init__(self, header: Dict[str, Any], payload: bytes, request: Optional[Request] = None) -> None:
        if header.get("version") != VERSION:
            raise VersionError(
                "the plan has version {}, this package reads version {}: install one wheel".format(
                    header.get("version"), VERSION
                )
            )
        self.header, self.payload, self.request = header, payload, request
        self.arguments: List[str] = [a["name"] for a in header["arguments"]]
        names = list(request["tensors"]) if request is not None else self.arguments
        self.positions = [names.index(name) for name in self.arguments]
        self.buffers: List[Dict[str, Any]] = header["buffers"] or []
        self.launches: List[Dict[str, Any]] = header["launches"] or []
        self.images: List[Dict[str, Any]] = header["images"] or []
        self.counts: Optional[Dict[str, int]] = header.get("counts")
        self.modules: List[Module] = []
        # Returns the error for faults, a dict from buffer numbers to fault values. If None, the helper process explains them
        # from the request.
        self.explain: Optional[Callable[[Dict[int, int]], Error]] = None


class Buffers:
    """The device memory that a plan's kernels need besides the arguments, with its initial contents.

    user is the instance that runs on it. given: addresses of buffers by "id", for buffers that a `Session` owns and fills. fixed: the
    addresses of arguments that are the same in each run, by name. A table in the buffers may contain them.
    """

    def __init__(
        self, plan: Plan, on: Device, cells: Cells, given: Optional[Dict[int, int]] = None, fixed: Optional[Mapping[str, int]] = None
    ) -> None:
        self.plan = plan
        self._fixed = fixed or {}
        self.user: Optional[Instance] = None
        self._device, self._cells = on, cells
        self._taken: List[int] = []
        self._memory = 0
        self.size = 0
        given = given or {}
        places: Dict[int, int] = {}
        for i, buffer in enumerate(plan.buffers):
            if buffer["kind"] == "memory" and buffer.get("id") not in given:
                places[i] = self.size
                self.size += _round(buffer["bytes"], 256)
        try:
            if self.size:
                self._memory = on.pool.alloc(self.size, "a plan's memory")
            self.addresses: List[int] = []
            for i, buffer in enumerate(plan.buffers):
                if buffer["kind"] == "fault":
                    self._taken.append(cells.take(self))
                    self.addresses.append(self._taken[-1])
                elif buffer["kind"] == "flag":
                    self.addresses.append(cells.flag)
                else:
                    self.addresses.append(self._memory + places[i] if i in places else given[buffer["id"]])
            with on:
                for i, buffer in enumerate(plan.buffers):
                    if buffer.get("fill") and i in places:
                        value, size = buffer["fill"]
                        on.fill(self.addresses[i], value, size, on.stream)
                    if buffer.get("init"):
                        self._copy(buffer, self.addresses[i])
                if plan.buffers:
                    on.synchronize(on.stream)
        except BaseException:
            self.close()
            raise

    def _copy(self, buffer: Dict[str, Any], to: int) -> None:
        at, size = buffer["init"]
        data = bytearray(self.plan.payload[at : at + size])
        for place, of, offset in buffer.get("relocations") or ():
            data[place : place + 8] = (self.address(of) + offset).to_bytes(8, "little")
        on = self._device
        on.to_device(to, ctypes.addressof((ctypes.c_char * size).from_buffer(data)), size, on.stream)
        on.synchronize(on.stream)

    def address(self, number: int) -> int:
        """The address of a buffer by its number in the plan. Numbers count the arguments first; an argument that is not fixed is a VersionError."""
        own = number - len(self.plan.arguments)
        if own >= 0:
            return self.addresses[own]
        name = self.plan.arguments[number]
        if name not in self._fixed:
            raise VersionError("the plan has the address of the argument {} where it stays the same".format(name))
        return self._fixed[name]

    def close(self) -> None:
        """Releases the memory. Queued work still runs."""
        for cell in self._taken:
            self._cells.give(cell)
        if self._memory:
            self._device.pool.release(self._memory)
        self._taken, self._memory = [], 0


def _never(*_: Any) -> int:
    return -1


class Instance:
    """A plan with buffers, for one stream. The caller holds lock around begin, queue and close.

    Before queue, ``begin(*begin_arguments)`` asks the driver whether queue may run: it may if begin returns 0 and ``state[0]`` equals
    ``expected``. For an explicit stream, the answer is whether the stream is being captured. For a default stream, it is the current
    context, because each context has its own default streams.

    pointers are the addresses in the last run. place is the instance's key in the caller's map. captured is the number of the CUDA graph
    capture that the instance belongs to, else 0. shared is True if other instances use the buffers too; then close keeps them.
    """

    __slots__ = (
        "lock", "plan", "buffers", "stream", "place", "captured", "shared", "begin", "begin_arguments", "state",
        "expected", "words", "patches", "launches", "pointers", "keep", "closed", "_device", "_alive", "_answer",
    )  # fmt: skip

    def __init__(
        self, buffers: Buffers, on: Device, stream: int, place: Hashable, captured: int = 0, shared: bool = False
    ) -> None:
        self.lock = threading.RLock()
        self.plan, self.buffers, self.stream, self.place = buffers.plan, buffers, stream, place
        self.captured, self.shared = captured, shared
        buffers.user = self
        self.pointers: Tuple[int, ...] = ()
        self.keep: Any = None
        self.closed = False
        self._device = on
        self._answer = c_uint64()
        self.state = memoryview(self._answer).cast("B").cast("Q")
        self.expected = 0
        if captured or stream == 2:
            self.begin: Callable[..., int] = _never
            self.begin_arguments: Tuple[Any, ...] = ()
        elif stream in (0, 1):
            self.begin = on.driver.context_current
            self.expected = on.context
            self.begin_arguments = (ctypes.cast(byref(self._answer), ctypes.POINTER(c_void_p)),)
        else:
            self.begin = on.driver.stream_capturing
            self.begin_arguments = (c_void_p(stream), ctypes.cast(byref(self._answer), ctypes.POINTER(ctypes.c_int)))
        self._prepare()

    def _prepare(self) -> None:
        """Packs the launches' parameters into one buffer with the addresses that never change, and lists the words to patch in each run."""
        plan = self.plan
        first = len(plan.arguments)
        sizes = [max((offset + size for _, size, offset in l["params"]), default=0) for l in plan.launches]
        starts = [sum(_round(s, 64) for s in sizes[:i]) for i in range(len(sizes))]
        buffer = (c_uint64 * (sum(_round(s, 64) for s in sizes) // 8 + 8))()
        base = ctypes.addressof(buffer)
        base_word = -base % 64 // 8  # words to skip, so that parameters with an alignment of 64 bytes are aligned
        view = memoryview(buffer).cast("B")
        words = view.cast("Q")
        patches: List[Tuple[int, int, int]] = []
        launches: List[Tuple[Any, ...]] = []
        self._alive: List[Any] = [buffer]
        for launch, size, start in zip(plan.launches, sizes, starts):
            begin = 8 * base_word + start
            for at, length, offset in launch["params"]:
                view[begin + offset : begin + offset + length] = plan.payload[at : at + length]
            for param, at, of, offset in launch["relocations"] or ():
                word, rest = divmod(begin + launch["params"][param][2] + at, 8)
                if rest:
                    raise VersionError("the plan has an address that is not at a multiple of 8 bytes")
                if of >= first:
                    words[word] = self.buffers.address(of) + offset
                else:
                    patches.append((word, plan.positions[of], offset))
            launches.append(self._launch(launch, base + begin, size))
        self.words, self.patches, self.launches = words, tuple(patches), tuple(launches)

    def _launch(self, launch: Dict[str, Any], parameters: int, size: int) -> Tuple[Any, ...]:
        """Returns the arguments of cuLaunchKernelEx for a launch; its parameters are size bytes in one packed buffer."""
        three = ctypes.c_uint * 3
        grid, block, shared = three(*launch["grid"]), three(*launch["block"]), launch["shared"]
        config = LaunchConfig(grid, block, shared, self.stream or None)
        if launch["dependent"]:
            attribute = LaunchAttribute(DEPENDENT)
            attribute.value[0] = 1
            config.attributes, config.count = ctypes.pointer(attribute), 1
            self._alive.append(attribute)
        length = ctypes.c_size_t(size)
        # CU_LAUNCH_PARAM_BUFFER_POINTER, CU_LAUNCH_PARAM_BUFFER_SIZE, CU_LAUNCH_PARAM_END
        extra = (c_void_p * 5)(1, parameters, 2, ctypes.addressof(length), None)
        function = self.plan.modules[launch["image"]].function(launch["entry"], shared, launch.get("carveout"))
        self._alive += [config, length, extra]
        return byref(config), c_void_p(function), None, byref(extra)

    def run(self, pointers: Tuple[int, ...], keep: Any) -> bool:
        """Queues the launches if begin allows it, and reports whether it did."""
        with self.lock:
            if self.begin(*self.begin_arguments) or self.state[0] != self.expected:
                return False
            self.queue(pointers, keep)
            return True

    def queue(self, pointers: Tuple[int, ...], keep: Any) -> None:
        """Queues the launches.

        If one fails, or Ctrl-C interrupts, the instance is closed, because the contents of its memory are unknown.
        """
        driver = self._device.driver
        try:
            if pointers != self.pointers:
                words = self.words
                for word, argument, offset in self.patches:
                    words[word] = pointers[argument] + offset
                self.pointers = pointers
            self.keep = keep
            launch = driver.launch
            for arguments in self.launches:
                code = launch(*arguments)
                if code:
                    driver.fail(code, "cuLaunchKernelEx")
        except BaseException:
            self.close()
            raise

    def read_counts(self) -> bytes:
        """Waits for the queued run, and returns the bytes of its counters; b"" if the plan has none."""
        place = self.plan.counts
        if place is None:
            return b""
        return self._device.read(self.buffers.address(place["buffer"]) + place["offset"], place["bytes"], self.stream)

    def close(self) -> None:
        """Releases the buffers, unless a graph may use them or others share them. Queued work still runs."""
        with self.lock:
            if not self.closed:
                self.closed = True
                self.begin, self.begin_arguments = _never, ()
                if not self.captured and not self.shared:
                    self.buffers.close()
