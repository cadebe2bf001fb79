"""Arrays of the frameworks: which one an array is of, what it looks like in memory, and how others like it are made.

No framework is imported here that the caller has not imported: an array's type says which one it is.
"""

from __future__ import annotations

import importlib
from typing import Any, Dict, Iterable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from ._errors import ArgumentError, OutOfMemoryError, UnsupportedError, python_argument

HOST = -1

SIZES = {"f32": 4, "f64": 8, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "u8": 1}
FLOATS = ("f32", "f64", "f16", "bf16")

# Other names of the dtypes: those of NumPy, torch and JAX.
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
    """An array as the operations see it. strides are in elements; device is the number of a CUDA device, or `HOST`.

    array is what keeps the memory alive.
    """

    array: Any
    dtype: str
    shape: Tuple[int, ...]
    strides: Tuple[int, ...]
    pointer: int
    device: int

    @property
    def nbytes(self) -> int:
        """The bytes of as many elements, one after the other."""
        n = SIZES[self.dtype]
        for d in self.shape:
            n *= d
        return n


class Framework:
    """What is asked of a framework. dtypes are names such as "f32"; device is as in `View`."""

    name = ""

    def view(self, x: Any) -> View:
        """Returns an array's view. An array that the operations cannot read as it lies is copied."""
        raise NotImplementedError

    def output(self, x: Any) -> View:
        """Returns the view of an array that is written to, and so is never copied."""
        raise NotImplementedError

    def empty(self, dtype: str, shape: Tuple[int, ...], device: int, like: Any) -> View:
        """Returns a new array on a device, made as like, an input, is. The dtype may be "bool": masks of u8."""
        raise NotImplementedError

    def result(self, view: View) -> Any:
        """Returns what the caller gets for an output, once it is written."""
        return view.array

    def stream(self, device: int) -> int:
        """Returns the stream that the framework's work on a device is on, as the driver's handle."""
        raise NotImplementedError

    def queued(self, views: Iterable[View], device: int) -> None:
        """Is told once work that uses the views is queued on the stream."""

    def rows(self, view: View, n: int) -> View:
        """Returns the view of the first n rows."""
        return view._replace(array=view.array[:n], shape=(n,) + view.shape[1:])

    def head(self, view: View, n: int) -> Any:
        """Returns the first n rows of a new output, without the memory of the others where it is much."""
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
        """Returns the least and the greatest coordinates of those points [N,3] that are finite, or None."""
        raise NotImplementedError

    def asarray(self, x: Any, like: Any, floats: bool) -> Any:
        """Returns an array of a list's numbers, beside another array; whole numbers are taken as float64 if floats."""
        raise NotImplementedError

    def cast(self, x: Any, dtype: str) -> Any:
        """Returns what asarray made in another dtype."""
        return x.astype({"f32": "float32", "f64": "float64"}[dtype])

    def write(self, arena: memoryview, at: int, view: View) -> None:
        """Copies an array, on whatever device, to an offset of host memory, one element after the other."""
        raise NotImplementedError

    def read(self, view: View, arena: memoryview, at: int) -> None:
        """Copies what `write` would have written back to an array."""
        raise NotImplementedError


_known: Dict[type, Framework] = {}
# The modules that know a framework, by the package that its arrays' types are of.
_MODULES = {"numpy": "_numpy", "torch": "_torch", "jax": "_jax", "jaxlib": "_jax", "cupy": "_cupy"}


def framework_of(x: Any) -> Optional[Framework]:
    """Returns the framework that x is an array of, or None: a list, for instance."""
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
    """Returns NumPy's, which lists are taken as."""
    try:
        framework: Framework = importlib.import_module("._numpy", __package__).framework
    except ImportError as e:
        raise UnsupportedError("lists are taken as NumPy arrays, and NumPy is not installed") from e
    return framework


def dtype_name(dtype: Any, arg: str = "dtype", op: Optional[str] = None) -> str:
    """Returns the name of a dtype, given as a name or as NumPy's, torch's or JAX's."""
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
    """Returns the strides, in elements, of an array whose elements lie one after the other."""
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
    "Poses": "float32, or float64 with float64 points",
    "Labels": "int32",
}


def takes(name: str) -> str:
    """Returns the dtypes that an argument takes, in words."""
    return _TAKEN.get(name.rsplit(".", 1)[-1], "int64")


def clock_lists(framework: Framework, like: Any, arrays: Mapping[str, Any]) -> Dict[str, Any]:
    """Returns arrays of those times and targets that are lists: of the dtype of the times beside them.

    Floats are seconds, and so are integers beside seconds. Raises ArgumentError for floats beside nanoseconds.
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
    """Returns an error about an array with the name of its argument, which its framework does not know."""
    arg = python_argument(name)
    return ArgumentError("{}: {}".format(arg, e), arg=arg, kind=e.kind, got=e.got, want=e.want)


class Group:
    """The arrays of one call: of one framework and on one device.

    Lists and other sequences become arrays of that framework, of NumPy where there is none. NumPy arrays may stand
    beside JAX's, which has no 64-bit types unless they are turned on. bits: values and outputs of NumPy's uint16 are
    the bits of bfloat16; else they are refused, since they look like counts.
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
                # A list has no dtype of its own, and values are never whole numbers.
                x = self.framework.asarray(x, self.like, name.endswith(("Src", "Points", "Features")))
                found = self.framework
            view = found.view(x)
            if view.dtype == "bf16" and not (self.bits and name.endswith("Src")) and _uint16(x):
                raise wrong("uint16", takes(name) + (_BITS if name.endswith("Src") else ""))
        except ArgumentError as e:
            if e.kind == "wrong dtype" and e.want is not None and e.want.startswith("one of"):
                e = wrong(str(e.got), takes(name))  # the framework's list is that of all arguments
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
        """Takes one more input."""
        view = self._add(name, x)
        # NumPy's among JAX's on a GPU: they are copied there.
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
        """Returns the view of an output that was given, or of a new one."""
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
    """Returns the error of an array that a framework cannot give; whoever knows its name adds it."""
    return ArgumentError("{}: got {}, want {}".format(kind, got, want), kind=kind, got=got, want=want)


def check_outputs(op: str, outputs: Mapping[str, View], inputs: Mapping[str, View], given: Mapping[str, Any]) -> None:
    """Checks the outputs that were given: the last dimension is contiguous, and they share no memory."""
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
    """Reports whether two indices of an array may be on one element."""
    if 0 in view.shape:
        return False
    extent = 1
    for stride, n in sorted((s, n) for s, n in zip(view.strides, view.shape) if n > 1):
        if stride < extent:
            return True
        extent += (n - 1) * stride
    return False


def overlap(a: View, b: View) -> bool:
    """Reports whether the ranges of memory from the first to the last elements of two arrays meet."""
    if a.device != b.device or 0 in a.shape or 0 in b.shape:
        return False
    return a.pointer < _after(b) and b.pointer < _after(a)


def _after(view: View) -> int:
    """Returns the address after an array's last element; no stride is negative."""
    return view.pointer + SIZES[view.dtype] * (1 + sum((n - 1) * s for n, s in zip(view.shape, view.strides)))
