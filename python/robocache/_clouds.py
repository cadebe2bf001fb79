"""Series of point clouds in a recording; each cloud is read at access."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple

from ._memory import Maker

Request = Callable[..., Tuple[Dict[str, Any], Any]]


def numbered(what: str, which: Any, n: int) -> int:
    """Returns which as an index from 0 to n - 1; else IndexError.

    -1 is refused too, because searchsorted() - 1 gives it for a time before the first.
    """
    number = operator.index(which)
    if not 0 <= number < n:
        want = "0 to {}".format(n - 1) if n else "none, as it is empty"
        raise IndexError("{}: got {}, want {}".format(what, number, want + "; before the first there is none" * (number < 0)))
    return number


@dataclass(frozen=True, eq=False)
class Cloud:
    """A point cloud.

    Attributes:
        points: [N,3], x, y and z, float32 or float64, in the recording's unit.
        features: [N,F], measurements at each point, such as intensity. names: the F names.
        height, width: an organised cloud has height rows of width points; any other cloud has one row.
        not_finite: the number of points with a NaN or infinite coordinate. They are kept.
    """

    points: Any
    features: Any
    names: List[str]
    height: int
    width: int
    not_finite: int

    def __len__(self) -> int:
        return int(self.points.shape[0])

    def __getitem__(self, name: str) -> Any:
        """Returns a feature [N] by name. An unknown name is a KeyError."""
        if name not in self.names:
            raise KeyError("no feature {!r}: there are {}".format(name, ", ".join(self.names) or "none"))
        return self.features[:, self.names.index(name)]

    def __repr__(self) -> str:
        return "<Cloud: {} points with {}>".format(len(self), ", ".join(self.names) or "no features")


class Clouds:
    """A series of point clouds, for example from a lidar. times is [S], int64 nanoseconds, one per cloud. ``clouds[i]`` reads cloud i."""

    def __init__(self, sent: Mapping[str, Any], data: Any, maker: Maker, request: Request) -> None:
        self.name = str(sent["name"])
        self.times = maker.array(data, sent["times"])
        self._maker = maker
        self._request = request

    def __len__(self) -> int:
        return int(self.times.shape[0])

    def __getitem__(self, which: Any) -> Cloud:
        """Reads a cloud by number. If it cannot be read, RecordingError; a number below 0 or too high is an IndexError."""
        reply, data = self._request("cloud", clouds=self.name, cloud=numbered("cloud of " + self.name, which, len(self)))
        points, features = (self._maker.array(data, reply[name]) for name in ("points", "features"))
        names = [c["name"] for c in reply["columns"]]
        return Cloud(points, features, names, reply["height"], reply["width"], reply["not_finite"])

    def __iter__(self) -> Iterator[Cloud]:
        return (self[i] for i in range(len(self)))

    def __reduce__(self) -> Tuple[Any, ...]:
        raise TypeError("clouds of a recording cannot be pickled: pickle a Cloud, or the Recording, which is opened anew")

    def __repr__(self) -> str:
        return "<Clouds {}: {}>".format(self.name, len(self))
