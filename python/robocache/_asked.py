"""What a Loader is asked for: its arguments, checked, as a request to the helper process."""

from __future__ import annotations

import json
import math
import os
from datetime import timedelta
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ._arrays import FLOATS, dtype_name
from ._child import located, located_all
from ._errors import ArgumentError, PlanError

Path = Union[str, "os.PathLike[str]"]
Seconds = Union[int, float, timedelta]
Windows = Mapping[str, Tuple[Seconds, Seconds]]
Streams = Union[Sequence[str], Mapping[str, Optional[Sequence[str]]]]
Episodes = Union[Iterable[int], Sequence[Optional[Iterable[int]]]]
Request = Dict[str, Any]


def whole(name: str, value: Any, least: int, most: int = (1 << 63) - 1) -> int:
    """Returns an argument that must be a whole number within limits."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not least <= int(value) <= most:
        want = (
            "a whole number from {} to {}".format(least, most)
            if most < 1 << 62
            else "a whole number, {} or more".format(least)
        )
        raise wrong(name, value, want)
    return int(value)


def wrong(name: str, got: Any, want: str) -> ArgumentError:
    """Returns the error of an argument."""
    return ArgumentError(
        "loader: {}: got {!r}, want {}".format(name, got, want), op="loader", arg=name, got=repr(got), want=want
    )


def number(name: str, value: Any, want: str = "a number") -> float:
    """Returns an argument that must be a finite number."""
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
    """Returns a length of time, in seconds."""
    return number(name, value.total_seconds() if isinstance(value, timedelta) else value, want)


def mapping(name: str, value: Any, want: str) -> Mapping[str, Any]:
    """Returns an argument that must be by name."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise wrong(name, value, want)
    return value


def request(
    paths: Union[Path, Sequence[Path]],
    *,
    batch: int,
    hz: Optional[float],
    seed: int,
    windows: Optional[Windows],
    streams: Optional[Streams],
    normalise: Union[None, str, Mapping[str, str]],
    plan: Union[None, Path, Mapping[str, Any]],
    dtype: Any,
    shuffle: Union[None, bool, str],
    last: str,
    rank: Optional[int],
    world: Optional[int],
    weights: Optional[Sequence[float]],
    epoch_windows: int,
    cameras: Optional[Mapping[str, Tuple[int, int]]],
    age: bool,
    workers: int,
    shard_windows: int,
    mix_shards: int,
    strict: bool,
    rate: Optional[float],
    clock: str,
    definitions: Union[Path, Sequence[Path]],
    episodes: Optional[Episodes],
    statistics: Optional[Mapping[str, Mapping[str, Any]]],
    max_gap: Union[None, Seconds, Mapping[str, Seconds]] = None,
) -> Request:
    """Returns the request that stands for a Loader's arguments; the helper process checks what only it can."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    out: Request = {
        "paths": [located(os.fspath(p)) for p in paths],
        "batch": whole("batch", batch, 1),
        "seed": whole("seed", seed, 0, (1 << 64) - 1),
        "workers": whole("workers", workers, 0),
        "shard_windows": whole("shard_windows", shard_windows, 0),
        "mix_shards": whole("mix_shards", mix_shards, 0),
        "epoch_windows": whole("epoch_windows", epoch_windows, 0),
        "last": str(last),
        "age": bool(age),
        "strict": bool(strict),
        "clock": str(clock),
        "definitions": located_all(definitions),
    }
    for name, given in (("hz", hz), ("rate", rate)):
        if given is not None:
            out[name] = number(name, given)
            if not out[name] > 0:
                raise wrong(name, given, "more than 0 Hz")
    if rank is not None:
        out["rank"] = whole("rank", rank, 0)
    if world is not None:
        out["world"] = whole("world", world, 1)
    if weights is not None:
        out["weights"] = [number("weights", w) for w in _listed("weights", weights)]
    if dtype is not None:
        try:
            out["dtype"] = dtype_name(dtype, "dtype", "loader")
        except ArgumentError:
            out["dtype"] = ""
        if out["dtype"] not in FLOATS:
            raise wrong("dtype", dtype, "float32, float64, float16 or bfloat16")
    if shuffle is not None:
        out["shuffle"] = shuffle if isinstance(shuffle, str) else "windows" if shuffle else "none"
    if windows is not None:
        windows = mapping("windows", windows, "{stream: (from, to)}")
        out["windows"] = {name: _span(name, w) for name, w in windows.items()}
    if isinstance(streams, Mapping):
        streams = mapping("streams", streams, "{name: columns}")
        out["streams"] = [{"name": name, "columns": _columns(name, columns)} for name, columns in streams.items()]
    elif streams is not None:
        if isinstance(streams, (str, bytes)) or not all(isinstance(name, str) for name in _listed("streams", streams)):
            raise wrong("streams", streams, "a list of names, or {name: columns}")
        out["streams"] = [{"name": name} for name in streams]
    if isinstance(normalise, str):
        out["normalise"] = normalise
    elif normalise is not None:
        rules = mapping("normalise", normalise, "a rule, such as 'mean-std', or {stream: rule}")
        for name, rule in rules.items():
            if not isinstance(rule, str):
                raise wrong("normalise[{!r}]".format(name), rule, "a rule, such as 'mean-std'")
        out["normalise_streams"] = dict(rules)
    if isinstance(max_gap, Mapping):
        gaps = mapping("max_gap", max_gap, "seconds, or {stream: seconds}")
        out["max_gap_streams"] = {name: seconds("max_gap[{!r}]".format(name), gap) for name, gap in gaps.items()}
    elif max_gap is not None:
        out["max_gap"] = seconds("max_gap", max_gap, "seconds, or {stream: seconds}")
    if cameras is not None:
        cameras = mapping("cameras", cameras, "{name: (height, width)} in pixels")
        out["cameras"] = [_camera(name, size) for name, size in cameras.items()]
    if plan is not None:
        out.update(_plan(plan))
    if episodes is not None:
        several = len(out["paths"]) > 1
        lists: Sequence[Any] = list(episodes) if several else [episodes]
        if len(lists) != len(out["paths"]):
            raise wrong("episodes", episodes, "a list for each of {} datasets".format(len(out["paths"])))
        out["episodes"] = [None if one is None else _numbers(one) for one in lists]
    if statistics is not None:
        out["statistics"] = _statistics(statistics, normalise is not None or plan is not None)
    return out


_LISTS = ("mean", "std", "min", "max", "q01", "q10", "q90", "q99", "shift", "scale", "clip_min", "clip_max")


def _statistics(statistics: Any, ruled: bool) -> List[Dict[str, Any]]:
    """Returns statistics by stream: a loader's own, or those of a file that has them of all that there is, such as
    LeRobot's stats.json."""
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
        if any(one.get(key) == () for key in _LISTS):  # of a camera
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
    """Returns a list of numbers, None for what is not finite; () of lists of lists, unless it must be one."""
    if hasattr(values, "tolist"):  # NumPy's and torch's
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
    """Returns columns as a plan has them: names, or ranges of indices."""
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


def _numbers(episodes: Iterable[int]) -> List[int]:
    """Returns numbers of episodes, ascending."""
    try:
        found = sorted(whole("episodes", n, 0, 1 << 40) for n in episodes)
    except TypeError:
        raise wrong("episodes", episodes, "numbers of episodes; of several datasets a list for each") from None
    for a, b in zip(found, found[1:]):
        if a == b:
            raise wrong("episodes", "{} twice".format(a), "each once")
    return found


def _span(name: str, window: Tuple[Seconds, Seconds]) -> List[float]:
    arg, want = "windows[{!r}]".format(name), "(from, to) in seconds"
    try:
        a, b = window
    except (TypeError, ValueError):
        raise wrong(arg, window, want) from None
    return [seconds(arg, a, want), seconds(arg, b, want)]


def _camera(name: str, size: Tuple[int, int]) -> Dict[str, Any]:
    arg = "cameras[{!r}]".format(name)
    try:
        height, width = size
    except (TypeError, ValueError):
        raise wrong(arg, size, "(height, width) in pixels") from None
    return {"name": name, "height": whole(arg, height, 1, 1 << 20), "width": whole(arg, width, 1, 1 << 20)}


def _plan(plan: Union[Path, Mapping[str, Any]]) -> Dict[str, str]:
    """Returns a plan's text and its name. JSON is YAML."""
    if isinstance(plan, Mapping):
        try:
            return {"plan": json.dumps(dict({"version": 1}, **plan), allow_nan=False), "plan_name": "plan"}
        except (TypeError, ValueError) as e:
            raise PlanError("plan: {}".format(e)) from None
    name = os.fspath(plan)
    try:
        with open(name, encoding="utf-8") as f:
            return {"plan": f.read(), "plan_name": name}
    except (OSError, UnicodeDecodeError) as e:
        raise PlanError("plan: {}: cannot be read: {}".format(name, e), path=name) from e
