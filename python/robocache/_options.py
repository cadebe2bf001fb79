"""Arguments of the operations other than arrays: clocks, sampling rules, streams."""

from __future__ import annotations

import json
import math
import numbers
import struct
from datetime import timedelta
from typing import Any, Dict, Hashable, List, NamedTuple, Optional, Sequence, Tuple, Union

from ._errors import ArgumentError

Duration = Union[float, timedelta]


class Uniform(NamedTuple):
    """A clock with count ticks at rate Hz, from start on. Its ticks are never stored.

    A float start is seconds. An int start is seconds if the times are in seconds, else nanoseconds. Tick i is at
    start + floor(i*1e9/rate + 0.5) nanoseconds; for times in seconds at start + i/rate, computed in float64 and rounded to
    the dtype of the times.

    Example:
        >>> import robocache as rc
        >>> rc.resample([[0.0], [1.0]], [0.0, 1.0], rc.Uniform(0.0, rate=4, count=5)).ravel().tolist()
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    start: Union[int, float]
    rate: float
    count: int  # type: ignore[assignment]  # it hides tuple's method count, which has no use here


class Anchored(NamedTuple):
    """A clock of windows: target t of row b is at anchors[b] + deltas[t].

    anchors [B] and deltas [T] are int64 nanoseconds, and so must be the times.

    Example:
        >>> import numpy as np, robocache as rc
        >>> second = 1_000_000_000
        >>> windows = rc.Anchored(anchors=np.array([second]), deltas=np.array([-second, 0]))
        >>> rc.resample([[[0.0], [1.0], [2.0]]], [[0, second, 2 * second]], windows).ravel().tolist()
        [0.0, 1.0]
    """

    anchors: Any
    deltas: Any


class Channel(NamedTuple):
    """The features lo to hi-1, with a kind of their own. quat, period and window are as in `resample`.

    Example:
        >>> import numpy as np, robocache as rc
        >>> gripper = rc.Channel(1, 2, "previous")
        >>> rc.resample([[0.0, 0.0], [1.0, 1.0]], [0.0, 1.0], [0.5], channels=[gripper]).tolist()
        [[0.5, 0.0]]
    """

    lo: int
    hi: int
    kind: str = "linear"
    quat: Optional[str] = None
    period: Optional[float] = None
    window: Optional[Duration] = None


class Stream(NamedTuple):
    """One stream for `fuse`.

    Args:
        values: [B,S,D] or [S,D]. None is a missing stream: its features have the fill value and are not valid.
        times: [B,S] or [S], on the stream's own clock.
        offset: seconds or a timedelta from the stream's clock to the common clock: stream time + offset = common time.
        kind, quat, period, window, channels, edge, fill_gaps, snap, max_gap, tolerance, lengths, offsets, starts: as in
            `resample`.
        fill: the fill value, written as it is, without shift and scale. Default: 0.
        shift, scale, clip: normalise each feature: (x - shift) * scale, then limit it to clip=(least, most); either limit may
            be None. Each is one number, or D numbers.
        width: the number of features of a missing stream.

    The normalisation is float32 arithmetic, for float64 values too: x and the result of each step are rounded to float32.
    Subtract offsets that are large beside the range, such as an epoch or a position on Earth, from values yourself.

    Example:
        >>> import robocache as rc
        >>> camera = rc.Stream([[10.0], [20.0]], [0.0, 1.0], kind="previous", shift=10, scale=0.1)
        >>> rc.fuse([camera], [0.5, 1.0]).ravel().tolist()
        [0.0, 1.0]
    """

    values: Any
    times: Any = None
    kind: str = "linear"
    quat: Optional[str] = None
    period: Optional[float] = None
    window: Optional[Duration] = None
    channels: Optional[Sequence[Channel]] = None
    edge: str = "clamp"
    fill: Optional[float] = None
    fill_gaps: bool = False
    snap: Optional[Duration] = None
    max_gap: Optional[Duration] = None
    tolerance: Optional[Duration] = None
    offset: Duration = 0.0
    shift: Any = None
    scale: Any = None
    clip: Optional[Tuple[Any, Any]] = None
    lengths: Any = None
    offsets: Any = None
    starts: Any = None
    width: Optional[int] = None

    def rules(self) -> Tuple[Any, ...]:
        """Returns the sampling options in the order of the arguments of the function `rules`, from kind to tolerance."""
        return self[2:13]


def mistake(op: str, arg: str, got: Any, want: str, kind: str = "wrong option", near: str = "") -> ArgumentError:
    """Returns an ArgumentError for an argument that is wrong. near is "" or a suggestion, such as " (did you mean slerp?)"."""
    got = got if isinstance(got, str) else "{!r}".format(got)
    text = "{}: {}: {}: got {}, want {}{}".format(op, arg, kind, got, want, near)
    return ArgumentError(text, op=op, arg=arg, kind=kind, got=got, want=want)


def nanoseconds(x: Duration, op: str, arg: str) -> int:
    """Returns a duration, in seconds or as a timedelta, as whole nanoseconds."""
    if isinstance(x, timedelta):
        ns = ((x.days * 86400 + x.seconds) * 1_000_000 + x.microseconds) * 1000
    else:
        try:
            ns = round(float(x) * 1e9)
        except (TypeError, ValueError, OverflowError):
            raise mistake(op, arg, x, "seconds, as a finite number, or a timedelta") from None
    if not -(1 << 63) <= ns < 1 << 63:
        raise mistake(op, arg, x, "less than 292 years")
    return ns


def number(x: Any, op: str, arg: str) -> Union[float, str]:
    """Returns a number for JSON: a finite float, or "nan", "inf" or "-inf"."""
    try:
        value = float(x)
    except (TypeError, ValueError, OverflowError):
        raise mistake(op, arg, x, "a number") from None
    if math.isfinite(value):
        return value
    return "nan" if value != value else "inf" if value > 0 else "-inf"


def name(x: Any, op: str, arg: str) -> str:
    """Returns a name that is a non-empty string; the helper process checks if it is known."""
    if not isinstance(x, str) or not x:
        raise mistake(op, arg, x, "a name")
    return x


def whole(x: Any, op: str, arg: str) -> int:
    """Returns a whole number that fits 64 bits."""
    try:
        n = x.__index__()
    except (AttributeError, TypeError):
        raise mistake(op, arg, x, "a whole number") from None
    if not -(1 << 63) <= n < 1 << 63:
        raise mistake(op, arg, x, "a whole number of 64 bits")
    return int(n)


_CONSTANT = (type(None), str, bytes, float, int, timedelta, numbers.Number)


def constant(options: Sequence[Any]) -> bool:
    """Reports whether all options are immutable scalars, so that they can be a key. Arrays can change, and so cannot."""
    return all([isinstance(x, _CONSTANT) or isinstance(x, tuple) and constant(x) for x in options])


Rules = Tuple[Hashable, Dict[str, Any]]
_known: Dict[Hashable, Dict[str, Any]] = {}
_MOST = 4096  # the size of the cache; many calls have equal rules


def rules(
    op: str,
    prefix: str,
    kind: str,
    quat: Optional[str],
    period: Optional[float],
    window: Optional[Duration],
    channels: Optional[Sequence[Channel]],
    edge: str,
    fill: Optional[float],
    fill_gaps: bool,
    snap: Optional[Duration],
    max_gap: Optional[Duration],
    tolerance: Optional[Duration],
) -> Rules:
    """Returns the sampling rules for a request, and a key. Equal rules have equal keys."""
    table = None if channels is None else tuple([tuple(c) for c in channels])
    value = None if fill is None else number(fill, op, prefix + "fill")
    given = (kind, quat, period, window, table, edge, bool(fill_gaps), snap, max_gap, tolerance)
    key: Hashable = None
    if constant(given):
        # repr, because 0.0 == -0.0.
        key = given + (repr(value),)
        known = _known.get(key)
        if known is not None:
            return key, known
    o: Dict[str, Any] = {"interp": name(kind, op, prefix + "kind"), "edge": name(edge, op, prefix + "edge")}
    _without_effect(op, prefix, [kind], quat=quat, period=period)
    _without_effect(op, prefix, [kind] + [c[2] if len(c) > 2 else "linear" for c in table or ()], window=window)
    if quat is not None:
        o["quat"] = name(quat, op, prefix + "quat")
    if period is not None:
        o["period"] = number(period, op, prefix + "period")
    if value is not None:
        o["fill"] = value
    if fill_gaps:
        o["fill_gaps"] = True
    for field, x in (("window", window), ("snap", snap), ("max_gap", max_gap), ("tolerance", tolerance)):
        if x is not None:
            o[field] = nanoseconds(x, op, prefix + field)
    if table:
        o["channels"] = [_channel(c, op, "{}channels[{}]".format(prefix, i)) for i, c in enumerate(table)]
    if key is None:
        return json.dumps(o), o
    if len(_known) >= _MOST:
        _known.clear()
    _known[key] = o
    return key, o


_OF_KINDS = {"quat": "slerp", "period": "angle", "window": "window-"}


def _without_effect(op: str, prefix: str, kinds: Sequence[Any], **options: Any) -> None:
    """Raises ArgumentError for an option that none of the kinds takes."""
    for option, value in options.items():
        of = _OF_KINDS[option]
        if value is not None and not any(str(kind).startswith(of) for kind in kinds):
            want = "window-mean, window-min, window-max or window-last" if of == "window-" else of
            got = "{!r} with kind {!r}".format(value, kinds[0])
            raise mistake(op, prefix + option, got, "kind {}, or no {}".format(want, option))


def _channel(c: Tuple[Any, ...], op: str, arg: str) -> Dict[str, Any]:
    if not 2 <= len(c) <= len(Channel._fields):
        raise mistake(op, arg, c, "a Channel, or (lo, hi, kind)")
    channel = Channel(*c)
    o: Dict[str, Any] = {
        "lo": whole(channel.lo, op, arg + ".lo"),
        "hi": whole(channel.hi, op, arg + ".hi"),
        "interp": name(channel.kind, op, arg + ".kind"),
    }
    # A channel without a window uses the stream's window. It has its own quat and period.
    _without_effect(op, arg + ".", [channel.kind], quat=channel.quat, period=channel.period, window=channel.window)
    if channel.quat is not None:
        o["quat"] = name(channel.quat, op, arg + ".quat")
    if channel.period is not None:
        o["period"] = number(channel.period, op, arg + ".period")
    if channel.window is not None:
        o["window"] = nanoseconds(channel.window, op, arg + ".window")
    return o


def uniform(clock: Uniform, op: str, in_seconds: bool = False) -> Tuple[Hashable, Dict[str, Any]]:
    """Returns a uniform clock's key, and the clock for a request. in_seconds: the times are in seconds, and so is start."""
    start = clock.start
    if in_seconds or isinstance(start, numbers.Real) and not isinstance(start, numbers.Integral):
        start = nanoseconds(start, op, "targets.start")
    start = whole(start, op, "targets.start")
    rate = number(clock.rate, op, "targets.rate")
    count = whole(clock.count, op, "targets.count")
    return (start, rate, count), {"start": start, "rate": rate, "count": count}


def per_feature(x: Any, width: int, op: str, arg: str) -> Optional[List[Union[float, str]]]:
    """Returns width numbers, rounded to float32, from one number or width numbers; None for None."""
    if x is None:
        return None
    tolist = getattr(x, "tolist", None)
    if tolist is not None:
        x = tolist()
    if not isinstance(x, (list, tuple)):
        x = [x] * width
    try:
        numbers = struct.unpack("<{}f".format(len(x)), struct.pack("<{}f".format(len(x)), *x))
    except (struct.error, OverflowError, TypeError):
        raise mistake(op, arg, "{!r}".format(x), "numbers of float32, one or one a feature") from None
    return [number(v, op, arg) for v in numbers]


def as_f32(x: float) -> float:
    """Returns a number rounded to float32; inf if it is too large."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", x))[0])
    except OverflowError:
        return math.copysign(math.inf, x)


def rule_kinds(o: Dict[str, Any], width: int) -> List[str]:
    """Returns the kinds that rules give to a stream with width features."""
    channels: List[Dict[str, Any]] = o.get("channels", [])
    kinds = [str(c["interp"]) for c in channels]
    if sum(c["hi"] - c["lo"] for c in channels) < width:
        kinds.append(o["interp"])
    return kinds
