"""The short way of torch tensors on a GPU, with a replayer that computes on the CPU what it is asked for."""

import ctypes
import math

import numpy as np
import pytest

import robocache as rc
from robocache import _arrays, _call, _child, _cuda, _replay

torch = pytest.importorskip("torch")
from robocache import _quick, _torch  # noqa: E402

torch.manual_seed(1)


class OnCard(torch.Tensor):
    """A tensor that says that it is on a GPU."""

    is_cuda = property(lambda self: True)

    def get_device(self):
        return 0


def card(x):
    return torch.as_tensor(x).contiguous().as_subclass(OnCard)


class Replayer:
    """Runs requests in the helper process, on the memory that pointers say."""

    def __init__(self):
        self.plans, self.runs, self.kept, self.flags = {}, 0, None, [0]

    def known(self, key, stream):
        return Instance(self, key)

    def run(self, key, make_request, pointers, stream, check=False, keep=None, counts=False):
        if key not in self.plans:
            self.plans[key] = make_request()
        request, self.kept = self.plans[key], keep
        self.runs += 1
        child, at, placed, places = _child.shared(), 0, {}, []
        with child.lock:
            arena = child.arena(1 << 20)
            base = ctypes.addressof(ctypes.c_char.from_buffer(arena))
            for (name, t), pointer in zip(request["tensors"].items(), pointers):
                size = _arrays.SIZES[t["dtype"]] * math.prod(t["shape"])
                placed[name] = dict(t, at=at)
                places.append((base + at, pointer, size))
                ctypes.memmove(base + at, pointer, size)
                at += -(-size // 64) * 64
            child.request("compute", request=dict(request, tensors=placed))
            for here, there, size in places:
                ctypes.memmove(there, here, size)
            del arena


class Instance:
    def __init__(self, replayer, key):
        self.replayer, self.key = replayer, key

    def run(self, pointers, keep):
        self.replayer.run(self.key, None, pointers, 0, False, keep)
        return True


@pytest.fixture
def replayer(monkeypatch):
    one = Replayer()
    monkeypatch.setattr(_quick, "_Tensor", OnCard)
    monkeypatch.setattr(_quick, "_raw_stream", lambda device: 0)
    monkeypatch.setattr(_quick, "_known", {})
    monkeypatch.setattr(_torch, "_cuda", lambda device: torch.device("cpu"))
    monkeypatch.setattr(_torch.framework, "stream", lambda device: 0, raising=False)
    monkeypatch.setattr(_cuda, "reason", lambda: None)
    monkeypatch.setattr(_replay, "replayer", lambda ordinal: one)
    monkeypatch.setattr(_replay, "run", lambda call, ordinal, check=False: pytest.fail("the long way"))
    return one


V, T, X = torch.randn(2, 20, 8), torch.arange(20) * 1000, torch.randint(-500, 20000, (2, 30))


def test_the_second_call_is_the_first_and_asks_nobody(replayer, monkeypatch):
    want, moved = (rc.resample(y, T, X, max_gap=2e-6, valid=True) for y in (V, V + 1))
    v, t, x = card(V), card(T), card(X)
    first = rc.resample(v, t, x, max_gap=2e-6, valid=True)
    monkeypatch.setattr(_call, "resolve", None)
    second = rc.resample(card(V + 1), t, x, max_gap=2e-6, valid=True)
    assert torch.equal(first.values, want.values) and torch.equal(first.valid, want.valid)
    assert torch.equal(second.values, moved.values) and torch.equal(second.valid, moved.valid)
    assert len(replayer.plans) == 1 and replayer.runs == 2


CALLS = {
    "values": [
        dict(),
        dict(kind="previous"),
        dict(edge="fill"),
        dict(edge="fill", fill=0.0),
        dict(edge="fill", fill=-0.0),
        dict(dtype="f64"),
    ],
    "limits": [
        dict(max_gap=1e-7),
        dict(max_gap=1e-7, fill_gaps=True),
        dict(kind="nearest", tolerance=1e-7),
        dict(snap=1e-7),
        dict(trust_times=True),
    ],
    "sides": [dict(valid=True), dict(age=True), dict(pad=True), dict(valid=True, pad=True)],
    "channels": [
        dict(channels=[rc.Channel(0, 4, "slerp")]),
        dict(channels=[(0, 4, "previous")]),
        dict(channels=((0, 4, "slerp", "wxyz"),)),
    ],
}


@pytest.mark.parametrize("group", CALLS)
def test_calls_that_differ_in_an_option_are_told_apart(replayer, group):
    v, t, x = card(V), card(T), card(X)
    for _ in range(2):
        for rules in CALLS[group]:
            got, want = rc.resample(v, t, x, **rules), rc.resample(V, T, X, **rules)
            for a, b in zip(got if isinstance(got, tuple) else [got], want if isinstance(want, tuple) else [want]):
                assert a.dtype == b.dtype and a.numpy().tobytes() == b.numpy().tobytes(), rules
    assert len(replayer.plans) == len(CALLS[group]) and replayer.runs == 2 * len(CALLS[group])


def test_calls_that_differ_in_shapes_dtypes_and_clocks_are_told_apart(replayer):
    calls = [
        (V, T, X),
        (V.double(), T, X),
        (V[:, :, :4].contiguous(), T, X),
        (V, T.expand(2, 20).contiguous(), X),
        (V, T, X[0].contiguous()),
        (V, T, rc.Uniform(0, 1e6, 30)),
        (V, T, rc.Uniform(0, 1e6, 31)),
        (V, T, rc.Anchored(torch.tensor([5000, 9000]), torch.tensor([-1000, 0, 1000]))),
        (V[0].contiguous(), T, X[0].contiguous()),
    ]
    for _ in range(2):
        for v, t, x in calls:
            on = (
                rc.Anchored(card(x.anchors), card(x.deltas))
                if isinstance(x, rc.Anchored)
                else x
                if isinstance(x, rc.Uniform)
                else card(x)
            )
            assert torch.equal(rc.resample(card(v), card(t), on), rc.resample(v, t, x))
    assert len(replayer.plans) == len(calls)
    offsets, lengths = torch.tensor([0, 9, 20]), torch.tensor([30, 7])
    for _ in range(2):
        got = rc.resample(card(V[0]), card(T), card(X), offsets=card(offsets), target_lengths=card(lengths))
        assert torch.equal(
            got.nan_to_num(7),
            rc.resample(V[0].contiguous(), T, X, offsets=offsets, target_lengths=lengths).nan_to_num(7),
        )
    assert [torch.equal(k, offsets) for k in replayer.kept] == [True]


def test_fuse_goes_the_short_way_too(replayer):
    w = torch.randn(2, 20, 3)
    options = [
        [{}, {}],
        [{"kind": "previous"}, {}],
        [{"shift": 0.5}, {"scale": [1.0, 2.0, 3.0]}],
        [{"shift": 0.0}, {}],
        [{"shift": np.full(8, 0.5), "clip": (None, 1.0)}, {"fill": math.nan, "edge": "fill"}],
        [{"clip": ([-1.0] * 8, None)}, {"channels": [(0, 1, "next")]}],
        [{"offset": 1e-6}, {"max_gap": 1e-9, "fill_gaps": True}],
    ]
    for _ in range(2):
        for a, b in options:
            # The times of two streams are one tensor.
            t = card(T)
            got = rc.fuse(
                [rc.Stream(card(V), t, **a), rc.Stream(None, width=2), rc.Stream(card(w), t, **b)], card(X), valid=True
            )
            want = rc.fuse([rc.Stream(V, T, **a), rc.Stream(None, width=2), rc.Stream(w, T, **b)], X, valid=True)
            assert got.values.numpy().tobytes() == want.values.numpy().tobytes() and torch.equal(
                got.valid, want.valid
            ), (a, b)
    assert len(replayer.plans) == len(options) and replayer.runs == 2 * len(options)


def test_what_is_not_plain_goes_the_long_way(replayer, monkeypatch):
    long = []
    monkeypatch.setattr(_replay, "run", lambda call, ordinal, check=False: long.append(call.op))
    v, t, x = card(V), card(T), card(X)
    rc.resample(v, t, x, out=card(torch.zeros(2, 30, 8)))
    rc.resample(card(V.transpose(1, 2)).transpose(1, 2), t, x)
    rc.resample(torch.nn.Parameter(V, requires_grad=False).as_subclass(OnCard), t, x, dtype="f64", out=None)
    assert long == ["resample"] * 2 and replayer.runs == 1
    for _ in range(2):
        with pytest.raises(rc.ArgumentError):
            rc.resample(v, t, x, kind=["linear"])
        with pytest.raises(rc.ArgumentError):
            rc.resample(v, t, x, kind="cubic")
        with pytest.raises(rc.DataError):
            rc.resample(v, card(T.flip(0)), x)
    g = card(V).requires_grad_()
    assert rc.resample(g, t, x).requires_grad and long[2:] == ["resample"]


def test_what_is_remembered_is_bounded(replayer, monkeypatch):
    monkeypatch.setattr(_quick, "_MOST", 5)
    v, t, x = card(V), card(T), card(X)
    for i in range(20):
        rc.resample(v, t, x, max_gap=i)
    assert len(_quick._known) <= 5


def test_clocks_in_seconds_and_in_nanoseconds_are_told_apart(replayer):
    v, t = card(V), card(T)
    for start in (1, 1.0, np.float64(1), np.int64(1), True):
        want = rc.resample(V, T, rc.Uniform(start, 1e6, 9), pad=True)
        got = rc.resample(v, t, rc.Uniform(start, 1e6, 9), pad=True)
        assert torch.equal(got.values, want.values) and torch.equal(got.pad, want.pad), start
        fused = rc.fuse([rc.Stream(v, t)], rc.Uniform(start, 1e6, 9), pad=True)
        assert torch.equal(fused.pad[..., 0], want.pad), start


@pytest.fixture
def long_way(replayer, monkeypatch):
    """Lets calls go the long way, too."""

    def run(call, ordinal, check=False):
        pointers = [v.pointer for v in {**call.outputs, **call.inputs}.values()]
        replayer.run(object(), lambda: call.request(call.described()), pointers, 0)

    monkeypatch.setattr(_replay, "run", run)


def test_options_that_can_change_or_look_alike_are_told_apart(replayer, long_way):
    v, t, x = card(V.double()), card(T), card(X)
    fills = [0.1, np.float32(0.1), torch.tensor(1.00001), torch.tensor(1.00002), np.array(0.1), math.nan, 0.0, -0.0]
    for fill in fills * 2:
        want = rc.resample(V.double(), T, X, edge="fill", fill=float(fill)).numpy().tobytes()
        assert rc.resample(v, t, x, edge="fill", fill=fill).numpy().tobytes() == want, fill
        assert rc.fuse([rc.Stream(v, t, edge="fill", fill=fill)], x).numpy().tobytes() == want, fill
    gap = torch.tensor(1.0)
    for seconds in (1.0, 1e-7):
        gap.fill_(seconds)
        want = rc.resample(V, T, X, max_gap=seconds, valid=True).valid
        assert torch.equal(rc.resample(v, t, x, max_gap=gap, valid=True).valid, want)
        assert torch.equal(rc.fuse([rc.Stream(v, t, max_gap=gap)], x, valid=True).valid[..., 0], want)
    rc.resample(v, t, x, fill=1.0)
    for _ in range(2):
        with pytest.raises(rc.ArgumentError):
            rc.resample(v, t, x, fill=[1.0])
        rc.fuse([rc.Stream(v, t, scale=2.0)], x)
        with pytest.raises(rc.ArgumentError):
            rc.fuse([rc.Stream(v, t, scale=[2.0])], x)


def test_channels_that_are_passed_once_count(replayer, long_way):
    channels = [rc.Channel(0, 8, "previous")]
    want = rc.resample(V, T, X, channels=channels)
    for _ in range(2):
        assert torch.equal(rc.resample(V, T, X, channels=iter(channels)), want)
        assert torch.equal(rc.resample(card(V), card(T), card(X), channels=iter(channels)), want)
        assert torch.equal(rc.fuse([rc.Stream(card(V), card(T), channels=iter(channels))], card(X)), want)
