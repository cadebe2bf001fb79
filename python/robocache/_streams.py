"""The contents of a recording, and the result on one clock: streams, cameras and reports, with their arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, ItemsView, Iterator, KeysView, List, Mapping, NamedTuple, Optional, Sequence, Tuple, ValuesView

from . import _child
from ._clouds import Clouds, numbered
from ._errors import ArgumentError
from ._memory import Maker, part

Request = Callable[..., Tuple[Dict[str, Any], Any]]


class Column(NamedTuple):
    """A column of a stream.

    type is the column's type in the file's own words. integer is True for a whole-number type. rotation is "", or the rotation that the
    column is a part of, for example "quaternion wxyz".
    """

    name: str
    type: str
    integer: bool
    rotation: str


class ClockStats(NamedTuple):
    """Statistics of a clock; a *step* is the difference between neighbouring times, in nanoseconds.

    rate_hz is 1e9 / median_ns. jitter_ns is the 95th percentile of the steps' distance from the median. gaps counts steps longer than
    three medians. duplicates counts equal neighbouring times, back_steps times before the previous time.
    """

    samples: int
    first_ns: int
    last_ns: int
    rate_hz: float
    median_ns: int
    jitter_ns: int
    gaps: int
    longest_gap_ns: int
    duplicates: int
    back_steps: int


@dataclass(frozen=True)
class LeftOut:
    """Data in the file without a stream: a name, how many, and the reason. columns are those of a stream without samples."""

    name: str
    count: int
    reason: str
    columns: List[str]


@dataclass(frozen=True)
class Damage:
    """One kind of loss in a damaged file: its name, the number of losses (0 if unknown), their bytes, and the first one."""

    what: str
    count: int
    bytes: int
    first: str


@dataclass(frozen=True)
class Note:
    """A fact that the reader reports.

    code is for programs, such as "image-undecodable". subject is the stream, topic or file. count is the number of elements, row the first
    one from 0, or None. text is the sentence.
    """

    code: str
    subject: str
    count: int
    row: Optional[int]
    text: str


class Dropout(NamedTuple):
    """A loss that the recorder itself logged: when, and for how long, in nanoseconds."""

    time_ns: int
    duration_ns: int


class _Table:
    """Values [rows, columns] with column names."""

    def __init__(self, sent: Mapping[str, Any], values: Any, dtype: str) -> None:
        self.name = str(sent["name"])
        self.dtype = dtype
        self.values = values
        self._columns: Sequence[Mapping[str, Any]] = sent["columns"]

    @property
    def columns(self) -> List[str]:
        """The names of the columns, D in all."""
        return [c["name"] for c in self._columns]

    @property
    def column_info(self) -> List[Column]:
        """Each column's name, type and rotation as in the file, D in all."""
        return [Column(c["name"], c["type"], c.get("integer", False), c.get("rotation", "")) for c in self._columns]

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __getitem__(self, column: str) -> Any:
        """Returns a column [S] by name, or an array's columns: "q" is q[0] to q[3], [S,4].

        It is a view if the columns are adjacent. An unknown name is a KeyError.
        """
        names = self.columns
        if column in names:
            return self.values[:, names.index(column)]
        within = [i for i, n in enumerate(names) if n.startswith(column + "[")]
        if not within:
            raise KeyError("{!r} is no column of {}: there are {}".format(column, self.name, ", ".join(names)))
        if within == list(range(within[0], within[-1] + 1)):
            return self.values[:, within[0] : within[-1] + 1]
        return self.values[:, within]


class RecordedStream(_Table):
    """A stream as recorded.

    Attributes:
        values: [S,D], float32 or float64. dtype: "f32" or "f64".
        times: [S], int64 nanoseconds, or float64 or float32 seconds if the file has seconds. They are as recorded, so they may decrease
            or repeat.
        inexact_integers: how many whole numbers the dtype cannot represent; they are rounded.

    Example:
        >>> import robocache as rc
        >>> attitude = rc.Recording("flight.ulg")["vehicle_attitude"]
        >>> attitude["q"].shape, attitude.times.dtype, round(attitude.rate, 1)
        ((1298, 4), dtype('int64'), 204.6)
    """

    def __init__(self, sent: Mapping[str, Any], data: Any, maker: Maker, request: Request) -> None:
        super().__init__(sent, maker.array(data, sent["values"]), str(sent["values"]["dtype"]))
        self.inexact_integers = int(sent["lossy_integers"])
        self.times = maker.array(data, sent["times"])
        self._clock = (str(sent["times"]["dtype"]), part(data, sent["times"]))
        self._request: Optional[Request] = request
        self._stats: Optional[ClockStats] = None

    @property
    def stats(self) -> ClockStats:
        """Statistics of the times: rate, jitter, gaps. They are computed at first access."""
        if self._stats is None:
            dtype, times = self._clock
            request = self._request or _request
            self._stats = ClockStats(**request("stats", times, dtype=dtype)[0])
        return self._stats

    def __getstate__(self) -> Dict[str, Any]:
        # A copy, for example in another process, has its own arrays and no recording.
        dtype, times = self._clock
        return dict(self.__dict__, _clock=(dtype, bytes(times)), _request=None)

    @property
    def rate(self) -> float:
        """1e9 over the median step in nanoseconds, Hz; 0 without steps."""
        return self.stats.rate_hz

    def __repr__(self) -> str:
        return "<RecordedStream {}: {} samples of {} columns, {}>".format(self.name, len(self), len(self._columns), self.dtype)


def _request(do: str, blob: Any = None, **fields: Any) -> Tuple[Dict[str, Any], Any]:
    """Sends the helper process a request that does not concern a recording. The second result, memory, is None."""
    reply, _, _ = _child.shared().request(do, blob, **fields)
    reply.pop("ok", None)
    return reply, None


class Media:
    """A camera. times is [S], int64 nanoseconds, one per frame; width and height are pixels, 0 if the file does not have them.

    To get the frame at or before each time of a clock; times before the first frame have none::

        at = numpy.searchsorted(camera.times, out.times, "right") - 1
        valid = at >= 0
        frames = camera.frames(at[valid])
    """

    def __init__(self, sent: Mapping[str, Any], data: Any, maker: Maker, request: Request) -> None:
        self.name = str(sent["name"])
        self.encoding = str(sent["encoding"])
        self.width = int(sent["width"])
        self.height = int(sent["height"])
        self.times = maker.array(data, sent["times"])
        self._maker = maker
        self._request = request

    def __len__(self) -> int:
        return int(self.times.shape[0])

    def __getitem__(self, which: Any) -> Any:
        """Returns a frame [H,W,C] by number, or frames [N,H,W,C] by slice or list, like `frames`."""
        return self.frames(which)

    def __reduce__(self) -> Tuple[Any, ...]:
        raise TypeError("a camera of a recording cannot be pickled: pickle its frames, or the Recording, which is opened anew")

    def frames(self, which: Any = None, size: Optional[Tuple[int, int]] = None) -> Any:
        """Decodes frames and returns uint8 [N,H,W,C], or [H,W,C] for a single number.

        Raw images with wider numbers, such as depth (16UC1, mono16, 16SC1, 32FC1), are float32 with C 1, exactly as recorded, and cannot be
        resized. C is 1 for grey, 3 for red, green, blue, and 4 with alpha. Neighbouring video frames are decoded together.

        Args:
            which: a frame number, a slice, or a list of numbers. Default: all. An empty list returns [0,H,W,C].
            size: (height, width), pixels, to resize to, like Pillow's bilinear filter.

        Raises:
            RecordingError: a frame cannot be decoded. IndexError: a number is below 0 or too high; -1 is not the last frame, but slices
            follow Python's rules.
        """
        n = len(self)
        one = hasattr(which, "__index__") and not getattr(which, "shape", ())
        if which is None or isinstance(which, slice):
            numbers = list(range(n)[which or slice(None)])
        else:
            numbers = [numbered("frame of " + self.name, w, n) for w in ([which] if one else which)]
        height, width = (0, 0) if size is None else (int(size[0]), int(size[1]))
        if size is not None and (height < 1 or width < 1):
            raise ArgumentError("size: got {!r}, want (height, width) in pixels".format(size), arg="size", got=repr(size))
        reply, data = self._request("frames", camera=self.name, frames=numbers, height=height, width=width)
        images = self._maker.array(data, reply["frames"])
        return images[0] if one else images

    def __repr__(self) -> str:
        size = " {}x{}".format(self.width, self.height) if self.width else ""
        return "<Media {}: {} frames, {}{}>".format(self.name, len(self), self.encoding, size)


class Named:
    """A mapping from names to streams, cameras and series of clouds. If a name occurs twice, the earlier kind in this order is used."""

    streams: Dict[str, RecordedStream]
    media: Dict[str, Media]
    clouds: Dict[str, Clouds]

    def _named(self) -> Dict[str, Any]:
        named: Dict[str, Any] = dict(self.streams)
        for name, media in self.media.items():
            named.setdefault(name, media)
        for name, clouds in self.clouds.items():
            named.setdefault(name, clouds)
        return named

    def __iter__(self) -> Iterator[str]:
        return iter(self._named())

    def __len__(self) -> int:
        """The number of names."""
        return len(self._named())

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._named().keys()

    def values(self) -> ValuesView[Any]:
        """The streams, then the cameras, then the series of clouds."""
        return self._named().values()

    def items(self) -> ItemsView[str, Any]:
        """Pairs of name and stream, then cameras, then series of clouds."""
        return self._named().items()

    def __reduce__(self) -> Tuple[Any, ...]:
        raise TypeError("an episode cannot be pickled: pickle its streams, or the Recording, which is opened anew")


class Report(Dict[str, Any]):
    """The report of an alignment, a dict with the keys of ``robocache resample --json``. Every target and every sample is counted.

    "streams" lists for each stream its targets, how many are valid, out of range, in gaps and not finite, and the samples that were sorted
    or left out. "notes" lists missing streams and remarks, each with a "code". ``print(report)`` prints a table.
    """

    def __init__(self, sent: Mapping[str, Any], text: str) -> None:
        super().__init__(sent)
        self.text = text.rstrip("\n")

    def __str__(self) -> str:
        return self.text

    @property
    def remarks(self) -> List[str]:
        """Choices that you may want to change, as text."""
        return [n["text"] for n in self["notes"] if n["class"] != "left-out"]


class AlignedStream(_Table):
    """A stream on the clock.

    Attributes:
        values: [T,D]. valid: bool [T], True if the value can be trusted.
        age: [T], the target's time minus the time of the sample at or before it, in the clock's unit.
        pad: bool [T], True if the target is before the stream's first sample or after its last.
    """

    def __init__(self, sent: Mapping[str, Any], values: Any, valid: Any, age: Any, pad: Any, dtype: str) -> None:
        super().__init__(sent, values, dtype)
        self.valid = valid
        self.age = age
        self.pad = pad

    def __repr__(self) -> str:
        return "<AlignedStream {}: {} targets of {} columns, {}>".format(self.name, len(self), len(self._columns), self.dtype)


class _OnClock:
    """Streams on one clock, by name and in order."""

    times: Any
    report: Report
    streams: Dict[str, AlignedStream]

    def __getitem__(self, name: str) -> AlignedStream:
        return self.streams[name]

    def __contains__(self, name: object) -> bool:
        return name in self.streams

    def __iter__(self) -> Iterator[str]:
        return iter(self.streams)

    def __len__(self) -> int:
        """The number of streams."""
        return len(self.streams)

    def keys(self) -> KeysView[str]:
        """The names of the streams."""
        return self.streams.keys()

    def items(self) -> ItemsView[str, AlignedStream]:
        """Pairs of name and stream."""
        return self.streams.items()

    def __repr__(self) -> str:
        return "<{}: {} targets of {}>".format(type(self).__name__, len(self.times), ", ".join(self.streams) or "no streams")


class Aligned(_OnClock):
    """A recording's streams on one clock, a mapping: ``aligned["imu"]`` is an `AlignedStream`.

    times is [T], with the dtype of the streams' times. report is a `Report`, which counts each target and sample.

    Example:
        >>> import robocache as rc
        >>> aligned = rc.Recording("flight.ulg").align(hz=50, streams={"airspeed": "linear"}, max_gap=0.05)
        >>> aligned["airspeed"].values.shape, int(aligned["airspeed"].valid.sum())
        ((326, 4), 318)
    """

    def __init__(self, reply: Mapping[str, Any], data: Any, maker: Maker) -> None:
        self.times = maker.array(data, reply["times"])
        self.report = Report(reply["report"], reply["text"])
        self.streams: Dict[str, AlignedStream] = {}
        for s in reply["streams"]:
            self.streams[s["name"]] = AlignedStream(
                s, maker.array(data, s["values"]), maker.flags(data, s["valid"]), maker.array(data, s["age"]),
                maker.flags(data, s["pad"]), s["values"]["dtype"],
            )  # fmt: skip


class Fused(_OnClock):
    """A recording's streams on one clock, side by side; ``fused["imu"]`` is a view of one stream.

    Attributes:
        times: [T]. values: [T,D], D the columns of all streams. columns: the D names, "STREAM.column".
        valid: bool [T,M], age: [T,M], pad: bool [T,M], for the M streams, as in `AlignedStream`.
        report: a `Report`, which counts each target and sample.

    Example:
        >>> import robocache as rc
        >>> fused = rc.Recording("flight.ulg").fuse(hz=50, streams=["airspeed", "vehicle_attitude"])
        >>> fused.values.shape, fused.valid.shape, fused.columns[0]
        ((325, 13), (325, 2), 'airspeed.indicated_airspeed_m_s')
    """

    def __init__(self, reply: Mapping[str, Any], data: Any, maker: Maker) -> None:
        self.times = maker.array(data, reply["times"])
        self.values = maker.array(data, reply["values"])
        self.valid = maker.flags(data, reply["valid"])
        self.age = maker.array(data, reply["age"])
        self.pad = maker.flags(data, reply["pad"])
        self.dtype = str(reply["values"]["dtype"])
        self.report = Report(reply["report"], reply["text"])
        self.streams: Dict[str, AlignedStream] = {}
        self.columns: List[str] = []
        at = 0
        for i, s in enumerate(reply["streams"]):
            end = at + len(s["columns"])
            self.streams[s["name"]] = AlignedStream(
                s, self.values[:, at:end], self.valid[:, i], self.age[:, i], self.pad[:, i], self.dtype
            )
            self.columns += ["{}.{}".format(s["name"], c["name"]) for c in s["columns"]]
            at = end
