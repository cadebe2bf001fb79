"""What a recording holds, and what it becomes on one clock: streams, cameras and accounts, with their arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Dict, ItemsView, Iterator, KeysView, List, Mapping, NamedTuple, Optional, Sequence, Tuple, ValuesView

from . import _child
from ._clouds import Clouds, numbered
from ._errors import ArgumentError
from ._memory import Maker, part

Request = Callable[..., Tuple[Dict[str, Any], Any]]


class Column(NamedTuple):
    """A column of a stream. type is the file's own name of its type; rotation is "", or what the columns are a part of: "quaternion wxyz"."""

    name: str
    type: str
    integer: bool
    rotation: str


class ClockStats(NamedTuple):
    """What a clock is like. Steps are differences of neighbouring times; a gap is a step above three times the median.

    rate_hz is 1e9 / median_ns; jitter_ns the 95th percentile of the steps' distance from the median.
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
    """Something that the file holds and the streams do not, and why. columns are those of a stream without samples."""

    name: str
    count: int
    reason: str
    columns: List[str]


@dataclass(frozen=True)
class Damage:
    """What was lost because the file is broken there: of one kind, how many (0 if unknown), their bytes, and the first of them."""

    what: str
    count: int
    bytes: int
    first: str


@dataclass(frozen=True)
class Note:
    """A fact that the reader noted: its code, such as "image-undecodable", the stream, topic or file that it is about, how many elements,
    the first of them from 0, or None, and the sentence."""

    code: str
    subject: str
    count: int
    row: Optional[int]
    text: str


class Dropout(NamedTuple):
    """A loss that the recorder itself noted."""

    time_ns: int
    duration_ns: int


class _Table:
    """values [rows, columns] whose columns have names."""

    def __init__(self, sent: Mapping[str, Any], values: Any, dtype: str) -> None:
        self.name = str(sent["name"])
        self.dtype = dtype
        self.values = values
        self._columns: Sequence[Mapping[str, Any]] = sent["columns"]

    @property
    def columns(self) -> List[str]:
        """The names of the columns: [D]."""
        return [c["name"] for c in self._columns]

    @property
    def column_info(self) -> List[Column]:
        """What the file says of the columns: [D]."""
        return [Column(c["name"], c["type"], c.get("integer", False), c.get("rotation", "")) for c in self._columns]

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __getitem__(self, column: str) -> Any:
        """Returns a column [S], or those of an array: "q" is q[0] to q[3], [S,4]. It is a view."""
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

    values: [S,D], f32 or f64. times: [S], int64 nanoseconds, or float64 or float32 seconds where the file has those; as
    recorded, so neither sorted nor without repetitions. dtype: that of the values, "f32" or "f64". inexact_integers: whole
    numbers that it does not hold, which are rounded.
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
        """What the clock is like."""
        if self._stats is None:
            dtype, times = self._clock
            request = self._request or _request
            self._stats = ClockStats(**request("stats", times, dtype=dtype)[0])
        return self._stats

    def __getstate__(self) -> Dict[str, Any]:
        # A copy, in another process for instance, is arrays of its own, apart from the recording.
        dtype, times = self._clock
        return dict(self.__dict__, _clock=(dtype, bytes(times)), _request=None)

    @property
    def rate(self) -> float:
        """1 over the median step, Hz; 0 without steps."""
        return self.stats.rate_hz

    def __repr__(self) -> str:
        return "<RecordedStream {}: {} samples of {} columns, {}>".format(self.name, len(self), len(self._columns), self.dtype)


def _request(do: str, blob: Any = None, **fields: Any) -> Tuple[Dict[str, Any], Any]:
    """Asks the helper process something that is about no recording."""
    reply, _, _ = _child.shared().request(do, blob, **fields)
    reply.pop("ok", None)
    return reply, None


class Media:
    """A camera. times: [S], int64 nanoseconds, one for each frame. width and height are 0 where the file does not say.

    The frame that was there at each time of a clock, and where there was one, because a time before the first frame has none::

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
        """Returns a frame [H,W,C], or those of a slice or list [N,H,W,C], as `frames` does."""
        return self.frames(which)

    def __reduce__(self) -> Tuple[Any, ...]:
        raise TypeError("a camera of a recording cannot be pickled: pickle its frames, or the Recording, which is opened anew")

    def frames(self, which: Any = None, size: Optional[Tuple[int, int]] = None) -> Any:
        """Decodes frames: u8 [N,H,W,C], or [H,W,C] of a single one; of raw images of wider numbers, such as depth (16UC1,
        mono16, 16SC1, 32FC1), f32 with C 1, exactly as recorded, which is not resized.

        which: a frame's number, a slice, or a list of numbers; all unless given. size: (height, width) to resize to, as
        Pillow's bilinear filter does. C is 1 for grey, 3 for red, green and blue, 4 with alpha. Neighbouring frames of a video
        are decoded in one run. A frame that cannot be decoded is a `RecordingError`. A number below 0 or too high is an
        IndexError: -1 is not the last frame. A slice follows Python's rules, and no numbers give [0,H,W,C].
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
    """A mapping of what an episode has, each by its name: the streams, cameras and series of clouds, of one name the first of these."""

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
        """The number of streams, cameras and series of clouds."""
        return len(self._named())

    def keys(self) -> KeysView[str]:
        """The names."""
        return self._named().keys()

    def values(self) -> ValuesView[Any]:
        """The streams, then the cameras, then the series of clouds."""
        return self._named().values()

    def items(self) -> ItemsView[str, Any]:
        """Names and streams, then names and cameras, then names and series of clouds."""
        return self._named().items()

    def __reduce__(self) -> Tuple[Any, ...]:
        raise TypeError("an episode cannot be pickled: pickle its streams, or the Recording, which is opened anew")


class Report(Dict[str, Any]):
    """What became of a recording: every target and every sample is counted. Its keys are those of ``robocache resample --json``.

    "streams" has for each stream its targets, those that are valid, out of range, gapped and not finite, and the samples that
    were sorted or left out; "notes" has the streams that are not there, and what one may want otherwise, each with a "code".
    print(report) is a table.
    """

    def __init__(self, sent: Mapping[str, Any], text: str) -> None:
        super().__init__(sent)
        self.text = text.rstrip("\n")

    def __str__(self) -> str:
        return self.text

    @property
    def remarks(self) -> List[str]:
        """What one may want otherwise, in words."""
        return [n["text"] for n in self["notes"] if n["class"] != "left-out"]


class AlignedStream(_Table):
    """A stream on the clock.

    values: [T,D]. valid: [T] bool, whether there is a value to trust. age: [T], the target's time less that of the sample at or
    before it, in the clock's unit. pad: [T] bool, whether the target is before the stream's samples or after them.
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
        """Names and streams."""
        return self.streams.items()

    def __repr__(self) -> str:
        return "<{}: {} targets of {}>".format(type(self).__name__, len(self.times), ", ".join(self.streams) or "no streams")


class Aligned(_OnClock):
    """A recording with each stream on one clock: ``aligned["imu"]`` is an `AlignedStream`, and iterating gives their names.

    times: [T], as the streams' are. report: what became of each target and sample.
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
    """A recording whose streams lie side by side on one clock; ``fused["imu"]`` is the view of one.

    times: [T]. values: [T,D], D the columns of all streams. valid: [T,M] bool, age: [T,M] and pad: [T,M] bool, one for each of
    the M streams. columns: [D], named "STREAM.column". report: what became of each target and sample.
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
