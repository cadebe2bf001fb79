"""Device memory of our own, which is used again."""

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

# What was released waits until there is so much of it, in bytes or in pieces; then as many bytes are kept for later.
LIMBO_BYTES, LIMBO_COUNT = 256 << 20, 64
KEPT_BYTES = 256 << 20


class Pool:
    """The memory of one device.

    Who releases memory need not know which streams still use it: JAX for one lets go of an array while a kernel reads
    it. So what is released waits in a limbo, and now and then a part of it is freed by cuMemFree, which synchronises
    all streams of the device; all that was in the limbo by then can be used again.

    reclaim has functions that are called where the device has too little memory; each gives some back, if it can, and
    says whether it did.
    """

    def __init__(self, on: "Device") -> None:
        self.reclaim: List[Callable[[], bool]] = []
        self._on = on
        self._lock = threading.RLock()
        self._sizes: Dict[int, int] = {}
        self._limbo: Deque[Tuple[int, int]] = collections.deque()
        self._kept: Dict[int, List[int]] = {}  # addresses by size
        self._kept_bytes = 0
        self._settling = False

    def alloc(self, size: int, what: str = "memory") -> int:
        """Allocates memory, at a multiple of 256. Where there is too little, what can be given back is first."""
        size = max((size + 511) // 512 * 512, 512)
        address = self._try(size)
        for give in self.reclaim if address == 0 else ():
            # Not under the lock: whoever gives back takes locks of his own.
            if address == 0 and give():
                address = self._try(size)
        if address == 0:
            free, total = self._on.memory_info()
            raise OutOfMemoryError(
                "cuda:{}: no {} bytes for {}: {} of {} are free".format(self._on.ordinal, size, what, free, total)
            )
        return address

    def _try(self, size: int) -> int:
        """Returns memory, or 0 where the device has too little even without what is not used."""
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
        """Gives memory of alloc up. What is queued on the device by then may still use it.

        It waits for nothing and calls nothing of the driver, so it may come from a destructor, and from any thread.
        """
        self._limbo.append((address, self._sizes.pop(address)))

    def flush(self) -> bool:
        """Gives the driver all memory back that is not used, and reports whether there was any. The driver waits for
        the device first."""
        if os.getpid() != self._on.driver.pid:
            return False  # after a fork it is the other process's
        with self._lock:
            return self._settle(0)

    def _settle(self, keep: int) -> bool:
        """Empties the limbo; of that and of what is kept, up to so many bytes are kept."""
        if self._settling:  # by this thread, which a destructor interrupted
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
        """The bytes that the driver gave, used or not."""
        return sum(list(self._sizes.values())) + self._limbo_bytes() + self._kept_bytes

    def _limbo_bytes(self) -> int:
        return sum(size for _, size in list(self._limbo))
