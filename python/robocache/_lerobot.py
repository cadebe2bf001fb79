"""Batches with the names, shapes and dtypes of LeRobotDataset's items, as torch's DataLoader collates them."""

from __future__ import annotations

from typing import Any, Callable, Dict, List, Mapping, Sequence, Union

from ._asked import wrong
from ._camera import Camera

Deltas = Mapping[str, Sequence[float]]


def extra_keys(keys: Union[None, str, Sequence[str]]) -> Union[None, List[str]]:
    """Returns the keys besides LeRobot's, or None if batches have this package's keys."""
    if keys is None:
        return None
    listed = [keys] if isinstance(keys, str) else list(keys)
    if not listed or listed[0] != "lerobot":
        raise wrong("keys", keys, '"lerobot", or a list of it and more keys')
    return listed[1:]


def camera(given: Any) -> Any:
    """Returns a camera with the dtype and layout of LeRobot's images, 0 to 1, unless a Camera is given."""
    return given if isinstance(given, Camera) else Camera(given, dtype="float32", layout="CHW")


class Items:
    """Converts batches to LeRobot's.

    Args:
        reply: describes the loader.
        targets: names with delta timestamps or a window. Others have no dimension for targets.
        extra: more keys that batches keep.
        offset: the frame number of the first anchor of each episode.
        tasks: returns the tasks of a batch.
    """

    def __init__(
        self,
        reply: Mapping[str, Any],
        targets: Sequence[str],
        extra: List[str],
        offset: int,
        tasks: Callable[[Mapping[str, Any]], List[str]],
    ) -> None:
        self._targets, self._extra, self._offset, self._tasks = targets, extra, offset, tasks
        self._hz = float(reply["hz"])
        self._streams = {s["name"]: len(s["columns"]) for s in reply["streams"]}
        self._cameras = [c["name"] for c in reply["report"]["cameras"]]
        self._numbers = {text: n for n, text in enumerate(reply["listed"] or ())}
        texts = {t["text"] for t in reply["tasks"]}
        drawn = {t["episode"] for t in reply["tasks"]}
        whole = len(drawn) == reply["report"]["episodes"] == len(reply["tasks"])
        self._only = reply["texts"][0] if len(texts) == 1 and whole else None
        self._firsts = self._first_rows(reply["frames"] or ())
        self._tables: Dict[Any, Any] = {}

    @staticmethod
    def _first_rows(frames: Sequence[Sequence[int]]) -> List[int]:
        """Returns the row of each episode's first frame in the dataset; nothing if an episode before is not open."""
        rows = 0
        out: List[int] = []
        for number, count in frames:
            if number != len(out) or count <= 0:
                return []
            out.append(rows)
            rows += count
        return out

    def convert(self, batch: Dict[str, Any], capturing: bool) -> Dict[str, Any]:
        """Returns LeRobot's batch. The texts of several tasks need the episodes on the host, so a captured batch has no task then."""
        out = {}
        for name, columns in self._streams.items():
            x = batch[name]
            if columns == 1:
                x = x[..., 0]
            out[name] = x if name in self._targets else x[:, 0]
        for name in self._cameras:
            x = batch[name]
            out[name] = x[:, 0] if x.shape[1] == 1 else x
        for name in self._targets:
            if name + "_is_pad" in batch:
                out[name + "_is_pad"] = batch[name + "_is_pad"]
        episodes, frames = batch["episode_index"], batch["frame_index"] + self._offset
        out["episode_index"], out["frame_index"] = episodes, frames
        out["timestamp"] = _to(_to(frames, "float64") / self._hz, "float32")
        if self._firsts:
            out["index"] = self._table(episodes, self._firsts)[episodes] + frames
        if self._only is not None:
            texts = [self._only] * len(episodes)
        elif not capturing:
            texts = self._tasks(batch)
        else:
            texts = []
        if texts:
            out["task"] = texts
            if self._only is not None:
                out["task_index"] = episodes * 0 + self._numbers.get(self._only, -1)
            else:
                out["task_index"] = _like(episodes, [self._numbers.get(text, -1) for text in texts])
        for name in self._extra:
            out[name] = batch[name]
        return out

    def _table(self, like: Any, numbers: List[int]) -> Any:
        place = getattr(like, "device", None)
        if place not in self._tables:
            self._tables[place] = _like(like, numbers)
        return self._tables[place]


def _to(x: Any, dtype: str) -> Any:
    """Returns an array of NumPy, torch or JAX with another dtype."""
    if hasattr(x, "astype"):
        return x.astype(dtype)
    import torch

    return x.to(getattr(torch, dtype))


def _like(x: Any, numbers: List[int]) -> Any:
    """Returns numbers as an array of x's framework, dtype and device."""
    if hasattr(x, "new_tensor"):
        return x.new_tensor(numbers)
    import numpy

    return numpy.asarray(numbers, dtype=x.dtype)
