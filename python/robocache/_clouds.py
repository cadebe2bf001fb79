"""Series of point clouds that a recording holds, each read when it is asked for."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple

from ._memory import Maker

Request = Callable[..., Tuple[Dict[str, Any], Any]]


@dataclass(frozen=True, eq=False)
class Cloud:
    """A point cloud. points: [N,3], x, y and z, f32 or f64; features: [N,F], with names, what was measured at each point.

    An organised cloud has height rows of width points, any other one row. not_finite: points that have a coordinate that is
    NaN or infinite, which are kept.
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
        """Returns the feature of a name, [N]."""
        if name not in self.names:
            raise KeyError("no feature {!r}: there are {}".format(name, ", ".join(self.names) or "none"))
        return self.features[:, self.names.index(name)]

    def __repr__(self) -> str:
        return "<Cloud: {} points with {}>".format(len(self), ", ".join(self.names) or "no features")


class Clouds:
    """A series of point clouds, as of a lidar. times: [S], int64 nanoseconds, one for each cloud. ``clouds[i]`` reads cloud i."""

    def __init__(self, sent: Mapping[str, Any], data: Any, maker: Maker, request: Request) -> None:
        self.name = str(sent["name"])
        self.times = maker.array(data, sent["times"])
        self._maker = maker
        self._request = request

    def __len__(self) -> int:
        return int(self.times.shape[0])

    def __getitem__(self, which: Any) -> Cloud:
        """Reads a cloud by its number. One that cannot be read is a `RecordingError`, a number that there is not an IndexError."""
        n, number = len(self), operator.index(which)
        if not -n <= number < n:
            raise IndexError("cloud {} of {}, which has {}".format(number, self.name, n))
        reply, data = self._request("cloud", clouds=self.name, cloud=number % n)
        points, features = (self._maker.array(data, reply[name]) for name in ("points", "features"))
        names = [c["name"] for c in reply["columns"]]
        return Cloud(points, features, names, reply["height"], reply["width"], reply["not_finite"])

    def __iter__(self) -> Iterator[Cloud]:
        return (self[i] for i in range(len(self)))

    def __reduce__(self) -> Tuple[Any, ...]:
        raise TypeError("clouds of a recording cannot be pickled: pickle a Cloud, or the Recording, which is opened anew")

    def __repr__(self) -> str:
        return "<Clouds {}: {}>".format(self.name, len(self))
