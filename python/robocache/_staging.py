"""Calls on a GPU with arrays on the host."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from ._arrays import HOST, View, contiguous_strides, framework_of
from ._call import Call, unrepeated
from ._dlpack import Memory

if TYPE_CHECKING:
    from ._replay import Replayer


def run(one: "Replayer", call: Call, check: bool) -> Optional[Dict[str, int]]:
    """Runs a call with copies of the host arrays on the device. It waits if an output is on the host."""
    on = one.device
    views = {**call.outputs, **call.inputs}
    places: Dict[str, int] = {}
    size = 0
    for name, view in views.items():
        if view.device == HOST:
            places[name] = size
            size += (view.nbytes + 255) // 256 * 256
    stream = on.stream if len(places) == len(views) else call.framework.stream(on.ordinal)
    memory = Memory(on, "u8", (size,), stream)
    tensors: Dict[str, Dict[str, Any]] = {}
    pointers: List[int] = []
    for name, view in views.items():
        pointer, strides = view.pointer, view.strides
        if name in places:
            pointer, strides = memory.pointer + places[name], contiguous_strides(view.shape)
            if name in call.inputs:
                part, strides = unrepeated(view)
                _copy_in(one, call, part, pointer, stream)
        tensors[name] = {"dtype": view.dtype, "shape": view.shape, "strides": strides}
        pointers.append(pointer)
    key = (call.op, call.key, tuple([(n, t["dtype"], t["shape"], t["strides"]) for n, t in tensors.items()]))
    keep = [memory if n in places else v.array for n, v in views.items() if n.endswith("Offsets")]
    wait = check or any(name in places for name in call.outputs)
    counts = one.run(key, lambda: call.request(tensors), tuple(pointers), stream, wait, keep, call.counts)
    for name, view in call.outputs.items():
        if name in places:
            _copy_out(one, call, name, view, memory.pointer + places[name], stream, counts)
    if len(places) < len(views):
        call.framework.queued([v for v in views.values() if v.device != HOST], on.ordinal)
    return counts


def _buffer(size: int) -> Tuple[memoryview, int]:
    data = ctypes.create_string_buffer(max(size, 1))
    return memoryview(data).cast("B"), ctypes.addressof(data)


def _copy_in(one: "Replayer", call: Call, view: View, pointer: int, stream: int) -> None:
    if view.nbytes:
        data, address = _buffer(view.nbytes)
        (framework_of(view.array) or call.framework).write(data, 0, view)
        # The memory is not pinned, so the driver has read it when this returns.
        one.device.to_device(pointer, address, view.nbytes, stream)


def _copy_out(
    one: "Replayer", call: Call, name: str, view: View, pointer: int, stream: int, counts: Optional[Dict[str, int]]
) -> None:
    if counts is not None and name in ("Values", "Coords", "Counts"):
        view = call.framework.rows(view, counts["voxels"])  # entries after the last voxel are not written
    if view.nbytes:
        data, address = _buffer(view.nbytes)
        one.device.to_host(address, pointer, view.nbytes, stream)
        call.framework.read(view, data, 0)
