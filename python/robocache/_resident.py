"""Batches from recordings on a GPU: each batch is a replay of the Go loader's plan, on torch's stream."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import sys
from typing import Any, Dict, List, Optional, Tuple

from . import _slots
from ._ahead import Place
from ._child import Child
from ._device import released
from ._errors import DeviceError, Error, LoaderError, OutOfMemoryError, UnsupportedError
from ._filler import Filler


class Resident:
    """A loader with its recordings and its position on a device. One thread at a time uses it.

    The helper process ends when everything is on the device. With cameras that is when all frames are decoded; until then each batch waits
    for its frames. A captured `next` draws the next batch at each replay, so after a capture the
    position is read from the device.
    """

    def __init__(self, request: Dict[str, Any], device: Any, max_memory: str = "", restart: bool = False) -> None:
        import torch

        from ._replay import replayer
        from ._session import Session

        self._torch = torch
        self._at = device
        self._unsure = False  # the device may be further than _place
        self.capturing = False  # the last batch was captured
        self._torn = False  # the device is one batch further than _place, and the caller did not get it
        self._on = replayer(device.index)
        self._session = Session(self._on)
        self._filler: Optional[Filler] = None
        self._filled: Dict[str, Any] = {}  # the parts of the report about frames, at the end
        try:
            if "cameras" in request:
                request = dict(request, frame_memory=request.get("frame_memory") or self._room(request))
                self._filler = Filler(request, self._on.device, restart, max_memory)
            child = self._filler.child if self._filler else Child(max_memory)
            try:
                self.reply = self._upload(child, request)
            finally:
                if self._filler is None:
                    child.close()
        except BaseException:
            self.close()
            raise
        self._template: Dict[str, Any] = self.reply["state"]
        report = self.reply["report"]
        self._windows, self._step = report["windows"], self.reply["batch"] * self.reply["world"]
        self._short = self.reply["last"] == "short"
        self._describe()
        self._place = (0, 0)

    def _free(self) -> int:
        free, _ = self._on.device.memory_info()
        torch = self._torch
        # torch can return its cached memory.
        return int(free + torch.cuda.memory_reserved(self._at) - torch.cuda.memory_allocated(self._at))

    def _room(self, request: Dict[str, Any]) -> int:
        """Returns the memory for frames, bytes: half of what is free, or all of it if the level is given."""
        return self._free() // (1 if request.get("frame_level") == "device" else 2)

    def _upload(self, child: Child, request: Dict[str, Any]) -> Dict[str, Any]:
        """Uploads the recordings, and returns the description of a batch."""
        first, _, fd = child.request("resident", target=self._on.target(child), **request)
        try:
            window = mmap.mmap(fd, first["window"])
        finally:
            os.close(fd)
        self._check_room(first["bytes"])
        host = (ctypes.c_char * first["window"]).from_buffer(window)
        address = ctypes.addressof(host)
        device = self._on.device
        device.register(address, first["window"])
        try:
            while True:
                reply, payload, _ = child.request("upload")
                piece = reply.get("piece")
                if piece is None:
                    break
                self._session.put(piece["buffer"], piece["size"], piece["at"], address, piece["bytes"])
                self._session.flush()
        finally:
            device.synchronize(device.stream)
            device.unregister(address)
        batch: Dict[str, Any] = reply["batch"]
        header = batch.pop("plan")
        self._session.plan(header, payload, child, _explain)
        self._sizes: List[int] = [a["bytes"] for a in header["arguments"]]
        return batch

    def _check_room(self, want: int) -> None:
        free = self._free()
        if want > free:
            mib = 1 << 20
            raise OutOfMemoryError(
                "loader: the recordings take about {} MiB on {}, and {} MiB are free: want streaming=True, which reads "
                'them meanwhile, or streaming="auto"'.format(-(-want // mib), self._at, free // mib),
                op="loader",
            )

    def _describe(self) -> None:
        """Plans a batch's memory: one allocation for all arguments of the plan, with arrays as views."""
        torch = self._torch
        self._offsets: List[int] = []
        size = 0
        for n in self._sizes:
            self._offsets.append(size)
            size += -(-n // 256) * 256
        self._bytes = max(size, 1)
        self._arrays: List[Tuple[str, str, Tuple[int, ...], Tuple[int, ...], int]] = []
        used = set()
        for a in _slots.arrays_of(self.reply["arrays"]):
            start = self._offsets[a.argument] + a.at
            self._arrays.append((a.name, a.dtype, a.shape, a.strides, start // _slots.SIZES[a.dtype]))
            used.add(a.dtype)
        self._dtypes = [(name, getattr(torch, _slots.TORCH[name])) for name in sorted(used)]
        # Tables from an episode's place to its dataset and its number. The last entry, -1, is for a row without a window.
        self._tables: List[Tuple[str, Any]] = []
        episodes = self.reply["episodes"]
        if "datasets" in self.reply:
            self._tables.append(("dataset_index", self._table(self.reply["datasets"])))
        if episodes != list(range(len(episodes))):
            self._tables.append(("episode_index", self._table(episodes)))

    def _table(self, numbers: List[int]) -> Any:
        return self._torch.tensor(numbers + [-1], dtype=self._torch.int64, device=self._at)

    def next(self) -> Dict[str, Any]:
        """Returns the next batch; its work is queued on the current stream."""
        if self._torn:
            self.seek(self.place.state)
        torch = self._torch
        stream = torch.cuda.current_stream(self._at)
        memory = torch.empty(self._bytes, dtype=torch.uint8, device=self._at)
        pointer = memory.data_ptr()
        capturing = self.capturing = torch.cuda.is_current_stream_capturing()
        if self._filler is not None:
            self._fill(stream.cuda_stream, capturing, False)
        known, self._unsure = not self._unsure and not capturing, True  # Ctrl-C may come after the launch
        self._session.run(tuple([pointer + o for o in self._offsets]), stream.cuda_stream)
        if not capturing:
            epoch, taken = self._begin(*self._place)
            self._place = (epoch, min(taken + self._step, self._windows))
        self._unsure = not known
        typed = {name: memory.view(dtype) for name, dtype in self._dtypes}
        batch = {
            name: torch.as_strided(typed[dtype], shape, strides, at) for name, dtype, shape, strides, at in self._arrays
        }
        if self._tables:
            drawn = batch["episode_index"]
            for name, table in self._tables:
                batch[name] = table[drawn]
        return batch

    def _fill(self, stream: int, capturing: bool, everything: bool) -> None:
        """Copies the frames of the next batch, or all frames, to the device. After the last one the helper process ends."""
        filler = self._filler
        assert filler is not None
        if capturing:
            raise UnsupportedError(
                "loader: got a stream that is being captured while frames are decoded, want loader.fill() before, which decodes all",
                op="loader",
            )
        filler.fill(self._session, self.reply["stores"], self.place.state, stream, everything)
        if filler.done:
            self._filled = self.report()
            self._filler = None
            filler.close()

    def fill(self) -> None:
        """Decodes all frames, and waits until they are on the device."""
        if self._torn:
            self.seek(self.place.state)
        if self._filler is not None:
            torch: Any = self._torch
            stream = torch.cuda.current_stream(self._at).cuda_stream
            self._fill(stream, torch.cuda.is_current_stream_capturing(), True)

    def _begin(self, epoch: int, taken: int) -> Tuple[int, int]:
        """Returns the position where the batch after a position begins: in the next epoch if this one has no further batch."""
        left = self._windows - taken
        if left >= self._step or self._short and left > 0:
            return epoch, taken
        return epoch + 1, 0

    @property
    def place(self) -> Place:
        """The loader's position, without replays of captured batches."""
        epoch, taken = self._place
        return Place(dict(self._template, epoch=epoch, taken=taken), self._begin(epoch, taken)[0])

    @property
    def mark(self) -> Any:
        """An object that is another one after each batch, for undo; None if only the device knows the position."""
        return None if self._unsure else self._place

    def undo(self, mark: Any) -> None:
        """Makes a batch that was drawn after mark the next batch again, because the caller did not get it."""
        torch: Any = self._torch
        if mark is not None and not torch.cuda.is_current_stream_capturing():
            self._place, self._unsure, self._torn = mark, False, True

    def refresh(self) -> Place:
        """Returns the loader's position. After a capture or an interrupted `next`, it waits for the stream and reads the device."""
        if self._unsure:
            stream = self._torch.cuda.current_stream(self._at).cuda_stream
            buffer, at = self.reply["cursors"][0]
            epoch, taken = struct.unpack("<qq", self._session.read(buffer, at, 16, stream))
            self._place = (epoch, taken)
        return self.place

    def seek(self, state: Dict[str, Any]) -> None:
        """Continues after a state. A state with another order is a LoaderError."""
        for name in sorted(set(state) | set(self._template)):
            got, want = state.get(name), self._template.get(name)
            if name not in ("epoch", "taken") and got != want:
                raise LoaderError(
                    "loader: state: {}: got {}, want {}".format(name, got, want),
                    op="loader",
                    got=str(got),
                    want=str(want),
                )
        epoch, taken = state.get("epoch"), state.get("taken")
        if not (
            isinstance(epoch, int) and isinstance(taken, int) and 0 <= epoch <= 1 << 62 and 0 <= taken <= self._windows
        ):
            raise LoaderError(
                "loader: state: got epoch {}, {} taken, want epoch 0 to 2^62, at most {} taken".format(
                    epoch, taken, self._windows
                ),
                op="loader",
            )
        stream = self._torch.cuda.current_stream(self._at).cuda_stream
        for buffer, at in self.reply["cursors"]:
            self._session.write(buffer, at, struct.pack("<qq", epoch, taken), stream)
        self._place, self._torn = (epoch, taken), False
        if self._filler is not None:
            self._filler.move()

    def report(self) -> Dict[str, Any]:
        """Returns the report. The waiting time is that for frames, if there are cameras."""
        if self._filler is None:
            return self._filled or {"report": self.reply["report"], "waits": {}}
        now = self._filler.report()
        report = dict(self.reply["report"], cameras=now["cameras"], decoder=now["decoder"])
        return {"report": report, "waits": {"frames_seconds": self._filler.waited}}

    def check(self) -> None:
        """Raises `ForkError` in a forked process."""
        self._on.device.check_fork()

    def close(self) -> None:
        """Releases the memory on the device. Returned batches stay valid."""
        with released():
            if self._filler is not None:
                self._filler.close()
            self._session.close()

    def __del__(self) -> None:
        if hasattr(self, "_filler") and not sys.is_finalizing():
            self.close()


def _explain(faults: Dict[int, int]) -> Error:
    return DeviceError(
        "loader: the device met a value that was checked before it was put there: {}".format(faults), op="loader"
    )
