"""The operators robocache::resample and robocache::fuse for torch.compile, with their shapes and gradients."""

from __future__ import annotations

import functools
import json
from datetime import timedelta
from typing import TYPE_CHECKING, Any, List, Sequence, Tuple

from . import _gradient, _ops
from ._options import Stream
from ._torch import SHAPES, Job, save, saved, twice

if TYPE_CHECKING:
    torch: Any
else:
    import torch


def encode(*parts: Any) -> str:
    """Returns a call's settings as text. torch.compile treats it as a constant."""
    return json.dumps(parts, default=_plain)


encode._dynamo_marked_constant = True  # type: ignore[attr-defined]  # as torch.compiler.assume_constant_result does


def _plain(x: Any) -> Any:
    if isinstance(x, timedelta):
        return x.total_seconds()
    if isinstance(x, torch.dtype):
        return str(x)
    if hasattr(x, "tolist"):
        return x.tolist()
    raise TypeError("{} cannot be in the options of a compiled call".format(type(x).__name__))


@functools.lru_cache(maxsize=1024)
def decode(text: str) -> Job:
    """Returns the Job for a text from encode."""
    op, names, streams, clock, dtype, asked, trust_times, check, backend = json.loads(text)
    a, b, c = asked
    made = tuple([Stream(*s) for s in streams])
    return Job(
        op, tuple(names), made, None if clock is None else tuple(clock), dtype, (a, b, c), trust_times, check, backend
    )


def register() -> None:
    """Registers robocache::resample and robocache::fuse, and their gradients, with torch.library."""
    for op in ("resample", "fuse"):
        forward, backward = "robocache::" + op, "robocache::" + op + "_backward"
        torch.library.define(
            forward,
            "(Tensor[] arrays, str options) -> (Tensor, Tensor, Tensor, Tensor)",
            tags=(torch.Tag.pt2_compliant_tag,),
        )
        torch.library.define(
            backward,
            "(Tensor grad, Tensor[] arrays, SymInt[] sizes, str options) -> Tensor[]",
            tags=(torch.Tag.pt2_compliant_tag,),
        )
        torch.library.impl(forward, "default", _forward_kernel)
        torch.library.impl(backward, "default", _backward_kernel)
        torch.library.register_fake(forward, _forward_shapes)
        torch.library.register_fake(backward, _backward_shapes)
        torch.library.register_autograd(forward, _backward_of(op), setup_context=_setup_context)
        torch.library.register_autograd(backward, _refuse_second)


def _padded(job: Job, results: Sequence[Any]) -> Tuple[Any, ...]:
    """Returns four tensors; a mask that was not requested is an empty tensor."""
    given = iter(results)
    like = next(given)
    outs = [like]
    for asked, dtype in zip(job.asked, (torch.bool, torch.int64, torch.bool)):
        outs.append(next(given) if asked else torch.empty((0,), dtype=dtype, device=like.device))
    return tuple(outs)


def _forward_kernel(arrays: List[Any], options: str) -> Tuple[Any, ...]:
    job = decode(options)
    result = _ops.run(None, (), job.prepare(arrays), job.backend, job.check)
    return _padded(job, result if any(job.asked) else [result])


def _forward_shapes(arrays: List[Any], options: str) -> Tuple[Any, ...]:
    job = decode(options)
    result = job.prepare(arrays, SHAPES).result()
    return _padded(job, result if any(job.asked) else [result])


def _backward_arguments(
    job: Job, options: str, tensors: Sequence[Any], wanted: _gradient.Wanted, widths: Sequence[int]
) -> Tuple[List[Any], List[int], str]:
    """Returns the arguments of a gradient's operator besides grad.

    Sizes are numbers, because they may be symbols: the sizes of the wanted gradients, then the streams' widths.
    """
    kept = [(name, x) for name, x in zip(job.names, tensors) if x is not None]
    text = json.dumps([options, [n for n, _ in kept], [(n, dtype, len(shape)) for n, (dtype, shape) in wanted.items()]])
    return [x for _, x in kept], [n for _, shape in wanted.values() for n in shape] + list(widths), text


def _backward_job(sizes: Sequence[int], text: str) -> Tuple[Job, _gradient.Wanted, Sequence[int]]:
    """Returns the job, wanted gradients and widths from the results of _backward_arguments."""
    options, names, values = json.loads(text)
    wanted: _gradient.Wanted = {}
    at = 0
    for name, dtype, rank in values:
        wanted[name] = (dtype, tuple(sizes[at : at + rank]))
        at += rank
    return decode(options)._replace(names=tuple(names)), wanted, sizes[at:]


def _backward_kernel(grad: Any, arrays: List[Any], sizes: List[int], options: str) -> List[Any]:
    job, wanted, widths = _backward_job(sizes, options)
    return job.gradient(grad, arrays, wanted, widths)


def _backward_shapes(grad: Any, arrays: List[Any], sizes: List[int], options: str) -> List[Any]:
    job, wanted, widths = _backward_job(sizes, options)
    return job.gradient(grad, arrays, wanted, widths, SHAPES)


def _setup_context(ctx: Any, inputs: Any, output: Any) -> None:
    arrays, options = inputs
    job = decode(options)
    job.check_gradient(job.prepare(arrays, SHAPES), [x.requires_grad for x in arrays])
    save(ctx, job, arrays)
    ctx.options = options


def _backward_of(op: str) -> Any:
    def backward(ctx: Any, grad: Any, *_: Any) -> Any:
        job: Job = ctx.job
        needed = ctx.needs_input_grad[0]
        tensors, wanted, widths = saved(ctx, needed)
        arrays, sizes, text = _backward_arguments(job, ctx.options, tensors, wanted, widths)
        run = getattr(torch.ops.robocache, op + "_backward")
        grads = dict(zip(wanted, run(grad, arrays, sizes, text)))
        return [grads.get(name) for name in job.names], None

    return backward


def _refuse_second(ctx: Any, *_: Any) -> Any:
    raise twice("resample or fuse")
