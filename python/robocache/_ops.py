"""The operations resample and fuse."""

from __future__ import annotations

import sys
from collections import namedtuple
from typing import Any, Dict, Hashable, List, NamedTuple, Optional, Sequence, Tuple

from . import _call, _options
from ._arrays import FLOATS, HOST, Framework, Group, View, check_outputs, dtype_name
from ._call import Call
from ._options import Anchored, Channel, Duration, Stream, Uniform, mistake

_SIDES = ("valid", "age", "pad")

# The classes of results with masks, by (valid, age, pad): values, then the requested masks in this order. Each class has a name in
# this module, so that pickle finds it.
RESULTS: Dict[Tuple[bool, bool, bool], Any] = {}
for _v in (False, True):
    for _a in (False, True):
        for _p in (False, True):
            _fields = ["values"] + [s for s, asked in zip(_SIDES, (_v, _a, _p)) if asked]
            _name = "".join(f.capitalize() for f in _fields)
            globals()[_name] = RESULTS[_v, _a, _p] = namedtuple(_name, _fields, module=__name__)


class Prepared(NamedTuple):
    """A checked call of resample or fuse, with its outputs. rules has the options of each stream; asked is (valid, age, pad)."""

    call: Call
    rules: List[Dict[str, Any]]
    device: int
    asked: Tuple[bool, bool, bool]

    def result(self) -> Any:
        """Returns the result for the caller, after the call has run."""
        results = [self.call.framework.result(v) for v in self.call.outputs.values()]
        of = self.result_type()
        return results[0] if of is None else of(*results)

    def result_type(self) -> Any:
        """Returns the class of the result, or None if the result is values alone."""
        return RESULTS[self.asked] if any(self.asked) else None


# The module _quick, a fast path for torch tensors on a GPU, after _torch is imported.
quick: Any = None


def run(key: Optional[Hashable], given: Sequence[Any], prepared: Prepared, backend: str, check: bool) -> Any:
    """Runs a prepared call and returns its result. A call with a key is cached for the fast path."""
    device = _call.resolve(prepared.call.op, backend, prepared.device)
    if key is not None and device == prepared.device != HOST and prepared.call.framework.name == "torch":
        entry = quick.remember(key, prepared, device, given)
        if entry is not None:
            return entry.run(given, check)
    _call.run(prepared.call, device, check)
    return prepared.result()


def resample(
    values: Any,
    times: Any,
    targets: Any,
    *,
    kind: str = "linear",
    quat: Optional[str] = None,
    period: Optional[float] = None,
    window: Optional[Duration] = None,
    channels: Optional[Sequence[Channel]] = None,
    edge: str = "clamp",
    fill: Optional[float] = None,
    fill_gaps: bool = False,
    snap: Optional[Duration] = None,
    max_gap: Optional[Duration] = None,
    tolerance: Optional[Duration] = None,
    lengths: Any = None,
    offsets: Any = None,
    starts: Any = None,
    target_lengths: Any = None,
    target_offsets: Any = None,
    dtype: Any = None,
    valid: bool = False,
    age: bool = False,
    pad: bool = False,
    out: Any = None,
    trust_times: bool = False,
    check: bool = False,
    backend: str = "auto",
) -> Any:
    """Samples values, recorded at times, at targets.

    Letters: B episodes (batch), S samples, T targets, D features. A single episode needs no B.

    Args:
      values: [B,S,D], float32, float64, float16 or bfloat16. NumPy has no bfloat16: with dtype="bf16", uint16 arrays are
        its bits; else uint16 is an error.
      times: [B,S], or [S] shared by the batch; non-decreasing and finite. int64 nanoseconds (also datetime64), or seconds
        as float64 or float32.
      targets: [B,T], or [T] shared by the batch, with the dtype of times, in any order; or a `Uniform` or `Anchored`
        clock. A NaN target gives NaN, or the fill value with edge="fill", and is not valid.

      Between samples:
      kind: "linear", "previous", "next", "nearest", "slerp" (quaternions), "angle", "pchip", "catmull-rom", "hermite",
        "rotvec", "rot6d", "window-mean", "window-min", "window-max" or "window-last". At the time of a sample, every kind
        except the window kinds returns that sample, bit for bit.
      quat: component order of quaternions for slerp: "xyzw" (default) or "wxyz".
      period: period for angle. Default: 2 pi.
      window: length of the window kinds, in seconds. An option that no kind of the call takes is an ArgumentError.
      channels: a list of `Channel`: ranges of features with their own kind, quat and period. Their window defaults to the
        call's window.
      max_gap: a target between samples further apart than this is not valid. Seconds or a timedelta, like window, snap and
        tolerance. Default: no limit.
      tolerance: a target is not valid if the sample that previous, next or nearest selects is further away. Default: no limit.
      fill_gaps: write the fill value where max_gap or tolerance makes a target not valid.
      snap: a target at most this far from a sample counts as being at the sample.

      Outside the samples:
      edge: "clamp" (the end sample), "fill" (the fill value), "extrapolate", "hold" (the last sample, which stays valid) or
        "error" (a DataError).
      fill: the fill value. Default: NaN.

      Ragged batches, int64:
      lengths: [B], the number of samples in each row of a padded batch.
      offsets: [B+1], the first row of each episode in packed values [N,D] and times [N].
      starts: [B], used with lengths: the first row of each episode in packed values, in any order.
      target_lengths, target_offsets: the same for targets. Outputs after a row's target_lengths have the fill value.

      Results:
      dtype: dtype of the result: "f32", "f64", "f16", "bf16" or the framework's own. Default: the dtype of values. bf16 is
        uint16 in NumPy, also in out.
      valid: also return bool [B,T], True if the target has a value to trust.
      age: also return [B,T], the target's time minus the time of the sample at or before it, with the dtype of times.
      pad: also return bool [B,T], True if the target is before the row's first sample or after its last.
      out: the array to write, or a sequence of arrays in the order values, valid, age, pad.

      Execution:
      trust_times: skip the check of times. Wrong times then give unspecified values.
      check: on a GPU, wait and raise errors in values or times at once. Else a later call or `synchronize` raises them.
      backend: "auto" (the arrays' device), "cpu", "cuda" or "cuda:N". The result is on the arrays' device.

    Returns:
      values [B,T,D], or a named tuple (values, valid, age, pad) with the requested masks. Arrays may be NumPy, torch, JAX or CuPy,
      all from one framework, which the result has too. Lists become NumPy arrays: whole numbers in a list of values are float64;
      a list of times gets the dtype of the other times; if all are lists, floats are seconds and integers nanoseconds.

    Gradients, in torch, flow to values for linear, previous, next and nearest, but not with starts or an `Anchored` clock. If a
    row's targets are not in ascending order, the call returns values, but backward() raises DataError.

    Raises:
      ArgumentError: a wrong shape, dtype or option; nothing was written. DataError: for example times that decrease, with
      row and index. OutOfMemoryError, UnsupportedError, DeviceError, ServerError.

    Example:
        >>> import numpy as np, robocache as rc
        >>> joint = np.array([[0.0], [10.0], [20.0]], np.float32)
        >>> rc.resample(joint, [0.0, 0.1, 0.4], [0.05, 0.25, 0.5]).ravel().tolist()
        [5.0, 15.0, 20.0]
        >>> result = rc.resample(joint, [0.0, 0.1, 0.4], [0.05, 0.25, 0.5], max_gap=0.2, valid=True)
        >>> result.valid.tolist()
        [True, False, False]
    """
    rule = (kind, quat, period, window, channels, edge, fill, fill_gaps, snap, max_gap, tolerance)
    key, given = None, ()
    if quick is not None and out is None:
        key, given = quick.resample(
            (values, times, lengths, offsets, starts, target_lengths, target_offsets),
            targets,
            rule,
            (dtype, valid, age, pad, trust_times, backend),
        )
        if key is not None:
            entry = quick.find(key)
            if entry is not None:
                return entry.run(given, check)
    arrays = {
        "Src": values,
        "SrcTimes": times,
        "SrcLengths": lengths,
        "SrcOffsets": offsets,
        "SrcStarts": starts,
        "DstLengths": target_lengths,
        "DstOffsets": target_offsets,
    }
    asked = (bool(valid), bool(age), bool(pad))
    if hasattr(values, "requires_grad"):
        from . import _torch

        if _torch.special("resample", [values, times, targets]):
            return _torch.resample(arrays, targets, rule, dtype, asked, out, trust_times, check, backend)
    return run(key, given, prepare_resample(arrays, targets, rule, dtype, asked, out, trust_times), backend, check)


def fuse(
    streams: Sequence[Stream],
    targets: Any,
    *,
    target_lengths: Any = None,
    target_offsets: Any = None,
    dtype: Any = None,
    valid: bool = False,
    age: bool = False,
    pad: bool = False,
    out: Any = None,
    trust_times: bool = False,
    check: bool = False,
    backend: str = "auto",
) -> Any:
    """Samples 1 to 16 streams, each with its own rate, width and kind, at common targets, side by side in one array.

    Args:
      streams: a list of `Stream`, all with the same batch B and dtype of times. Each has its own S, D, dtype, kind and clock
        offset.
      targets: as in `resample`, on the common clock.
      target_lengths, target_offsets: for ragged targets, as in `resample`.
      dtype: dtype of the result. Default: float64 if any stream is float64, else float32. With dtype="bf16", NumPy's
        uint16 in all streams is bfloat16's bits.
      valid, age, pad: also return [B,T,M] for the M streams, as in `resample`.
      out, trust_times, check, backend: as in `resample`.

    Returns:
      [B,T,sum D], or [T,sum D] without a batch, in the order of streams. Each stream's features equal the result of
      `resample`, bit for bit; then its shift, scale and clip are applied, in float32 arithmetic for all dtypes. A missing
      value is the stream's fill, by default 0, and not valid.

    Gradients are as in `resample`, and none with a clip. A stream's scale is applied to its gradient in float32, so that
    `gradcheck` with a float64 stream needs a large step: eps=0.5, atol=1e-5.

    Raises:
      The errors of `resample`. An error about a stream names it: ``error.arg == "streams[2].times"``.

    Example:
        >>> import numpy as np, robocache as rc
        >>> imu = rc.Stream(np.array([[0.0], [1.0], [2.0]]), np.array([0.0, 0.1, 0.2]))
        >>> gripper = rc.Stream(np.array([[1.0], [0.0]]), np.array([0.0, 0.15]), kind="previous")
        >>> values, valid = rc.fuse([imu, gripper], np.array([0.05, 0.16]), valid=True)
        >>> values.round(3).tolist(), valid.tolist()
        ([[0.5, 1.0], [1.6, 0.0]], [[True, True], [True, False]])
    """
    if isinstance(streams, Stream):
        raise mistake("fuse", "streams", "a single Stream", "a list of them: rc.fuse([stream], targets)")
    if not isinstance(streams, (list, tuple)):
        raise mistake("fuse", "streams", type(streams).__name__, "a list of Stream")
    for i, s in enumerate(streams):
        if not isinstance(s, Stream):
            raise mistake("fuse", "streams[{}]".format(i), type(s).__name__, "a Stream")
    key, given = None, ()
    if quick is not None and out is None:
        rest = (dtype, valid, age, pad, trust_times, backend)
        key, given = quick.fuse(streams, (target_lengths, target_offsets), targets, rest)
        if key is not None:
            entry = quick.find(key)
            if entry is not None:
                return entry.run(given, check)
    lead = {"DstLengths": target_lengths, "DstOffsets": target_offsets}
    asked = (bool(valid), bool(age), bool(pad))
    if any([hasattr(s.values, "requires_grad") for s in streams]):
        from . import _torch

        if _torch.special("fuse", [s.values for s in streams] + [s.times for s in streams] + [targets]):
            return _torch.fuse(streams, lead, targets, dtype, asked, out, trust_times, check, backend)
    return run(key, given, prepare_fuse(streams, lead, targets, dtype, asked, out, trust_times), backend, check)


def _floats(times: Any) -> Any:
    """Returns nested lists of numbers with each number as a float."""
    return [_floats(x) for x in times] if isinstance(times, (list, tuple)) else float(times)


def take_clock(targets: Any, arrays: Dict[str, Any], op: str) -> Tuple[Hashable, Optional[Dict[str, Any]]]:
    """Adds a clock's arrays to a call's arrays. Returns the clock's key, and a uniform clock as JSON or None."""
    if isinstance(targets, Uniform):
        if isinstance(targets.start, float):  # a float start is seconds, and then whole numbers in a list of times are seconds too
            for name, x in arrays.items():
                if name.endswith("SrcTimes") and isinstance(x, (list, tuple)):
                    arrays[name] = _floats(x)
        return _options.uniform(targets, op)
    if isinstance(targets, Anchored):
        arrays["Targets.Anchors"], arrays["Targets.Deltas"] = targets
        return "anchored", None
    if targets is None:
        raise mistake(op, "targets", "None", "an array, a Uniform or an Anchored clock", "missing argument")
    arrays["Targets"] = targets
    return None, None


def in_seconds(targets: Any, times: str, key: Hashable, clock: Any, op: str) -> Tuple[Hashable, Any]:
    """Returns a clock and its key for times with a given dtype. With float times, a uniform clock's start is in seconds, and an
    anchored clock, which is in nanoseconds, is an ArgumentError.
    """
    if isinstance(targets, Anchored) and times in ("f64", "f32"):
        raise mistake(op, "targets", "anchors in nanoseconds beside times in seconds", "times in int64 nanoseconds")
    if isinstance(targets, Uniform) and times in ("f64", "f32"):
        return _options.uniform(targets, op, True)
    return key, clock


def target_shape(group: Group, clock: Optional[Dict[str, Any]], prefix: str, out: Optional[View], op: str) -> Tuple[int, ...]:
    """Returns the shape of a stream's valid. If the arguments do not fit together, any shape: the helper process reports the error."""
    views = group.views
    src = views[prefix + "Src"].shape
    count = 0
    if clock is not None:
        count = max(clock["count"], 0)
    elif "Targets.Deltas" in views:
        count = (views["Targets.Deltas"].shape or (0,))[0]
    elif views["Targets"].shape:
        count = views["Targets"].shape[-1]
    if "DstOffsets" in views:
        if clock is not None:
            if out is None:
                raise mistake(op, "out", "None, with target_offsets and a uniform clock", "an array [N,D]", "missing argument")
            return out.shape[:1]
        return (count,)
    if len(src) == 3:
        return (src[0], count)
    if prefix + "SrcOffsets" in views:
        return (max((views[prefix + "SrcOffsets"].shape or (1,))[0] - 1, 0), count)
    if prefix + "SrcStarts" in views:
        return ((views[prefix + "SrcStarts"].shape or (0,))[0], count)
    return (count,)


def float_dtype(dtype: Any, op: str) -> str:
    """Returns the name of a dtype for values; an integer dtype is an ArgumentError."""
    name = dtype_name(dtype, "dtype", op)
    if name not in FLOATS:
        raise mistake(op, "dtype", name, "one of " + ", ".join(FLOATS), "wrong dtype")
    return name


def given_outputs(out: Any, asked: Tuple[bool, bool, bool], op: str) -> Dict[str, Any]:
    """Returns the caller's output arrays by their names in a request; None for an output to allocate."""
    names = ["Dst"] + [s.capitalize() for s, a in zip(_SIDES, asked) if a]
    if out is None:
        return dict.fromkeys(names)
    if hasattr(out, "shape"):
        out = (out,)
    if not isinstance(out, (tuple, list)) or len(out) > len(names):
        got = type(out).__name__ if not isinstance(out, (tuple, list)) else "{} arrays".format(len(out))
        order = ", ".join(["values"] + names[1:]).lower()
        raise mistake(op, "out", got, "an array, or up to {} in the order {}".format(len(names), order))
    return dict(zip(names, tuple(out) + (None,) * (len(names) - len(out))))


def make_outputs(
    group: Group, given: Dict[str, Any], dtype: str, width: int, shape: Tuple[int, ...], sides: Tuple[int, ...], clock: str
) -> Dict[str, View]:
    """Returns the outputs of resample and fuse: the caller's arrays, checked, or new ones."""
    outputs: Dict[str, View] = {}
    for name, x in given.items():
        if name == "Dst":
            outputs[name] = group.output("out", x, dtype, shape + (width,))
        else:
            outputs[name] = group.output("out." + name.lower(), x, clock if name == "Age" else "bool", shape + sides)
            if width == 0 and x is None:
                group.framework.clear(outputs[name])  # the operation writes nothing if there are no features
    if any(x is not None for x in given.values()):
        check_outputs(group.op, outputs, group.views, given)
    return outputs


def prepare_resample(
    arrays: Dict[str, Any],
    targets: Any,
    rule: Tuple[Any, ...],
    dtype: Any,
    asked: Tuple[bool, bool, bool],
    out: Any,
    trust_times: bool,
    shapes_only: Optional[Framework] = None,
) -> Prepared:
    """Checks the arguments of resample and allocates its outputs. With a framework shapes_only, only shapes and dtypes are used."""
    op = "resample"
    key, rules = _options.rules(op, "", *rule)
    arrays = {name: x for name, x in arrays.items() if x is not None}
    clock_key, clock = take_clock(targets, arrays, op)
    for name, arg in (("Src", "values"), ("SrcTimes", "times")):
        if name not in arrays:
            raise mistake(op, arg, "None", "an array", "missing argument")
    kind = None if dtype is None else float_dtype(dtype, op)
    group = Group(op, arrays, shapes_only, bits=kind == "bf16")
    src = group.views["Src"]
    clock_key, clock = in_seconds(targets, group.views["SrcTimes"].dtype, clock_key, clock, op)
    given = given_outputs(out, asked, op)
    first = None if given["Dst"] is None else group.output("out", given["Dst"], "", ())
    shape = target_shape(group, clock, "", first, op)
    if kind is None:
        kind = src.dtype if src.dtype in FLOATS else "f32"
    width = src.shape[-1] if len(src.shape) > 1 else 0
    outputs = make_outputs(group, given, kind, width, shape, (), group.views["SrcTimes"].dtype)
    options: Dict[str, Any] = {"options": dict(rules, trust_times=True) if trust_times else rules}
    if clock is not None:
        options["clock"] = clock
    call = Call(op, options, (key, clock_key, bool(trust_times)), group.views, outputs, group.framework)
    return Prepared(call, [rules], group.device, asked)


STREAM_ARRAYS = (
    ("Src", "values"),
    ("SrcTimes", "times"),
    ("SrcLengths", "lengths"),
    ("SrcOffsets", "offsets"),
    ("SrcStarts", "starts"),
)


def prepare_fuse(
    streams: Sequence[Stream],
    lead: Dict[str, Any],
    targets: Any,
    dtype: Any,
    asked: Tuple[bool, bool, bool],
    out: Any,
    trust_times: bool,
    shapes_only: Optional[Framework] = None,
) -> Prepared:
    """Checks the arguments of fuse and allocates its outputs, like prepare_resample."""
    op = "fuse"
    arrays: Dict[str, Any] = {}
    for i, s in enumerate(streams):
        for name, field in STREAM_ARRAYS:
            x = getattr(s, field)
            if x is not None:
                arrays["Streams[{}].{}".format(i, name)] = x
        if s.values is not None and s.times is None:
            raise mistake(op, "streams[{}].times".format(i), "None", "an array", "missing argument")
    arrays.update((name, x) for name, x in lead.items() if x is not None)
    clock_key, clock = take_clock(targets, arrays, op)
    there = [i for i, s in enumerate(streams) if s.values is not None]
    if not there:
        raise mistake(op, "streams", "no stream with values", "at least one", "missing argument")
    kind = None if dtype is None else float_dtype(dtype, op)
    group = Group(op, arrays, shapes_only, bits=kind == "bf16")
    of_times = group.views["Streams[{}].SrcTimes".format(there[0])].dtype
    clock_key, clock = in_seconds(targets, of_times, clock_key, clock, op)
    keys: List[Hashable] = []
    parts: List[Dict[str, Any]] = []
    all_rules: List[Dict[str, Any]] = []
    total = 0
    for i, s in enumerate(streams):
        prefix = "streams[{}].".format(i)
        src = group.views.get("Streams[{}].Src".format(i))
        if src is not None:
            width = src.shape[-1] if len(src.shape) > 1 else 0
        else:
            width = 0 if s.width is None else _options.whole(s.width, op, prefix + "width")
        key, rules = _options.rules(op, prefix, *s.rules())
        part = stream_part(s, rules, width, op, prefix)
        # repr, because 0.0 == -0.0
        keys.append((key, repr([part.get(n) for n in _PART])))
        parts.append(part)
        all_rules.append(rules)
        total += max(width, 0)
    first = "Streams[{}].".format(there[0])
    given = given_outputs(out, asked, op)
    made = None if given["Dst"] is None else group.output("out", given["Dst"], "", ())
    shape = target_shape(group, clock, first, made, op)
    if kind is None:
        kind = "f64" if any(group.views["Streams[{}].Src".format(i)].dtype == "f64" for i in there) else "f32"
    outputs = make_outputs(group, given, kind, total, shape, (len(streams),), of_times)
    options: Dict[str, Any] = {"streams": parts}
    if trust_times:
        options["options"] = {"trust_times": True}
    if clock is not None:
        options["clock"] = clock
    call = Call(op, options, (tuple(keys), clock_key, bool(trust_times)), group.views, outputs, group.framework)
    return Prepared(call, all_rules, group.device, asked)


_PART = ("width", "offset", "shift", "scale", "clip_min", "clip_max")


def stream_part(s: Stream, rules: Dict[str, Any], width: int, op: str, prefix: str) -> Dict[str, Any]:
    """Returns a stream's settings for a request: everything except its arrays."""
    part: Dict[str, Any] = {"options": rules}
    if s.width is not None or s.values is None:
        part["width"] = width if s.width is None else _options.whole(s.width, op, prefix + "width")
    if s.offset:
        part["offset"] = _options.nanoseconds(s.offset, op, prefix + "offset")
    least, most = None, None
    if s.clip is not None:
        try:
            least, most = s.clip
        except (TypeError, ValueError):
            raise mistake(op, prefix + "clip", s.clip, "a pair (least, most)") from None
    for name, x, arg in (
        ("shift", s.shift, "shift"),
        ("scale", s.scale, "scale"),
        ("clip_min", least, "clip"),
        ("clip_max", most, "clip"),
    ):
        if getattr(x, "requires_grad", False) and sys.modules["torch"].is_grad_enabled():
            from ._gradient import refuse  # here, because _gradient imports this module

            raise refuse(op, prefix + arg, "a tensor that requires one", arg + ".detach()")
        numbers = _options.per_feature(x, width, op, prefix + arg)
        if numbers is not None:
            part[name] = numbers
    return part
