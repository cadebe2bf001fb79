"""The package's errors.

All derive from `Error`, whose fields say what an operation was given and what it takes. The names of arguments are
those of the Python functions: an error about times of the third stream has ``arg == "streams[2].times"``.
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
    "RecordingError",
    "ServerError",
    "UnsupportedError",
    "VersionError",
]


class Error(Exception):
    """What every error of this package is.

    op: the operation, such as ``"resample"``. arg: the argument it is about, such as ``"streams[2].times"``. kind: what
    is wrong with it, in words: ``"wrong shape"``. got, want: what was given and what can be. row, index: where in a
    tensor. path, stream: the file and the recorded stream. offset, array, line, column: where in the file, by its
    bytes, in an archive of arrays, or in a text. system: True if the system or the network caused
    the error, so that the same call may succeed later. A field that says nothing is None.

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
        # Errors travel between processes, from a data loader's workers for instance, and keep their fields.
        return _rebuild, (type(self), self.message, {f: getattr(self, f) for f in self._FIELDS})


def _rebuild(cls: Type[Error], message: str, fields: Dict[str, Any]) -> Error:
    return cls(message, **fields)


class ArgumentError(Error, ValueError):
    """An argument that an operation cannot take: its shape, dtype, strides or option. Nothing was written."""


class DataError(Error, ValueError):
    """A value in a tensor that an operation cannot use, such as times that go backwards; row and index say where.

    It is found where the work is done: the output is then unspecified.
    """


class DeviceError(Error, RuntimeError):
    """A GPU that cannot be used, or that failed; the message has the driver's own words."""


class OutOfMemoryError(Error, MemoryError):
    """There is not as much memory as was asked for, on the host or on a device."""


class RecordingError(Error, ValueError):
    """A recording that cannot be read; path and stream say which."""


class PlanError(Error, ValueError):
    """A plan file or a plan's settings that cannot be used."""


class LoaderError(Error, RuntimeError):
    """A loader that cannot go on, or a state that it cannot begin from."""


class ServerError(Error, RuntimeError):
    """The helper process (the robocache binary) is missing, has ended or broke its protocol. The next call starts
    another.

    The message ends with the last lines that the process wrote.
    """


class VersionError(Error, RuntimeError):
    """The package and the robocache binary, or a plan and its reader, are of two versions. Both are named."""


class ForkError(Error, RuntimeError):
    """The package was used before this process was forked, and cannot be used on this side of the fork."""


class UnsupportedError(Error, NotImplementedError):
    """Something that the operation cannot do with what it was given, such as the gradient of a kind that has none."""


# Go's error types, by what each is here.
_CLASSES: Dict[str, Type[Error]] = {
    "ArgError": ArgumentError,
    "OptionError": ArgumentError,
    "UsageError": ArgumentError,
    "ValueError": DataError,
    "MemoryError": OutOfMemoryError,
    "FormatError": RecordingError,
    "RecordingError": RecordingError,
    "PlanError": PlanError,
    "LoaderError": LoaderError,
    "DeviceError": DeviceError,
    "TargetError": DeviceError,
    "OpenError": DeviceError,
    "RequestError": ServerError,
    "FrameError": ServerError,
    "PanicError": ServerError,
    "VersionError": VersionError,
}

# Go's names of arguments, where Python's are not the same in snake_case.
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
}
_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*")
_OF_ALL = re.compile(r"streams\[\d+\]\.targets")  # as one stream has them: they are the call's
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Names that may stand inside an explanation: those above, and others that are no words of English.
_TOLD = re.compile(
    r"\b(?:Options\.)?(?:(?:Src|Dst)(?:Times|Lengths|Offsets|Starts|Grad)?|Clip(?:Min|Max)|Streams(?=\[)|"
    r"Max(?:Points|Voxels|Gap)|FuseOptions|DType)\b"
)


_PHRASES = {"FuseOptions": "the call", "ClipMin": "clip[0]", "ClipMax": "clip[1]"}


def snake(name: str) -> str:
    """Returns a Go name as Python writes it: MaxGap is max_gap."""
    return _NAMES.get(name) or _HUMP.sub("_", name).lower()


def python_argument(arg: str) -> str:
    """Returns the Python name of an argument that Go names: Streams[2].SrcTimes is streams[2].times."""
    arg = arg.replace("Options.", "")
    arg = _WORD.sub(lambda m: snake(m.group()), arg).replace("targets.times", "targets")
    return _OF_ALL.sub("targets", arg)


def python_words(text: str) -> str:
    """Returns an explanation with Go's names of arguments replaced by Python's."""
    text = _TOLD.sub(lambda m: _PHRASES.get(m.group()) or snake(m.group().replace("Options.", "")), text)
    return re.sub(r"\bnil\b", "None", text)


def near(got: str, names: Iterable[str]) -> str:
    """Returns the question whether one of the names was meant, or "" if none is like what was got."""
    import difflib  # which only errors need

    close = difflib.get_close_matches(got, list(names), 1)
    return " (did you mean {}?)".format(close[0]) if close else ""


def closest(got: str, names: Iterable[str]) -> str:
    """Returns the three names that are most like what was got, and how many others there are."""
    import difflib

    every = list(names)
    if len(every) <= 3:
        return ", ".join(every) or "none"
    return "{} and {} more".format(", ".join(difflib.get_close_matches(got, every, 3, 0)), len(every) - 3)


def _units(arg: str, got: str, want: str) -> str:
    """Returns what an error of the dtype of times means, or "" for other arguments."""
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
    """Returns the exception that an error reply of the helper process stands for."""
    cls = _CLASSES.get(str(error.get("class", "")), Error)
    kind = error.get("kind")
    if cls is ArgumentError and kind == "not supported":
        cls = UnsupportedError
    fields = {f: error[f] for f in Error._FIELDS if error.get(f) not in (None, "")}
    if error.get("code") == "system":
        fields["system"] = True
    if cls is not DataError:
        # Row 0 is a place in a tensor there; elsewhere it is Go's zero value.
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
