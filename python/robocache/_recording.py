"""Recordings: any file or folder that the robocache binary reads, as arrays with their clocks."""

from __future__ import annotations

import html
import operator
import os
import weakref
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union, overload

from . import _child
from ._clouds import Clouds
from ._errors import ArgumentError, Error, ForkError, RecordingError, ServerError, closest, near
from ._memory import Maker, mapped, times_blob
from ._metadata import Feature, Info, Problem
from ._plantext import Streams, plan_text
from ._streams import Aligned, Damage, Dropout, Fused, LeftOut, Media, Named, Note, RecordedStream

Request = Callable[..., Tuple[Dict[str, Any], Any]]
Plan = Union[None, str, "os.PathLike[str]"]

_DROPPED = "recordings that were dropped"


class _Handle:
    """An open recording in the helper process. Where that has ended, the next request opens the recording anew in another."""

    def __init__(self, options: Dict[str, Any]) -> None:
        self._options = options
        self._child: Optional[_child.Child] = None
        self._end: Optional[weakref.finalize] = None
        self.closed = False
        self.opened: Dict[str, Any] = {}
        self._columns: List[Any] = []  # lists of columns, which episodes name by their places
        child = _child.shared()
        with child.lock:
            self._open(child)

    def _open(self, child: _child.Child) -> None:
        self.opened = child.request("open", **self._options)[0]
        self._child = child
        self._columns = []
        if self._end is not None:
            self._end.detach()
        # A finalizer may run in the middle of a request, so that it only notes what is to be closed with the next one.
        dropped = child.memo.setdefault(_DROPPED, [])
        self._end = weakref.finalize(self, dropped.append, self.opened["handle"])
        self._end.atexit = False

    def request(self, do: str, blob: Any = None, **fields: Any) -> Tuple[Dict[str, Any], Any]:
        """Returns a reply and the memory that came with it."""
        if self.closed:
            raise RecordingError("{} was closed".format(self._options["path"]), path=self._options["path"])
        child = _child.shared()
        with child.lock:
            if self._child is not child:
                self._open(child)
            self._drop(child)
            if do != "stats":
                fields["handle"] = self.opened["handle"]
            if do == "episode":
                fields["known"] = len(self._columns)
            reply, _, fd = child.request(do, blob, **fields)
            if do == "episode":
                self._columns += reply["columns"]
                for stream in reply["streams"]:
                    stream["columns"] = self._columns[stream["columns"]]
        reply.pop("ok", None)
        return reply, mapped(fd)

    @staticmethod
    def _drop(child: _child.Child) -> None:
        dropped = child.memo.get(_DROPPED)
        if dropped:
            handles = list(dropped)
            del dropped[: len(handles)]
            child.request("close", handles=handles)

    def close(self) -> None:
        """Closes the recording."""
        self.closed = True
        child = self._child
        if self._end is not None and self._end.alive and child is not None and not child.closed:
            self._end()
            try:
                child.check_fork()  # before its lock, which a thread of the other side may hold
                with child.lock:
                    if not child.busy:  # with a request on this thread, that a destructor interrupts
                        self._drop(child)
            except (ServerError, ForkError):
                pass  # the files went with the process, or are its parent's


class Episode(Named):
    """An episode of a recording, read. Its arrays are its own and stay when the recording is closed.

    streams: a dict of names to `RecordedStream`; media: of names to `Media`, the cameras; clouds: of names to `Clouds`,
    series of point clouds; the episode itself is a mapping of all: ``episode["imu"]``, ``for name, stream in episode.items()``. A stream can be pickled, as a copy.
    number: the dataset's own, such as LeRobot's episode_index, name: as the dataset has it. task: what was to be done, in words; success: True, False, or
    None where the file does not say. frames: rows or steps, 0 for logs. steps: True where the times count steps, a second
    each, since nobody says how many a second there are. attributes: what else the file says. left_out: what it holds and
    the streams do not, and why; damage: what was lost where it is broken; dropouts: losses that the recorder noted; remarks:
    what the reader decided that one may want otherwise. notes: all of these as a list of `Note`, with the codes that programs compare.
    """

    def __init__(self, reply: Mapping[str, Any], data: Any, maker: Maker, handle: _Handle, place: int) -> None:
        self._place = place
        self.number = int(reply["number"])
        self.name = str(reply["name"])
        self.task = str(reply["task"])
        self.success: Optional[bool] = reply["success"]
        self.source = str(reply["source"])
        self.frames = int(reply["frames"])
        self.steps = bool(reply["steps"])
        self.attributes: Dict[str, str] = dict(reply["attributes"] or {})
        self.remarks = [_line(n) for n in reply["notes"] if n["class"] == "remark"]
        self.notes = [Note(n["code"], n["subject"], n["count"], n["row"], n["text"]) for n in reply["notes"]]
        self.left_out = [LeftOut(**x) for x in reply["left_out"]]
        self.damage = [Damage(**x) for x in reply["damage"]]
        self.dropouts = [Dropout(**x) for x in reply["dropouts"]]
        self._handle = handle
        self._maker = maker
        self.streams: Dict[str, RecordedStream] = {}
        for s in reply["streams"]:
            stream = RecordedStream(s, data, maker, handle.request)
            self.streams[_free(self.streams, stream.name)] = stream
        self.media: Dict[str, Media] = {}
        for m in reply["media"]:
            media = Media(m, data, maker, self._request)
            self.media[_free(self.media, media.name)] = media
        self.clouds: Dict[str, Clouds] = {}
        for c in reply["clouds"]:
            clouds = Clouds(c, data, maker, self._request)
            self.clouds[_free(self.clouds, clouds.name)] = clouds

    def _request(self, do: str, blob: Any = None, **fields: Any) -> Tuple[Dict[str, Any], Any]:
        return self._handle.request(do, blob, episode=self._place, **fields)

    def __getitem__(self, name: str) -> Any:
        """Returns the stream, camera or series of clouds of a name."""
        named = self._named()
        if name in named:
            return named[name]
        left = [x for x in self.left_out if x.name == name]
        why = near(str(name), self) + ": there are " + closest(str(name), self)
        why = ", which was left out: {}".format(left[0].reason) if left else why
        raise KeyError("no stream {!r} in {}{}".format(name, self.name, why))

    def __contains__(self, name: object) -> bool:
        return name in self._named()

    def align(
        self, hz: Optional[float] = None, streams: Optional[Streams] = None, *, times: Any = None, plan: Plan = None, **options: Any
    ) -> Aligned:
        """Puts the streams on one clock; see `Recording.align`."""
        reply, data = self._aligned(False, hz, streams, times, plan, options)
        return Aligned(reply, data, self._maker)

    def fuse(
        self, hz: Optional[float] = None, streams: Optional[Streams] = None, *, times: Any = None, plan: Plan = None, **options: Any
    ) -> Fused:
        """Puts the streams on one clock, side by side; see `Recording.fuse`."""
        reply, data = self._aligned(True, hz, streams, times, plan, options)
        return Fused(reply, data, self._maker)

    def _aligned(
        self, fuse: bool, hz: Optional[float], streams: Optional[Streams], times: Any, plan: Plan, options: Dict[str, Any]
    ) -> Tuple[Dict[str, Any], Any]:
        return _align(self._request, fuse, hz, streams, times, plan, options)

    def __repr__(self) -> str:
        return "<Episode {}: {} streams, {} cameras{}>".format(
            self.name, len(self.streams), len(self.media), ", {} series of clouds".format(len(self.clouds)) if self.clouds else ""
        )


def _line(note: Mapping[str, Any]) -> str:
    """Returns the sentence of a note with its subject."""
    return str(note["text"] if note["subject"] in note["text"] else "{subject}: {text}".format(**note))


def _free(names: Mapping[str, Any], name: str) -> str:
    """Returns a name that is not taken: files may have two streams of one."""
    n, free = 1, name
    while free in names:
        n += 1
        free = "{} ({})".format(name, n)
    return free


def _align(
    request: Request, fuse: bool, hz: Optional[float], streams: Optional[Streams], times: Any, plan: Plan, options: Dict[str, Any]
) -> Tuple[Dict[str, Any], Any]:
    text, path = plan_text(hz, streams, plan, times, options)
    dtype, blob = ("", None) if times is None else times_blob(times)
    return request("align", blob, plan=text, plan_path=path, targets=dtype, fuse=fuse)


class Episodes(Sequence[Episode]):
    """The episodes of a recording by their places, each read when it is asked for, and not kept.

    An episode that cannot be read is a `RecordingError`; an iterator goes on with the next one after it.
    """

    def __init__(self, recording: "Recording") -> None:
        self._recording = recording

    def __len__(self) -> int:
        return len(self._recording)

    @overload
    def __getitem__(self, index: int) -> Episode: ...

    @overload
    def __getitem__(self, index: slice) -> List[Episode]: ...

    def __getitem__(self, index: Union[int, slice]) -> Union[Episode, List[Episode]]:
        if isinstance(index, slice):
            return [self._recording._read(i) for i in range(len(self))[index]]
        n, place = len(self), operator.index(index)
        if not -n <= place < n:
            raise IndexError("episode {}: {} holds {}".format(place, self._recording.path, n))
        return self._recording._read(place % n)

    def __iter__(self) -> Iterator[Episode]:
        return _EpisodeIterator(self._recording)

    def __repr__(self) -> str:
        return "<Episodes: {} of {}>".format(len(self), self._recording.path)


class _EpisodeIterator(Iterator[Episode]):
    def __init__(self, recording: "Recording") -> None:
        self._recording = recording
        self._next = 0

    def __next__(self) -> Episode:
        if self._next >= len(self._recording):
            raise StopIteration
        self._next += 1
        return self._recording._read(self._next - 1)


class Recording:
    """A recording, or a dataset of several, of any format that ``robocache inspect`` reads; it is recognised by its content.

    Args:
        path: a file or folder: ULog, LeRobot, RLDS, HDF5 (robomimic, ALOHA, Isaac Lab), CALVIN, TUM, CSV, .npz, .safetensors, or
            a folder of such files, one episode each; of robots' logs MCAP, ROS 1 bags and rosbag2.
        clock: where the times come from, of formats that have several clocks: one of `info.clocks`.
        rate: steps a second, Hz, of a recording that has no times and does not say.
        stretch: of a log whose clock was set back while it was recorded, the stretch from 1; -1 mixes all.
        task_from: the topic of text, or column of texts, with the task: that of a row is the text that was last said.
        definitions: folders or files of message definitions (.msg, .idl), of logs that lack those of their own types.
        strict: refuse a file that is broken anywhere; else what is whole is read and `Episode.damage` counts what was lost.
        framework: what the arrays are: "numpy" or "torch". NumPy has no bfloat16, which is uint16 there.

    Raises:
        RecordingError: the path cannot be read or is of no known format; offset, line and array say where in the file, if known.
        ArgumentError: an option that the recording does not have.

    Example:
        >>> import robocache as rc
        >>> rec = rc.Recording("flight.ulg")
        >>> rec["sensor_combined"].values.shape, rec["sensor_combined"].times.dtype
        ((1298, 10), dtype('int64'))
        >>> out = rec.align(hz=100, streams={"sensor_combined": "linear", "vehicle_attitude": "slerp"}, max_gap=0.1)
        >>> out["vehicle_attitude"].values.shape == (len(out.times), 9)
        True

    Arrays lie in memory that the helper process filled, mapped privately: they may be written, and take no copy. It goes with
    the last array of an episode; a recording that is one episode keeps it until it is closed. Use it as a context manager, or
    close it, to release the files at once. It may be pickled: another process opens it anew.
    """

    def __init__(
        self,
        path: Union[str, "os.PathLike[str]"],
        *,
        clock: str = "",
        rate: Optional[float] = None,
        strict: bool = False,
        framework: str = "numpy",
        definitions: Union[str, "os.PathLike[str]", Sequence[Union[str, "os.PathLike[str]"]]] = (),
        stretch: int = 0,
        task_from: str = "",
    ) -> None:
        name = os.fspath(path)
        if not isinstance(name, str):
            raise ArgumentError("path: got {!r}, want text".format(path), arg="path", got=repr(path), want="text")
        try:
            name.encode()
        except UnicodeEncodeError as e:
            raise ArgumentError("path: got {!r}, want a name in UTF-8".format(name), arg="path", got=repr(name), want="UTF-8") from e
        name = _child.located(name)
        self.path = name
        given = _child.located_all(definitions)
        self._how = (clock, rate, strict, framework, given, stretch, task_from)
        self._maker = Maker(framework)
        options: Dict[str, Any] = {"path": name, "clock": clock, "strict": bool(strict), "definitions": given, "stretch": stretch, "task_from": task_from}
        if rate is not None:
            options["rate"] = float(rate)
        self._handle = _Handle(options)
        self._only: Optional[Episode] = None
        said = self._handle.opened
        self.info = Info(
            said["name"], said["format"], said["version"], said["rate_hz"], said["rate_from"], said["clock"], said["clocks"],
            [Feature(f["name"], f["dtype"], f["shape"], f.get("names")) for f in said["features"]],
            said["tasks"], said["frames"], said["splits"], dict(said["attributes"] or {}),
        )  # fmt: skip
        self.problems = [Problem(p["where"], p["what"], p["code"]) for p in said["problems"]]
        self._count = int(said["episodes"])
        self._places = {number: place for place, number in enumerate(said.get("numbers") or range(self._count))}

    @property
    def format(self) -> str:
        """The format's name: "ulog"."""
        return self.info.format

    @property
    def episodes(self) -> Episodes:
        """The episodes, read as they are asked for."""
        return Episodes(self)

    def __len__(self) -> int:
        """The number of episodes."""
        return self._count

    def __iter__(self) -> Iterator[Episode]:
        return iter(self.episodes)

    @overload
    def __getitem__(self, index: int) -> Episode: ...

    @overload
    def __getitem__(self, index: slice) -> List[Episode]: ...

    @overload
    def __getitem__(self, index: str) -> Any: ...

    def __getitem__(self, index: Union[int, slice, str]) -> Any:
        """Returns an episode by its number in the dataset, as `Episode.number` and a Loader's episode_index have it, or episodes by a
        slice of places, as `episodes` does; of a recording that is one episode, a stream, camera or series of clouds by its name."""
        if isinstance(index, str):
            return self._one(None)[index]
        if isinstance(index, slice):
            return self.episodes[index]
        return self.episodes[self._at(index)]

    def _read(self, place: int) -> Episode:
        if self._only is not None:
            return self._only
        reply, data = self._handle.request("episode", episode=place)
        episode = Episode(reply, data, self._maker, self._handle, place)
        if len(self) == 1:
            self._only = episode
        return episode

    def _one(self, episode: Optional[int]) -> Episode:
        return self.episodes[self._number(episode)]

    def _number(self, episode: Optional[int]) -> int:
        if episode is None and len(self) != 1:
            got = "{} holds {} episodes".format(self.path, len(self))
            raise ArgumentError(got + ", want the number of one", arg="episode", got=got, want="the number of one")
        return 0 if episode is None else self._at(episode)

    def _at(self, episode: int) -> int:
        """Returns the place of an episode, by its number, or if it is negative by its place from the end."""
        number = operator.index(episode)
        if -len(self) <= number < 0:
            return number + len(self)
        if number not in self._places:
            own = "" if list(self._places) == list(range(len(self))) else ", by their numbers {}".format(", ".join(map(str, self._places)))
            raise IndexError("episode {}: {} holds {}{}".format(number, self.path, len(self), own))
        return self._places[number]

    @property
    def streams(self) -> Dict[str, RecordedStream]:
        """The streams of a recording that is one episode."""
        return self._one(None).streams

    @property
    def media(self) -> Dict[str, Media]:
        """The cameras of a recording that is one episode."""
        return self._one(None).media

    @property
    def clouds(self) -> Dict[str, Clouds]:
        """The series of point clouds of a recording that is one episode."""
        return self._one(None).clouds

    def align(
        self,
        hz: Optional[float] = None,
        streams: Optional[Streams] = None,
        *,
        episode: Optional[int] = None,
        times: Any = None,
        plan: Plan = None,
        **options: Any,
    ) -> Aligned:
        """Puts the streams of an episode on one clock, each with arrays of its own, as ``robocache resample`` does.

        Args:
            hz: the rate of the clock.
            streams: those to take, in order: a list of names, or a dict of names to a kind ("linear", "previous", "slerp", ...)
                or to a dict of the options below and "from", "columns", "kind", "offset"; all that can be aligned unless given.
            episode: which one, of a dataset of several.
            times: [T], the clock's times, of the dtype that the streams' have, instead of hz.
            plan: a plan file, or its text, instead of all other arguments.
            options: range ("common", "intersection", "union", or (from, to) in seconds from the beginning), snap, unordered
                ("drop", "sort", "error"); and for all streams kind, edge, fill, max_gap, tolerance, window, fill_gaps,
                quat, period, dtype. Lengths of time are seconds, a timedelta, or a text such as "100ms". What each means and its
                default is said in docs/plans.md.

        Raises:
            PlanError: the clock or the streams cannot be so; RecordingError: a stream cannot be aligned, or not be read.
        """
        request, number = self._handle.request, self._number(episode)
        reply, data = _align(lambda do, blob, **f: request(do, blob, episode=number, **f), False, hz, streams, times, plan, options)
        return Aligned(reply, data, self._maker)

    def fuse(
        self,
        hz: Optional[float] = None,
        streams: Optional[Streams] = None,
        *,
        episode: Optional[int] = None,
        times: Any = None,
        plan: Plan = None,
        **options: Any,
    ) -> Fused:
        """Puts up to 16 streams of an episode on one clock, side by side in one array, as ``robocache fuse`` does.

        Arguments and errors are those of `align`. What is written where there is no value is 0 unless fill says otherwise.
        """
        request, number = self._handle.request, self._number(episode)
        reply, data = _align(lambda do, blob, **f: request(do, blob, episode=number, **f), True, hz, streams, times, plan, options)
        return Fused(reply, data, self._maker)

    def inspect(self, episode: Optional[int] = None, columns: bool = False) -> Tuple[Dict[str, Any], str]:
        """Reads all episodes, or one, and returns what ``robocache inspect`` says of them: its JSON, and its text.

        columns: the text names every column.
        """
        number = -1 if episode is None else self._number(episode)
        reply, _ = self._handle.request("inspect", episode=number, columns=columns)
        return reply["report"], reply["text"]

    def close(self) -> None:
        """Releases the files. Episodes that were read stay; closing twice is fine."""
        self._only = None
        self._handle.close()

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        # Another process, such as a data loader's worker, opens it anew.
        return _open, (self.path, *self._how)

    def __repr__(self) -> str:
        return "<Recording {}: {}, {} episode{}>".format(self.path, self.format, len(self), "" if len(self) == 1 else "s")

    def __str__(self) -> str:
        """The table of ``robocache inspect``; of a dataset of several episodes, that of the first."""
        try:
            return self.inspect(min(self._places) if len(self) > 1 else None)[1].rstrip("\n")
        except Error as e:
            return "{!r}: {}".format(self, e)

    def _repr_html_(self) -> str:
        return "<pre>{}</pre>".format(html.escape(str(self)))


def _open(path: str, clock: str, rate: Optional[float], strict: bool, framework: str, definitions: List[str], stretch: int, task_from: str = "") -> Recording:
    return Recording(path, clock=clock, rate=rate, strict=strict, framework=framework, definitions=definitions, stretch=stretch, task_from=task_from)
