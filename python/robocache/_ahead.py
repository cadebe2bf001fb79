"""Batches that the helper process draws in advance into slots, for NumPy, CPU tensors, and copies to a GPU.

A *slot* is shared memory for one batch; see `_slots`.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

from . import _slots
from ._child import Child
from ._device import released
from ._errors import DeviceError, Error, ServerError, UnsupportedError

ATTEMPTS = 3  # starts of a helper process without a batch in between
SPARE = 3  # slots besides prefetch: the batch in use, the batch before it, and one that is being returned


def gone(error: ServerError) -> ServerError:
    """Returns the error for a helper process that was killed."""
    return ServerError(
        "loader: its helper process is gone, and restart=True, which starts another and goes on at the same batch, "
        "was not given: {}".format(error),
        op="loader",
    )


class Place(NamedTuple):
    """A loader's position after the last returned batch. epoch is the epoch of the next batch."""

    state: Dict[str, Any]
    epoch: int


class Ahead:
    """A process that draws batches in advance for a loader. One thread at a time uses it.

    The position is that of the last batch from `next`, however many were drawn in advance. It arrives with the batch, so it is known even
    after the process has ended.
    """

    capturing = False

    def __init__(
        self, request: Dict[str, Any], framework: str, prefetch: int, restart: bool, max_memory: str = ""
    ) -> None:
        self.prefetch = prefetch
        self.restart = restart
        self._request = dict(request, slots=prefetch + SPARE)
        self._framework = framework
        self._max_memory = max_memory
        self._torn = False
        self._place: Optional[Place] = None
        self._start()

    def _start(self) -> None:
        """Starts a helper process that draws from this loader's position on."""
        child = Child(self._max_memory, self._request.get("frames_on", ""))
        try:
            reply, _, fd = child.request("loader", **self._request)
            try:
                pool = _slots.Pool(fd, reply["slots"], reply["slot_bytes"], _slots.arrays_of(reply["arrays"]))
            finally:
                os.close(fd)
            if self._place is not None:
                child.request("resume", state=self._place.state)
        except BaseException:
            child.close()
            raise
        self.child, self.pool, self.reply = child, pool, reply
        if self._place is None:
            self._place = Place(reply["state"], 0)
        self._convert = _slots.converter(self._framework, pool.arrays)

    @property
    def place(self) -> Place:
        """The loader's position."""
        assert self._place is not None
        return self._place

    def refresh(self) -> Place:
        """Returns the loader's position."""
        return self.place

    def _again(self, error: ServerError, attempt: int) -> None:
        """Starts another helper process after error, or raises error if restart is off or attempts are used up."""
        if not self.restart:
            raise gone(error) from error
        if attempt > ATTEMPTS:
            raise error
        self.child.close()
        self._start()

    def _retried(self, do: Callable[[], Any]) -> Any:
        """Calls do, which sends a request. If the helper process was killed, it calls do again with another process."""
        if self._torn:  # the state of the old process is unknown
            self.child.close()
            self._start()
            self._torn = False
        for attempt in range(1, ATTEMPTS + 2):
            try:
                return do()
            except ServerError as e:
                self._again(e, attempt)
            except Error:
                raise
            except BaseException:  # Ctrl-C
                self._torn = True
                raise
        raise AssertionError("unreachable")

    def next(self) -> Dict[str, Any]:
        """Returns the next batch, and waits for it."""
        batch: Dict[str, Any] = self._retried(self._draw)
        return batch

    def _draw(self) -> Dict[str, Any]:
        slot, place = self._take(False)
        pool = self.pool
        # If the caller held one more slot, fewer than prefetch would remain.
        full = pool.held >= pool.slots - self.prefetch
        batch = self._convert(pool.copy_out(slot) if full else pool.hand_out(slot))
        self._place = place
        return batch

    def _take(self, poll: bool) -> Tuple[int, Place]:
        """Returns free slots to the helper process, and takes the next batch. The slot is -1 if poll and no batch is drawn yet."""
        reply = self.child.request("next", release=self.pool.take_back(), poll=poll)[0]
        return reply["slot"], Place(reply.get("state", {}), reply["epoch"] + (1 if reply["last"] else 0))

    @property
    def mark(self) -> Any:
        """An object that is another one after each batch, for undo."""
        return self._place

    def undo(self, mark: Any) -> None:
        """Makes a batch that was drawn after mark the next batch again, because the caller did not get it."""
        if self._place is not mark:
            self._place, self._torn = mark, True

    def seek(self, state: Dict[str, Any]) -> None:
        """Continues after a state."""

        def resume() -> None:
            reply = self.child.request("resume", state=state)[0]
            self._place = Place(state, reply["epoch"])

        self._retried(resume)

    def report(self) -> Dict[str, Any]:
        """Returns the current report with waiting times."""
        reply: Dict[str, Any] = self._retried(lambda: self.child.request("report")[0])
        return reply

    def fill(self) -> None:
        """Raises UnsupportedError."""
        raise UnsupportedError(
            'loader: fill: got frames that are not kept on a GPU, want cuda, frame_level="device" and streaming=False',
            op="loader",
        )

    def check(self) -> None:
        """Raises `ForkError` in a forked process."""
        self.child.check_fork()

    def close(self) -> None:
        """Ends the helper process. Returned batches stay valid."""
        self.child.close()


_FRAMES, _STACK = -1, -2


class _Made(NamedTuple):
    """A camera with frames that are made on the GPU, from a batch's stored frames in stack, a tensor.

    stored is their offset in a slot. arguments are the offsets of the session's arguments in a slot, or _FRAMES or _STACK.
    """

    name: str
    dtype: Any
    shape: Tuple[int, ...]
    session: Any
    stack: Any
    stored: int
    arguments: List[int]


class Staged(Ahead):
    """An `Ahead` with batches that are copied to a GPU, as torch tensors.

    The slots are pinned, once for each helper process. A batch is one copy on a separate stream, into torch's memory, and the current
    stream waits for it. Before a batch is returned, the copy of the next one begins if that is already drawn. The cameras' frames are made on
    the GPU, from the stored frames in the copy.
    """

    def __init__(self, request: Dict[str, Any], device: Any, prefetch: int, restart: bool, max_memory: str = "") -> None:
        import torch

        from ._replay import replayer

        self._torch = torch
        self._at = device
        self._device = replayer(device.index).device
        self._side: Any = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._pinned: Optional[Tuple[Any, int]] = None
        self._staged: Optional[
            Tuple[Any, Any, Place]
        ] = None  # the memory, the event after the copy, and the position after the batch
        # Events, and the slots that are read until then. torch's events are not used, because a capture would refuse them.
        self._copying: List[Tuple[Any, int]] = []
        self._cameras: List[_Made] = []
        super().__init__(dict(request, unmade=True), "torch", prefetch, restart, max_memory)

    def _start(self) -> None:
        self._forget()
        super()._start()
        self._device.register(self.pool.address, self.pool.slots * self.pool.size)
        self._pinned = (self.pool, self.pool.address)
        dtypes = {n: getattr(self._torch, t) for n, t in _slots.TORCH.items()}
        self._views = [(a.name, dtypes[a.dtype], a.shape, a.at, a.nbytes) for a in self.pool.arrays if a.at >= 0]
        self._bytes = self.pool.size
        if not self._cameras:
            self._cameras = [self._made(a, dtypes[a.dtype]) for a in self.pool.arrays if a.at < 0]

    def _made(self, frames: _slots.Array, dtype: Any) -> "_Made":
        """Loads the plan that makes a camera's frames."""
        from ._replay import replayer
        from ._session import Session

        on = replayer(self._at.index)
        session = Session(on)
        reply, payload, _ = self.child.request("camera", camera=frames.name, target=on.target(self.child))
        at = {a["part"]: a["at"] for a in self.reply["arrays"] if a["name"] == frames.name}
        size = next(a["bytes"] for a in reply["plan"]["arguments"] if a["name"] == "stored")
        stack = self._torch.empty(size, dtype=self._torch.uint8, device=self._at)
        names = session.plan(
            reply["plan"],
            payload,
            self.child,
            lambda faults: DeviceError("loader: frames: faults {}".format(faults)),
            fixed={"stored": stack.data_ptr()},
        )
        stored = at["stored"]
        at.update(frames=_FRAMES, stored=_STACK)
        return _Made(frames.name, dtype, frames.shape, session, stack, stored, [at[n] for n in names])

    def _forget(self) -> None:
        """Releases the slots of a helper process, after the copies from them."""
        self._staged = None
        for event, _ in self._copying:
            event.synchronize()
        self._copying = []
        if self._pinned is not None:
            self._device.unregister(self._pinned[1])
            self._pinned = None

    def _draw(self) -> Dict[str, Any]:
        torch = self._torch
        if torch.cuda.is_current_stream_capturing():
            raise UnsupportedError(
                "loader: got a stream that is being captured, want a loader that keeps its recordings and frames on the GPU "
                '(streaming=False, frame_level="device"): a graph cannot contain reads',
                op="loader",
            )
        if self._staged is None:
            self._stage(False)
        staged = self._staged
        assert staged is not None
        memory, event, place = staged
        current = torch.cuda.current_stream(self._at)
        event.wait(current.cuda_stream)
        memory.record_stream(current)
        batch = {name: memory[at : at + n].view(dtype).view(shape) for name, dtype, shape, at, n in self._views}
        base = memory.data_ptr()
        for c in self._cameras:
            frames = batch[c.name] = torch.empty(c.shape, dtype=c.dtype, device=self._at)
            c.session.follow(current.cuda_stream)
            c.stack.copy_(memory[c.stored : c.stored + c.stack.numel()])
            own = {_FRAMES: frames.data_ptr(), _STACK: c.stack.data_ptr()}
            c.session.run(tuple([own.get(at, base + at) for at in c.arguments]), current.cuda_stream)
        self._staged = None
        try:
            self._stage(True)
        except Error:  # the error occurs again with the next batch
            pass
        self._place = place
        return batch

    def _stage(self, poll: bool) -> None:
        """Begins to copy the next batch; with poll only if it is already drawn."""
        while self._copying and (len(self._copying) > SPARE or self._copying[0][0].passed()):
            event, slot = self._copying.pop(0)
            event.synchronize()
            self.pool.returned.append(slot)
        slot, place = self._take(poll)
        if slot < 0:
            return
        try:
            self._staged = self._copy(slot, place)
        except BaseException:
            self._torn = True  # the helper process has drawn a batch that this process does not have
            raise

    def _copy(self, slot: int, place: Place) -> Tuple[Any, Any, Place]:
        torch = self._torch
        with torch.cuda.stream(self._side):
            memory = torch.empty(self._bytes, dtype=torch.uint8, device=self._at)
            at = self.pool.address + slot * self.pool.size
            self._device.to_device(memory.data_ptr(), at, self._bytes, self._side.cuda_stream)
            event = self._device.event()
            event.record(self._side.cuda_stream)
        self._copying.append((event, slot))
        return memory, event, place

    def seek(self, state: Dict[str, Any]) -> None:
        self._staged = None
        super().seek(state)

    def close(self) -> None:
        super().close()
        with released():
            self._forget()
            for c in self._cameras:
                c.session.close()
        self._cameras = []

    def __del__(self) -> None:
        if hasattr(self, "child") and not sys.is_finalizing():
            self.close()  # it unpins the slots, before they are unmapped
