"""A pool of device memory."""

from __future__ import annotations

import collections
import os
import threading
from ctypes import byref, c_uint64
from typing import TYPE_CHECKING, Callable, Deque, Dict, List, Tuple

from ._cuda import OUT_OF_MEMORY
from ._errors import OutOfMemoryError

if TYPE_CHECKING:
    from ._device import Device

# Released memory waits until it exceeds this many bytes or blocks. Then up to KEPT_BYTES are kept for reuse.
LIMBO_BYTES, LIMBO_COUNT = 256 << 20, 64
KEPT_BYTES = 256 << 20


class Pool:
    """The memory of one device.

    A caller may release memory that a stream still uses: JAX, for example, releases an array while a kernel reads it. Released memory
    therefore waits in a list, the limbo. From time to time one block is freed with cuMemFree, which synchronises all streams of the device;
    after that the other blocks in the limbo can be reused.

    reclaim has functions to call if the device has too little memory. Each returns memory if it can, and reports whether it did.
    """

    def __init__(self, on: "Device") -> None:
        self.reclaim: List[Callable[[], bool]] = []
        self._on = on
        self._lock = threading.RLock()
        self._sizes: Dict[int, int] = {}
        self._limbo: Deque[Tuple[int, int]] = collections.deque()
        self._kept: Dict[int, List[int]] = {}  # free addresses, by size in bytes
        self._kept_bytes = 0
        self._settling = False

    def alloc(self, size: int, what: str = "memory") -> int:
        """Allocates size bytes, aligned to 256.

        If the device has too little memory, reclaim is tried first; then it raises OutOfMemoryError.
        """
        size = max((size + 511) // 512 * 512, 512)
        address = self._try(size)
        for give in self.reclaim if address == 0 else ():
            # Not under the lock, because reclaim functions take their own locks.
            if address == 0 and give():
                address = self._try(size)
        if address == 0:
            free, total = self._on.memory_info()
            raise OutOfMemoryError(
                "cuda:{}: no {} bytes for {}: {} of {} are free".format(self._on.ordinal, size, what, free, total)
            )
        return address

    def _try(self, size: int) -> int:
        """Returns an address, or 0 if the device has too little memory even after unused memory is freed."""
        with self._lock:
            if len(self._limbo) > LIMBO_COUNT or self._limbo_bytes() > LIMBO_BYTES:
                self._settle(KEPT_BYTES)
            kept = self._kept.get(size)
            if kept:
                address = kept.pop()
                self._kept_bytes -= size
            else:
                given = c_uint64()
                with self._on as on:
                    code = on.driver.alloc(byref(given), size)
                    if code == OUT_OF_MEMORY and self._settle(0):
                        code = on.driver.alloc(byref(given), size)
                if code == OUT_OF_MEMORY:
                    return 0
                on.driver.check(code, "cuMemAlloc")
                address = given.value
            self._sizes[address] = size
            return address

    def release(self, address: int) -> None:
        """Releases memory from alloc. Work that is already queued on the device may still use it.

        It neither waits nor calls the driver, so a destructor may call it, from any thread.
        """
        self._limbo.append((address, self._sizes.pop(address)))

    def flush(self) -> bool:
        """Returns all unused memory to the driver, and reports whether there was any. The driver waits for the device first."""
        if os.getpid() != self._on.driver.pid:
            return False  # after a fork the memory belongs to the parent
        with self._lock:
            return self._settle(0)

    def _settle(self, keep: int) -> bool:
        """Empties the limbo, keeps up to keep bytes for reuse, and frees the rest. Reports whether it freed any."""
        if self._settling:  # this thread is inside it already, and a destructor interrupted it
            return False
        self._settling = True
        try:
            return self._empty(keep)
        finally:
            self._settling = False

    def _empty(self, keep: int) -> bool:
        limbo = []
        while self._limbo:
            limbo.append(self._limbo.popleft())
        freed = False
        if limbo:
            self._free(limbo.pop()[0])
            freed = True
        for address, size in limbo:
            if self._kept_bytes + size <= keep:
                self._kept.setdefault(size, []).append(address)
                self._kept_bytes += size
            else:
                self._free(address)
        for size, kept in list(self._kept.items()) if self._kept_bytes > keep else ():
            while kept and self._kept_bytes > keep:
                self._free(kept.pop())
                self._kept_bytes -= size
                freed = True
            if not kept:
                del self._kept[size]
        return freed

    def _free(self, address: int) -> None:
        with self._on as on:
            on.driver.check(on.driver.free(address), "cuMemFree")

    def allocated(self) -> int:
        """The bytes from the driver, used or not."""
        return sum(list(self._sizes.values())) + self._limbo_bytes() + self._kept_bytes

    def _limbo_bytes(self) -> int:
        return sum(size for _, size in list(self._limbo))
