"""torch tensors on the CPU and on CUDA devices: gradients, and custom operators for torch.compile."""

from __future__ import annotations

import ctypes
import functools
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from . import _gradient, _ops, _quick
from ._arrays import HOST, Framework, View, clock_lists, framework_of, wrong
from ._errors import ArgumentError, Error, OutOfMemoryError, UnsupportedError, python_argument
from ._options import Anchored, Stream, Uniform, mistake

if TYPE_CHECKING:
    torch: Any  # any version
    _forward_ad: Any
else:
    import torch
    import torch.autograd.forward_ad as _forward_ad

_NAMES: Dict[Any, str] = {
    torch.float32: "f32",
    torch.float64: "f64",
    torch.float16: "f16",
    torch.bfloat16: "bf16",
    torch.int64: "i64",
    torch.int32: "i32",
    torch.uint8: "u8",
    torch.bool: "u8",
}
_DTYPES: Dict[str, Any] = {name: dtype for dtype, name in reversed(list(_NAMES.items()))}
_DTYPES["bool"] = torch.bool
_raw_stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None)
_is_tracing = _quick._is_tracing
# torch 2.4 or later.
_HAS_OPERATORS = hasattr(torch.library, "register_autograd") and hasattr(
    getattr(torch, "compiler", None), "is_compiling"
)


class Torch(Framework):
    """The framework torch."""

    name = "torch"

    def view(self, x: Any) -> View:
        if _is_tracing():
            raise UnsupportedError(
                "got torch.jit.trace, which would keep the result as a constant, want torch.compile or torch.export"
            )
        try:
            name = _NAMES[x.dtype]
            shape, strides = x.shape, x.stride()
            if shape and strides[-1] != 1 and shape[-1] > 1 or x.is_neg():
                x = x.contiguous().resolve_neg()
                strides = x.stride()
            return View(x, name, shape, strides, x.data_ptr(), self._device(x))
        except KeyError:
            raise wrong(str(x.dtype), "one of " + ", ".join(str(d) for d in _NAMES)) from None
        except (RuntimeError, NotImplementedError) as e:
            if "alloc" in str(e):
                raise MemoryError(str(e)) from e
            raise _no_memory(x, e) from e

    @staticmethod
    def _device(x: Any) -> int:
        if x.is_cuda:
            return int(x.get_device())
        if x.device.type != "cpu":
            raise wrong(str(x.device), "a tensor on cpu or cuda", "wrong device")
        return HOST

    def output(self, x: Any) -> View:
        if x.dtype not in _NAMES:
            raise wrong(str(x.dtype), "one of " + ", ".join(str(d) for d in _NAMES))
        if x.requires_grad and torch.is_grad_enabled():
            raise wrong("a tensor that requires grad", "one that does not", "wrong option")
        if x.is_neg():
            raise wrong("a negated view", "a tensor that holds its values as they are", "wrong option")
        try:
            view = View(x, _NAMES[x.dtype], x.shape, x.stride(), x.data_ptr(), self._device(x))
        except RuntimeError as e:
            raise _no_memory(x, e) from e
        if x.dim() and not x.is_inference():
            x.detach()[:0].zero_()  # marks the tensor as written for autograd
        return view

    def empty(self, dtype: str, shape: Tuple[int, ...], device: int, like: Any) -> View:
        try:
            x = torch.empty(shape, dtype=_DTYPES[dtype], device="cpu" if device == HOST else _cuda(device))
        except (RuntimeError, MemoryError) as e:
            raise OutOfMemoryError("no memory for a tensor {} of {}: {}".format(list(shape), dtype, e)) from e
        return View(x, _NAMES[x.dtype], x.shape, x.stride(), x.data_ptr(), device)

    def stream(self, device: int) -> int:
        if _raw_stream is not None:
            return int(_raw_stream(device))
        return int(torch.cuda.current_stream(device).cuda_stream)

    def copy(self, x: Any) -> Any:
        return x.clone()

    def bounds(self, points: View) -> Optional[Tuple[List[float], List[float]]]:
        x = points.array.detach()
        x = x[torch.isfinite(x).all(1)]
        return (x.amin(0).tolist(), x.amax(0).tolist()) if len(x) else None

    def asarray(self, x: Any, like: Any, floats: bool) -> Any:
        try:
            made = torch.as_tensor(x, device=like.device)
            if made.dtype != torch.float64 and (made.is_floating_point() or floats):
                # Like NumPy, Python's numbers become float64.
                made = torch.as_tensor(x, dtype=torch.float64, device=like.device)
        except (TypeError, ValueError, RuntimeError) as e:
            raise wrong("{} ({})".format(type(x).__name__, e), "a tensor, or a list of numbers") from e
        return made

    def cast(self, x: Any, dtype: str) -> Any:
        return x.to(_DTYPES[dtype])

    def words(self, x: Any) -> Any:
        return x.contiguous().view(torch.uint8).reshape(tuple(x.shape) + (2,))

    def write(self, arena: memoryview, at: int, view: View) -> None:
        x = view.array
        if view.device == HOST and x.is_contiguous():
            # memmove, because torch would wake its threads for the copy.
            ctypes.memmove(_address(arena) + at, x.data_ptr(), view.nbytes)
        else:
            _at(arena, at, view).copy_(x.detach())

    def read(self, view: View, arena: memoryview, at: int) -> None:
        x = view.array
        if view.device == HOST and x.is_contiguous():
            ctypes.memmove(x.data_ptr(), _address(arena) + at, view.nbytes)
        else:
            x.detach().copy_(_at(arena, at, view))


def _no_memory(x: Any, e: Exception) -> Error:
    if "storage" in str(e) and x.layout is torch.strided:
        return _quick.no_memory(e)
    return wrong("a tensor without memory of its own ({})".format(e), "a dense tensor", "wrong option")


def _address(memory: memoryview) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _at(arena: memoryview, at: int, view: View) -> Any:
    n = 1
    for d in view.shape:
        n *= d
    return torch.frombuffer(arena, dtype=view.array.dtype, count=n, offset=at).view(view.shape)


@functools.lru_cache(maxsize=None)
def _cuda(device: int) -> Any:
    return torch.device("cuda", device)


class _Shapes(Torch):
    """Tensors with shapes, dtypes and devices but no data, as torch.compile traces them."""

    def view(self, x: Any) -> View:
        if x.dtype not in _NAMES:
            raise wrong(str(x.dtype), "one of " + ", ".join(str(d) for d in _NAMES))
        return View(x, _NAMES[x.dtype], tuple(x.shape), (), 0, HOST)

    def empty(self, dtype: str, shape: Tuple[int, ...], device: int, like: Any) -> View:
        return View(torch.empty(shape, dtype=_DTYPES[dtype], device=like.device), dtype, shape, (), 0, HOST)


framework = Torch()
SHAPES = _Shapes()


def special(op: str, tensors: Sequence[Any]) -> bool:
    """Reports whether torch must record a call: torch.compile traces it, or a gradient may be needed.

    Forward mode is an UnsupportedError.
    """
    if _HAS_OPERATORS and torch.compiler.is_compiling():
        return True
    if _forward_ad._current_level >= 0:
        for x in tensors:
            if isinstance(x, torch.Tensor) and _forward_ad.unpack_dual(x).tangent is not None:
                raise _gradient.refuse(op, "values", "a tangent (forward mode)", "reverse mode")
    if torch.is_grad_enabled():
        for x in tensors:
            if isinstance(x, torch.Tensor) and x.requires_grad:
                return True
    return False


def refuse_gradients(op: str, arrays: Dict[str, Any]) -> None:
    """Raises UnsupportedError if a tensor requires grad, for an operation without a gradient."""
    for name, x in arrays.items():
        if not isinstance(x, torch.Tensor):
            continue
        tangent = _forward_ad._current_level >= 0 and _forward_ad.unpack_dual(x).tangent is not None
        if tangent or x.requires_grad and torch.is_grad_enabled():
            arg = python_argument(name)
            got = "a tensor with a tangent" if tangent else "a tensor that requires grad"
            want = "{}.detach(), or torch.no_grad(): no gradient flows through {}".format(arg, op)
            raise UnsupportedError(
                "{}: {}: no gradient: got {}, want {}".format(op, arg, got, want),
                op=op, arg=arg, kind="no gradient", got=got, want=want,
            )  # fmt: skip


class Job(NamedTuple):
    """A call of resample or fuse without its tensors. names are the tensors' names in a request; resample has one stream."""

    op: str
    names: Tuple[str, ...]
    streams: Tuple[Stream, ...]
    clock: Optional[Tuple[Any, ...]]
    dtype: Any
    asked: Tuple[bool, bool, bool]
    trust_times: bool
    check: bool
    backend: str

    def targets(self, arrays: Dict[str, Any]) -> Any:
        """Returns the targets, and removes their tensors from arrays."""
        if self.clock is not None:
            return Uniform(*self.clock)
        if "Targets.Anchors" in arrays:
            return Anchored(arrays.pop("Targets.Anchors"), arrays.pop("Targets.Deltas"))
        return arrays.pop("Targets")

    def prepare(self, tensors: Sequence[Any], shapes_only: Optional[Framework] = None) -> _ops.Prepared:
        """Returns the prepared call for these tensors."""
        arrays = dict(zip(self.names, tensors))
        targets = self.targets(arrays)
        if self.op == "resample":
            rule = self.streams[0].rules()
            return _ops.prepare_resample(
                arrays, targets, rule, self.dtype, self.asked, None, self.trust_times, shapes_only
            )
        lead = {name: arrays.get(name) for name in ("DstLengths", "DstOffsets")}
        streams = []
        for i, s in enumerate(self.streams):
            fields: Dict[str, Any] = {
                field: arrays.get("Streams[{}].{}".format(i, name)) for name, field in _ops.STREAM_ARRAYS
            }
            streams.append(s._replace(**fields))
        return _ops.prepare_fuse(streams, lead, targets, self.dtype, self.asked, None, self.trust_times, shapes_only)

    def values(self) -> List[int]:
        """Returns the indices of the tensors that are values."""
        return [i for i, name in enumerate(self.names) if name == "Src" or name.endswith("].Src")]

    def check_gradient(self, prepared: _ops.Prepared, needed: Sequence[bool]) -> None:
        """Raises UnsupportedError if a gradient is needed that does not exist."""
        for i, name in enumerate(self.names):
            if not needed[i]:
                continue
            stream = (
                0 if self.op == "resample" else int(name[name.index("[") + 1 : name.index("]")]) if "[" in name else -1
            )
            prefix = name[: -len("Src")] if name.endswith("Src") else None
            if prefix is None:
                arg = python_argument(name)
                raise _gradient.refuse(
                    self.op, arg, "a tensor that requires grad", "{}.detach(): only values have a gradient".format(arg)
                )
            width = prepared.call.inputs[name].shape[-1]
            anchored = "Targets.Anchors" in self.names
            _gradient.check(
                self.op,
                python_argument(prefix) if prefix else "",
                prepared.rules[stream],
                width,
                prefix + "SrcStarts" in self.names,
                Anchored(None, None) if anchored else None,
                self.streams[stream].clip is not None,
            )

    def gradient(
        self,
        grad: Any,
        tensors: Sequence[Any],
        wanted: _gradient.Wanted,
        widths: Sequence[int],
        shapes_only: Optional[Framework] = None,
    ) -> List[Any]:
        """Returns the wanted gradients. tensors are as in prepare, but values may be None."""
        arrays = dict(zip(self.names, tensors))
        targets = self.targets(arrays)
        if self.op == "resample":
            rule = self.streams[0].rules()
            return _gradient.resample(
                grad, arrays, targets, rule, self.trust_times, wanted, self.backend, self.check, shapes_only
            )
        return _gradient.fuse(
            grad, self.streams, arrays, targets, self.trust_times, wanted, widths, self.backend, self.check, shapes_only
        )


def resample(
    arrays: Dict[str, Any],
    targets: Any,
    rule: Tuple[Any, ...],
    dtype: Any,
    asked: Tuple[bool, bool, bool],
    out: Any,
    trust_times: bool,
    check: bool,
    backend: str,
) -> Any:
    """Runs a resample that torch must record."""
    return _seen("resample", arrays, [(None, None) + rule], targets, dtype, asked, out, trust_times, check, backend)


def fuse(
    streams: Sequence[Stream],
    lead: Dict[str, Any],
    targets: Any,
    dtype: Any,
    asked: Tuple[bool, bool, bool],
    out: Any,
    trust_times: bool,
    check: bool,
    backend: str,
) -> Any:
    """Runs a fuse that torch must record."""
    arrays: Dict[str, Any] = {}
    scalars: List[Tuple[Any, ...]] = []
    compiled = _HAS_OPERATORS and torch.compiler.is_compiling()
    for i, s in enumerate(streams):
        if compiled:
            for x in [s.shift, s.scale] + (list(s.clip) if s.clip is not None else []):
                if x is not None and not isinstance(x, (int, float, list, tuple)):
                    want = "numbers or lists of them: torch.compile keeps no arrays as constants"
                    raise mistake("fuse", "streams[" + str(i) + "]", "an array in shift, scale or clip", want)
        else:
            # Copies, so that the gradient uses the current scale and channels.
            s = s._replace(scale=_kept(s.scale), channels=s.channels and tuple(s.channels))
        arrays["Streams[" + str(i) + "].Src"] = s.values
        arrays["Streams[" + str(i) + "].SrcTimes"] = s.times
        arrays["Streams[" + str(i) + "].SrcLengths"] = s.lengths
        arrays["Streams[" + str(i) + "].SrcOffsets"] = s.offsets
        arrays["Streams[" + str(i) + "].SrcStarts"] = s.starts
        scalars.append((None, None) + tuple(s[2:17]) + (None, None, None, s.width))
    arrays["DstLengths"] = lead["DstLengths"]
    arrays["DstOffsets"] = lead["DstOffsets"]
    return _seen("fuse", arrays, scalars, targets, dtype, asked, out, trust_times, check, backend)


def _kept(x: Any) -> Any:
    return x.tolist() if hasattr(x, "tolist") else list(x) if isinstance(x, list) else x


def _seen(
    op: str,
    arrays: Dict[str, Any],
    streams: List[Tuple[Any, ...]],
    targets: Any,
    dtype: Any,
    asked: Tuple[bool, bool, bool],
    out: Any,
    trust_times: bool,
    check: bool,
    backend: str,
) -> Any:
    # torch.compile traces this function: plain Python, without except.
    names: List[str] = []
    tensors: List[Any] = []
    for name, x in arrays.items():
        if x is not None:
            names.append(name)
            tensors.append(x)
    clock: Optional[Tuple[Any, ...]] = None
    if isinstance(targets, Uniform):
        clock = (targets.start, targets.rate, targets.count)
    elif isinstance(targets, Anchored):
        names += ["Targets.Anchors", "Targets.Deltas"]
        tensors += [targets.anchors, targets.deltas]
    else:
        names.append("Targets")
        tensors.append(targets)
    if out is not None:
        raise UnsupportedError(
            op + ": out is not for tensors that require grad, nor for torch.compile", op=op, arg="out"
        )
    if _HAS_OPERATORS and torch.compiler.is_compiling():
        text = _operators.encode(op, tuple(names), tuple(streams), clock, dtype, asked, trust_times, check, backend)
        if op == "resample":
            outs = torch.ops.robocache.resample(tensors, text)
        else:
            outs = torch.ops.robocache.fuse(tensors, text)
        results = [outs[0]]
        for i in range(3):
            if asked[i]:
                results.append(outs[i + 1])
        return results[0] if len(results) == 1 else _ops.RESULTS[asked](*results)
    like = [x for x in tensors if isinstance(x, torch.Tensor)][0]
    lists = dict(zip(names, tensors))
    lists.update(_clocks(op, lists, like))
    tensors = [
        framework.asarray(x, like, name.endswith("Src")) if framework_of(x) is None else x for name, x in lists.items()
    ]
    job = Job(op, tuple(names), tuple([Stream(*s) for s in streams]), clock, dtype, asked, trust_times, check, backend)
    results = _apply(job, tensors)
    return results if len(asked) - sum(asked) == 3 else _ops.RESULTS[asked](*results)


def _apply(job: Job, tensors: Sequence[Any]) -> Any:
    try:
        return _Function.apply(job, *tensors)
    except RuntimeError as e:
        if isinstance(e, Error) or "functorch" not in str(e):
            raise
        error = _quick.no_memory(e)
        raise UnsupportedError("{}: {}".format(job.op, error), op=job.op, kind=error.kind) from e


def _clocks(op: str, arrays: Dict[str, Any], like: Any) -> Dict[str, Any]:
    try:
        return clock_lists(framework, like, arrays)
    except ArgumentError as e:
        raise ArgumentError("{}: {}".format(op, e), op=op, arg=e.arg, kind=e.kind, got=e.got, want=e.want) from None


class _Function(torch.autograd.Function):  # type: ignore[misc]
    """resample and fuse for tensors that require grad."""

    @staticmethod
    def forward(ctx: Any, job: Job, *tensors: Any) -> Any:
        prepared = job.prepare(tensors)
        job.check_gradient(prepared, ctx.needs_input_grad[1:])
        result = _ops.run(None, (), prepared, job.backend, job.check)
        save(ctx, job, tensors)
        if not any(job.asked):
            return result
        ctx.mark_non_differentiable(*result[1:])
        return tuple(result)

    @staticmethod
    def backward(ctx: Any, grad: Any, *_: Any) -> Any:
        job: Job = ctx.job
        tensors, wanted, widths = saved(ctx, ctx.needs_input_grad[1:])
        grads = dict(zip(wanted, _Gradient.apply(job, tensors, wanted, widths, grad)))
        return (None,) + tuple([grads.get(name) for name in job.names])


class _Gradient(torch.autograd.Function):  # type: ignore[misc]
    """The gradients of resample and fuse. They have no gradients themselves."""

    @staticmethod
    def forward(
        ctx: Any, job: Job, tensors: Sequence[Any], wanted: _gradient.Wanted, widths: Sequence[int], grad: Any
    ) -> Any:
        ctx.op = job.op
        return tuple(job.gradient(grad, tensors, wanted, widths))

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise twice(ctx.op)


def twice(op: str) -> UnsupportedError:
    """Returns the error for a second derivative."""
    return UnsupportedError(
        op
        + ": no second derivative: its gradient cannot be differentiated again; detach it, or leave out create_graph",
        op=op,
        kind="no gradient",
    )


def save(ctx: Any, job: Job, tensors: Sequence[Any]) -> None:
    """Saves the tensors that the gradient needs: all except the values."""
    values = set(job.values())
    ctx.job = job
    ctx.shapes = {job.names[i]: (_NAMES[tensors[i].dtype], tensors[i].shape) for i in values}
    ctx.save_for_backward(*[None if i in values else x for i, x in enumerate(tensors)])


def saved(ctx: Any, needed: Sequence[bool]) -> Tuple[Sequence[Any], _gradient.Wanted, List[int]]:
    """Returns the tensors from save, the wanted gradients, and the widths of the streams."""
    job: Job = ctx.job
    wanted = {name: ctx.shapes[name] for name, need in zip(job.names, needed) if need}
    widths = []
    for i, s in enumerate(job.streams):
        of = ctx.shapes.get("Streams[{}].Src".format(i))
        widths.append(s.width or 0 if of is None else of[1][-1])
    return ctx.saved_tensors, wanted, widths


_ops.quick = _quick

if _HAS_OPERATORS:
    from . import _operators

    _operators.register()
