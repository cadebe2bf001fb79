"""torch tensors on the CPU, their gradients, and torch.compile where torch has operators for it."""

import gc
import weakref

import numpy as np
import pytest

import robocache as rc

torch = pytest.importorskip("torch")
S = 1_000_000_000
torch.manual_seed(0)
T = torch.sort(torch.rand(2, 12, dtype=torch.float64) * 5, 1)[0]
X = torch.sort(torch.rand(2, 17, dtype=torch.float64) * 6 - 0.5, 1)[0]
V = torch.randn(2, 12, 4, dtype=torch.float64)


def wants_grad(x=V):
    return x.clone().requires_grad_()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16])
def test_torch_and_numpy_give_the_same_bits(dtype):
    v = V.to(dtype)
    as_numpy = v.view(torch.int16).numpy().view(np.uint16) if dtype == torch.bfloat16 else v.numpy()
    said = "bf16" if dtype == torch.bfloat16 else None
    want = rc.resample(as_numpy, T.numpy(), X.numpy(), valid=True, age=True, pad=True, dtype=said)
    got = rc.resample(v, T, X, valid=True, age=True, pad=True)
    assert got.values.dtype == dtype and got.valid.dtype == torch.bool and got.age.dtype == torch.float64
    bits = got.values.view(torch.int16).numpy().view(np.uint16) if dtype == torch.bfloat16 else got.values.numpy()
    assert np.array_equal(bits, want.values)
    for side in ("valid", "age", "pad"):
        assert np.array_equal(getattr(got, side).numpy(), getattr(want, side))


def test_strided_broadcast_and_negated_tensors():
    want = rc.resample(V, T, X)
    assert torch.equal(rc.resample(V.transpose(1, 2).contiguous().transpose(1, 2), T, X), want)
    assert torch.equal(rc.resample(torch.cat([V, V], 1)[:, :12], T, X), want)
    one = V[:1].expand(2, -1, -1)
    assert torch.equal(rc.resample(one, T, X), rc.resample(one.contiguous(), T, X))
    negated = torch.complex(torch.zeros_like(V), V).conj().imag
    assert negated.is_neg() and torch.equal(rc.resample(negated, T, X), rc.resample(-V, T, X))


def test_out_lists_and_dtypes_are_torchs():
    out = torch.zeros(2, 17, 8, dtype=torch.float16)[..., 2:6]
    assert rc.resample(V, T, X, out=out) is out and torch.equal(out, rc.resample(V, T, X, dtype=torch.float16))
    assert torch.equal(rc.resample(V[0], T[0].tolist(), X[0].tolist()), rc.resample(V[0], T[0], X[0]))
    assert torch.equal(
        rc.resample(V, T, rc.Uniform(0.5, 4, 9)), rc.resample(V, T, torch.arange(9, dtype=torch.float64) / 4 + 0.5)
    )


def test_voxels_are_tensors():
    points = torch.rand(500, 3)
    v, w = rc.voxelize(points, size=0.25, mode="hard"), rc.voxelize(points.numpy(), size=0.25, mode="hard")
    assert (
        torch.equal(v.values, torch.from_numpy(w.values))
        and torch.equal(v.coords, torch.from_numpy(w.coords))
        and v.found == w.found
    )
    assert v.box == w.box and rc.voxelize(points, size=0.25).grid.dtype == torch.uint8


@pytest.mark.parametrize(
    "call",
    [
        lambda: rc.resample(V, T.numpy(), X),
        lambda: rc.resample(wants_grad(), T.numpy(), X),
        lambda: rc.resample(V.numpy(), T, X),
        lambda: rc.fuse([rc.Stream(V, T), rc.Stream(V.numpy(), T)], X),
        lambda: rc.resample(V, T, X, out=np.zeros((2, 17, 4))),
    ],
)
def test_mixed_frameworks_are_refused_and_both_named(call):
    with pytest.raises(rc.ArgumentError, match="torch") as e:
        call()
    assert e.value.kind == "mixed frameworks" and "numpy" in str(e.value)


@pytest.mark.parametrize(
    "bad",
    [V.to(torch.complex64), V.to(torch.int64), V.to_sparse(), V.to("meta")],
    ids=["complex", "integers", "sparse", "meta"],
)
def test_tensors_that_cannot_be_read_are_argument_errors(bad):
    with pytest.raises(rc.ArgumentError) as e:
        rc.resample(bad, T, X)
    assert e.value.arg == "values"


@pytest.mark.parametrize("kind", ["linear", "previous", "next", "nearest"])
@pytest.mark.parametrize("edge", ["clamp", "fill", "extrapolate", "hold"])
def test_gradients_of_resample(kind, edge):
    rules = dict(kind=kind, edge=edge, fill=0.0, max_gap=1.0, fill_gaps=True)
    assert torch.autograd.gradcheck(lambda v: rc.resample(v, T, X, **rules), wants_grad())


def test_gradients_of_ragged_packed_and_uniform():
    lengths, offsets = torch.tensor([12, 5]), torch.tensor([0, 9, 12])
    assert torch.autograd.gradcheck(lambda v: rc.resample(v, T, X, lengths=lengths), wants_grad())
    packed = wants_grad(V[0])
    assert torch.autograd.gradcheck(
        lambda v: rc.resample(v, T[0], X, offsets=offsets, target_lengths=[3, 17], fill=0), packed
    )
    assert torch.autograd.gradcheck(lambda v: rc.resample(v, T[0], rc.Uniform(0.0, 5, 20)), packed)
    assert torch.autograd.gradcheck(
        lambda v: rc.resample(v, T[0], X[0], channels=[(0, 2, "previous"), (2, 4, "nearest")], kind="slerp"), packed
    )


def test_gradients_of_fuse_go_to_the_streams_that_ask():
    w, tw = torch.randn(2, 5, 3, dtype=torch.float64), torch.arange(5.0, dtype=torch.float64)

    def fused(v, w):
        return rc.fuse(
            [rc.Stream(v, T, offset=0.25), rc.Stream(None, width=2), rc.Stream(w, tw, kind="nearest", edge="fill")], X
        )

    assert torch.autograd.gradcheck(fused, (wants_grad(), wants_grad(w)))
    assert torch.autograd.gradcheck(lambda w: fused(V, w), wants_grad(w))
    # With a scale it is linear in float32: any step is as good.
    scaled = lambda v: rc.fuse([rc.Stream(v, T, shift=1.0, scale=[2.0, 0.5, -1.0, 4.0])], X)  # noqa: E731
    assert torch.autograd.gradcheck(scaled, wants_grad(), eps=0.5, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_gradient_has_the_dtype_of_values(dtype):
    v = wants_grad(V.to(dtype))
    r = rc.resample(v, T, X, valid=True, age=True)
    assert r.values.requires_grad and not r.age.requires_grad and not r.valid.requires_grad
    r.values.sum().backward()
    assert v.grad.dtype == dtype and v.grad.shape == v.shape and abs(float(v.grad.double().sum()) - 17 * 2 * 4) < 1
    with torch.no_grad():
        assert not rc.resample(v, T, X).requires_grad


REFUSED = {
    "slerp": (lambda v: rc.resample(v, T, X, kind="slerp"), "kind", "'slerp'"),
    "a channel": (lambda v: rc.resample(v, T, X, channels=[(0, 1, "pchip")]), "kind", "'pchip'"),
    "a stream": (lambda v: rc.fuse([rc.Stream(V, T), rc.Stream(v, T, kind="angle")], X), "streams[1].kind", "'angle'"),
    "clip": (lambda v: rc.fuse([rc.Stream(v, T, clip=(0, 1))], X), "streams[0].clip", "bounds"),
    "anchors": (lambda v: rc.resample(v, (T * S).long(), rc.Anchored([0, 0], [1, 2])), "targets", "anchored"),
    "a selection": (lambda v: rc.resample(v[0], T[0], X, starts=[0, 1], lengths=[3, 3]), "starts", "selection"),
    "times": (lambda v: rc.resample(v, wants_grad(T), X), "times", "times.detach()"),
    "targets": (lambda v: rc.resample(v, T, wants_grad(X)), "targets", "targets.detach()"),
    "out": (lambda v: rc.resample(v, T, X, out=torch.zeros(2, 17, 4)), "out", "out"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_has_no_gradient_is_refused_by_name(what):
    call, arg, word = REFUSED[what]
    with pytest.raises(rc.UnsupportedError) as e:
        call(wants_grad())
    assert e.value.arg == arg and word in str(e.value)
    if what not in ("times", "targets"):
        call(V)
    with torch.no_grad():
        call(wants_grad())


def test_targets_out_of_order_have_no_gradient_and_say_where():
    v = wants_grad()
    y = rc.resample(v, T, X.flip(1))
    with pytest.raises(rc.DataError) as e:
        y.sum().backward()
    assert (e.value.op, e.value.arg, e.value.row, e.value.index) == ("resample_backward", "targets", 0, 1)


def test_a_second_derivative_is_refused():
    v = wants_grad()
    (g,) = torch.autograd.grad(rc.resample(v, T, X).pow(2).sum(), v, create_graph=True)
    with pytest.raises(rc.UnsupportedError, match="no second derivative"):
        g.sum().backward()


def test_times_changed_before_backward_are_noticed():
    v, t = wants_grad(), T.clone()
    y = rc.resample(v, t, X)
    t.add_(1)
    with pytest.raises(RuntimeError, match="inplace"):
        y.sum().backward()


def test_a_graph_that_is_dropped_keeps_nothing():
    v = wants_grad()
    y = rc.resample(v, T, X)
    dead = weakref.ref(y)
    del y
    gc.collect()
    assert dead() is None


needs_operators = pytest.mark.skipif(
    not hasattr(torch.library, "register_autograd"), reason="torch before 2.4 has no operators of Python"
)


@needs_operators
def test_compiled_calls_stay_in_one_graph_and_give_the_same():
    def model(v, w, t, x):
        y, valid = rc.resample(v * 2, t, x, kind="linear", max_gap=1.0, valid=True)
        z = rc.fuse([rc.Stream(v, t, offset=0.25, scale=2.0), rc.Stream(w, t, kind="previous")], x)
        u = rc.resample(w, t, rc.Uniform(0.5, 4, 17))
        return y.sin() * valid.unsqueeze(-1) + z[..., :4] + z[..., 4:] + u

    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    a, b = (wants_grad(), wants_grad(V + 1)), (wants_grad(), wants_grad(V + 1))
    want, got = model(*a, T, X), compiled(*b, T, X)
    assert torch.equal(want, got)
    want.pow(2).sum().backward()
    got.pow(2).sum().backward()
    assert all(torch.equal(x.grad, y.grad) for x, y in zip(a, b))
    assert torch.equal(compiled(V, V + 1, T, X), want.detach())


def test_a_wrong_argument_is_named_for_tensors_that_require_grad_too():
    with pytest.raises(rc.ArgumentError) as e:
        rc.fuse([rc.Stream(wants_grad(), T, clip=1.0)], X)
    assert e.value.arg == "streams[0].clip"
    with pytest.raises(rc.ArgumentError) as e:
        rc.resample(wants_grad(), T[:, 1:], X)
    assert e.value.arg == "times"
    with pytest.raises(rc.DataError) as e:
        rc.resample(wants_grad(), T.flip(1), X)
    assert (e.value.arg, e.value.row) == ("times", 0)


def test_what_operators_are_made_of_gives_the_same_as_the_functions():
    from datetime import timedelta

    from robocache import _operators, _options, _torch

    def both(op, names, streams, tensors, clock, asked, want, wanted):
        text = _operators.encode(op, names, tuple(map(tuple, streams)), clock, None, asked, False, False, "auto")
        got = [x for x, a in zip(_operators._forward_kernel(tensors, text), (True,) + asked) if a]
        shapes = _operators._forward_shapes([x.to("meta") for x in tensors], text)
        assert [(x.shape, x.dtype) for x in got] == [(x.shape, x.dtype) for x, a in zip(shapes, (True,) + asked) if a]
        want = list(want) if isinstance(want, tuple) else [want]
        assert all(torch.equal(g, w) for g, w in zip(got, want)) and len(got) == len(want)
        # The gradient, as torch would ask for it.
        job = _operators.decode(text)
        saved = [None if i in job.values() else x for i, x in enumerate(tensors)]
        shapes = {n: (_torch._NAMES[x.dtype], x.shape) for n, x in zip(names, tensors) if n in wanted}
        widths = [v.shape[-1] for n, v in zip(names, tensors) if n.endswith("Src")]
        args = _operators._backward_arguments(job, text, saved, shapes, widths)
        grad = torch.randn_like(want[0])
        grads = _operators._backward_kernel(grad, *args)
        asked_for = [tensors[names.index(n)] for n in wanted]
        expected = torch.autograd.grad(want[0], asked_for, grad)
        assert all(torch.equal(g, w) for g, w in zip(grads, expected)) and len(grads) == len(expected)
        fake = _operators._backward_shapes(grad.to("meta"), [x.to("meta") for x in args[0]], *args[1:])
        assert [(x.shape, x.dtype) for x in fake] == [(x.shape, x.dtype) for x in grads]

    v, w = wants_grad(), wants_grad(torch.randn(2, 12, 3))
    for asked in ((False, False, False), (True, False, True), (True, True, True)):
        sides = dict(zip(("valid", "age", "pad"), asked))
        rules = dict(kind="nearest", max_gap=timedelta(seconds=1), fill=float("nan"), fill_gaps=True)
        stream = _options.Stream(None, **rules)
        names = ("Src", "SrcTimes", "Targets")
        both("resample", names, [stream], [v, T, X], None, asked, rc.resample(v, T, X, **rules, **sides), ["Src"])
        clock = rc.Uniform(0.5, 4, 9)
        ragged = torch.tensor([12, 5])
        want = rc.resample(v, T, clock, lengths=ragged, channels=[(0, 2, "previous")], **sides)
        stream = _options.Stream(None, channels=[(0, 2, "previous")])
        both("resample", ("Src", "SrcTimes", "SrcLengths"), [stream], [v, T, ragged], clock, asked, want, ["Src"])
    a, b = dict(offset=0.25, shift=1.0, scale=[2.0, 3.0, 4.0, 5.0]), dict(kind="previous", edge="fill")
    names = ("Streams[0].Src", "Streams[0].SrcTimes", "Streams[1].Src", "Streams[1].SrcTimes", "Targets")
    streams = [_options.Stream(None, **a), _options.Stream(None, **b)]
    want = rc.fuse([rc.Stream(v, T, **a), rc.Stream(w, T, **b)], X, valid=True)
    asked = (True, False, False)
    both("fuse", names, streams, [v, T, w, T, X], None, asked, want, ["Streams[0].Src", "Streams[1].Src"])
    want = rc.fuse([rc.Stream(v, T, **a), rc.Stream(w, T, **b)], X, valid=True)
    both("fuse", names, streams, [v, T, w, T, X], None, asked, want, ["Streams[1].Src"])


def test_the_gradient_is_that_of_the_scale_that_was_used():
    for scale in ([2.0] * 4, torch.full((4,), 2.0), np.full(4, 2.0)):
        x, channels = wants_grad(), [rc.Channel(0, 4, "previous")]
        want = torch.autograd.grad(rc.fuse([rc.Stream(x, T, scale=2.0, channels=list(channels))], X).sum(), x)[0]
        y = rc.fuse([rc.Stream(x, T, scale=scale, channels=channels)], X)
        scale[:] = [100.0] * 4 if isinstance(scale, list) else 100.0
        channels[:] = [rc.Channel(0, 4, "next")]
        assert torch.equal(torch.autograd.grad(y.sum(), x)[0], want)


@pytest.mark.parametrize("arg", ["shift", "scale", "clip"])
def test_a_normalisation_that_wants_a_gradient_is_refused_by_name(arg):
    learned = torch.ones(4, requires_grad=True)
    options = {arg: (None, learned) if arg == "clip" else learned}
    with pytest.raises(rc.UnsupportedError, match="no gradient") as e:
        rc.fuse([rc.Stream(V, T), rc.Stream(V, T, **options)], X)
    assert e.value.arg == "streams[1]." + arg
    with torch.no_grad():
        assert rc.fuse([rc.Stream(V, T, **options)], X).shape == (2, 17, 4)


@pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning")
def test_forward_mode_and_traces_are_refused_by_name():
    with torch.autograd.forward_ad.dual_level():
        for x in (V, wants_grad()):
            dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(V))
            with pytest.raises(rc.UnsupportedError, match="forward") as e:
                rc.resample(dual, T, X)
            assert e.value.op == "resample" and e.value.kind == "no gradient"
        assert rc.resample(V, T, X).shape == (2, 17, 4)
    for call in (
        lambda x: rc.resample(x, T, X),
        lambda x: rc.fuse([rc.Stream(x, T)], X),
        lambda x: rc.resample(V[0].tolist(), x[0, :, 0], [0.0]),
        lambda x: rc.voxelize(x[0, :, :3], size=1).grid,
    ):
        with pytest.raises(rc.UnsupportedError, match="torch.compile") as e:
            torch.jit.trace(call, (V,))
        assert e.value.op in ("resample", "fuse", "voxelize")


def test_tensors_inside_vmap_are_refused_with_what_to_do():
    vmap = getattr(torch, "vmap", None) or pytest.importorskip("functorch").vmap
    for call in (
        lambda x: rc.resample(x, T[0], X[0]),
        lambda x: rc.fuse([rc.Stream(x, T[0])], X[0]),
        lambda x: rc.voxelize(x[:, :3], size=1, min=0, max=1).grid,
    ):
        with pytest.raises(rc.UnsupportedError, match=r"vmap.*\[B,S,D\]") as e:
            vmap(call)(V)
        assert e.value.op in ("resample", "fuse", "voxelize")
        assert e.value.arg in ("values", "streams[0].values", "points")


def test_torch_func_grad_is_refused_with_what_to_do():
    grad = torch.func.grad if hasattr(torch, "func") else pytest.importorskip("functorch").grad
    for call in (lambda x: rc.resample(x, T, X).sum(), lambda x: rc.fuse([rc.Stream(x, T)], X).sum()):
        with pytest.raises(rc.UnsupportedError, match=r"outside of torch.func's vmap and grad.*backward\(\)") as e:
            grad(call)(V)
        assert e.value.op in ("resample", "fuse")
    with pytest.raises(RuntimeError, match="does not require grad"):
        torch.autograd.grad(rc.resample(V, T, X).sum(), V)  # torch's own errors stay torch's


def test_a_list_of_times_beside_tensors_has_their_dtype():
    v = torch.tensor([[0.0], [1.0], [2.0]])
    for x in (v, wants_grad(v)):
        for t in (torch.arange(3.0), torch.arange(3, dtype=torch.float64)):
            assert rc.resample(x, t, [0, 0.5]).tolist() == [[0], [0.5]]
            assert rc.resample(x, t, [0, 1]).tolist() == [[0], [1]]
            assert rc.fuse([rc.Stream(x, t)], [1, 2]).tolist() == [[1], [2]]
        with pytest.raises(rc.ArgumentError, match="beside int64 nanoseconds") as e:
            rc.resample(x, torch.arange(3), [0.5])
        assert e.value.arg == "targets" and e.value.op == "resample"


def test_a_tensor_that_was_written_cannot_be_the_past_of_a_gradient():
    out = torch.zeros(2, 17, 4, dtype=torch.float64)
    w = torch.ones_like(out).requires_grad_()
    y = (w * out).sum()
    rc.resample(V, T, X, out=out)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    with torch.inference_mode():
        kept = torch.zeros(2, 17, 4, dtype=torch.float64)
    assert torch.equal(rc.resample(V, T, X, out=kept), out)


def test_a_gradient_names_arguments_as_the_call_does():
    y = rc.fuse([rc.Stream(wants_grad(), T)], X.flip(1))
    with pytest.raises(rc.DataError) as e:
        y.sum().backward()
    assert e.value.arg == "targets" and e.value.op == "fuse_backward"


@pytest.mark.parametrize("out", [torch.eye(4).to_sparse(), torch._neg_view(torch.zeros(2, 17, 4)), torch.zeros(())])
def test_tensors_that_cannot_be_written_are_argument_errors(out):
    with pytest.raises(rc.ArgumentError) as e:
        rc.resample(V, T, X, dtype="f32", out=out)
    assert e.value.arg == "out"


def test_voxelize_has_no_gradient_and_says_so():
    points = torch.rand(20, 3)
    for name in ("points", "features", "poses"):
        arrays = dict(points=points, features=torch.rand(20, 2), poses=torch.eye(4))
        arrays[name] = arrays[name].clone().requires_grad_()
        call = dict(arrays, size=1, min=0, max=1, reduce="mean")
        with pytest.raises(rc.UnsupportedError, match=name + r"\.detach\(\), or torch.no_grad\(\)") as e:
            rc.voxelize(**call)
        assert (e.value.op, e.value.arg, e.value.kind) == ("voxelize", name, "no gradient")
        with torch.no_grad():
            assert rc.voxelize(**call).grid.shape == (1, 1, 1, 2)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(points, points)
        with pytest.raises(rc.UnsupportedError, match="a tensor with a tangent") as e:
            rc.voxelize(dual, size=1)
        assert e.value.arg == "points"
    for bad in (torch.rand(9, 3).bfloat16(), torch.rand(9, 3).half(), torch.zeros(9, 3, dtype=torch.int64)):
        with pytest.raises(rc.ArgumentError, match="want float32 or float64") as e:
            rc.voxelize(bad, size=1)
        assert e.value.arg == "points"


def test_the_affine_of_a_float64_stream_and_its_gradient_are_float32():
    # Linear in values, so that a difference over a wide step is exact but for float32's rounding.
    x = wants_grad()
    scale = [0.5, 3.0, -2.0, 0.125]
    call = lambda v: rc.fuse([rc.Stream(v, T, shift=[0.1, 0.2, 0.3, 0.4], scale=scale)], X)
    assert torch.autograd.gradcheck(call, (x,), eps=0.5, atol=1e-5, rtol=1e-5)
    assert torch.equal(call(V), call(V).float().double())
    assert torch.autograd.gradcheck(lambda v: rc.fuse([rc.Stream(v, T)], X), (x,))
