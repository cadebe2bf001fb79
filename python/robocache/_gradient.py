"""The gradients of resample and fuse with respect to values, for any framework."""

from __future__ import annotations

from typing import Any, Dict, Hashable, List, Mapping, Optional, Sequence, Tuple

from . import _call, _ops, _options
from ._arrays import Framework, Group, View
from ._call import Call
from ._errors import UnsupportedError
from ._options import Anchored, Stream

KINDS = ("linear", "previous", "next", "nearest")


def refuse(op: str, arg: str, got: str, want: str) -> UnsupportedError:
    """Returns the UnsupportedError for an argument without a gradient."""
    return UnsupportedError(
        "{}: {}: no gradient: got {} with values that require one, want {}".format(op, arg, got, want),
        op=op, arg=arg, kind="no gradient", got=got, want=want,
    )  # fmt: skip


def check(op: str, prefix: str, rules: Dict[str, Any], width: int, starts: bool, targets: Any, clip: bool) -> None:
    """Raises UnsupportedError for a kind, starts, anchored clock or clip, because these have no gradient."""
    for kind in _options.rule_kinds(rules, width):
        if kind not in KINDS:
            raise refuse(op, prefix + "kind", repr(kind), "one of {}, or values.detach()".format(", ".join(KINDS)))
    if starts:
        raise refuse(op, prefix + "starts", "a selection of rows", "lengths or offsets, or values.detach()")
    if isinstance(targets, Anchored):
        raise refuse(op, "targets", "an anchored clock", "times or a Uniform clock, or values.detach()")
    if clip:
        raise refuse(op, prefix + "clip", "bounds", "None, or values.detach()")


Wanted = Dict[str, Tuple[str, Tuple[int, ...]]]


def resample(
    grad: Any,
    arrays: Mapping[str, Any],
    targets: Any,
    rule: Tuple[Any, ...],
    trust_times: bool,
    wanted: Wanted,
    backend: str,
    check_values: bool,
    shapes_only: Optional[Framework] = None,
) -> List[Any]:
    """Returns the gradient with respect to values, with the dtype and shape of wanted["Src"]."""
    op = "resample_backward"
    key, rules = _options.rules(op, "", *rule)
    options: Dict[str, Any] = {"options": dict(rules, trust_times=True) if trust_times else rules}
    inputs = {"DstGrad": grad}
    inputs.update((n, x) for n, x in arrays.items() if x is not None and n != "Src")
    return _run(
        op, options, (key, trust_times), inputs, targets, {"SrcGrad": wanted["Src"]}, backend, check_values, shapes_only
    )


def fuse(
    grad: Any,
    streams: Sequence[Stream],
    arrays: Mapping[str, Any],
    targets: Any,
    trust_times: bool,
    wanted: Wanted,
    widths: Sequence[int],
    backend: str,
    check_values: bool,
    shapes_only: Optional[Framework] = None,
) -> List[Any]:
    """Returns the wanted gradients with respect to values, named "Streams[i].Src", in their order."""
    op = "fuse_backward"
    parts: List[Dict[str, Any]] = []
    keys: List[Hashable] = []
    inputs: Dict[str, Any] = {"DstGrad": grad}
    outputs: Wanted = {}
    for i, s in enumerate(streams):
        name = "Streams[{}].".format(i)
        key, rules = _options.rules(op, "streams[{}].".format(i), *s.rules())
        if name + "Src" not in wanted:
            parts.append({"width": widths[i]})
            keys.append(widths[i])
            continue
        plain = s._replace(shift=None, clip=None, width=None, values=grad)
        part = _ops.stream_part(plain, rules, widths[i], op, "streams[{}].".format(i))
        parts.append(part)
        keys.append((key, part.get("offset"), repr(part.get("scale"))))
        outputs[name + "SrcGrad"] = wanted[name + "Src"]
        for side in ("SrcTimes", "SrcLengths", "SrcOffsets"):
            if arrays.get(name + side) is not None:
                inputs[name + side] = arrays[name + side]
    inputs.update((n, arrays[n]) for n in ("DstLengths", "DstOffsets") if arrays.get(n) is not None)
    options: Dict[str, Any] = {"streams": parts}
    if trust_times:
        options["options"] = {"trust_times": True}
    return _run(op, options, (tuple(keys), trust_times), inputs, targets, outputs, backend, check_values, shapes_only)


def _run(
    op: str,
    options: Dict[str, Any],
    key: Hashable,
    inputs: Dict[str, Any],
    targets: Any,
    wanted: Wanted,
    backend: str,
    check_values: bool,
    shapes_only: Optional[Framework],
) -> List[Any]:
    clock_key, clock = _ops.take_clock(targets, inputs, op)
    group = Group(op, inputs, shapes_only)
    times = next((view.dtype for name, view in group.views.items() if name.endswith("SrcTimes")), "")
    clock_key, clock = _ops.in_seconds(targets, times, clock_key, clock, op)
    if clock is not None:
        options["clock"] = clock
    outputs: Dict[str, View] = {name: group.output(name, None, dtype, shape) for name, (dtype, shape) in wanted.items()}
    if shapes_only is None:
        call = Call(op, options, (key, clock_key), group.views, outputs, group.framework)
        _call.run(call, _call.resolve(op, backend, group.device), check_values)
    return [group.framework.result(v) for v in outputs.values()]
