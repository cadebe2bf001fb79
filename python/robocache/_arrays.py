"""Arrays of each framework: recognition, memory layout, and new arrays.

This module imports no framework that the caller has not imported: an array's type names its framework.
"""

from __future__ import annotations

import importlib
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ._errors import ArgumentError, OutOfMemoryError, UnsupportedError, python_argument

HOST = -1

SIZES = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "u8": 1}
FLOATS = ("f32", "f64", "f16", "bf16")

# The names that NumPy, torch and JAX use, and ours.
_DTYPES = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
    "uint8": "u8",
    "float": "f32",
    "double": "f64",
    "half": "f16",
}


class View(NamedTuple):
    """An array's memory layout. strides are in elements; device is a CUDA device's number, or `HOST`.

    array keeps the memory alive. pointer is the address of the first element.
    """

    array: Any
    dtype: str
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    pointer: int
    device: int

    @property
    def nbytes(self) -> int:
        """The size of its elements without gaps, bytes."""
        n = SIZES[self.dtype]
        for d in self.shape:
            n *= d
        return n


class Framework:
    """The interface of a framework. dtypes are names such as "f32"; device is as in `View`."""

    name = ""

    def view(self, x: Any) -> View:
        """Returns an array's view. If the operations cannot read its layout, the view is of a copy."""
        raise NotImplementedError

    def output(self, x: Any) -> View:
        """Returns the view of an array to write to. It is never a copy."""
        raise NotImplementedError

    def empty(self, dtype: str, shape: Tuple[int, ...], device: int, like: Any) -> View:
        """Returns the view of a new array on a device, with like's type. The dtype may be "bool", for masks with u8 elements."""
        raise NotImplementedError

    def result(self, view: View) -> Any:
        """Returns the caller's array for an output, after it is written."""
        return view.array

    def stream(self, device: int) -> int:
        """Returns the framework's current stream on a device, as the driver's handle."""
        raise NotImplementedError

    def queued(self, views: Iterable[View], device: int) -> None:
        """Is called after work that uses the views is queued on the stream."""

    def rows(self, view: View, n: int) -> View:
        """Returns the view of the first n rows."""
        return view._replace(array=view.array[:n], shape=(n,) + view.shape[1:])

    def head(self, view: View, n: int) -> Any:
        """Returns the first n rows of a new output; as a copy if that frees more than half of its memory."""
        x = self.result(view)
        if n == view.shape[0]:
            return x
        return self.copy(x[:n]) if 2 * n < view.shape[0] else x[:n]

    def clear(self, view: View) -> None:
        """Fills a new array with zeros."""
        view.array[...] = 0

    def copy(self, x: Any) -> Any:
        """Returns a copy of an array."""
        return x.copy()

    def bounds(self, points: View) -> Optional[Tuple[List[float], List[float]]]:
        """Returns the minimum and maximum coordinates of the finite points in points [N,3], or None if there are none."""
        raise NotImplementedError

    def asarray(self, x: Any, like: Any, floats: bool) -> Any:
        """Returns a list's numbers as an array on like's device; with floats, whole numbers become float64."""
        raise NotImplementedError

    def cast(self, x: Any, dtype: str) -> Any:
        """Returns an array from asarray with another dtype."""
        return x.astype({"f32": "float32", "f64": "float64", "u8": "uint8"}[dtype])

    def join(self, arrays: Sequence[Any]) -> Any:
        """Returns arrays side by side, along their last dimension."""
        module = importlib.import_module("jax.numpy" if self.name == "jax" else self.name)
        return getattr(module, "cat" if self.name == "torch" else "concatenate")(tuple(arrays), -1)

    def words(self, x: Any) -> Any:
        """Returns uint16 [...] as bytes [...,2], low byte first."""
        return x.astype("<u2", order="C", copy=False).view("uint8").reshape(x.shape + (2,))

    def write(self, arena: memoryview, at: int, view: View) -> None:
        """Copies an array on any device to an offset of host memory, contiguously."""
        raise NotImplementedError

    def read(self, view: View, arena: memoryview, at: int) -> None:
        """Copies contiguous host memory at an offset to an array on any device."""
        raise NotImplementedError


_known: Dict[type, Framework] = {}
# The module for each framework, by the package that defines the type of its arrays.
_MODULES = {"numpy": "_numpy", "torch": "_torch", "jax": "_jax", "jaxlib": "_jax", "cupy": "_cupy"}


def framework_of(x: Any) -> Optional[Framework]:
    """Returns the framework of an array, or None for other objects such as lists."""
    cls = type(x)
    found = _known.get(cls)
    if found is not None:
        return found
    for base in cls.__mro__:
        module = _MODULES.get((base.__module__ or "").split(".", 1)[0])
        if module is not None and hasattr(x, "shape"):
            framework: Framework = importlib.import_module("." + module, __package__).framework
            _known[cls] = framework
            return framework
    return None


def numpy_framework() -> Framework:
    """Returns the framework NumPy, for lists."""
    try:
        framework: Framework = importlib.import_module("._numpy", __package__).framework
    except ImportError as e:
        raise UnsupportedError("lists are taken as NumPy arrays, and NumPy is not installed") from e
    return framework


def dtype_name(dtype: Any, arg: str = "dtype", op: Optional[str] = None) -> str:
    """Returns our name for a dtype, from a name or a dtype of NumPy, torch or JAX. An unknown dtype is an ArgumentError."""
    name = (
        dtype
        if isinstance(dtype, str)
        else getattr(dtype, "__name__", None) or getattr(dtype, "name", None) or str(dtype)
    )
    name = str(name).rsplit(".", 1)[-1]
    name = _DTYPES.get(name, name)
    if name not in SIZES:
        raise ArgumentError(
            "{}{}: wrong dtype: got {!r}, want one of {}".format(op + ": " if op else "", arg, dtype, ", ".join(SIZES)),
            op=op, arg=arg, kind="wrong dtype", got=str(dtype), want=", ".join(SIZES),
        )  # fmt: skip
    return name


def contiguous_strides(shape: Sequence[int]) -> Tuple[int, ...]:
    """Returns the strides of a contiguous array, in elements."""
    strides: List[int] = []
    n = 1
    for d in reversed(shape):
        strides.append(n)
        n *= d
    return tuple(reversed(strides))


def device_name(device: int) -> str:
    """Returns "cpu" or "cuda:N"."""
    return "cpu" if device == HOST else "cuda:{}".format(device)


_TIMES = ("SrcTimes", "Targets")
_VALUES = "float32, float64, float16 or bfloat16"
_TAKEN = {
    "Src": _VALUES,
    "Features": _VALUES,
    "DstGrad": _VALUES,
    "SrcTimes": "int64 (nanoseconds), float64 or float32 (seconds)",
    "Targets": "int64 (nanoseconds), float64 or float32 (seconds)",
    "Points": "float32 or float64",
    "Depth": "uint16 or floats",
    "Color": "uint8",
    "Intrinsics": "floats",
    "Poses": "float32, or float64 with float64 points",
    "Labels": "int32",
}


def takes(name: str) -> str:
    """Returns the dtypes that an argument accepts, as text."""
    return _TAKEN.get(name.rsplit(".", 1)[-1], "int64")


def clock_lists(framework: Framework, like: Any, arrays: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns lists of times and targets as arrays, with the dtype of the other times.

    Floats are seconds, and integers next to seconds are too. Floats next to nanoseconds are an ArgumentError.
    """
    lists: Dict[str, Any] = {}
    clock = ""
    for name, x in arrays.items():
        if name.rsplit(".", 1)[-1] in _TIMES:
            if framework_of(x) is None:
                lists[name] = x
            else:
                of = str(x.dtype).rsplit(".", 1)[-1]
                clock = clock or ("i64" if of.startswith(("datetime64", "timedelta64")) else _DTYPES.get(of, ""))
    if not lists:
        return lists
    made = {}
    for name, x in lists.items():
        try:
            made[name] = framework.asarray(x, like, False)
        except ArgumentError as e:
            raise named(name, e) from None
    seconds = {name: str(x.dtype).rsplit(".", 1)[-1].startswith("float") for name, x in made.items()}
    if clock == "i64":
        for name in made:
            if seconds[name]:
                want = "whole nanoseconds: 500_000_000 is half a second; or all times in seconds, as float64"
                raise named(name, wrong("a list of floats beside int64 nanoseconds", want))
    elif clock in ("f32", "f64") or any(seconds.values()):
        return {name: framework.cast(x, clock or "f64") for name, x in made.items()}
    return made


def named(name: str, e: ArgumentError) -> ArgumentError:
    """Returns an error about an array with the name of its argument added, because a framework's errors have no name."""
    arg = python_argument(name)
    return ArgumentError("{}: {}".format(arg, e), arg=arg, kind=e.kind, got=e.got, want=e.want)


class Group:
    """The arrays of one call, all from one framework and on one device.

    Lists become arrays of that framework, or of NumPy if all are lists. NumPy arrays may be mixed with JAX arrays, because JAX has no
    64-bit types unless they are enabled. bits: NumPy uint16 in values and outputs are the bits of bfloat16; else they are refused,
    because they look like counts.
    """

    __slots__ = ("op", "framework", "like", "device", "views", "bits")

    def __init__(
        self, op: str, arrays: Mapping[str, Any], shapes_only: Optional[Framework] = None, bits: bool = False
    ) -> None:
        self.op = op
        self.bits = bits
        framework: Optional[Framework] = None
        first = ""
        for name, x in arrays.items():
            found = shapes_only or framework_of(x)
            if found is None or found is framework:
                continue
            if framework is None or framework.name == "numpy" and found.name == "jax":
                framework, first = found, name
            elif not (framework.name == "jax" and found.name == "numpy"):
                arg = python_argument(name)
                raise ArgumentError(
                    "{}: {}: mixed frameworks: got an array of {}, want one of {}, as {} is".format(
                        op, arg, found.name, framework.name, python_argument(first)
                    ),
                    op=op, arg=arg, kind="mixed frameworks", got=found.name, want=framework.name,
                )  # fmt: skip
        if framework is None:
            framework, first = numpy_framework(), next(iter(arrays))
            self.like: Any = None
        else:
            self.like = arrays[first]
        self.framework = framework
        if shapes_only is None:
            try:
                lists = clock_lists(framework, self.like, arrays)
            except ArgumentError as e:
                raise self._of_op(e) from None
            arrays = {**arrays, **lists} if lists else arrays
        self.views: Dict[str, View] = {}
        self.device = HOST
        if first in arrays:
            self.device = self._add(first, arrays[first]).device
        for name, x in arrays.items():
            if name != first:
                self.add(name, x)

    def _add(self, name: str, x: Any) -> View:
        found = framework_of(x)
        if found is not None and found.name == self.framework.name:
            found = self.framework
        try:
            if found is None:
                # Whole numbers in a list of values become float64, because values are floats.
                x = self.framework.asarray(x, self.like, name.endswith(("Src", "Points", "Features")))
                found = self.framework
            view = found.view(x)
            if view.dtype == "bf16" and not (self.bits and name.endswith("Src")) and _uint16(x):
                raise wrong("uint16", takes(name) + (_BITS if name.endswith("Src") else ""))
        except ArgumentError as e:
            if e.kind == "wrong dtype" and e.want is not None and e.want.startswith("one of"):
                e = wrong(str(e.got), takes(name))  # the framework's text lists the dtypes for all arguments
            raise self._of_op(named(name, e)) from None
        except UnsupportedError as e:
            raise self._unsupported(python_argument(name), e) from e
        except MemoryError as e:
            raise OutOfMemoryError("{}: {}: no memory for a copy: {}".format(self.op, python_argument(name), e)) from e
        self.views[name] = view
        return view

    def _unsupported(self, arg: str, e: UnsupportedError) -> UnsupportedError:
        return UnsupportedError("{}: {}: {}".format(self.op, arg, e), op=self.op, arg=arg, kind="not supported")

    def _of_op(self, e: ArgumentError) -> ArgumentError:
        text = "{}: {}".format(self.op, e)
        return ArgumentError(text, op=self.op, arg=e.arg, kind=e.kind, got=e.got, want=e.want)

    def add(self, name: str, x: Any) -> View:
        """Adds an input and returns its view."""
        view = self._add(name, x)
        # NumPy arrays in a call with JAX arrays on a GPU are copied there.
        if view.device != self.device and not (view.device == HOST and self.framework.name == "jax"):
            raise self._wrong_device(python_argument(name), view)
        return view

    def _wrong_device(self, name: str, view: View) -> ArgumentError:
        got, want = device_name(view.device), device_name(self.device)
        return ArgumentError(
            "{}: {}: wrong device: got {}, want {}, as the other arrays".format(self.op, name, got, want),
            op=self.op, arg=name, kind="wrong device", got=got, want=want,
        )  # fmt: skip

    def output(self, arg: str, given: Any, dtype: str, shape: Tuple[int, ...]) -> View:
        """Returns the view of a caller's output array, checked, or of a new one."""
        if given is None:
            return self.framework.empty(dtype, shape, self.device, self.like)
        found = framework_of(given)
        if found is not self.framework:
            got = "an array of " + found.name if found is not None else type(given).__name__
            raise ArgumentError(
                "{}: {}: got {}, want an array of {}".format(self.op, arg, got, self.framework.name),
                op=self.op, arg=arg, kind="mixed frameworks", got=got, want=self.framework.name,
            )  # fmt: skip
        try:
            view = self.framework.output(given)
            said = dtype in ("", "bf16") or self.bits and arg == "out"
            if view.dtype == "bf16" and not said and _uint16(given):
                raise wrong("uint16", _VALUES + _BITS if arg == "out" else "another dtype")
        except ArgumentError as e:
            raise self._of_op(named(arg, e)) from None
        except UnsupportedError as e:
            raise self._unsupported(arg, e) from e
        if view.device != self.device:
            raise self._wrong_device(arg, view)
        return view


_BITS = '; or dtype="bf16", which says that uint16 are the bits of bfloat16'


def _uint16(x: Any) -> bool:
    return getattr(x.dtype, "name", "") == "uint16"


def wrong(got: str, want: str, kind: str = "wrong dtype") -> ArgumentError:
    """Returns the error for an array that a framework cannot use. The caller adds the argument's name."""
    return ArgumentError("{}: got {}, want {}".format(kind, got, want), kind=kind, got=got, want=want)


def check_outputs(op: str, outputs: Mapping[str, View], inputs: Mapping[str, View], given: Mapping[str, Any]) -> None:
    """Checks the caller's output arrays: the last dimension is contiguous, and no two arrays share memory."""
    others = list(inputs.values())
    for name, view in outputs.items():
        if given.get(name) is not None:
            arg = "out.grid" if name == "Grid" else python_argument(name)
            if view.shape and view.shape[-1] > 1 and view.strides[-1] != 1:
                raise _refused(
                    op, arg, "wrong strides", "stride {} in the last dimension".format(view.strides[-1]), "1"
                )
            if overlaps_itself(view):
                raise _refused(
                    op,
                    arg,
                    "output overlaps itself",
                    "strides {}".format(view.strides),
                    "no two indices on one element",
                )
            if any(overlap(view, o) for o in others):
                raise _refused(op, arg, "output overlaps itself", "memory of another argument", "memory of its own")
        others.append(view)


def _refused(op: str, arg: str, kind: str, got: str, want: str) -> ArgumentError:
    return ArgumentError(
        "{}: {}: {}: got {}, want {}".format(op, arg, kind, got, want), op=op, arg=arg, kind=kind, got=got, want=want
    )


def overlaps_itself(view: View) -> bool:
    """Reports whether two indices of an array may refer to one element."""
    if 0 in view.shape:
        return False
    extent = 1
    for stride, n in sorted((s, n) for s, n in zip(view.strides, view.shape) if n > 1):
        if stride < extent:
            return True
        extent += (n - 1) * stride
    return False


def overlap(a: View, b: View) -> bool:
    """Reports whether the memory ranges from the first to the last element of two arrays overlap."""
    if a.device != b.device or 0 in a.shape or 0 in b.shape:
        return False
    return a.pointer < _after(b) and b.pointer < _after(a)


def _after(view: View) -> int:
    """Returns the address after an array's last element. No stride is negative."""
    return view.pointer + SIZES[view.dtype] * (1 + sum((n - 1) * s for n, s in zip(view.shape, view.strides)))
