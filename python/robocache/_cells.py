"""Fault cells: kernels report a bad value in a word of device memory for each instance, and in one flag for all."""

from __future__ import annotations

import collections
import ctypes
import struct
from typing import Any, Deque, Dict, List, Tuple

from ._device import Device

NO_FAULT = (1 << 64) - 1
_SLAB = 256  # cells in one allocation


class Cells:
    """The fault cells and the flag of one device.

    A *cell* is 8 bytes of device memory that belong to one instance. A kernel that reads a bad value lowers the cell to a number for the
    mistake and its place, and sets the flag. The flag is in pinned host memory: while it is 0, no cell needs to be read. A returned cell
    goes to the end of the queue, so that it is reused late. The caller holds a lock.
    """

    def __init__(self, on: Device) -> None:
        self.device = on
        host, self.flag = on.host_alloc(64)
        ctypes.memset(host, 0, 64)
        # One word, which kernels write and this process reads.
        self.flags = memoryview((ctypes.c_uint32 * 1).from_address(host)).cast("B").cast("I")
        self._slabs: List[int] = []
        self._free: Deque[int] = collections.deque()
        self._owners: Dict[int, Any] = {}

    def take(self, owner: Any) -> int:
        """Returns the address of a cell without a fault."""
        if not self._free:
            slab = self.device.pool.alloc(8 * _SLAB, "cells")
            self._slabs.append(slab)
            self._free.extend(range(slab, slab + 8 * _SLAB, 8))
        cell = self._free.popleft()
        self.reset(cell)
        self._owners[cell] = owner
        return cell

    def give(self, cell: int) -> None:
        """Takes a cell back. Its owner stays recorded until another owner takes the cell."""
        self._free.append(cell)

    def reset(self, cell: int) -> None:
        """Clears a cell's fault."""
        with self.device as d:
            d.fill(cell, 0xFF, 8, d.stream)
            d.synchronize(d.stream)

    def read(self) -> List[Tuple[int, int, Any]]:
        """Returns each cell with a fault: address, fault and owner."""
        found = []
        for slab in self._slabs:
            words = struct.unpack("<{}Q".format(_SLAB), self.device.read(slab, 8 * _SLAB, self.device.stream))
            for i, word in enumerate(words):
                owner = self._owners.get(slab + 8 * i)
                if word != NO_FAULT and owner is not None:
                    found.append((slab + 8 * i, word, owner))
        return found
