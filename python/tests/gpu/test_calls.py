"""Calls on torch tensors of a GPU: the short way of those made before, torch's operators, what is refused."""

import math
import unittest

import torch

import robocache as rc
from support import DEVICE, check_equal, need_cuda, on_device

torch.manual_seed(3)
V, T = torch.randn(3, 50, 8), torch.sort(torch.randint(0, 10**9, (3, 50)), 1)[0]
X = torch.sort(torch.randint(-(10**8), 11 * 10**8, (3, 80)), 1)[0]


def results(x):
    return list(x) if isinstance(x, tuple) else [x]


def test_calls_that_differ_in_anything_are_told_apart():
    v, t, x = on_device(V), on_device(T), on_device(X)
    rules = [
        {}, dict(kind="previous"), dict(kind="nearest", tolerance=0.003), dict(edge="fill"),
        dict(edge="fill", fill=0.0),
        dict(edge="fill", fill=-0.0), dict(edge="fill", fill=math.nan), dict(max_gap=0.01, valid=True), dict(age=True),
        dict(max_gap=0.01, fill_gaps=True), dict(pad=True), dict(valid=True, age=True, pad=True), dict(dtype="bf16"),
        dict(dtype=torch.float64), dict(channels=[(0, 4, "slerp")]), dict(channels=[(0, 4, "slerp", "wxyz")]),
        dict(kind="window-max", window=0.1), dict(kind="window-max", window=0.2),
        dict(snap=0.001), dict(trust_times=True),
    ]  # fmt: skip
    for _ in range(3):
        for rule in rules:
            got, want = rc.resample(v, t, x, **rule), rc.resample(V, T, X, **rule)
            exact = "channels" not in rule
            for a, b in zip(results(got), results(want)):
                assert a.dtype == b.dtype and a.device == v.device, rule
                if exact:
                    check_equal(a, b, str(rule))
                else:
                    assert torch.allclose(a.cpu(), b, atol=1e-6), rule


def test_shapes_clocks_and_streams_are_told_apart():
    calls = [(V, T, X), (V.double(), T, X), (V[:, :, :4], T, X), (V, T[0], X), (V, T, X[0]), (V[:, 1:], T[:, 1:], X),
             (V, T, rc.Uniform(0, 60, 40)), (V, T, rc.Uniform(0, 60, 41)), (V, T, rc.Uniform(10, 60, 41))]  # fmt: skip
    for _ in range(2):
        for v, t, x in calls:
            got = rc.resample(on_device(v), on_device(t), x if isinstance(x, rc.Uniform) else on_device(x))
            check_equal(got, rc.resample(v, t, x), str(x))
        for a, b in [
            ({}, {}),
            (dict(shift=0.0), {}),
            (dict(shift=-0.0), {}),
            (dict(scale=[2.0] * 8), dict(clip=(None, 0.5))),
        ]:

            def fused(v, t, x):
                return rc.fuse([rc.Stream(v, t, **a), rc.Stream(None, width=2), rc.Stream(v, t, **b)], x)

            check_equal(fused(on_device(V), on_device(T), on_device(X)), fused(V, T, X), "{}, {}".format(a, b))


def test_results_are_new_tensors_each_time():
    v, t, x = on_device(V), on_device(T), on_device(X)
    first = rc.resample(v, t, x)
    kept = first.clone()
    second = rc.resample(v + 1, t, x)
    assert torch.equal(first, kept) and first.data_ptr() != second.data_ptr()


def test_what_is_wrong_is_refused_by_name_each_time():
    need_cuda()
    v, t, x = on_device(V), on_device(T), on_device(X)
    wrong = [
        (lambda: rc.resample(v, T, x), "times", "cpu"), (lambda: rc.resample(v, t, X.numpy()), "targets", "numpy"),
        (lambda: rc.resample(v, t, x, kind="cubic"), "kind", "cubic"),
        (lambda: rc.resample(v.long(), t, x), "values", "i64"),
        (lambda: rc.resample(v, t[:, 1:], x), "times", "49"), (lambda: rc.resample(v, t, x, out=v), "out", "overlaps"),
        (lambda: rc.resample(v, t, x, backend="cuda:63"), None, ""),
    ]  # fmt: skip
    for _ in range(2):
        for call, arg, word in wrong:
            try:
                call()
            except (rc.ArgumentError, rc.UnsupportedError, rc.DeviceError) as e:
                assert (arg is None or e.arg == arg) and word in str(e), str(e)
            else:
                raise AssertionError(arg)
    out = v.new_empty(3, 80, 8)
    assert rc.resample(v, t, x, out=out) is out
    check_equal(out, rc.resample(V, T, X), "out")
    square = torch.randn(3, 50, 50, device=v.device)
    try:
        rc.resample(square, t, t, out=square)
    except rc.ArgumentError as e:
        assert e.kind == "output overlaps itself"
    else:
        raise AssertionError("an output over its input")


def test_the_dense_grid_is_captured_without_counters():
    need_cuda()
    points = torch.rand(10000, 3, device=DEVICE) * 4
    box = dict(size=0.25, min=0, max=4, reduce="count", found=False)
    want = rc.voxelize(points.cpu(), **box).grid
    rc.voxelize(points, **box)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        grid = rc.voxelize(points, **box).grid
    grid.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(grid.cpu(), want)


def operators():
    if not hasattr(torch.library, "opcheck"):
        raise unittest.SkipTest("torch has no operators of Python")


def test_operators_pass_torchs_own_check():
    operators()
    from robocache import _operators, _options

    rule = tuple(_options.Stream(None))
    for asked in ((False, False, False), (True, True, True)):
        names = ("Src", "SrcTimes", "Targets")
        text = _operators.encode("resample", names, (rule,), None, None, asked, False, False, "auto")
        arrays = [on_device(V.double()).requires_grad_(), on_device(T), on_device(X)]
        torch.library.opcheck(torch.ops.robocache.resample, (arrays, text))
        names = ("Streams[0].Src", "Streams[0].SrcTimes", "Streams[1].Src", "Streams[1].SrcTimes", "Targets")
        text = _operators.encode("fuse", names, (rule, rule), None, None, asked, False, False, "auto")
        arrays = arrays[:2] + [on_device(V)] + arrays[1:]
        torch.library.opcheck(torch.ops.robocache.fuse, (arrays, text))


def test_compiled_calls_with_gradients_and_dynamic_shapes():
    operators()

    def model(v, w, t, x):
        y, valid = rc.resample(v * 2, t, x, kind="linear", max_gap=0.05, valid=True)
        z = rc.fuse([rc.Stream(v, t, offset=0.25, scale=2.0), rc.Stream(w, t, kind="previous")], x)
        u = rc.resample(w, t, rc.Uniform(0, 60, 7))
        return y.sin() * valid.unsqueeze(-1) + z[..., :8] + z[..., 8:], u.sum()

    for dynamic in (False, True):
        torch._dynamo.reset()
        compiled = torch.compile(model, fullgraph=True, dynamic=dynamic, backend="aot_eager")
        for count in (80, 33):
            t, x = on_device(T), on_device(X)[:, :count].contiguous()
            a, b = [[on_device(V + i).requires_grad_() for i in (0, 1)] for _ in range(2)]
            want, got = model(*a, t, x), compiled(*b, t, x)
            for g, w in zip(got, want):
                assert torch.allclose(g, w, atol=1e-6)
            (want[0].pow(2).sum() + want[1]).backward()
            (got[0].pow(2).sum() + got[1]).backward()
            assert all(torch.allclose(p.grad, q.grad, rtol=1e-5, atol=1e-5) for p, q in zip(a, b))


def test_compiled_calls_refuse_kinds_without_a_gradient():
    operators()
    torch._dynamo.reset()
    compiled = torch.compile(lambda v, t, x: rc.resample(v, t, x, kind="slerp"), fullgraph=True, backend="aot_eager")
    t, x = on_device(T), on_device(X)
    assert torch.allclose(compiled(on_device(V), t, x), rc.resample(on_device(V), t, x, kind="slerp"))
    try:
        compiled(on_device(V + 0).requires_grad_(), t, x)
    except Exception as e:  # torch wraps errors of fake kernels in its own
        assert "slerp" in str(e), str(e)
    else:
        raise AssertionError("a gradient of slerp")


def test_gradients_on_the_gpu_are_those_of_the_cpu_to_the_bit():
    for dtype in (torch.float32, torch.float64, torch.float16, torch.bfloat16):
        grads = []
        for put in (on_device, lambda x: x):
            v, w = put(V.to(dtype, copy=True)).requires_grad_(), put(V.to(dtype) + 1).requires_grad_()
            y = rc.resample(v, put(T), put(X), edge="extrapolate")
            z = rc.fuse([rc.Stream(v, put(T), scale=0.3), rc.Stream(w, put(T), kind="nearest")], put(X))
            (y.double().sum() + 3 * z.double().sum()).backward()
            grads.append((v.grad, w.grad))
        check_equal(grads[0], grads[1], str(dtype))
    need_cuda()
    assert grads[0][0].is_cuda


def test_the_cpu_computes_for_tensors_of_the_gpu_if_asked_to():
    got = rc.resample(on_device(V), on_device(T), on_device(X), backend="cpu", valid=True)
    assert got.values.device.type == DEVICE
    check_equal(got, rc.resample(V, T, X, valid=True), "backend=cpu")
