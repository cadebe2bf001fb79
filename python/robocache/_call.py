"""One call of an operation, between the public function and the backend that computes it."""

from __future__ import annotations

from typing import Any, Dict, Hashable, List, Mapping, NamedTuple, Optional, Tuple

from ._arrays import HOST, Framework, View, contiguous_strides
from ._child import shared
from ._errors import ArgumentError, DeviceError

Counts = Dict[str, int]


class Call(NamedTuple):
    """A call to compute. op is the helper process's name for the operation.

    options is the request without tensors, and must not be changed; key is equal for equal options. inputs and outputs are views by the
    tensors' names in the request; outputs are allocated already. framework is the framework of all arrays, except that NumPy arrays may
    be among JAX inputs. counts: return the counters of a voxelize, which requires a wait.
    """

    op: str
    options: Mapping[str, Any]
    key: Hashable
    inputs: Dict[str, View]
    outputs: Dict[str, View]
    framework: Framework
    counts: bool = False

    def request(self, tensors: Mapping[str, Mapping[str, Any]]) -> Dict[str, Any]:
        """Returns the request with these descriptions of tensors."""
        return dict(self.options, op=self.op, tensors=tensors)

    def described(self) -> Dict[str, Dict[str, Any]]:
        """Returns the dtype, shape and strides of each tensor, outputs first, without addresses."""
        return {
            name: {"dtype": v.dtype, "shape": v.shape, "strides": v.strides}
            for views in (self.outputs, self.inputs)
            for name, v in views.items()
        }


def resolve(op: str, backend: str, device: int) -> int:
    """Returns the device to compute on, `HOST` or a CUDA device's number, for arrays on the given device."""
    if backend == "auto":
        if device != HOST:
            from . import _cuda

            if _cuda.reason() is not None:
                return HOST
        return device
    if backend == "cpu":
        return HOST
    name, _, number = backend.partition(":") if isinstance(backend, str) else ("", "", "")
    if name == "cuda" and (number.isdecimal() or number == "" == backend[4:]):
        from . import _cuda

        why = _cuda.reason()
        if why is not None:
            raise DeviceError(
                "{}: backend: got {!r}, want a GPU that can be used, or auto: {}".format(op, backend, why),
                op=op, arg="backend", kind="no GPU", got=backend, want="a GPU that can be used, or auto",
            )  # fmt: skip
        if number:
            return int(number)
        return max(device, 0)
    raise ArgumentError(
        "{}: backend: wrong option: got {!r}, want auto, cpu, cuda or cuda:N".format(op, backend),
        op=op, arg="backend", kind="wrong option", got=str(backend), want="auto, cpu, cuda or cuda:N",
    )  # fmt: skip


def run(call: Call, device: int, check: bool = False) -> Optional[Counts]:
    """Runs a call on a device, and returns the operation's counters or None."""
    if device == HOST:
        return run_cpu(call)
    from . import _replay

    counts: Optional[Counts] = _replay.run(call, device, check=check)
    return counts


_ALIGN = 64


def run_cpu(call: Call) -> Optional[Counts]:
    """Runs a call in the helper process, through memory that both processes map."""
    framework = call.framework
    child = shared()
    tensors: Dict[str, Dict[str, Any]] = {}
    written: List[Tuple[int, View]] = []
    at = 0
    for name, view in call.inputs.items():
        view, strides = unrepeated(view)
        tensors[name] = {"dtype": view.dtype, "shape": call.inputs[name].shape, "strides": strides, "at": at}
        written.append((at, view))
        at += -(-view.nbytes // _ALIGN) * _ALIGN
    read: Dict[str, int] = {}
    for name, view in call.outputs.items():
        tensors[name] = {"dtype": view.dtype, "shape": view.shape, "strides": contiguous_strides(view.shape), "at": at}
        read[name] = at
        at += -(-view.nbytes // _ALIGN) * _ALIGN
    with child.lock:
        arena = child.arena(at + _ALIGN)
        for offset, view in written:
            if view.nbytes:
                framework.write(arena, offset, view)
        reply, _, _ = child.request("compute", request=call.request(tensors))
        counts: Optional[Counts] = reply.get("counts")
        if "Dst" in read and 0 in call.outputs["Dst"].shape:
            read = {}  # nothing was written, also not valid and age
        for name, offset in read.items():
            view = call.outputs[name]
            if counts is not None and name in ("Values", "Coords", "Counts"):
                # Entries after the last voxel are not written.
                view = framework.rows(view, counts["voxels"])
            if view.nbytes:
                framework.read(view, arena, offset)
        del arena
        child.trim()
    return counts


def unrepeated(view: View) -> Tuple[View, Tuple[int, ...]]:
    """Returns a view with its broadcast dimensions reduced to length 1, and the broadcast view's strides over a contiguous copy of it."""
    if 0 not in view.strides:
        return view, contiguous_strides(view.shape)
    repeated = [s == 0 and n > 1 for n, s in zip(view.shape, view.strides)]
    index = tuple([slice(0, 1) if r else slice(None) for r in repeated])
    shape = tuple([1 if r else n for n, r in zip(view.shape, repeated)])
    strides = tuple([0 if r else s for s, r in zip(contiguous_strides(shape), repeated)])
    return view._replace(array=view.array[index], shape=shape), strides
