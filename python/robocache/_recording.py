"""Recordings: files and folders that the robocache binary reads, as arrays with their clocks."""

from __future__ import annotations

import html
import operator
import os
import weakref
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Type, Union, overload

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
    """A recording or policy that is open in the helper process. If the process has ended, the next request opens it in a new one."""

    def __init__(self, options: Dict[str, Any], do: str = "open", closed: Type[Error] = RecordingError) -> None:
        self._options = options
        self._do = do
        self._error = closed
        self._child: Optional[_child.Child] = None
        self._end: Optional[weakref.finalize] = None
        self.closed = False
        self.opened: Dict[str, Any] = {}
        self._columns: List[Any] = []  # the lists of columns so far; a later episode refers to one by its index
        child = _child.shared()
        with child.lock:
            self._open(child)

    def _open(self, child: _child.Child) -> None:
        self.opened = child.request(self._do, **self._options)[0]
        self._child = child
        self._columns = []
        if self._end is not None:
            self._end.detach()
        # A finalizer may run during a request. It therefore adds the handle to a list, which the next request closes.
        dropped = child.memo.setdefault(_DROPPED, [])
        self._end = weakref.finalize(self, dropped.append, self.opened["handle"])
        self._end.atexit = False

    def request(self, do: str, blob: Any = None, **fields: Any) -> Tuple[Dict[str, Any], Any]:
        """Returns a reply, and the memory for its arrays or None."""
        if self.closed:
            raise self._error("{} was closed".format(self._options["path"]), path=self._options["path"])
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
        """Closes the recording. A second call does nothing."""
        self.closed = True
        child = self._child
        if self._end is not None and self._end.alive and child is not None and not child.closed:
            self._end()
            try:
                child.check_fork()  # before its lock, because a thread of the parent process may hold it
                with child.lock:
                    if not child.busy:  # a destructor may interrupt a request on this thread
                        self._drop(child)
            except (ServerError, ForkError):
                pass  # the process with the files has ended, or belongs to the parent


class Episode(Named):
    """One episode of a recording. Its arrays belong to it, and stay after the recording is closed.

    An episode is a mapping from names to streams, cameras and clouds: ``episode["imu"]``, ``for name, stream in episode.items()``.
    An episode cannot be pickled; its streams can, as copies.

    Attributes:
        streams: dict of `RecordedStream`. media: dict of `Media`, the cameras. clouds: dict of `Clouds`, series of point clouds.
        number: the dataset's own number, such as LeRobot's episode_index. name: the dataset's name for it.
        task: the task as text, or "". success: True, False, or None if the file has no such field. source: its path or URL, or "".
        frames: rows or steps; 0 for logs. steps: True if times count steps, one per second, because the rate is unknown.
        attributes: other facts in the file, as text.
        left_out: `LeftOut` data in the file without a stream, each with a reason. damage: `Damage`, lost parts of a damaged file.
        dropouts: `Dropout`, losses that the recorder logged. remarks: choices of the reader that you may want to change, as text.
        notes: all these facts as a list of `Note`, with codes for programs.
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
        """Returns the stream, camera or series of clouds with a name. An unknown name is a KeyError with similar names."""
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
        """Resamples the streams onto one clock, each with its own arrays; see `Recording.align`."""
        reply, data = self._aligned(False, hz, streams, times, plan, options)
        return Aligned(reply, data, self._maker)

    def fuse(
        self, hz: Optional[float] = None, streams: Optional[Streams] = None, *, times: Any = None, plan: Plan = None, **options: Any
    ) -> Fused:
        """Resamples the streams onto one clock, side by side in one array; see `Recording.fuse`."""
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
    """Returns a note's sentence with its subject."""
    return str(note["text"] if note["subject"] in note["text"] else "{subject}: {text}".format(**note))


def _free(names: Mapping[str, Any], name: str) -> str:
    """Returns name, or name with a number if it is taken: a file may have two streams with one name."""
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
    """The episodes of a recording, a sequence by place from 0. An episode is read at each access, and not cached.

    An episode that cannot be read raises `RecordingError`. The iterator can continue with the next episode after the error.
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
    """A recording, or a dataset with several episodes, in any format that ``robocache inspect`` reads. The content determines the format.

    Args:
        path: a file or folder: ULog, LeRobot, RLDS, HDF5 (robomimic, ALOHA, Isaac Lab), CALVIN, TUM, CSV, .npz, .safetensors, or a
            folder of such files, one episode each; robot logs as MCAP, ROS 1 bags or rosbag2.
        clock: the source of the times, one of `info.clocks`, for formats with several clocks. Default: the format's.
        rate: steps per second, Hz, for a format without times. It replaces the rate in the file, if any.
        strict: refuse a file with any damage. Else intact parts are read, and `Episode.damage` counts lost parts.
        framework: "numpy" or "torch", for arrays. NumPy has no bfloat16: its arrays are uint16 with the same bits.
        definitions: folders or files with message definitions (.msg, .idl), for logs without definitions of their types.
        stretch: for a log with a clock that was set back while recording: the part to read, from 1; -1 reads all, mixed.
        task_from: a topic with text, or a text column, with the task. A row's task is the last text at or before its time.

    Attributes:
        info: the dataset's description, with format, rate_hz, clocks, features and tasks. problems: differences from it.

    Raises:
        RecordingError: the path cannot be read, or its format is unknown. Its offset, line and array name the place, if known.
        ArgumentError: an option that the recording does not have.

    Example:
        >>> import robocache as rc
        >>> rec = rc.Recording("flight.ulg")
        >>> rec["sensor_combined"].values.shape, rec["sensor_combined"].times.dtype
        ((1298, 10), dtype('int64'))
        >>> out = rec.align(hz=100, streams={"sensor_combined": "linear", "vehicle_attitude": "slerp"}, max_gap=0.1)
        >>> out["vehicle_attitude"].values.shape == (len(out.times), 9)
        True

    Ownership: arrays are private memory that the helper process filled; you may write to them. The memory of an episode is freed with
    its last array; a recording with one episode keeps it until closed. Close the recording, or use ``with``, to release its files.
    A Recording can be pickled: another process opens it again. Methods may be called from any thread.
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
        """The name of the format, for example "ulog"."""
        return self.info.format

    @property
    def episodes(self) -> Episodes:
        """The episodes as a sequence; each is read at access."""
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
        """Returns an episode by number, episodes by slice, or a stream by name.

        A number is the dataset's own, as in `Episode.number` and a Loader's episode_index; a negative number counts from the end. A slice
        selects by place, as in `episodes`. A name is for a recording with one episode: a stream, camera or series of clouds.
        """
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
        """Returns an episode's place from its number; a negative number counts places from the end. An unknown number is an IndexError."""
        number = operator.index(episode)
        if -len(self) <= number < 0:
            return number + len(self)
        if number not in self._places:
            own = "" if list(self._places) == list(range(len(self))) else ", by their numbers {}".format(", ".join(map(str, self._places)))
            raise IndexError("episode {}: {} holds {}{}".format(number, self.path, len(self), own))
        return self._places[number]

    @property
    def streams(self) -> Dict[str, RecordedStream]:
        """The streams, for a recording with one episode; else ArgumentError."""
        return self._one(None).streams

    @property
    def media(self) -> Dict[str, Media]:
        """The cameras, for a recording with one episode; else ArgumentError."""
        return self._one(None).media

    @property
    def clouds(self) -> Dict[str, Clouds]:
        """The series of point clouds, for a recording with one episode; else ArgumentError."""
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
        """Resamples an episode's streams onto one clock, each with its own arrays, like ``robocache resample``.

        Args:
            hz: the rate of the clock, Hz. Give one of hz, times and plan.
            streams: names in order, or a dict from names to a kind ("linear", "previous", "slerp", ...), or to a dict with the options
                below and "from", "columns", "kind", "offset". Default: all streams that can be aligned.
            episode: the number of the episode; required if there are several.
            times: [T], the clock's times, with the dtype of the streams' times.
            plan: a plan file, or its text, instead of all other arguments.
            options: range ("common", "intersection", "union", or (from, to) in seconds from the beginning), snap, unordered ("drop",
                "sort", "error"); and for all streams kind, edge, fill, max_gap, tolerance, window, fill_gaps, quat, period, dtype.
                Durations are seconds, a timedelta, or text such as "100ms". docs/plans.md has their meanings and defaults.

        Raises:
            PlanError: the clock or a stream's options are not possible. RecordingError: a stream cannot be aligned or read.
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
        """Resamples up to 16 streams of an episode onto one clock, side by side in one array, like ``robocache fuse``.

        Arguments and errors are those of `align`. A missing value is 0, or fill, and not valid.
        """
        request, number = self._handle.request, self._number(episode)
        reply, data = _align(lambda do, blob, **f: request(do, blob, episode=number, **f), True, hz, streams, times, plan, options)
        return Fused(reply, data, self._maker)

    def inspect(self, episode: Optional[int] = None, columns: bool = False) -> Tuple[Dict[str, Any], str]:
        """Reads all episodes, or one, and returns the report of ``robocache inspect``: its JSON as a dict, and its text.

        Args:
            episode: the number of one episode. Default: all.
            columns: name every column in the text.
        """
        number = -1 if episode is None else self._number(episode)
        reply, _ = self._handle.request("inspect", episode=number, columns=columns)
        return reply["report"], reply["text"]

    def close(self) -> None:
        """Releases the files. Episodes that were read stay valid. A second call does nothing."""
        self._only = None
        self._handle.close()

    def __enter__(self) -> "Recording":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        # Another process, such as a data loader's worker, opens the path again.
        return _open, (self.path, *self._how)

    def __repr__(self) -> str:
        return "<Recording {}: {}, {} episode{}>".format(self.path, self.format, len(self), "" if len(self) == 1 else "s")

    def __str__(self) -> str:
        """The table of ``robocache inspect``; for a dataset, the table of its first episode."""
        try:
            return self.inspect(min(self._places) if len(self) > 1 else None)[1].rstrip("\n")
        except Error as e:
            return "{!r}: {}".format(self, e)

    def _repr_html_(self) -> str:
        return "<pre>{}</pre>".format(html.escape(str(self)))


def _open(path: str, clock: str, rate: Optional[float], strict: bool, framework: str, definitions: List[str], stretch: int, task_from: str = "") -> Recording:
    return Recording(path, clock=clock, rate=rate, strict=strict, framework=framework, definitions=definitions, stretch=stretch, task_from=task_from)
