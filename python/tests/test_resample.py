"""resample on NumPy arrays, against formulas written with NumPy."""

import datetime
import gc
import math
import pickle

import numpy as np
import pytest

import robocache as rc
from robocache import _cuda

S = 1_000_000_000
rng = np.random.default_rng(5)


def bf16(x):
    """Rounds float32 to bf16, to nearest even, and returns its bits."""
    u = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((u + 0x7FFF + ((u >> 16) & 1)) >> 16).astype(np.uint16)


def unbf16(u):
    return (u.astype(np.uint32) << 16).view(np.float32)


def episode(s, t, d, dtype=np.float32, clock=np.int64):
    times = np.sort(rng.integers(0, 10 * S, s))
    targets = rng.integers(-S, 11 * S, t)
    values = rng.standard_normal((s, d))
    if clock != np.int64:
        times, targets = (times / S).astype(clock), (targets / S).astype(clock)
    return values.astype(dtype), times, targets


def by_hand(v, t, x, kind):
    """One target, by the rule of the kind, clamped; in the arithmetic of float32 or float64."""
    if x < t[0]:
        return v[0]
    if x > t[-1]:
        return v[-1]
    k = np.searchsorted(t, x, "right") - 1
    if x == t[k] or kind == "previous":
        return v[k]
    if kind == "next":
        return v[k + 1]
    lo, hi = x - t[k], t[k + 1] - t[k]
    if kind == "nearest":
        return v[k + 1] if t[k + 1] - x < lo else v[k]
    a = np.float64(lo) / np.float64(hi)
    one = np.float64 if v.dtype == np.float64 else np.float32
    return one(v[k]) + one(a) * (one(v[k + 1]) - one(v[k]))


@pytest.mark.parametrize("kind", ["linear", "previous", "next", "nearest"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
@pytest.mark.parametrize("clock", [np.int64, np.float64, np.float32])
def test_each_kind_is_its_formula_to_the_bit(kind, dtype, clock):
    v, t, x = episode(33, 129, 3, dtype, clock)
    want = np.array([by_hand(v, t, q, kind) for q in x]).astype(dtype)
    got = rc.resample(v, t, x, kind=kind)
    assert got.dtype == dtype and got.shape == (129, 3)
    assert np.array_equal(got, want)


def test_linear_is_numpy_interp():
    v, t, x = episode(100, 1000, 1, np.float64, np.float64)
    assert np.allclose(rc.resample(v, t, x)[:, 0], np.interp(x, t, v[:, 0]), rtol=0, atol=1e-12)


def test_bf16_is_uint16_and_rounded_once_to_nearest_even():
    v, t, x = episode(20, 50, 4)
    u = bf16(v)
    want = bf16(np.array([by_hand(unbf16(u), t, q, "linear") for q in x]))
    got = rc.resample(u, t, x, dtype="bf16")
    assert got.dtype == np.uint16 and np.array_equal(got, want)
    out = np.zeros_like(got)
    assert rc.resample(u, t, x, dtype="bf16", out=out) is out and np.array_equal(out, want)
    assert np.array_equal(rc.resample(v, t, x, dtype="bf16"), bf16(rc.resample(v, t, x)))
    bits = [rc.Stream(u, t), rc.Stream(v, t)]
    fused = rc.fuse(bits, x, dtype="bf16")
    assert np.array_equal(fused[:, :4], want) and np.array_equal(fused[:, 4:], bf16(rc.resample(v, t, x)))


@pytest.mark.parametrize(
    "kind", "pchip catmull-rom angle slerp rotvec rot6d hermite window-mean window-min window-max window-last".split()
)
def test_every_other_kind_can_be_asked_for(kind):
    v, t, x = episode(40, 25, 12, np.float64)
    v /= np.linalg.norm(v.reshape(40, 3, 4), axis=2).repeat(4, 1)
    y = rc.resample(v, t, x, kind=kind, window=1.0 if "window" in kind else None, edge="fill")
    inside = (x >= t[0]) & (x <= t[-1])
    assert np.isnan(y[~inside]).all()
    if kind == "slerp":
        assert np.allclose(np.linalg.norm(y[inside].reshape(-1, 3, 4), axis=2), 1)
    if kind.startswith("window"):
        for i in np.flatnonzero(inside):
            w = v[(t > x[i] - S) & (t <= x[i])]
            want = (
                {"mean": w.mean(0), "min": w.min(0), "max": w.max(0), "last": w[-1]}[kind[7:]]
                if len(w)
                else np.full(12, np.nan)
            )
            assert np.allclose(y[i], want, equal_nan=True, atol=1e-14)


def test_valid_age_and_pad_come_as_asked_for():
    t = np.array([1, 2, 5, 6]) * S
    v = np.arange(4.0)[:, None]
    x = np.array([0, 1.5, 3, 6, 7]) * S
    x = x.astype(np.int64)
    r = rc.resample(v, t, x, max_gap=2, valid=True, age=True, pad=True)
    assert r._fields == ("values", "valid", "age", "pad")
    assert r.valid.dtype == bool and r.valid.tolist() == [False, True, False, True, False]
    assert r.age.dtype == np.int64 and (r.age / S).tolist() == [-1, 0.5, 1, 0, 1]
    assert r.pad.dtype == bool and r.pad.tolist() == [True, False, False, False, True]
    for asked in ({"valid": True}, {"age": True}, {"pad": True}, {"valid": True, "pad": True}):
        got = rc.resample(v, t, x, max_gap=2, **asked)
        assert got._fields == ("values",) + tuple(asked)
        for name in asked:
            assert np.array_equal(getattr(got, name), getattr(r, name))
        assert pickle.loads(pickle.dumps(got))._fields == got._fields
    assert isinstance(rc.resample(v, t, x), np.ndarray)
    seconds = rc.resample(v, t / S, x / S, age=True)
    assert seconds.age.dtype == np.float64


def test_edges_fill_and_gaps():
    t, v, x = [1.0, 2.0, 5.0], [[1.0], [2.0], [5.0]], [0.0, 3.0, 6.0]
    for edge, want in {"clamp": [1, 3, 5], "fill": [-7, 3, -7], "extrapolate": [0, 3, 6], "hold": [-7, 3, 5]}.items():
        assert rc.resample(v, t, x, edge=edge, fill=-7).ravel().tolist() == want
    assert rc.resample(v, t, x, max_gap=2.5, fill_gaps=True, fill=9).ravel().tolist() == [1, 9, 5]
    assert math.copysign(1, rc.resample(v, t, [0.0], edge="fill", fill=-0.0)[0, 0]) == -1
    assert math.copysign(1, rc.resample(v, t, [0.0], edge="fill", fill=0.0)[0, 0]) == 1
    assert rc.resample(v, t, [0.0], edge="fill", fill=math.inf)[0, 0] == math.inf
    assert np.isnan(rc.resample(v, t, [0.0], edge="fill")[0, 0])
    with pytest.raises(rc.DataError, match="outside the source times at row 0, index 0") as e:
        rc.resample(v, t, x, edge="error")
    assert (e.value.arg, e.value.row, e.value.index) == ("targets", 0, 0)
    r = rc.resample(v, t, [1.0000004], snap=datetime.timedelta(microseconds=1), age=True, valid=True)
    assert r.values[0, 0] == 1 and r.valid[0]
    assert rc.resample(v, t, [4.0], kind="previous", tolerance=1.5, valid=True).valid.tolist() == [False]


def test_lengths_of_time_are_seconds_or_timedelta_to_the_nanosecond():
    t, v = np.array([0, 1000]), np.zeros((2, 1), np.float32)
    for gap, want in (
        (999e-9, False),
        (1000e-9, True),
        (datetime.timedelta(microseconds=1), True),
        (np.float32(1e-6), True),
        (0, False),
    ):
        assert rc.resample(v, t, np.array([5]), max_gap=gap, valid=True).valid.tolist() == [want], gap


def test_a_uniform_clock_is_never_written_out_and_is_its_formula():
    v, t, _ = episode(50, 1, 2)
    for start, rate, count in ((17, 30.0, 100), (3 * S, 250, 33)):
        ticks = np.array([start + int(math.floor(i * 1e9 / rate + 0.5)) for i in range(count)])
        assert np.array_equal(rc.resample(v, t, rc.Uniform(start, rate, count)), rc.resample(v, t, ticks))
    seconds = np.array([1.5 + i / 30 for i in range(40)])
    assert np.array_equal(rc.resample(v, t / S, rc.Uniform(1.5, 30, 40)), rc.resample(v, t / S, seconds))


def test_an_anchored_clock_gives_windows_of_each_row():
    v, t = rng.standard_normal((3, 20, 2)).astype(np.float32), np.arange(20) * S
    anchors, deltas = np.array([3, 9, 18]) * S + 7, np.array([-2, -1, 0, 1, 5]) * S
    r = rc.resample(v, t, rc.Anchored(anchors, deltas), pad=True)
    assert np.array_equal(r.values, rc.resample(v, t, anchors[:, None] + deltas))
    assert r.pad.tolist() == [[False] * 5] * 2 + [[False, False, False, True, True]]


def test_channels_have_kinds_of_their_own():
    v, t, x = episode(30, 40, 9, np.float64)
    table = [rc.Channel(0, 2, "previous"), (3, 7, "slerp"), rc.Channel(7, 8, "window-max", window=2)]
    y = rc.resample(v, t, x, channels=table, kind="linear")
    for lo, hi, kind, window in (
        (0, 2, "previous", None),
        (2, 3, "linear", None),
        (3, 7, "slerp", None),
        (7, 8, "window-max", 2),
        (8, 9, "linear", None),
    ):
        assert np.array_equal(y[:, lo:hi], rc.resample(v[:, lo:hi], t, x, kind=kind, window=window), equal_nan=True)


def test_quaternions_of_both_orders_and_angles_of_any_period():
    v, t, x = episode(10, 30, 4, np.float64)
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    wxyz = rc.resample(v[:, [3, 0, 1, 2]], t, x, kind="slerp", quat="wxyz")
    assert np.allclose(
        wxyz[:, [1, 2, 3, 0]], rc.resample(v, t, x, kind="slerp"), atol=1e-14
    )  # dot products add in another order
    degrees = np.array([[350.0], [10.0]])
    assert rc.resample(degrees, [0.0, 1.0], [0.75], kind="angle", period=360).tolist() == [[5.0]]


def test_batches_padded_packed_and_selected_are_the_rows_alone():
    lengths, d = [7, 1, 12], 3
    rows = [episode(n, 9, d) for n in lengths]
    alone = np.stack([rc.resample(*r) for r in rows])
    x = np.stack([r[2] for r in rows])
    padded, times = np.full((3, 12, d), np.nan, np.float32), np.zeros((3, 12), np.int64)
    for i, (v, t, _) in enumerate(rows):
        padded[i, : len(v)], times[i, : len(t)] = v, t
    assert np.array_equal(rc.resample(padded, times, x, lengths=np.array(lengths)), alone)
    packed, packed_times = np.concatenate([r[0] for r in rows]), np.concatenate([r[1] for r in rows])
    offsets = np.cumsum([0] + lengths)
    assert np.array_equal(rc.resample(packed, packed_times, x, offsets=offsets), alone)
    got = rc.resample(
        packed, packed_times, x[[2, 0, 2]], starts=offsets[[2, 0, 2]], lengths=np.array(lengths)[[2, 0, 2]]
    )
    assert np.array_equal(got, alone[[2, 0, 2]])
    r = rc.resample(padded, times, x, lengths=np.array(lengths), target_lengths=np.array([0, 4, 9]), fill=5, valid=True)
    assert (
        (r.values[0] == 5).all()
        and (r.values[1, 4:] == 5).all()
        and np.array_equal(r.values[2], alone[2])
        and not r.valid[0].any()
    )
    to = np.array([0, 2, 2, 9])
    got = rc.resample(packed, packed_times, np.concatenate([x[0, :2], x[2, :7]]), offsets=offsets, target_offsets=to)
    assert np.array_equal(got, np.concatenate([alone[0, :2], alone[2, :7]]))
    with pytest.raises(rc.ArgumentError, match="out: missing"):
        rc.resample(packed, packed_times, rc.Uniform(0, 5, 3), offsets=offsets, target_offsets=to)
    out = np.empty((9, d), np.float32)
    assert rc.resample(packed, packed_times, rc.Uniform(0, 5, 7), offsets=offsets, target_offsets=to, out=out) is out


def views(x):
    """The same numbers in other memory layouts."""
    wide = np.zeros(x.shape[:-1] + (2 * x.shape[-1],), x.dtype)
    wide[..., ::2] = x
    yield "every second of the last dimension", wide[..., ::2]
    rows = np.zeros((2 * x.shape[0],) + x.shape[1:], x.dtype)
    rows[::2] = x
    yield "every second row", rows[::2]
    yield "backwards", x[::-1].copy()[::-1]
    yield "transposed", np.ascontiguousarray(x.T).T
    yield "of another byte order", x.astype(x.dtype.newbyteorder())
    raw = bytearray(x.nbytes + 1)
    odd = np.frombuffer(raw, np.uint8)[1:].view(x.dtype).reshape(x.shape)
    odd[...] = x
    yield "at an odd address", odd
    frozen = x.copy()
    frozen.flags.writeable = False
    yield "read-only", frozen


def test_inputs_may_lie_in_memory_in_any_way():
    v, t, x = episode(16, 20, 3)
    v, t, x = np.stack([v, v + 1]), np.stack([t, t + 5]), np.stack([x, x])
    want = rc.resample(v, t, x)
    for how, w in views(v):
        assert np.array_equal(rc.resample(w, t, x), want), how
    for how, w in views(t):
        assert np.array_equal(rc.resample(v, w, x), want), how
    for how, w in views(x):
        assert np.array_equal(rc.resample(v, t, w), want), how
    shared = np.broadcast_to(v[:1], (2, 16, 3))
    assert np.array_equal(rc.resample(shared, t, x), rc.resample(shared.copy(), t, x))
    assert np.array_equal(rc.resample(v, np.broadcast_to(t[0], (2, 16)), x), rc.resample(v, t[0], x))
    constant = np.broadcast_to(v[:, :1], (2, 16, 3))
    assert np.array_equal(rc.resample(constant, t, x), rc.resample(constant.copy(), t, x))


def test_out_is_written_where_it_lies_and_nowhere_else():
    v, t, x = episode(16, 20, 3)
    want = rc.resample(v, t, x, valid=True, age=True)
    base = np.full((40, 5), 7, np.float32)
    out = base[::2, 1:4]
    assert rc.resample(v, t, x, out=out) is out
    assert np.array_equal(out, want.values)
    assert (base[1::2] == 7).all() and (base[:, 0] == 7).all() and (base[:, 4] == 7).all()
    valid = np.empty(20, np.uint8)
    half = np.empty((20, 3), np.float16)
    r = rc.resample(v, t, x, valid=True, age=True, out=(half, valid))
    assert r.values is half and r.valid is valid
    assert (
        np.array_equal(half, want.values.astype(np.float16))
        and np.array_equal(valid, want.valid)
        and np.array_equal(r.age, want.age)
    )


@pytest.mark.parametrize("b, s, t, d", [(0, 3, 4, 2), (2, 3, 0, 2), (2, 3, 4, 0), (2, 0, 0, 2), (0, 0, 0, 0)])
def test_empty_arrays_give_empty_results(b, s, t, d):
    r = rc.resample(
        np.zeros((b, s, d), np.float32), np.zeros((b, s), np.int64), np.zeros((b, t), np.int64), valid=True, age=True
    )
    assert r.values.shape == (b, t, d) and r.valid.shape == (b, t)
    assert not r.valid.any() and not r.age.any()
    out = np.full((b, t), 3, np.uint8)
    rc.resample(
        np.zeros((b, s, d), np.float32),
        np.zeros((b, s), np.int64),
        np.zeros((b, t), np.int64),
        valid=True,
        out=(r.values, out),
    )
    assert (out == 3).all(), "nothing is written"


def test_bad_values_say_where_they_are():
    v, t = np.zeros((2, 5, 1), np.float32), np.array([[0, 1, 2, 3, 4], [0, 1, 5, 3, 4]])
    with pytest.raises(rc.DataError) as e:
        rc.resample(v, t, np.array([1]))
    assert (e.value.op, e.value.arg, e.value.row, e.value.index, e.value.kind) == (
        "resample",
        "times",
        1,
        3,
        "time goes backwards",
    )
    rc.resample(v, t, np.array([1]), trust_times=True)
    with pytest.raises(rc.DataError, match="not finite at row 0, index 2"):
        rc.resample(v[0], [0.0, 1.0, math.nan, 3.0, 4.0], [1.0])
    with pytest.raises(rc.DataError, match="offsets: row lengths or offsets do not fit"):
        rc.resample(v[0], t[0], np.array([1]), offsets=np.array([0, 9]))


V, T, X = np.zeros((2, 5, 4), np.float32), np.arange(5), np.arange(3)
MISUSES = {
    "no values": (dict(values=None), "values"),
    "no times": (dict(times=None), "times"),
    "no targets": (dict(targets=None), "targets"),
    "values of integers": (dict(values=np.zeros((5, 2), np.int64)), "values"),
    "values of complex numbers": (dict(values=np.zeros((5, 2), complex)), "values"),
    "values of objects": (dict(values=np.array([[object()]])), "values"),
    "a masked array": (dict(values=np.ma.masked_less(np.zeros((5, 2), np.float32), 1)), "values"),
    "values of words": (dict(values=[["a"]]), "values"),
    "a ragged list": (dict(values=[[1.0], [1.0, 2.0]]), "values"),
    "a string": (dict(values="abc"), "values"),
    "one dimension": (dict(values=np.zeros(5, np.float32)), "values"),
    "four dimensions": (dict(values=np.zeros((1, 1, 5, 2), np.float32)), "values"),
    "a number": (dict(values=3.0), "values"),
    "times of another length": (dict(times=np.arange(6)), "times"),
    "times of int32": (dict(times=np.arange(5, dtype=np.int32)), "times"),
    "targets of another dtype": (dict(targets=[0.5]), "targets"),
    "targets of three dimensions": (dict(targets=np.zeros((2, 1, 1), np.int64)), "targets"),
    "an unknown kind": (dict(kind="cubic"), "kind"),
    "a kind that is no name": (dict(kind=3), "kind"),
    "a kind in a list": (dict(kind=["linear"]), "kind"),
    "a window kind without a window": (dict(kind="window-mean"), "window"),
    "slerp of other than fours": (dict(kind="slerp", values=np.zeros((5, 3), np.float32)), None),
    "an unknown edge": (dict(edge="wrap"), "edge"),
    "an unknown order": (dict(kind="slerp", quat="ijkw"), "quat"),
    "a negative gap": (dict(max_gap=-1), "max_gap"),
    "a gap that is a word": (dict(max_gap="1s"), "max_gap"),
    "a gap that is no number": (dict(max_gap=math.nan), "max_gap"),
    "a gap of 300 years": (dict(max_gap=1e10), "max_gap"),
    "a fill that is a word": (dict(fill="x"), "fill"),
    "a bad period": (dict(kind="angle", period=-1), "period"),
    "a channel outside": (dict(channels=[rc.Channel(3, 9)]), "channels[0]"),
    "a channel of an unknown kind": (dict(channels=[rc.Channel(0, 1, "x")]), "channels[0].kind"),
    "a channel of words": (dict(channels=[("a", 2)]), "channels[0].lo"),
    "a channel that is none": (dict(channels=[(1,)]), "channels[0]"),
    "an unknown dtype": (dict(dtype="int8"), "dtype"),
    "a dtype of integers": (dict(dtype="i64"), "dtype"),
    "a rate of 0": (dict(targets=rc.Uniform(0, 0, 3)), "targets.rate"),
    "a negative count": (dict(targets=rc.Uniform(0, 1, -3)), "targets.count"),
    "a count of a half": (dict(targets=rc.Uniform(0, 1, 1.5)), "targets.count"),
    "a start beyond 64 bits": (dict(targets=rc.Uniform(1 << 70, 1, 1)), "targets.start"),
    "anchors of floats": (dict(targets=rc.Anchored([0.0, 1.0], [0])), "targets.anchors"),
    "anchors beside seconds": (dict(times=[0.0, 1.0], targets=rc.Anchored([0], [0])), "targets"),
    "no deltas": (dict(targets=rc.Anchored([0, 1], None)), "targets.deltas"),
    "lengths and offsets": (dict(lengths=[1, 1], offsets=[0, 1, 2]), "lengths"),
    "lengths of floats": (dict(lengths=[1.0, 1.0]), "lengths"),
    "an unknown backend": (dict(backend="tpu"), "backend"),
    "a backend that is no name": (dict(backend=None), "backend"),
    "a backend of no number": (dict(backend="cuda:x"), "backend"),
    "an out of another shape": (dict(out=np.zeros((2, 9, 4), np.float32)), "out"),
    "an out of integers": (dict(out=np.zeros((2, 3, 4), np.int64)), "out"),
    "an out that is a list": (dict(out=[[1.0]]), "out"),
    "an out too many": (dict(out=(None, None)), "out"),
    "an out that cannot be written": (dict(out=np.broadcast_to(np.float32(0), (2, 3, 4))), "out"),
    "an out whose last dimension is strided": (dict(out=np.zeros((2, 3, 8), np.float32)[..., ::2]), "out"),
    "an out that overlaps values": (dict(values=V, targets=np.arange(5), out=V), "out"),
    "an age of another dtype": (dict(age=True, out=(None, np.zeros((2, 3), np.float32))), "out.age"),
}


@pytest.mark.parametrize("what", MISUSES)
def test_misuse_is_an_argument_error_that_names_the_argument(what):
    change, arg = MISUSES[what]
    call = dict(values=V, times=T, targets=X)
    call.update(change)
    with pytest.raises(rc.ArgumentError) as e:
        rc.resample(**call)
    assert e.value.op == "resample" and (arg is None or e.value.arg == arg), repr(e.value)
    assert str(e.value).startswith("resample: ") and e.value.want, repr(e.value)


def test_a_wrong_out_is_left_as_it_was():
    out = np.full((2, 3, 4), 7, np.float32)
    with pytest.raises(rc.ArgumentError):
        rc.resample(V, T, X, kind="cubic", out=out)
    assert (out == 7).all()


def test_more_memory_than_there_is_is_an_out_of_memory_error():
    v = np.broadcast_to(np.float32(0), (1 << 20, 1 << 20, 1 << 20))
    with pytest.raises((rc.OutOfMemoryError, rc.ArgumentError)):
        rc.resample(v, np.broadcast_to(np.int64(0), (1 << 20, 1 << 20)), X)
    with pytest.raises(rc.OutOfMemoryError):
        rc.resample(np.zeros((1, 1), np.float32), [0], rc.Uniform(0, 1, 1 << 40))
    gc.collect()
    assert rc.resample(V, T, X).shape == (2, 3, 4)


def test_datetimes_are_nanoseconds():
    stamps = np.array(["2024-05-01T12:00:00.000", "2024-05-01T12:00:01.000"], "datetime64[ms]")
    at = np.array(["2024-05-01T12:00:00.250"], "datetime64[us]")
    r = rc.resample([[0.0], [4.0]], stamps, at, age=True)
    assert r.values.tolist() == [[1.0]] and r.age.tolist() == [250_000_000]
    assert rc.resample([[0.0], [4.0]], stamps - stamps[0], np.array([500], "timedelta64[ms]")).tolist() == [[2.0]]
    with pytest.raises(rc.DataError, match="beyond"):
        rc.resample([[0.0], [4.0]], np.array(["NaT", "2024-05-01"], "datetime64[ns]"), at)


def test_lists_are_taken_as_numpy_arrays():
    assert rc.resample([[0], [10]], [0.0, 1.0], [0.5]).tolist() == [[5.0]]
    assert rc.resample([[0], [10]], [0, 10], (5,)).dtype == np.float64


def test_fills_that_print_alike_are_told_apart():
    v, t = np.zeros((2, 1)), np.array([0.0, 1.0])
    for _ in range(2):
        for fill in (0.1, np.float32(0.1), np.float16(0.1), np.array(0.1, np.float32)):
            assert rc.resample(v, t, [9.0], edge="fill", fill=fill)[0, 0] == float(fill)


def test_an_option_that_changes_is_not_remembered():
    class Changing:
        seconds = 5.0

        def __float__(self):
            return self.seconds

    v, t, gap = np.zeros((2, 1)), np.array([0.0, 1.0]), Changing()
    assert rc.resample(v, t, [0.5], max_gap=gap, valid=True).valid.all()
    gap.seconds = 0.1
    assert not rc.resample(v, t, [0.5], max_gap=gap, valid=True).valid.any()


def test_dates_that_nanoseconds_do_not_reach_are_refused():
    v, t = np.zeros((2, 1)), np.array(["2000-01-01", "2001-01-01"], "M8[D]")
    with pytest.raises(rc.ArgumentError, match="nanoseconds") as e:
        rc.resample(v, t, np.array(["2600-06-01"], "M8[D]"))
    assert e.value.arg == "targets"
    with pytest.raises(rc.DataError):
        rc.resample(v, t, np.array(["NaT"], "M8[D]"))
    assert rc.resample(v, t, np.array(["2000-06-01"], "M8[ps]")).shape == (1, 1)


def test_a_clock_may_start_at_any_real_number():
    v, t = np.arange(3.0)[:, None], np.arange(3.0)
    for start in (1.0, np.float32(1), np.float16(1)):
        assert rc.resample(v, t, rc.Uniform(start, 2, 3)).ravel().tolist() == [1.0, 1.5, 2.0]


def test_a_backend_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(_cuda, "_driver", None)
    monkeypatch.setattr(_cuda, "_reason", "no driver")
    with pytest.raises(rc.DeviceError, match="no driver") as e:
        rc.resample([[0.0], [1.0]], [0.0, 1.0], [0.5], backend="cuda:1")
    assert (e.value.op, e.value.arg, e.value.got) == ("resample", "backend", "cuda:1")


def test_a_target_that_is_nan_is_not_valid():
    v, t = [[1.0], [2.0]], [0.0, 1.0]
    y = rc.resample(v, t, [np.nan, 0.5], valid=True)
    assert np.isnan(y.values[0, 0]) and y.values[1, 0] == 1.5 and y.valid.tolist() == [False, True]
    assert rc.resample(v, t, [np.nan], edge="fill", fill=7, valid=True).values.tolist() == [[7.0]]
