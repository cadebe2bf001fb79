"""A loader's recordings on a device: buffers that uploads fill, and one plan that runs on them again and again."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from ._errors import DeviceError, Error
from ._plan import Buffers, Instance, Plan
from ._replay import Replayer


_HALF_WAY = "a session after a run that failed half way: its memory may hold anything"


class Session:
    """The buffers and the plan of a loader on a device. One thread at a time uses it.

    Its memory carries state from one run to the next, on any stream: a run waits for the previous one. A captured run uses the same memory,
    so each replay advances the state too. A caller who mixes runs and replays must order them.
    """

    def __init__(self, on: Replayer) -> None:
        self._on = on
        self._given: Dict[int, int] = {}
        self._buffers: Optional[Buffers] = None
        self._instances: Dict[int, Instance] = {}
        self._last: Optional[int] = None
        self._failed = False

    def put(self, buffer: int, size: int, at: int, host: int, count: int) -> None:
        """Queues a copy of count bytes at host to offset at in a buffer, which has size bytes and the "id" buffer. flush waits for it."""
        device = self._on.device
        address = self._given.get(buffer)
        if address is None:
            address = self._given[buffer] = device.pool.alloc(size, "a loader's recordings")
        if at < 0 or count < 0 or at + count > size:
            raise DeviceError("an upload of {} bytes at {} of {}".format(count, at, size))
        device.to_device(address + at, host, count, device.stream)

    def flush(self) -> None:
        """Waits for the copies. After that the caller may overwrite their host memory."""
        self._on.device.synchronize(self._on.device.stream)

    def plan(
        self,
        header: Mapping[str, Any],
        payload: bytes,
        child: Any,
        explain: Callable[[Dict[int, int]], Error],
        fixed: Optional[Mapping[str, int]] = None,
    ) -> List[str]:
        """Loads the plan of a batch, and returns the names of its arguments.

        explain returns the error for faults, by their buffer numbers. fixed has the addresses of arguments that are the same in each run.
        """
        self.flush()
        plan = Plan(dict(header), payload)
        plan.explain = explain
        self._on.load(plan, child)
        self._buffers = Buffers(plan, self._on.device, self._on.cells, self._given, fixed)
        return plan.arguments

    def run(self, pointers: Tuple[int, ...], stream: int, check: bool = False) -> None:
        """Runs the plan on a stream, with addresses for its arguments in their order. Errors are as in `Replayer.run`."""
        one = self._on
        if self._failed:
            raise DeviceError(_HALF_WAY)
        if one.flags[0]:
            one.raise_late(stream)
        instance = self._instances.get(stream)
        if instance is None:
            instance = Instance(self._having(), one.device, stream, (self, stream), shared=True)
            self._instances[stream] = instance
        self.follow(stream)
        try:
            if not instance.run(pointers, None) and not one.run_apart(instance, pointers, None, check, False)[0]:
                raise DeviceError(_HALF_WAY)
        finally:
            self._failed = instance.closed
        if check:
            one.waited(instance, b"", False)

    def follow(self, stream: int) -> None:
        """Makes a stream wait for the last run, unless it is captured."""
        if stream != self._last and not self._on.device.capture(stream):
            if self._last is not None:
                self._on.device.join(stream, self._last)
            self._last = stream

    def copy(self, buffer: int, at: int, host: int, count: int, stream: int) -> None:
        """Queues a copy of count bytes at host to offset at in a buffer, which has a number in the plan."""
        self._on.device.to_device(self._having().address(buffer) + at, host, count, stream)

    def write(self, buffer: int, at: int, data: bytes, stream: int) -> None:
        """Overwrites bytes of a buffer, which has a number in the plan, after the stream's queued work, and waits."""
        address = self._having().address(buffer)
        host = ctypes.create_string_buffer(data, len(data))
        device = self._on.device
        device.to_device(address + at, ctypes.addressof(host), len(data), stream)
        device.synchronize(stream)

    def read(self, buffer: int, at: int, count: int, stream: int) -> bytes:
        """Returns bytes of a buffer, which has a number in the plan, read after the stream's queued work."""
        return self._on.device.read(self._having().address(buffer) + at, count, stream)

    def _having(self) -> Buffers:
        if self._buffers is None:
            raise DeviceError("a session that has no plan, or is closed")
        return self._buffers

    def close(self) -> None:
        """Releases the memory, after queued work has run. A graph with a captured run must not be replayed afterwards."""
        for instance in self._instances.values():
            instance.close()
        if self._buffers is not None:
            self._buffers.close()
        for address in self._given.values():
            self._on.device.pool.release(address)
        if self._given:
            self._on.device.pool.flush()  # because recordings may be large
        self._buffers, self._instances, self._given = None, {}, {}
