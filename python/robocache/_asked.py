"""What a Loader is asked for: its arguments, checked, as a request to the helper process."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from ._arrays import FLOATS, dtype_name
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


def number(name: str, value: Any) -> float:
    """Returns an argument that must be a number."""
    try:
        return float(value)
    except (TypeError, ValueError):
        raise wrong(name, value, "a number") from None


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
    episodes: Optional[Episodes],
    statistics: Optional[Mapping[str, Mapping[str, Any]]],
) -> Request:
    """Returns the request that stands for a Loader's arguments; the helper process checks what only it can."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    out: Request = {
        "paths": [os.path.abspath(os.fspath(p)) for p in paths],
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
        out["weights"] = [number("weights", w) for w in weights]
    if dtype is not None:
        out["dtype"] = dtype_name(dtype, "dtype", "loader")
        if out["dtype"] not in FLOATS:
            raise wrong("dtype", dtype, ", ".join(FLOATS))
    if shuffle is not None:
        out["shuffle"] = shuffle if isinstance(shuffle, str) else "windows" if shuffle else "none"
    if windows is not None:
        out["windows"] = {name: _span(name, w) for name, w in windows.items()}
    if isinstance(streams, Mapping):
        out["streams"] = [{"name": name, "columns": list(columns or [])} for name, columns in streams.items()]
    elif isinstance(streams, str):
        raise wrong("streams", streams, "a list of names")
    elif streams is not None:
        out["streams"] = [{"name": name} for name in streams]
    if isinstance(normalise, str):
        out["normalise"] = normalise
    elif normalise is not None:
        out["normalise_streams"] = dict(normalise)
    if cameras is not None:
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
        out["statistics"] = [dict(s, name=name) for name, s in statistics.items()]
    return out


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
    try:
        a, b = (x.total_seconds() if isinstance(x, timedelta) else float(x) for x in window)
    except (TypeError, ValueError):
        raise wrong("windows[{!r}]".format(name), window, "(from, to) in seconds") from None
    return [a, b]


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
