"""The description in a dataset's own files."""

from __future__ import annotations

from typing import Dict, List, NamedTuple, Optional


class Feature(NamedTuple):
    """A stream or camera that a dataset declares. shape is the shape of one sample; names has the names of its elements, or is None."""

    name: str
    dtype: str
    shape: List[int]
    names: Optional[List[str]]


class Problem(NamedTuple):
    """A difference between a dataset's description and its files.

    where is the place in the dataset, what the difference, and code a code for programs, such as "file-missing".
    """

    where: str
    what: str
    code: str = ""


class Info(NamedTuple):
    """A dataset's description.

    Attributes:
        rate_hz: rate of the steps, Hz; 0 if the dataset has times, or no rate. rate_from: the source of the rate.
        clock: the source of the times, one of clocks. clocks: the values that Recording(clock=) accepts.
        features: declared streams and cameras. tasks: tasks as text. attributes: other facts, as text.
        frames: frames in all episodes; 0 if the dataset does not give a number.
        splits: for each split, such as "train", its episode numbers.
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
