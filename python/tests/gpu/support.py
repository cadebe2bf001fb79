"""What the tests on a GPU share."""

import os
import unittest

import numpy as np
import torch

import robocache as rc

# ROBOCACHE_TEST_DEVICE=cpu tries out those tests that do not need a GPU to mean something.
DEVICE = os.environ.get("ROBOCACHE_TEST_DEVICE", "cuda")
QUICK = os.environ.get("ROBOCACHE_TEST_QUICK") == "1"
EXACT = ("linear", "previous", "next", "nearest", "window-min", "window-max", "window-last")
FLOATS = {"f32": torch.float32, "f64": torch.float64, "f16": torch.float16, "bf16": torch.bfloat16}


def need_cuda():
    if not torch.cuda.is_available():
        if os.environ.get("ROBOCACHE_REQUIRE_GPU") == "1":
            raise AssertionError("no CUDA device, and ROBOCACHE_REQUIRE_GPU=1")
        raise unittest.SkipTest("no CUDA device")


def times_of(rng, shape, clock, start=0, step=2_000_000):
    """Non-decreasing times with uneven steps, some of them twice."""
    steps = rng.integers(0, 2 * step, shape)
    steps[..., ::5] = 0
    ns = start + np.cumsum(steps, -1)
    return in_clock(ns, clock)


def in_clock(ns, clock):
    return torch.from_numpy(ns.astype(np.int64) if clock == "i64" else (ns / 1e9).astype(clock.replace("f", "float")))


def targets_of(rng, times, count):
    """Targets in any order, between, on and beyond the samples."""
    t = times.numpy()
    lo, hi = t.min(), t.max()
    wide = (hi - lo) * 0.1 + 1e-3
    x = rng.uniform(lo - wide, hi + wide, (t.shape[0] if t.ndim == 2 else 1, count)).astype(t.dtype)
    on = rng.integers(0, t.shape[-1], (x.shape[0], (count + 3) // 4))
    x[:, ::4] = np.take_along_axis(np.broadcast_to(t, (x.shape[0], t.shape[-1])), on, 1)
    return torch.from_numpy(x if t.ndim == 2 else x[0])


def values_of(rng, shape, dtype):
    x = torch.from_numpy(rng.standard_normal(shape).astype(np.float32))
    x = x.to(FLOATS[dtype]) if dtype != "f64" else x.double() * (1 + 2**-30)
    flat = x.view(-1)
    for at, v in ((3, float("nan")), (11, float("inf")), (17, -0.0)):
        if at < len(flat):
            flat[at] = v
    return x


def on_device(x):
    """The same tensor, with its strides, on the GPU."""
    if DEVICE == "cuda":
        need_cuda()
    if isinstance(x, torch.Tensor):
        return x.to(DEVICE)
    if isinstance(x, (rc.Anchored, rc.Stream)):
        return type(x)(*[on_device(y) for y in x])
    return x


def bits(x):
    x = x.detach().cpu().contiguous()
    size = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
    return x.view(size) if x.dtype != torch.bool else x.view(torch.uint8)


def check_equal(got, want, what):
    """The same bits, or NaN both times."""
    if isinstance(want, tuple):
        assert len(got) == len(want), what
        for i, (g, w) in enumerate(zip(got, want)):
            check_equal(g, w, "{}, result {}".format(what, i))
        return
    assert got.shape == want.shape and got.dtype == want.dtype, (what, got.shape, want.shape, got.dtype, want.dtype)
    differ = bits(got) != bits(want)
    if want.is_floating_point():
        differ &= ~(torch.isnan(got.detach().cpu()) & torch.isnan(want))
    n = int(differ.sum())
    if n:
        at = tuple(int(i) for i in differ.nonzero()[0])
        raise AssertionError(
            "{}: {} of {} differ, first at {}: got {!r}, want {!r}".format(what, n, differ.numel(), at, got.detach().cpu()[at], want[at])
        )


def check_near(got, want, scale, what):
    """Within the bound of kinds that are not exact: 4 * 2^-24 of the largest number involved, rounded to the dtype."""
    unit = {torch.float32: 2**-24, torch.float64: 1e-14 / 4, torch.float16: 2**-11, torch.bfloat16: 2**-8}[want.dtype]
    g, w = got.detach().cpu().double(), want.double()
    bad = ~((g - w).abs() <= 4 * unit * scale) & ~(g.isnan() & w.isnan()) & ~(g == w)
    assert not bad.any(), "{}: {} of {} differ, by up to {}".format(what, int(bad.sum()), bad.numel(), float((g - w).abs().nan_to_num().max()))


def both(function, *args, **options):
    """Returns what a function gives on the CPU and on the GPU for the same arguments."""
    on_device(None)
    want = function(*args, backend="cpu", **options)
    got = function(*[on_device(a) for a in args], **{k: on_device(v) for k, v in options.items()})
    return got, want


def rss():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
