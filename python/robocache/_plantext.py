"""The text of a plan file for a call's arguments."""

from __future__ import annotations

import datetime
import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from ._errors import ArgumentError

Duration = Union[float, str, datetime.timedelta]
Streams = Union[Sequence[Union[str, Mapping[str, Any]]], Mapping[str, Union[None, str, Mapping[str, Any]]]]

# Options with a duration: seconds here, with a unit in a plan.
_DURATIONS = frozenset(("snap", "max_gap", "tolerance", "window", "offset"))
# Options of the plan; others are defaults of the streams.
_OF_THE_PLAN = frozenset(("snap", "unordered", "range"))


def plan_text(
    hz: Optional[float],
    streams: Optional[Streams],
    plan: Union[None, str, "os.PathLike[str]"],
    times: Any,
    options: Mapping[str, Any],
) -> Tuple[str, str]:
    """Returns the text of a plan, and the path of its file or "". Arguments that contradict a plan are an ArgumentError."""
    if plan is not None:
        given = [name for name, value in (("hz", hz), ("streams", streams), ("times", times)) if value is not None]
        given += options
        if given:
            raise _wrong("plan", "a plan and {}".format(", ".join(given)), "what it says in the plan alone")
        if isinstance(plan, str) and ("\n" in plan or ":" in plan and not os.path.exists(plan)):
            return plan, ""
        path = os.path.abspath(os.fspath(plan))
        try:
            with open(path, encoding="utf-8") as f:
                return f.read(), path
        except (OSError, UnicodeDecodeError) as e:
            raise _wrong("plan", str(e), "a plan file, or a plan's text") from e
    if (hz is None) == (times is None):
        raise _wrong("hz", "neither hz nor times" if hz is None else "hz and times", "one of hz=, times= and plan=")
    whole: Dict[str, Any] = {"version": 1, "rate": 1.0 if hz is None else _number("hz", hz)}
    defaults: Dict[str, Any] = {}
    for name, value in options.items():
        if value is not None:
            (whole if name in _OF_THE_PLAN else defaults)[name] = _value(name, value)
    if defaults:
        whole["defaults"] = defaults
    if streams is not None:
        whole["streams"] = _streams(streams)
    return _yaml(whole), ""


def _streams(streams: Streams) -> List[Dict[str, Any]]:
    if isinstance(streams, (str, bytes)):
        raise _wrong("streams", repr(streams), 'a list of names, or a dict such as {"imu": "linear"}')
    items: List[Tuple[Optional[str], Any]]
    if isinstance(streams, Mapping):
        items = list(streams.items())
    else:
        items = [(s, None) if isinstance(s, str) else (None, s) for s in streams]
    out: List[Dict[str, Any]] = []
    for name, how in items:
        stream: Dict[str, Any] = {} if name is None else {"name": name}
        if isinstance(how, str):
            stream["kind"] = how
        elif isinstance(how, Mapping):
            stream.update((k, _value(k, v)) for k, v in how.items() if v is not None)
        elif how is not None:
            raise _wrong("streams", "{!r} for {!r}".format(how, name), "the name of a kind, or a dict of options")
        out.append(stream)
    return out


def _value(name: str, value: Any) -> Any:
    if name in _DURATIONS:
        return duration(name, value)
    if name == "range" and not isinstance(value, str):
        try:
            ends = [duration(name, v) for v in value]
        except TypeError:
            ends = []
        if len(ends) != 2:
            raise _wrong("range", repr(value), '"common", "intersection", "union", or (from, to) in seconds from the beginning')
        return ends
    if name == "dtype" and not isinstance(value, str):
        return str(getattr(value, "__name__", value)).rsplit(".", 1)[-1]
    return value


def duration(name: str, value: Duration) -> str:
    """Returns a duration as plans write it, in whole nanoseconds, from seconds or a timedelta. Text is returned unchanged."""
    if isinstance(value, str):
        return value
    if isinstance(value, datetime.timedelta):
        whole = (value.days * 86400 + value.seconds) * 10**9 + value.microseconds * 1000
    else:
        seconds = _number(name, value)
        if not abs(seconds) < 9e9:
            raise _wrong(name, repr(value), "seconds within 9e9")
        whole = round(seconds * 1e9)
    return "{}ns".format(whole)


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError) as e:
        raise _wrong(name, repr(value), "a number") from e


def _yaml(value: Any) -> str:
    """Returns a value as YAML in flow style: JSON, with .nan and .inf for numbers that JSON lacks."""
    if isinstance(value, Mapping):
        return "{" + ", ".join("{}: {}".format(_yaml(str(k)), _yaml(v)) for k, v in value.items()) + "}"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, (bool, int)) or value is None:
        return json.dumps(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_yaml(v) for v in value) + "]"
    number = _number("plan", value)
    if number != number:
        return ".nan"
    if number in (float("inf"), float("-inf")):
        return ".inf" if number > 0 else "-.inf"
    return repr(number)


def _wrong(arg: str, got: str, want: str) -> ArgumentError:
    return ArgumentError("{}: got {}, want {}".format(arg, got, want), op="align", arg=arg, got=got, want=want)
