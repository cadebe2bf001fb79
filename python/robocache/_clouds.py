"""Series of point clouds that a recording holds, each read when it is asked for."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Mapping, Tuple

from ._memory import Maker

Request = Callable[..., Tuple[Dict[str, Any], Any]]


def numbered(what: str, which: Any, n: int) -> int:
    """Returns the number of one of n things in time. -1 is refused, which searchsorted() - 1 gives for a time before the first."""
    number = operator.index(which)
    if not 0 <= number < n:
        want = "0 to {}".format(n - 1) if n else "none, as it is empty"
        raise IndexError("{}: got {}, want {}".format(what, number, want + "; before the first there is none" * (number < 0)))
    return number


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
        """Reads a cloud by its number. One that cannot be read is a `RecordingError`; a number below 0 or too high is an IndexError."""
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
