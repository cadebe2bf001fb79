"""What a dataset says of itself."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional


class Feature(NamedTuple):
    """What a dataset declares of a stream or camera of its episodes. shape is that of one sample; names may be None."""

    name: str
    dtype: str
    shape: List[int]
    names: Optional[List[str]]


class Problem(NamedTuple):
    """Something that a dataset declares and that is not there, or not so. code is that of the note, such as "file-missing"."""

    where: str
    what: str
    code: str = ""


class Info(NamedTuple):
    """What a dataset says of itself. rate_hz is that of its steps, 0 where it has times or nobody says; rate_from is who says so.

    clock is where the times come from, of clocks, which are those that Recording(clock=) takes. frames are those of all
    episodes, 0 where it does not say. splits are the numbers of each one's episodes.
    """

    name: str
    format: str
    version: str
    rate_hz: float
    rate_from: str
    clock: str
    clocks: List[str]
    features: List[Feature]
    tasks: List[str]
    frames: int
    splits: Dict[str, List[int]]
    attributes: Dict[str, str]
