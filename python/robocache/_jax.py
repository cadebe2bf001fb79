"""JAX arrays, outside jit. On a GPU they are exchanged with DLPack; on the CPU they are used as NumPy arrays.

JAX does not expose its streams, so work on its arrays runs on this package's stream. That stream waits for JAX's queued work when an
array is read, and JAX waits for it when it reads a result. Input arrays are kept alive until the work has passed.
"""

from __future__ import annotations

import collections
import threading
from typing import TYPE_CHECKING, Any, Deque, Iterable, List, Optional, Tuple

import numpy as np

from . import _dlpack, _numpy
from ._arrays import HOST, Framework, View, contiguous_strides, wrong
from ._device import Event, device
from ._errors import ArgumentError, UnsupportedError

if TYPE_CHECKING:
    jax: Any  # any version
else:
    import jax

_NAMES = {
    "f32": "float32",
    "f64": "float64",
    "f16": "float16",
    "bf16": "bfloat16",
    "i64": "int64",
    "i32": "int32",
    "u8": "uint8",
    "bool": "bool",
}


class JAX(Framework):
    """The framework JAX."""

    name = "jax"

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: Deque[Tuple[Event, List[Any]]] = collections.deque()
        self._spare: List[Event] = []

    def view(self, x: Any) -> View:
        if isinstance(x, jax.core.Tracer):
            raise UnsupportedError(
                "a JAX tracer: inside jit, grad or vmap there are no values yet; call RoboCache before, on arrays, "
                "or through jax.pure_callback"
            )
        try:
            kind, ordinal = x.__dlpack_device__()
        except BufferError as e:
            raise wrong(str(e), "an array on the CPU or on one NVIDIA GPU", "wrong device") from None
        if kind == _dlpack.CPU:
            return _numpy.framework.view(np.asarray(x))
        if kind not in (_dlpack.CUDA, _dlpack.MANAGED):
            raise wrong("an array on {}".format(x.devices()), "one on the CPU or on an NVIDIA GPU", "wrong device")
        taken = _dlpack.Taken(x.__dlpack__(stream=device(ordinal).stream))
        name = "u8" if taken.dtype == "bool" else taken.dtype
        if not name:
            raise wrong(str(x.dtype), "one of " + ", ".join(_NAMES.values()))
        return View(_Array(x, taken), name, taken.shape, taken.strides, taken.pointer, ordinal)

    def output(self, x: Any) -> View:
        raise wrong("a JAX array", "None: JAX arrays cannot be written", "wrong option")

    def empty(self, dtype: str, shape: Tuple[int, ...], device_: int, like: Any) -> View:
        if dtype in ("f64", "i64") and not jax.config.jax_enable_x64:
            raise ArgumentError(
                "a result of {} in JAX: want jax_enable_x64 turned on, or another dtype".format(_NAMES[dtype]),
                arg="dtype", kind="wrong dtype", got=_NAMES[dtype], want="jax_enable_x64",
            )  # fmt: skip
        name = "u8" if dtype == "bool" else dtype
        if device_ == HOST:
            array = np.empty(shape, jax.numpy.dtype(_NAMES[dtype]))
            return View(array, name, array.shape, _strides(array), array.ctypes.data, HOST)
        on = device(device_)
        memory = _dlpack.Memory(on, dtype, shape, on.stream)
        return View(memory, name, tuple(shape), contiguous_strides(shape), memory.pointer, device_)

    def result(self, view: View) -> Any:
        if view.device == HOST:
            return jax.device_put(view.array, jax.devices("cpu")[0])
        return jax.dlpack.from_dlpack(view.array)

    def bounds(self, points: View) -> Optional[Tuple[List[float], List[float]]]:
        return _numpy.framework.bounds(self._on_host(points))

    def asarray(self, x: Any, like: Any, floats: bool) -> Any:
        return _numpy.framework.asarray(x, None, floats)

    def words(self, x: Any) -> Any:
        return x.view("uint8").reshape(x.shape + (2,))

    def stream(self, device_: int) -> int:
        return device(device_).stream

    def queued(self, views: Iterable[View], device_: int) -> None:
        on = device(device_)
        with self._lock:
            event = next((e for e in self._spare if e.device is on), None)
            if event is None:
                event = on.event()
            else:
                self._spare.remove(event)
            event.record(on.stream)
            self._held.append((event, [v.array for v in views if isinstance(v.array, _Array)]))
        self.let_go()

    def let_go(self) -> None:
        """Releases the JAX arrays that finished work has read."""
        passed = []  # dropped after the lock is released, because JAX may call back
        with self._lock:
            while self._held and self._held[0][0].passed():
                passed.append(self._held.popleft())
                self._spare.append(passed[-1][0])

    def write(self, arena: memoryview, at: int, view: View) -> None:
        _numpy.framework.write(arena, at, self._on_host(view))

    def read(self, view: View, arena: memoryview, at: int) -> None:
        if view.device == HOST:
            _numpy.framework.read(view, arena, at)
        else:
            on = device(view.device)
            source = np.frombuffer(arena, np.uint8, view.nbytes, at)
            on.to_device(view.pointer, source.ctypes.data, view.nbytes, on.stream)
            on.synchronize(on.stream)

    @staticmethod
    def _on_host(view: View) -> View:
        return view if view.device == HOST else view._replace(array=np.asarray(view.array.array))


class _Array:
    """A JAX array with its DLPack memory, which JAX does not change while this object lives. A part of it is an _Array too."""

    def __init__(self, array: Any, taken: "_dlpack.Taken") -> None:
        self.array, self._taken = array, taken

    def __getitem__(self, index: Any) -> "_Array":
        return _Array(self.array[index], self._taken)


def _strides(x: Any) -> Tuple[int, ...]:
    return tuple([s // x.itemsize for s in x.strides])


framework = JAX()
