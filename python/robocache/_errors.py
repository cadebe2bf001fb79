"""The package's errors.

All derive from `Error`, with fields for the argument, its value and the accepted values. Arguments have the names of the
Python functions: an error about the times of the third stream has ``arg == "streams[2].times"``.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Iterable, Mapping, Optional, Tuple, Type

__all__ = [
    "ArgumentError",
    "DataError",
    "DeviceError",
    "Error",
    "ForkError",
    "LoaderError",
    "OutOfMemoryError",
    "PlanError",
    "PolicyError",
    "RecordingError",
    "ServerError",
    "UnsupportedError",
    "VersionError",
]


class Error(Exception):
    """The base class of the package's errors. A field without a value is None.

    Attributes:
        op: the operation, for example "resample". arg: the argument, for example "streams[2].times".
        kind: the mistake in words, for example "wrong shape". got, want: the value and the accepted values, as text.
        row, index: the place in a tensor, from 0.
        path, stream: the file and the recorded stream.
        offset, array, line, column: the place in the file: a byte, an array of an archive, or a place in a text.
        system: True if the system or network failed, so that the same call may succeed later.

    Example:
        >>> import robocache as rc
        >>> error = rc.ArgumentError("no such edge", op="resample", arg="edge", got="wrap", want="clamp, fill, ...")
        >>> error.arg, error.got
        ('edge', 'wrap')
    """

    _FIELDS = (
        "op",
        "arg",
        "kind",
        "row",
        "index",
        "got",
        "want",
        "path",
        "stream",
        "offset",
        "array",
        "line",
        "column",
        "system",
    )

    def __init__(
        self,
        message: str,
        *,
        op: Optional[str] = None,
        arg: Optional[str] = None,
        kind: Optional[str] = None,
        row: Optional[int] = None,
        index: Optional[int] = None,
        got: Optional[str] = None,
        want: Optional[str] = None,
        path: Optional[str] = None,
        stream: Optional[str] = None,
        offset: Optional[int] = None,
        array: Optional[str] = None,
        line: Optional[int] = None,
        column: Optional[int] = None,
        system: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.op = op
        self.arg = arg
        self.kind = kind
        self.row = row
        self.index = index
        self.got = got
        self.want = want
        self.path = path
        self.stream = stream
        self.offset = offset
        self.array = array
        self.line = line
        self.column = column
        self.system = system

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> Tuple[Any, ...]:
        # Pickled errors keep their fields, for example from a data loader's workers.
        return _rebuild, (type(self), self.message, {f: getattr(self, f) for f in self._FIELDS})


def _rebuild(cls: Type[Error], message: str, fields: Dict[str, Any]) -> Error:
    return cls(message, **fields)


class ArgumentError(Error, ValueError):
    """An argument has a wrong shape, dtype, stride or value. The operation wrote nothing. Also a ValueError."""


class DataError(Error, ValueError):
    """A tensor has a value that the operation cannot use, such as times that decrease; row and index give the place. Also a ValueError.

    The operation finds it while it runs, so its output is unspecified.
    """


class DeviceError(Error, RuntimeError):
    """A GPU cannot be used, or failed; the message contains the driver's text. Also a RuntimeError."""


class OutOfMemoryError(Error, MemoryError):
    """The host or a device has too little free memory. Also a MemoryError."""


class RecordingError(Error, ValueError):
    """A recording cannot be read; path and stream name it. Also a ValueError."""


class PlanError(Error, ValueError):
    """A plan file, or a setting in a plan, cannot be used. Also a ValueError."""


class PolicyError(Error, ValueError):
    """A policy cannot be opened, or cannot predict from the given streams; path and stream name them. Also a ValueError."""


class LoaderError(Error, RuntimeError):
    """A loader cannot continue, or cannot begin from a state. Also a RuntimeError."""


class ServerError(Error, RuntimeError):
    """The helper process (the robocache binary) is missing, has ended, or broke its protocol. Also a RuntimeError.

    The next call starts another process. The message ends with the last lines that the process wrote.
    """


class VersionError(Error, RuntimeError):
    """The package and the robocache binary, or a plan and its reader, have different versions; the message names both."""


class ForkError(Error, RuntimeError):
    """The package was used before this process was forked, and cannot be used in this process. Also a RuntimeError.

    Start workers with the "spawn" or "forkserver" method.
    """


class UnsupportedError(Error, NotImplementedError):
    """The operation does not support the argument, for example the gradient of a kind without one. Also a NotImplementedError."""


# The Python class for each Go error type.
_CLASSES: Dict[str, Type[Error]] = {
    "ArgError": ArgumentError,
    "OptionError": ArgumentError,
    "UsageError": ArgumentError,
    "ValueError": DataError,
    "MemoryError": OutOfMemoryError,
    "FormatError": RecordingError,
    "RecordingError": RecordingError,
    "PlanError": PlanError,
    "PolicyError": PolicyError,
    "LoaderError": LoaderError,
    "DeviceError": DeviceError,
    "TargetError": DeviceError,
    "OpenError": DeviceError,
    "RequestError": ServerError,
    "FrameError": ServerError,
    "PanicError": ServerError,
    "VersionError": VersionError,
}

# Python's names for Go's arguments, if they differ from the Go name in snake_case.
_NAMES = {
    "Src": "values",
    "SrcTimes": "times",
    "SrcLengths": "lengths",
    "SrcOffsets": "offsets",
    "SrcStarts": "starts",
    "SrcGrad": "values.grad",
    "Dst": "out",
    "DstGrad": "grad",
    "DstLengths": "target_lengths",
    "DstOffsets": "target_offsets",
    "DType": "dtype",
    "Interp": "kind",
    "ClipMin": "clip",
    "ClipMax": "clip",
    "Times": "times",
    "Valid": "out.valid",
    "Age": "out.age",
    "Pad": "out.pad",
    "Values": "out.values",
    "Coords": "out.coords",
    "Counts": "out.counts",
    "RowSplits": "out.row_splits",
    "PointVoxel": "out.point_voxel",
    "Intrinsics": "K",
    "Indices": "k",
}
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_OF_ALL = re.compile(r"streams\[\d+\]\.targets")  # Go repeats the targets in each stream; in Python they are an argument of the call
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Go's argument names that can occur in an explanation. English words, such as Times, are left out.
_TOLD = re.compile(
    r"\b(?:Options\.)?(?:(?:Src|Dst)(?:Times|Lengths|Offsets|Starts|Grad)?|Clip(?:Min|Max)|Streams(?=\[)|"
    r"Max(?:Points|Voxels|Gap)|FuseOptions|DType)\b"
)


_PHRASES = {"FuseOptions": "the call", "ClipMin": "clip[0]", "ClipMax": "clip[1]"}


def snake(name: str) -> str:
    """Returns a Go name in Python's spelling: max_gap for MaxGap."""
    return _NAMES.get(name) or _HUMP.sub("_", name).lower()


def python_argument(arg: str) -> str:
    """Returns the Python name of an argument with a Go name: streams[2].times for Streams[2].SrcTimes."""
    arg = arg.replace("Options.", "")
    arg = _WORD.sub(lambda m: snake(m.group()), arg).replace("targets.times", "targets")
    return _OF_ALL.sub("targets", arg)


def python_words(text: str) -> str:
    """Returns an explanation with Python's argument names instead of Go's."""
    text = _TOLD.sub(lambda m: _PHRASES.get(m.group()) or snake(m.group().replace("Options.", "")), text)
    return re.sub(r"\bnil\b", "None", text)


def near(got: str, names: Iterable[str]) -> str:
    """Returns " (did you mean NAME?)" with the most similar name, or "" if none is similar to got."""
    import difflib  # here, because only errors need it

    close = difflib.get_close_matches(got, list(names), 1)
    return " (did you mean {}?)".format(close[0]) if close else ""


def closest(got: str, names: Iterable[str]) -> str:
    """Returns the three names most similar to got, and the number of the others; all names if there are at most three."""
    import difflib

    every = list(names)
    if len(every) <= 3:
        return ", ".join(every) or "none"
    return "{} and {} more".format(", ".join(difflib.get_close_matches(got, every, 3, 0)), len(every) - 3)


def _units(arg: str, got: str, want: str) -> str:
    """Returns an explanation of the units, for an error in the dtype of times or targets; "" for other arguments."""
    if arg.rsplit(".", 1)[-1] not in ("times", "targets"):
        return ""
    units = {"i64": "nanoseconds", "f64": "seconds", "f32": "seconds"}
    if got not in units:
        return " (whole numbers are int64 nanoseconds, floats seconds)"
    other = units.get(want[len("one of [") : -1], "")
    if other in ("", units[got]):
        return ""
    return " ({} are {}, {} {}: want both in one unit)".format("the other times" if arg != "targets" else "times", other, arg, units[got])


def from_reply(error: Mapping[str, Any]) -> Error:
    """Returns the exception for an error reply from the helper process."""
    cls = _CLASSES.get(str(error.get("class", "")), Error)
    kind = error.get("kind")
    if cls is ArgumentError and kind == "not supported":
        cls = UnsupportedError
    fields = {f: error[f] for f in Error._FIELDS if error.get(f) not in (None, "")}
    if error.get("code") == "system":
        fields["system"] = True
    if cls is not DataError:
        # In a DataError row 0 is a place; in other errors 0 is Go's zero value and means no row.
        for place in ("row", "index"):
            if fields.get(place) == 0:
                del fields[place]
    if "op" in fields:
        fields["op"] = snake(fields["op"])
    if "arg" in fields:
        fields["arg"] = python_argument(fields["arg"])
        if fields["arg"] in ("grid", "grid.size"):
            told = str(error.get("got", ""))
            fields["arg"] = (
                "size"
                if fields["arg"] == "grid.size"
                else "min, max"
                if "along" in told or "cells" in told
                else "out.grid"
            )
    for name in ("got", "want"):
        if name in fields:
            fields[name] = python_words(str(fields[name]))
    if issubclass(cls, (ArgumentError, DataError, UnsupportedError)) and "arg" in fields and kind:
        message = "{}: {}: {}".format(fields.get("op", "robocache"), fields["arg"], kind)
        if cls is DataError:
            message += " at row {}, index {}".format(fields.get("row", 0), fields.get("index", 0))
        if "got" in fields:
            message += ": got " + fields["got"]
        if "want" in fields:
            message += (", want " if "got" in fields else ": want ") + fields["want"]
            if kind == "wrong dtype":
                message += _units(str(fields["arg"]), str(fields.get("got")), str(fields["want"]))
            elif "got" in fields and fields["want"].startswith("one of ["):
                message += near(fields["got"].strip('"'), fields["want"][len("one of [") : -1].split())
    else:
        message = str(error.get("message") or kind or error.get("class") or "unknown error")
        if fields.get("arg"):
            message = re.sub(r"\b{}\b".format(re.escape(str(error["arg"]))), lambda _: str(fields["arg"]), message, count=1)
    return cls(message, **fields)
