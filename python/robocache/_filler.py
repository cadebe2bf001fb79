"""The frames of a loader on a GPU: the helper process decodes them ahead, and this process copies them to the GPU."""

from __future__ import annotations

import ctypes
import mmap
import os
import time
from typing import Any, Dict, List, Tuple

from ._ahead import ATTEMPTS, gone
from ._child import Child
from ._errors import Error, ServerError

END = (1 << 63) - 1  # batches that are complete when no frame is left
_NO_PLACE = 1 << 40  # loader.NoPlace


class Filler:
    """A helper process that gives the frames of a loader's cameras, in the order of its batches. One thread at a time uses it.

    A *room* is shared memory for frames, which this process has pinned. done is True if all frames are given.
    """

    def __init__(self, request: Dict[str, Any], device: Any, restart: bool, max_memory: str = "") -> None:
        self.done = False
        self.waited = 0.0  # seconds
        self._request, self._device = request, device
        self._restart, self._max_memory = restart, max_memory
        self._stream = device.new_stream()
        self._bad = ctypes.c_int64(_NO_PLACE)
        self._address = 0
        self._copying: Tuple[Any, List[int]] = (None, [])  # the event after the last copies, and their rooms
        self._torn = False  # the helper process has given frames that this process does not have
        self._moved = True  # the helper process does not know the position
        self._batches = 0  # complete since it knows it
        self._start()

    def _start(self) -> None:
        child = Child(self._max_memory, self._request["frames_on"])
        try:
            reply, _, fd = child.request("filling", **self._request)
            try:
                memory = mmap.mmap(fd, reply["memory"])
            finally:
                os.close(fd)
            address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
            self._device.register(address, reply["memory"])
        except BaseException:
            child.close()
            raise
        self.child, self._memory, self._address = child, memory, address
        self._moved = True

    def _forget(self) -> None:
        """Ends the helper process, and releases its rooms after the copies from them."""
        self.child.close()
        if self._address:
            self._device.synchronize(self._stream)
            self._device.unregister(self._address)
        self._address, self._copying = 0, (None, [])

    def move(self) -> None:
        """Makes the next `fill` continue at another position."""
        self._moved = True

    def fill(self, session: Any, stores: List[Dict[str, Any]], state: Dict[str, Any], stream: int, everything: bool = False) -> None:
        """Copies the frames of the batch after a state, or all frames, and makes a stream wait for the copies.

        After the first call, and after `move`, each call is for the next batch. stores has the places of the cameras' frames in the session.
        """
        begin = time.perf_counter()
        if self._torn:
            self._again()
        for attempt in range(1, ATTEMPTS + 2):
            try:
                self._fill(session, stores, state, everything)
                break
            except ServerError as e:
                if not self._restart:
                    raise gone(e) from e
                if attempt > ATTEMPTS:
                    raise
                self._again()
            except Error:
                raise
            except BaseException:  # Ctrl-C
                self._torn = True
                raise
        if self._copying[0] is not None:
            self._copying[0].wait(stream)
        self.waited += time.perf_counter() - begin

    def _again(self) -> None:
        """Starts another helper process. It decodes frames again."""
        self._forget()
        self._start()
        self._torn = False

    def _fill(self, session: Any, stores: List[Dict[str, Any]], state: Dict[str, Any], everything: bool) -> None:
        more: Dict[str, Any] = {}
        if self._moved:
            more, self._batches = {"state": state}, 0
        want = END if everything else self._batches + 1
        while True:
            event, rooms = self._copying
            if rooms:
                event.synchronize()
            self._copying = (event, [])
            reply = self.child.request("fill", batches=want, release=rooms, **more)[0]
            more, self._moved = {}, False
            self._copy(session, stores, reply["frames"])
            self.done = reply["batches"] >= END
            if reply["batches"] >= want:
                break
        self._batches += 1

    def _copy(self, session: Any, stores: List[Dict[str, Any]], frames: List[Dict[str, Any]]) -> None:
        """Queues the copies of frames to the session's memory."""
        rooms = []
        for f in frames:
            store = stores[f["camera"]]
            if f["room"] >= 0:
                buffer, at = store["frames"]
                session.copy(buffer, at + f["place"], self._address + f["at"], f["bytes"], self._stream)
                rooms.append(f["room"])
            buffer, at = store["places"]
            for sample in f.get("bad", ()):
                session.copy(buffer, at + 8 * sample, ctypes.addressof(self._bad), 8, self._stream)
        if frames:
            event = self._device.event()
            event.record(self._stream)
            self._copying = (event, rooms)

    def report(self) -> Dict[str, Any]:
        """Returns the helper process's report."""
        return dict(self.child.request("report")[0]["report"])

    def close(self) -> None:
        """Ends the helper process, after the copies."""
        if self._stream:
            self._forget()
            self._device.close_stream(self._stream)
            self._stream = 0
