"""torch.compile, JAX and CuPy."""

import gc
import os
import time
import unittest

# Before JAX is imported: torch has the memory.
os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy as np
import torch

import robocache as rc
from robocache import _dlpack, _replay
from support import QUICK, check_equal, need_cuda, on_device
from test_streams import inputs
from test_values import fused, job


def test_torch_compile_keeps_the_operations_in_one_graph():
    args, want = inputs(30, (4, 100, 50, 16))
    if not hasattr(torch, "compile"):
        raise unittest.SkipTest("no torch.compile")
    streams, targets = fused()
    fused_want = rc.fuse(streams, targets, backend="cpu")
    streams, targets = [on_device(s) for s in streams], on_device(targets)

    def step(x, t, q):
        y = rc.resample(x, t, q, kind="linear", max_gap=0.1)
        return y * 2, rc.fuse(streams, targets)

    compiled = torch.compile(step, fullgraph=True)
    for _ in range(3):
        y, f = compiled(*args)
    check_equal(y, want * 2, "resample")
    check_equal(f, fused_want, "fuse")


def test_gradients_in_torch_compile():
    args, _ = inputs(31, (4, 60, 50, 16))
    if not hasattr(torch, "compile"):
        raise unittest.SkipTest("no torch.compile")
    targets = args[2].sort(dim=-1).values
    values = torch.nan_to_num(args[0], 0.5, 1, -1)
    grads = []
    for wrap in (lambda f: f, lambda f: torch.compile(f, fullgraph=True)):
        x = values.clone().requires_grad_()
        wrap(lambda x: (rc.resample(x, args[1], targets) ** 2).sum())(x).backward()
        grads.append(x.grad)
    assert torch.allclose(grads[0], grads[1], rtol=1e-5, atol=1e-5)


def jax_on_gpu():
    need_cuda()
    try:
        import jax
    except ImportError:
        raise unittest.SkipTest("no JAX") from None
    try:
        gpu = jax.devices("gpu")[0]
    except RuntimeError as e:
        raise unittest.SkipTest("JAX has no GPU: {}".format(e)) from None
    return jax, gpu


def as_torch(x):
    return torch.from_numpy(np.array(x))


def test_jax_arrays_on_the_gpu():
    jax, gpu = jax_on_gpu()
    values, times, targets = job(32, (8, 129, 100, 32), "f32", "f32")
    want = rc.resample(values, times, targets, valid=True, backend="cpu")
    x, t, q = [jax.device_put(a.numpy(), gpu) for a in (values, times, targets)]
    for _ in range(3 if QUICK else 200):
        x1 = -x  # computed on JAX's stream just before, and gone just after
        x2 = -x1
        y = rc.resample(x2, t, q, valid=True)
        del x1, x2
        z = y.values * 2  # computed on JAX's stream just after
    assert isinstance(y.values, jax.Array) and y.values.devices() == {gpu}
    check_equal(as_torch(y.values), want[0], "values")
    assert np.array_equal(np.array(y.valid), want[1].numpy())
    check_equal(as_torch(z), want[0] * 2, "used by JAX")


def test_jax_with_times_of_numpy():
    jax, gpu = jax_on_gpu()
    values, times, targets = job(33, (8, 129, 100, 32), "f32", "i64")
    want = rc.resample(values, times, targets, backend="cpu")
    y = rc.resample(jax.device_put(values.numpy(), gpu), times.numpy(), targets.numpy())
    check_equal(as_torch(y), want, "int64 times beside JAX's values")


def test_jax_bfloat16_and_what_jax_computes_with_it():
    jax, gpu = jax_on_gpu()
    values, times, targets = job(34, (4, 60, 50, 24), "bf16", "f32")
    want = rc.resample(values, times, targets, backend="cpu")
    x = jax.device_put(values.float().numpy(), gpu).astype(jax.numpy.bfloat16)
    y = rc.resample(x, *[jax.device_put(a.numpy(), gpu) for a in (times, targets)])
    assert y.dtype == jax.numpy.bfloat16
    check_equal(as_torch(y.astype(jax.numpy.float32)), want.float(), "bf16")
    mean = jax.jit(lambda a: (a.astype(jax.numpy.float32) ** 2).mean())(jax.numpy.nan_to_num(y, posinf=1.0, neginf=-1.0))
    assert np.isfinite(float(mean))


def test_jax_results_are_freed_when_jax_lets_go():
    jax, gpu = jax_on_gpu()
    values, times, targets = job(35, (8, 129, 100, 64), "f32", "f32")
    x, t, q = [jax.device_put(a.numpy(), gpu) for a in (values, times, targets)]

    def calls(n):
        for _ in range(n):
            y = rc.resample(x, t, q)
        y.block_until_ready()
        del y

    def left():
        gc.collect()
        rc.synchronize()
        _replay.replayer(0).device.pool.flush()
        return len(_dlpack._exports), _replay.info()["used"]["cuda:0"]["bytes"]

    calls(10)
    time.sleep(0.5)
    before = left()
    calls(50 if QUICK else 2000)
    for _ in range(100):  # JAX lets go on a thread of its own
        after = left()
        if after == before:
            return
        time.sleep(0.1)
    raise AssertionError((before, after))


def test_a_jax_tracer_is_refused_by_name():
    jax, gpu = jax_on_gpu()
    values, times, targets = [jax.device_put(a.numpy(), gpu) for a in job(36, (2, 9, 5, 3), "f32", "f32")]
    try:
        jax.jit(lambda x: rc.resample(x, times, targets))(values)
    except rc.UnsupportedError as e:
        assert "tracer" in str(e) and "pure_callback" in str(e)
        return
    raise AssertionError("no UnsupportedError")


def test_jax_on_the_cpu():
    try:
        import jax
    except ImportError:
        raise unittest.SkipTest("no JAX") from None
    values, times, targets = job(37, (2, 9, 5, 3), "f32", "f32")
    want = rc.resample(values, times, targets, backend="cpu")
    cpu = jax.devices("cpu")[0]
    y = rc.resample(*[jax.device_put(a.numpy(), cpu) for a in (values, times, targets)])
    assert isinstance(y, jax.Array) and y.devices() == {cpu}
    check_equal(as_torch(y), want, "on the CPU")


def test_cupy_arrays():
    need_cuda()
    try:
        import cupy
    except ImportError:
        raise unittest.SkipTest("no CuPy") from None
    values, times, targets = job(38, (8, 129, 100, 32), "f32", "i64")
    want = rc.resample(values, times, targets, backend="cpu")
    for stream in (cupy.cuda.Stream.null, cupy.cuda.Stream(non_blocking=True)):
        with stream:
            y = rc.resample(*[cupy.asarray(a.numpy()) for a in (values, times, targets)])
            assert isinstance(y, cupy.ndarray)
            check_equal(torch.from_numpy(cupy.asnumpy(y)), want, stream)
