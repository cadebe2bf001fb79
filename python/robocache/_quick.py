"""The fast path for a repeated call, with torch tensors on a GPU.

A call's settings are looked up once, by the shapes, strides and dtypes of its tensors and by its options. A later equal call parses
nothing and makes no views. Every other call takes the slow path, which also reports errors.
"""

from __future__ import annotations

import struct
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Dict, Hashable, List, Optional, Sequence, Tuple

from ._errors import UnsupportedError
from ._options import Anchored, Stream, Uniform, constant

if TYPE_CHECKING:
    from ._ops import Prepared

    torch: Any
    _forward_ad: Any
else:
    import torch
    import torch.autograd.forward_ad as _forward_ad

_data_ptr = torch.Tensor.data_ptr
_empty_like = torch.empty_like
_Tensor = torch.Tensor
_is_grad_enabled = torch.is_grad_enabled
_is_tracing: Any = getattr(torch._C, "_is_tracing", torch.jit.is_tracing)
_is_compiling: Any = getattr(getattr(torch, "compiler", None), "is_compiling", None) or (lambda: False)
_raw_stream: Any = getattr(torch._C, "_cuda_getCurrentRawStream", None) or (
    lambda d: torch.cuda.current_stream(d).cuda_stream
)

_MOST = 2048  # the size of the cache
_known: Dict[Hashable, "Entry"] = {}


def no_memory(e: Exception) -> UnsupportedError:
    """Returns the error for a tensor without memory: inside torch.func's vmap or grad."""
    text = (
        "got a tensor that stands for others and has no memory of its own, want one outside of torch.func's vmap and "
        "grad: batches are the first dimension, [B,S,D], and backward() has gradients ({})".format(e)
    )
    return UnsupportedError(text, kind="not supported")


class Entry:
    """A repeated call. As a key of plans it equals only itself."""

    __slots__ = ("replayer", "ordinal", "instances", "outputs", "op", "options", "tensors", "offsets", "result")

    def __init__(self, prepared: "Prepared", replayer: Any, ordinal: int, names: Sequence[str]) -> None:
        call = prepared.call
        self.replayer, self.ordinal = replayer, ordinal
        self.instances: Dict[int, Any] = {}  # by stream
        # Templates for empty_like, with one element in memory. empty_like takes half the time of empty.
        self.outputs = [v.array.new_empty(()).expand(v.shape) for v in call.outputs.values()]
        # The tensors in the order of run's arrays, which is the request's order too.
        described = call.described()
        self.op, self.options = call.op, call.options
        self.tensors = {name: described[name] for name in list(call.outputs) + list(names)}
        self.offsets = [i for i, name in enumerate(names) if name.endswith("Offsets")]
        self.result = prepared.result_type()

    def request(self) -> Dict[str, Any]:
        """Returns the request for a plan."""
        return dict(self.options, op=self.op, tensors=self.tensors)

    def run(self, arrays: Sequence[Any], check: bool) -> Any:
        """Queues the call for these arrays on the current stream, and returns the caller's result."""
        outs = list(map(_empty_like, self.outputs))
        stream = _raw_stream(self.ordinal)
        try:
            pointers = tuple(map(_data_ptr, [*outs, *arrays]))
        except RuntimeError as e:
            error = no_memory(e)
            raise UnsupportedError("{}: {}".format(self.op, error), op=self.op, kind="not supported") from e
        keep = [arrays[i] for i in self.offsets] if self.offsets else None
        bits = reduce(or_, pointers)
        instance = self.instances.get(stream)
        replayer = self.replayer
        if instance is None or bits & 15 or check or replayer.flags[0] or not instance.run(pointers, keep):
            replayer.run(self, self.request, pointers, stream, check, keep)
            self.instances[stream] = replayer.known(self, stream)
        return outs[0] if self.result is None else self.result(*outs)


def resample(
    arrays: Sequence[Any], targets: Any, rule: Tuple[Any, ...], rest: Tuple[Any, ...]
) -> Tuple[Optional[Hashable], Sequence[Any]]:
    """Returns a key for a call of resample, and its arrays; None and () if the fast path does not apply. `find` returns a key's entry."""
    if _is_compiling() or _forward_ad._current_level >= 0 or _is_tracing():
        return None, ()
    # The bits of fill, because 0.0 == -0.0. A table, because a list of channels is not hashable.
    if rule[6] is not None or rule[4] is not None:
        try:
            rule = rule[:4] + (_table(rule[4]), rule[5], _bits(rule[6])) + rule[7:]
        except (TypeError, ValueError, struct.error):
            return None, ()  # the slow path reports the error
    if type(targets) is Uniform:
        return _key(arrays, (rule, rest, targets, type(targets[0])))  # the type of start decides the unit
    if type(targets) is Anchored:
        return _key((*arrays, *targets), (rule, rest, Anchored))
    return _key((*arrays, targets), (rule, rest, None))


def fuse(
    streams: Sequence[Stream], lead: Tuple[Any, ...], targets: Any, rest: Tuple[Any, ...]
) -> Tuple[Optional[Hashable], Sequence[Any]]:
    """Returns a key for a call of fuse, and its arrays, like resample."""
    if _is_compiling() or _forward_ad._current_level >= 0 or _is_tracing():
        return None, ()
    arrays: List[Any] = []
    scalars: List[Hashable] = []
    for s in streams:
        arrays += (s[0], s[1], s[17], s[18], s[19])
        if s[6] is None and s[8] is None and s[14] is None and s[15] is None and s[16] is None:
            scalars.append((s[2:17], s[20]))
        else:
            try:
                least, most = s[16] if s[16] is not None else (None, None)
                numbers = (_bits_of_all(s[14]), _bits_of_all(s[15]), _bits_of_all(least), _bits_of_all(most))
                scalars.append((s[2:6], _table(s[6]), s[7], _bits(s[8]), s[9:14], numbers, s[20]))
            except (TypeError, ValueError, struct.error):
                return None, ()  # the slow path reports the error
    arrays += lead
    if type(targets) is Uniform:
        return _key(arrays, (tuple(scalars), rest, targets, type(targets[0])))
    if type(targets) is Anchored:
        arrays += targets
        return _key(arrays, (tuple(scalars), rest, Anchored))
    arrays.append(targets)
    return _key(arrays, (tuple(scalars), rest, None))


def _table(channels: Any) -> Hashable:
    if channels is not None and type(channels) not in (list, tuple):
        raise TypeError  # an iterator can be read once, so the slow path reads it
    return None if channels is None else tuple(channels)


def _bits(x: Any) -> Hashable:
    """Returns the bits of a number, which differ for 0.0 and -0.0; None for None."""
    return None if x is None else struct.pack("d", x)


def _bits_of_all(x: Any) -> Hashable:
    """Returns the bits of a number or of several."""
    if x is not None and not isinstance(x, (int, float)):
        if getattr(x, "requires_grad", False):
            raise TypeError
        x = x.tolist() if hasattr(x, "tolist") else x
        if isinstance(x, (list, tuple)):
            return len(x), struct.pack("{}d".format(len(x)), *x)
    return None if x is None else struct.pack("d", x)


def _key(arrays: Sequence[Any], options: Tuple[Any, ...]) -> Tuple[Optional[Hashable], Sequence[Any]]:
    described: List[Hashable] = []
    given: List[Any] = []
    grad = _is_grad_enabled()
    try:
        for x in arrays:
            if x is None:
                described.append(None)
            elif type(x) is not _Tensor or grad and x.requires_grad or x.is_neg():
                return None, ()
            else:
                given.append(x)
                # A host tensor's device is -1, and no entry has it.
                described += (x.dtype, x.shape, x.is_contiguous() or x.stride(), x.get_device())
    except RuntimeError:
        return None, ()  # for example a sparse tensor, which has no strides
    return (options, tuple(described)), given


def find(key: Hashable) -> Optional[Entry]:
    """Returns the entry for a key, or None. A key that cannot be hashed has no entry."""
    try:
        return _known.get(key)
    except TypeError:
        return None


def remember(key: Hashable, prepared: "Prepared", ordinal: int, arrays: Sequence[Any]) -> Optional[Entry]:
    """Adds an entry for a prepared call and returns it, or None if the call must always take the slow path."""
    from . import _replay

    options: Any
    options, _ = key  # type: ignore[misc]
    if not constant(options[0] + (options[2] if type(options[2]) is Uniform else ())):
        return None
    views = prepared.call.inputs
    names = [n for n in _names(prepared.call.op, options[2], len(prepared.rules)) if n in views]
    if any(views[n].array is not x or views[n].device != ordinal for n, x in zip(names, arrays)):
        return None  # an array was copied, because its layout cannot be read
    try:
        hash(key)
    except TypeError:
        return None
    entry = Entry(prepared, _replay.replayer(ordinal), ordinal, names)
    if len(_known) >= _MOST:
        _known.clear()
    _known[key] = entry
    return entry


_OWN = ("Src", "SrcTimes", "SrcLengths", "SrcOffsets", "SrcStarts")


def _names(op: str, clock: Any, streams: int) -> List[str]:
    """Returns the arrays' names in a request, in the order that resample and fuse here use."""
    targets = ["Targets"] if clock is None else ["Targets.Anchors", "Targets.Deltas"] if clock is Anchored else []
    if op == "resample":
        own = list(_OWN)
    else:
        own = ["Streams[{}].{}".format(i, n) for i in range(streams) for n in _OWN]
    return own + ["DstLengths", "DstOffsets"] + targets
