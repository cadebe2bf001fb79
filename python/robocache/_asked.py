"""A Loader's arguments, checked and converted to a request for the helper process."""

from __future__ import annotations

import difflib
import functools
import json
import math
import os
import re
from datetime import timedelta
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union, cast

from ._arrays import FLOATS, dtype_name
from ._child import located, located_all
from ._errors import ArgumentError, PlanError

Path = Union[str, "os.PathLike[str]"]
Seconds = Union[int, float, timedelta]
Windows = Mapping[str, Tuple[Seconds, Seconds]]
Streams = Union[Sequence[str], Mapping[str, Optional[Sequence[str]]]]
Episodes = Union[Iterable[int], Sequence[Optional[Iterable[int]]]]
EpisodeWeights = Union[Mapping[int, float], Sequence[Mapping[int, float]]]
Request = Dict[str, Any]


def whole(name: str, value: Any, least: int, most: int = (1 << 63) - 1) -> int:
    """Returns value if it is a whole number from least to most, else raises an ArgumentError."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not least <= int(value) <= most:
        want = (
            "a whole number from {} to {}".format(least, most)
            if most < 1 << 62
            else "a whole number, {} or more".format(least)
        )
        raise wrong(name, value, want)
    return int(value)


def memory(name: str, value: Any) -> str:
    """Returns a number of bytes as text for the helper process; "" for None."""
    if value is None:
        return ""
    text = str(value)
    large = text.isdigit() and int(text) >= 1 << 20
    if not large and not re.fullmatch(r"\d+(\.\d+)? ?[MGT](i?B)?", text, re.IGNORECASE):
        raise wrong(name, value, 'bytes, such as 2 << 30 or "2GiB"')
    return text


def wrong(name: str, got: Any, want: str) -> ArgumentError:
    """Returns the ArgumentError for an argument."""
    return ArgumentError(
        "loader: {}: got {!r}, want {}".format(name, got, want), op="loader", arg=name, got=repr(got), want=want
    )


def number(name: str, value: Any, want: str = "a number") -> float:
    """Returns value as a finite float, else raises an ArgumentError."""
    try:
        if isinstance(value, (str, bytes, bool)):
            raise TypeError
        found = float(value)
        if not math.isfinite(found):
            raise ValueError
        return found
    except (TypeError, ValueError, OverflowError):
        raise wrong(name, value, want) from None


def seconds(name: str, value: Any, want: str = "seconds") -> float:
    """Returns a duration in seconds, from a number or a timedelta."""
    return number(name, value.total_seconds() if isinstance(value, timedelta) else value, want)


def mapping(name: str, value: Any, want: str) -> Mapping[str, Any]:
    """Returns value if it is a mapping with text keys, else raises an ArgumentError."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise wrong(name, value, want)
    return value


def request(paths: Union[Path, Sequence[Path]], **given: Any) -> Request:
    """Returns the request for a Loader's arguments that are not None.

    An argument with several forms is converted by its function in _FORMS; others are sent unchanged, and the helper process checks them.
    """
    deltas = given.pop("delta_timestamps", None)
    paths = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    out: Request = {"paths": [located(os.fspath(p)) for p in paths]}
    given = {name: value for name, value in given.items() if value is not None}
    plan, statistics = given.pop("plan", None), given.pop("statistics", None)
    weights = given.pop("episode_weights", None)
    numbers = {name: given.pop(name) for name in ("episodes", "leave_out") if name in given}
    for name, value in given.items():
        out[name] = _FORMS.get(name, _plain)(name, value)
    if deltas is not None:
        windows = out.setdefault("windows", {})
        for stream, times in mapping("delta_timestamps", deltas, "{name: [seconds, ...]}").items():
            arg = "delta_timestamps[{!r}]".format(stream)
            if stream in windows:
                raise wrong(arg, times, "a window or these")
            windows[stream] = {"at": [seconds(arg, at) for at in _listed(arg, times)]}
    if plan is not None:
        out.update(_plan(plan))
    for name, value in numbers.items():
        lists: Sequence[Any] = list(value) if len(paths) > 1 else [value]
        if len(lists) != len(paths):
            raise wrong(name, value, "a list for each of {} datasets".format(len(paths)))
        out[name] = [None if one is None else _numbers(name, one) for one in lists]
    if weights is not None:
        maps = [weights] if isinstance(weights, Mapping) else list(weights)
        out["episode_weights"] = [{int(n): number("episode_weights", w) for n, w in one.items()} for one in maps]
    if statistics is not None:
        out["statistics"] = _statistics(statistics, "normalise" in given or plan is not None)
    return out


def scalar(value: Any) -> Any:
    """Returns a NumPy or torch scalar or array as Python numbers, for JSON."""
    if not hasattr(value, "tolist"):
        raise TypeError("Object of type {} is not JSON serializable".format(type(value).__name__))
    return value.tolist()


def _plain(name: str, value: Any) -> Union[bool, int, float, str]:
    """Returns an argument as a JSON value: a bool, a number or a string."""
    if not isinstance(value, str) and hasattr(value, "item"):  # a NumPy or torch scalar
        value = value.item()
    if not isinstance(value, (bool, int, str)):
        return number(name, value)
    return value


def _frequency(name: str, value: Any) -> float:
    if not number(name, value) > 0:
        raise wrong(name, value, "more than 0 Hz")
    return float(value)


def _weights(name: str, value: Any) -> List[float]:
    return [number(name, w) for w in _listed(name, value)]


def _dtype(name: str, value: Any) -> str:
    try:
        found = dtype_name(value, name, "loader")
    except ArgumentError:
        found = ""
    if found not in FLOATS:
        raise wrong(name, value, "float32, float64, float16 or bfloat16")
    return found


def _shuffle(name: str, value: Any) -> str:
    return value if isinstance(value, str) else "windows" if value else "none"


def _windows(name: str, value: Any) -> Dict[str, List[float]]:
    return {stream: _span(stream, w) for stream, w in mapping(name, value, "{stream: (from, to)}").items()}


def _streams(name: str, value: Any) -> List[Dict[str, Any]]:
    if isinstance(value, Mapping):
        streams = mapping(name, value, "{name: columns}")
        return [{"name": stream, "columns": _columns(stream, columns)} for stream, columns in streams.items()]
    if isinstance(value, (str, bytes)) or not all(isinstance(stream, str) for stream in _listed(name, value)):
        raise wrong(name, value, "a list of names, or {name: columns}")
    return [{"name": stream} for stream in value]


def _normalise(name: str, value: Any) -> Union[str, Dict[str, str]]:
    if isinstance(value, str):
        return value
    rules = mapping(name, value, "a rule, such as 'mean-std', or {stream: rule}")
    for stream, rule in rules.items():
        if not isinstance(rule, str):
            raise wrong("{}[{!r}]".format(name, stream), rule, "a rule, such as 'mean-std'")
    return dict(rules)


def _gaps(name: str, value: Any) -> Union[str, float, Dict[str, Union[str, float]]]:
    if not isinstance(value, Mapping):
        return value if value == "auto" else seconds(name, value, 'seconds, "auto", or {stream: seconds}')
    gaps = mapping(name, value, "seconds, or {stream: seconds}")
    return {stream: gap if gap == "auto" else seconds("{}[{!r}]".format(name, stream), gap) for stream, gap in gaps.items()}


def _cameras(name: str, value: Any) -> List[Dict[str, Any]]:
    from ._camera import cameras  # it imports this module

    return cameras(name, value)


_FORMS: Mapping[str, Callable[[str, Any], Any]] = {
    "hz": _frequency,
    "rate": _frequency,
    "weights": _weights,
    "dtype": _dtype,
    "shuffle": _shuffle,
    "windows": _windows,
    "streams": _streams,
    "normalise": _normalise,
    "max_gap": _gaps,
    "cameras": _cameras,
    "definitions": lambda _, value: located_all(value),
}


_LISTS = ("mean", "std", "min", "max", "q01", "q10", "q90", "q99", "shift", "scale", "clip_min", "clip_max")


def _statistics(statistics: Any, ruled: bool) -> List[Dict[str, Any]]:
    """Returns statistics by stream, from a loader's `statistics` or a file such as LeRobot's stats.json, which also has cameras.

    ruled: the rule is known from another argument.
    """
    want = "a loader's statistics, or {stream: {'mean': [...], 'std': [...], ...}}"
    found = []
    for name, by in mapping("statistics", statistics, want).items():
        arg = "statistics[{!r}]".format(name)
        by = mapping(arg, by, "shift and scale, or mean, std, min, max and quantiles: lists of one number a column")
        own = "shift" in by or "scale" in by
        one: Dict[str, Any] = {"name": name}
        for key in _LISTS:
            if by.get(key) is not None:
                one[key] = _floats("{}[{!r}]".format(arg, key), by[key], own)
        if any(one.get(key) == () for key in _LISTS):  # a camera's statistics are nested lists
            continue
        if len(one) == 1:
            raise wrong(arg, by, "shift and scale, or mean, std, min, max and quantiles")
        if own and not ("shift" in one and "scale" in one):
            raise wrong(arg, "one of shift and scale", "both")
        counts = by.get("counts", by.get("count"))
        if counts is not None:
            numbers = _floats(arg + "['counts']", counts, own)
            width = max(len(one[key]) for key in _LISTS if key in one)
            one["counts"] = [int(n) for n in (list(numbers) * width if len(numbers) == 1 else numbers) if n is not None]
        if isinstance(by.get("rule"), str):
            one["rule"] = by["rule"]
        if by.get("names") is not None:
            one["names"] = [str(n) for n in _listed(arg + "['names']", by["names"])]
        if not own and not ruled and "rule" not in one:
            raise wrong(
                arg, "no shift and scale, and no rule", "normalise= to say by what rule they normalise: 'mean-std', ..."
            )
        found.append(one)
    return found


def _floats(arg: str, values: Any, must: bool) -> Union[List[Optional[float]], Tuple[()]]:
    """Returns a list of numbers, with None for numbers that are not finite. Nested lists return (), or raise an ArgumentError if must."""
    if hasattr(values, "tolist"):  # NumPy and torch arrays
        values = values.tolist()
    if isinstance(values, (int, float)) and not isinstance(values, bool):
        values = [values]
    values = list(_listed(arg, values))
    if not must and any(isinstance(v, (list, tuple)) for v in values):
        return ()
    out: List[Optional[float]] = []
    for v in values:
        if v is None or isinstance(v, float) and not math.isfinite(v):
            out.append(None)
        else:
            out.append(number(arg, v, "a list of numbers"))
    return out


def _listed(arg: str, values: Any) -> Sequence[Any]:
    try:
        return list(values)
    except TypeError:
        raise wrong(arg, values, "a list") from None


def _columns(name: str, columns: Any) -> List[str]:
    """Returns columns for a plan: names, or index ranges such as "3:4"."""
    arg, want = "streams[{!r}]".format(name), 'a list of columns: names, ranges such as "0:7", or indices'
    if columns is None:
        return []
    if isinstance(columns, (str, bytes)):
        raise wrong(arg, columns, want)
    found = []
    for c in _listed(arg, columns):
        if isinstance(c, str):
            found.append(c)
        else:
            i = whole(arg, c, 0, 1 << 40)
            found.append("{}:{}".format(i, i + 1))
    return found


def _numbers(name: str, episodes: Iterable[int]) -> List[int]:
    """Returns episode numbers in ascending order."""
    try:
        found = sorted(whole(name, n, 0, 1 << 40) for n in episodes)
    except TypeError:
        raise wrong(name, episodes, "numbers of episodes; of several datasets a list for each") from None
    for a, b in zip(found, found[1:]):
        if a == b:
            raise wrong(name, "{} twice".format(a), "each once")
    return found


def _span(name: str, window: Tuple[Seconds, Seconds]) -> List[float]:
    arg, want = "windows[{!r}]".format(name), "(from, to) in seconds"
    try:
        a, b = window
    except (TypeError, ValueError):
        raise wrong(arg, window, want) from None
    return [seconds(arg, a, want), seconds(arg, b, want)]


def _plan(plan: Union[Path, Mapping[str, Any]]) -> Dict[str, str]:
    """Returns a plan's text and its file name. A dict becomes JSON, which is YAML too."""
    if isinstance(plan, Mapping):
        try:
            return {"plan": json.dumps(dict({"version": 1}, **plan), allow_nan=False, default=scalar), "plan_name": "plan"}
        except (TypeError, ValueError) as e:
            raise PlanError("plan: {}".format(e)) from None
    name = os.fspath(plan)
    try:
        with open(name, encoding="utf-8") as f:
            return {"plan": f.read(), "plan_name": name}
    except (OSError, UnicodeDecodeError) as e:
        raise PlanError("plan: {}: cannot be read: {}".format(name, e), path=name) from e


_Init = TypeVar("_Init", bound=Callable[..., None])
_OTHERS = {"batch_size": "batch", "num_workers": "workers", "world_size": "world"}  # torch's names and ours


def known(init: _Init) -> _Init:
    """Returns init, changed so that an unknown keyword argument is a TypeError with the most similar name."""
    names = init.__code__.co_varnames[1 : init.__code__.co_argcount + init.__code__.co_kwonlyargcount]

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **given: Any) -> None:
        for name in given:
            if name not in names:
                near = [_OTHERS[name]] if name in _OTHERS else difflib.get_close_matches(name, names, 1)
                hint = ": did you mean {}?".format(near[0]) if near else ""
                raise TypeError("Loader() got an unexpected keyword argument {!r}{}".format(name, hint))
        init(self, *args, **given)

    return cast(_Init, checked)


def device(framework: str, given: Any) -> Any:
    """Returns a torch.device, or None for other frameworks."""
    if framework != "torch":
        if given not in (None, "cpu") or given == "cpu" and framework == "jax":
            raise wrong("device", given, "None: NumPy's arrays are on the CPU, and JAX's on its default device")
        return None
    import torch

    if given is None:
        given = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(given)
    except (RuntimeError, TypeError):
        raise wrong("device", given, "cpu, cuda or cuda:N") from None
    if device.type == "cpu":
        return device
    if device.type != "cuda" or not torch.cuda.is_available():
        raise wrong("device", given, "cpu, or cuda where torch has a GPU")
    if device.index is None:
        local, count = os.environ.get("LOCAL_RANK", ""), torch.cuda.device_count()
        index = int(local) if local.isdigit() and int(local) < count else torch.cuda.current_device()
        device = torch.device("cuda", index)
    return device
