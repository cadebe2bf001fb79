"""The operations: resample, fuse and voxelize."""

from __future__ import annotations

import sys
from collections import namedtuple
from typing import Any, Dict, Hashable, List, NamedTuple, Optional, Sequence, Tuple

from . import _call, _options
from ._arrays import FLOATS, HOST, Framework, Group, View, check_outputs, dtype_name
from ._call import Call
from ._options import Anchored, Channel, Duration, Stream, Uniform, mistake

_SIDES = ("valid", "age", "pad")

# What is returned where more than values is asked for: values and what was asked for, in this order. Each has a name of
# its own in this module, so that it can be pickled.
RESULTS: Dict[Tuple[bool, bool, bool], Any] = {}
for _v in (False, True):
    for _a in (False, True):
        for _p in (False, True):
            _fields = ["values"] + [s for s, asked in zip(_SIDES, (_v, _a, _p)) if asked]
            _name = "".join(f.capitalize() for f in _fields)
            globals()[_name] = RESULTS[_v, _a, _p] = namedtuple(_name, _fields, module=__name__)


class Prepared(NamedTuple):
    """A call of resample or fuse whose arrays were looked at, and whose outputs were made. rules are of each stream."""

    call: Call
    rules: List[Dict[str, Any]]
    device: int
    asked: Tuple[bool, bool, bool]

    def result(self) -> Any:
        """Returns what the caller of a call that was computed gets."""
        results = [self.call.framework.result(v) for v in self.call.outputs.values()]
        of = self.result_type()
        return results[0] if of is None else of(*results)

    def result_type(self) -> Any:
        """Returns the class of the results, or None if values are all that was asked for."""
        return RESULTS[self.asked] if any(self.asked) else None


# The short way of torch tensors on a GPU, once torch has been seen.
quick: Any = None


def run(key: Optional[Hashable], given: Sequence[Any], prepared: Prepared, backend: str, check: bool) -> Any:
    """Computes a prepared call; one that has a key is remembered for the short way."""
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

    B episodes of S samples with D features go onto T targets: values [B,S,D] with times [B,S], or [S] shared by the
    batch, onto targets [B,T], or [T] shared; the result is [B,T,D]. A single episode needs no B. values are float32,
    float64, float16 or bfloat16; NumPy's uint16 are the bits of bfloat16 where dtype="bf16" says so, and are refused
    else. times are int64 nanoseconds (datetime64 too), or float64 or float32 seconds, finite and non-decreasing;
    targets have the same dtype and may come in any order, or are a `Uniform` or `Anchored` clock. A NaN target gives
    NaN, with edge "fill" the fill value, and is not valid. Arrays may be of NumPy, torch, JAX or CuPy, all of one
    framework, and so is the result. Lists are taken as NumPy arrays. Whole numbers in a list of values are float64; a
    list of times has the dtype of the times beside it; among lists floats are seconds, integers alone nanoseconds.

    Between samples:
      kind: linear, previous, next, nearest, slerp (quaternions), angle, pchip, catmull-rom, hermite, rotvec, rot6d,
        window-mean, window-min, window-max or window-last. On a sample all but the windows give that sample, bit for
        bit.
      quat: the order of quaternions, "xyzw" (default) or "wxyz". period: of angles, 2 pi unless given. window: of the
        window kinds, in seconds. An option that no kind of the call takes is refused. channels: ranges of features
        with a kind of their own, and their own quat and period; window is that of the call unless given.
      max_gap: targets between samples further apart than this are not valid. tolerance: so are those whose previous,
        next or nearest sample is further away. fill_gaps: their values are the fill value. snap: a target this near to
        a sample counts as being on it. All in seconds, or timedelta.

    Outside the samples:
      edge: clamp (the end sample), fill (the fill value), extrapolate, hold (the last sample stays valid) or error.
        fill: NaN unless given.

    Ragged batches, all of int64:
      lengths [B]: how many samples of each row of a padded batch count. offsets [B+1]: where each row of packed values
      [N,D] and times [N] begins. starts [B], with lengths: rows of packed values in any order. target_lengths and
      target_offsets: the same of targets; what is beyond target_lengths is filled.

    Results:
      dtype: of the result, that of values unless given; bf16 is uint16 in NumPy, in out too. valid, age, pad: whether
      to return also if a target is valid [B,T] (bool), its time less that of the sample at or before it [B,T] (of the
      times' dtype), and if it is before or after the row's samples [B,T] (bool); the result is then a named tuple of
      values and these.
      out: the array to write, or a sequence of arrays in the order of that tuple.

    How it is done:
      trust_times: leaves out the check of times; bad ones give unspecified values. check: on a GPU, waits and raises
      what is wrong with values; else a later call or `synchronize` does. backend: auto (where the arrays are), cpu,
      cuda or cuda:N; the result is where the arrays are.

    Gradients flow to values in torch for linear, previous, next and nearest. Targets that are not in ascending order
    in their row have none: backward() raises DataError, while the call itself gives the values.

    Raises ArgumentError (shapes, dtypes, options; nothing was written), DataError (times that go backwards and the
    like, with row and index), OutOfMemoryError, UnsupportedError, DeviceError, ServerError.

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
    """Puts 1 to 16 streams, each of its own rate, width and kind, side by side on one clock.

    streams are `Stream` objects of one batch B, with times of one dtype, that of targets; each has S, D, dtype, rules
    and clock offset of its own. targets are as in `resample`, on the common clock. The result is [B,T,sum D] in the
    order of streams, or [T,sum D] without a batch: for each stream what `resample` gives for it, bit for bit, then its
    shift, scale and clip, which are float32 arithmetic whatever the dtypes are. It is float64 if any stream is, else
    float32, or of the dtype that is given. What a stream does not have is filled, with 0 unless it says otherwise, and
    not valid.

    valid, age and pad are as in `resample`, for each of M streams: [B,T,M]. target_lengths, target_offsets, dtype, out,
    trust_times, check and backend are as there, and so are the errors; one about a stream names it:
    ``error.arg == "streams[2].times"``. dtype="bf16" says of NumPy's uint16 in all streams that they are bf16's bits.

    Gradients are as in `resample`; those of a stream with a scale are scaled in float32, so that `gradcheck` of a
    float64 stream needs a wide step: eps=0.5, atol=1e-5. There is none with a clip.

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
    """Returns lists of lists of numbers as floats."""
    return [_floats(x) for x in times] if isinstance(times, (list, tuple)) else float(times)


def take_clock(targets: Any, arrays: Dict[str, Any], op: str) -> Tuple[Hashable, Optional[Dict[str, Any]]]:
    """Adds a clock's arrays to those of a call; returns its key and, of a uniform one, what a request has of it."""
    if isinstance(targets, Uniform):
        if isinstance(targets.start, float):  # seconds, and so are whole numbers of a list beside it
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
    """Returns a clock and its key beside times of a dtype: the start of a uniform one is in seconds beside float seconds, and
    an anchored one, which is in nanoseconds, is refused there."""
    if isinstance(targets, Anchored) and times in ("f64", "f32"):
        raise mistake(op, "targets", "anchors in nanoseconds beside times in seconds", "times in int64 nanoseconds")
    if isinstance(targets, Uniform) and times in ("f64", "f32"):
        return _options.uniform(targets, op, True)
    return key, clock


def target_shape(
    group: Group, clock: Optional[Dict[str, Any]], prefix: str, out: Optional[View], op: str
) -> Tuple[int, ...]:
    """Returns the shape of a stream's valid. Where the arguments do not fit it is any: the helper process says so."""
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
                raise mistake(
                    op, "out", "None, with target_offsets and a uniform clock", "an array [N,D]", "missing argument"
                )
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
    """Returns the name of a dtype that values can have."""
    name = dtype_name(dtype, "dtype", op)
    if name not in FLOATS:
        raise mistake(op, "dtype", name, "one of " + ", ".join(FLOATS), "wrong dtype")
    return name


def given_outputs(out: Any, asked: Tuple[bool, bool, bool], op: str) -> Dict[str, Any]:
    """Returns the outputs that were given, by their names in a request."""
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
    group: Group,
    given: Dict[str, Any],
    dtype: str,
    width: int,
    shape: Tuple[int, ...],
    sides: Tuple[int, ...],
    clock: str,
) -> Dict[str, View]:
    """Returns the outputs of resample and fuse: given, or made."""
    outputs: Dict[str, View] = {}
    for name, x in given.items():
        if name == "Dst":
            outputs[name] = group.output("out", x, dtype, shape + (width,))
        else:
            outputs[name] = group.output("out." + name.lower(), x, clock if name == "Age" else "bool", shape + sides)
            if width == 0 and x is None:
                group.framework.clear(outputs[name])  # where there are no features nothing is written
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
    """Looks at the arguments of resample and makes its outputs. A framework shapes_only looks at nothing else."""
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
    """Looks at the arguments of fuse and makes its outputs, as prepare_resample."""
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
        # As text, in which zeros of both signs differ.
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
    """Returns what a request has of a stream besides its arrays."""
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
            from ._gradient import refuse  # which imports this module

            raise refuse(op, prefix + arg, "a tensor that requires one", arg + ".detach()")
        numbers = _options.per_feature(x, width, op, prefix + arg)
        if numbers is not None:
            part[name] = numbers
    return part
