"""fuse on NumPy arrays: each stream is what resample gives for it."""

import datetime

import numpy as np
import pytest

import robocache as rc

S = 1_000_000_000
rng = np.random.default_rng(6)


def stream(s, d, dtype=np.float32, b=2):
    return rng.standard_normal((b, s, d)).astype(dtype), np.sort(rng.integers(0, 5 * S, (b, s)))


TARGETS = np.sort(rng.integers(-S, 6 * S, (2, 40)))


def test_each_stream_is_what_resample_gives_to_the_bit():
    a, b, c = stream(30, 3), stream(7, 4, np.float64), stream(100, 1, np.float16)
    streams = [
        rc.Stream(*a, edge="fill", fill=-1),
        rc.Stream(*b, kind="slerp", offset=0.25, max_gap=0.5, fill_gaps=True),
        rc.Stream(*c, kind="window-mean", window=0.3, edge="hold", offset=datetime.timedelta(seconds=-1)),
    ]
    r = rc.fuse(streams, TARGETS, valid=True, age=True, pad=True)
    assert r.values.shape == (2, 40, 8) and r.values.dtype == np.float64 and r.valid.shape == (2, 40, 3)
    lo = 0
    for m, (s, shift) in enumerate(zip(streams, (0, S // 4, -S))):
        rules = {f: getattr(s, f) for f in "kind window edge max_gap fill_gaps".split()}
        alone = rc.resample(
            s.values,
            s.times,
            TARGETS - shift,
            fill=s.fill or 0,
            dtype="f64" if m != 2 else None,
            valid=True,
            age=True,
            pad=True,
            **rules,
        )
        d = s.values.shape[2]
        want = alone.values
        if m == 2:  # computed in float32, and rounded once to float64
            want = rc.resample(s.values, s.times, TARGETS - shift, fill=0, dtype="f64", **rules)
        assert np.array_equal(r.values[..., lo : lo + d], want, equal_nan=True), m
        for side in ("valid", "age", "pad"):
            assert np.array_equal(getattr(r, side)[..., m], getattr(alone, side)), (m, side)
        lo += d


def test_the_dtype_is_f64_if_any_stream_is_else_f32_or_as_asked():
    f32, f64, f16 = stream(5, 2), stream(5, 2, np.float64), stream(5, 2, np.float16)
    assert rc.fuse([rc.Stream(*f32), rc.Stream(*f16)], TARGETS).dtype == np.float32
    assert rc.fuse([rc.Stream(*f32), rc.Stream(*f64)], TARGETS).dtype == np.float64
    assert rc.fuse([rc.Stream(*f64)], TARGETS, dtype="float16").dtype == np.float16
    bits = rc.fuse([rc.Stream(*f32)], TARGETS, dtype="bf16")
    assert bits.dtype == np.uint16


def test_shift_scale_and_clip_are_applied_in_float32_to_what_is_not_filled():
    v, t = stream(20, 3)
    x = rc.resample(v, t, TARGETS)
    shift, scale = np.array([0.1, -2.0, 3e5]), [3.0, 0.3, 1e-3]
    want = (x - np.float32(shift)) * np.float32(scale)
    assert np.array_equal(rc.fuse([rc.Stream(v, t, shift=shift, scale=scale)], TARGETS), want)
    assert np.array_equal(
        rc.fuse([rc.Stream(v, t, shift=0.5, scale=2)], TARGETS), (x - np.float32(0.5)) * np.float32(2)
    )
    for clip, lo, hi in (
        ((-1, 1), -1, 1),
        ((None, 0.5), -np.inf, 0.5),
        (([-1, 0, -np.inf], None), np.float32([-1, 0, -np.inf]), np.inf),
    ):
        got = rc.fuse([rc.Stream(v, t, shift=shift, scale=scale, clip=clip)], TARGETS)
        assert np.array_equal(got, np.clip(want, np.float32(lo), np.float32(hi))), clip
    filled = rc.fuse([rc.Stream(v, t, edge="fill", fill=7, shift=1, scale=5, clip=(-1, 1))], TARGETS, valid=True)
    assert (filled.values[~filled.valid[..., 0]] == 7).all()


def test_a_missing_stream_is_filled_and_not_valid():
    v, t = stream(20, 3)
    values, valid = rc.fuse(
        [rc.Stream(None, width=2, fill=4), rc.Stream(v, t), rc.Stream(None, width=1)], TARGETS, valid=True
    )
    assert (
        (values[..., :2] == 4).all()
        and (values[..., 5] == 0).all()
        and np.array_equal(values[..., 2:5], rc.resample(v, t, TARGETS))
    )
    assert not valid[..., [0, 2]].any()
    empty = np.zeros((2, 0, 2), np.float32)
    values, valid = rc.fuse([rc.Stream(empty, np.zeros((2, 0), np.int64)), rc.Stream(v, t)], TARGETS, valid=True)
    assert (values[..., :2] == 0).all() and not valid[..., 0].any()


def test_ragged_packed_and_windowed_streams():
    v, t = stream(20, 3, b=1)
    v, t = v[0], t[0]
    offsets = np.array([0, 12, 20])
    padded = np.stack([np.pad(v[:12], ((0, 0), (0, 0))), np.pad(v[12:], ((0, 4), (0, 0)))])
    times = np.stack([t[:12], np.pad(t[12:], (0, 4))])
    a = rc.fuse([rc.Stream(v, t, offsets=offsets), rc.Stream(padded, times, lengths=[12, 8])], TARGETS)
    assert np.array_equal(a[..., :3], a[..., 3:])
    assert np.array_equal(a[1, :, :3], rc.resample(v[12:], t[12:], TARGETS[1]))
    windows = rc.Anchored(np.array([S, 3 * S]), np.arange(-3, 4) * S // 10)
    rows = dict(starts=np.array([12, 0]), lengths=np.array([8, 12]))
    r = rc.fuse([rc.Stream(v, t, **rows), rc.Stream(v, t, kind="previous", **rows)], windows, pad=True)
    assert r.values.shape == (2, 7, 6) and r.pad.shape == (2, 7, 2)
    assert np.array_equal(r.values[0, :, :3], rc.resample(v[12:], t[12:], windows.anchors[0] + windows.deltas))
    lengths = np.array([3, 0])
    cut = rc.fuse([rc.Stream(v, t, offsets=offsets)], TARGETS, target_lengths=lengths)
    assert np.array_equal(cut[0, :3], a[0, :3, :3]) and (cut[0, 3:] == 0).all() and (cut[1] == 0).all()


def test_without_a_batch_and_onto_a_uniform_clock_and_into_out():
    (v, t), (w, u) = stream(20, 3, b=1), stream(9, 2, b=1)
    out, valid = np.zeros((50, 5), np.float32), np.zeros((50, 2), bool)
    r = rc.fuse(
        [rc.Stream(v[0], t[0]), rc.Stream(w[0], u[0], kind="nearest")],
        rc.Uniform(0, 10, 50),
        valid=True,
        out=(out, valid),
    )
    assert r.values is out and r.valid is valid
    assert np.array_equal(out[:, 3:], rc.resample(w[0], u[0], rc.Uniform(0, 10, 50), kind="nearest"))


def test_sixteen_streams_and_no_more():
    one = rc.Stream(np.zeros((3, 1), np.float32), np.arange(3))
    assert rc.fuse([one] * 16, np.arange(5)).shape == (5, 16)
    with pytest.raises(rc.ArgumentError, match="streams: wrong shape: got 17 streams, want 1 to 16"):
        rc.fuse([one] * 17, np.arange(5))


GOOD = rc.Stream(np.zeros((3, 2), np.float32), np.arange(3))
MISUSES = {
    "no streams": ([], "streams"),
    "an array for a stream": ([np.zeros((3, 2), np.float32)], "streams[0]"),
    "all missing": ([rc.Stream(None, width=1)], "streams"),
    "a missing one without width": ([GOOD, rc.Stream(None)], "streams[1].width"),
    "another width": ([GOOD._replace(width=5)], "streams[0].width"),
    "no times": ([GOOD, GOOD._replace(times=None)], "streams[1].times"),
    "times of another dtype": ([GOOD, GOOD._replace(times=np.arange(3.0))], "streams[1].times"),
    "another batch": ([GOOD, rc.Stream(np.zeros((2, 3, 2), np.float32), np.arange(3))], "streams[1].values"),
    "a kind that is none": ([GOOD, GOOD._replace(kind="x")], "streams[1].kind"),
    "a channel that is none": ([GOOD._replace(channels=[(0, 1, "linear"), (0, 2)])], "streams[0].channels[1]"),
    "a shift of another width": ([GOOD._replace(shift=[1.0, 2, 3])], "streams[0].shift"),
    "a scale that is a word": ([GOOD._replace(scale="x")], "streams[0].scale"),
    "a scale beyond float32": ([GOOD._replace(scale=1e39)], "streams[0].scale"),
    "a clip the wrong way": ([GOOD._replace(clip=(1, 0))], "streams[0].clip"),
    "a clip that is a number": ([GOOD._replace(clip=1.0)], "streams[0].clip"),
    "an offset of a thousand years": ([GOOD._replace(offset=1e11)], "streams[0].offset"),
    "a negative tolerance": ([GOOD._replace(tolerance=-0.1)], "streams[0].tolerance"),
}


@pytest.mark.parametrize("what", MISUSES)
def test_misuse_is_an_argument_error_that_names_the_stream(what):
    streams, arg = MISUSES[what]
    with pytest.raises(rc.ArgumentError) as e:
        rc.fuse(streams, np.arange(4))
    assert (e.value.op, e.value.arg) == ("fuse", arg), str(e.value)
    assert str(e.value).startswith("fuse: " + arg)


def test_bad_times_name_stream_row_and_index():
    v, t = stream(5, 1)
    bad = t.copy()
    bad[1, 2] = -5 * S
    with pytest.raises(rc.DataError) as e:
        rc.fuse([rc.Stream(v, t), rc.Stream(v, bad)], TARGETS)
    assert (e.value.op, e.value.arg, e.value.row, e.value.index) == ("fuse", "streams[1].times", 1, 2)
    rc.fuse([rc.Stream(v, t), rc.Stream(v, bad)], TARGETS, trust_times=True)


def test_a_single_stream_is_told_from_a_list_of_them():
    with pytest.raises(rc.ArgumentError, match=r"streams: .*a single Stream, want a list.*fuse\(\[stream\]") as e:
        rc.fuse(rc.Stream([[0.0]], [0.0]), [0.0])
    assert e.value.arg == "streams"


def test_streams_are_a_list_of_streams():
    stream = rc.Stream([[0.0], [1.0]], [0.0, 1.0])
    for streams in (iter([stream]), {"a": stream}, None):
        with pytest.raises(rc.ArgumentError, match="list of Stream") as e:
            rc.fuse(streams, [0.5])
        assert e.value.arg == "streams" and e.value.got == type(streams).__name__


def test_bounds_that_cross_are_told_apart():
    with pytest.raises(rc.ArgumentError, match=r"clip\[1\] of 1, want a number that is no more than clip\[1\]") as e:
        rc.fuse([rc.Stream([[0.0], [1.0]], [0.0, 1.0], clip=(2, 1))], [0.5])
    assert e.value.arg == "streams[0].clip"
