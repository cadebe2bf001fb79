"""What resample, fuse and voxelize refuse, by which name, and what they ask instead."""

import numpy as np
import pytest

import robocache as rc
from test_resample import episode


@pytest.mark.parametrize(
    "call",
    [
        lambda u, v, t, x: rc.resample(u, t, x),
        lambda u, v, t, x: rc.resample(u, t, x, dtype=np.float32),
        lambda u, v, t, x: rc.resample(v, t, x, out=np.zeros((50, 4), np.uint16)),
        lambda u, v, t, x: rc.fuse([rc.Stream(v, t), rc.Stream(u, t)], x),
        lambda u, v, t, x: rc.fuse([rc.Stream(v, t)], x, out=np.zeros((50, 4), np.uint16)),
    ],
)
def test_uint16_is_bf16_only_where_dtype_says_so(call):
    v, t, x = episode(20, 50, 4)
    with pytest.raises(rc.ArgumentError, match='got uint16, want float32.* or dtype="bf16"') as e:
        call(np.full((20, 4), 1000, np.uint16), v, t, x)
    assert e.value.got == "uint16" and e.value.arg in ("values", "out", "streams[1].values") and e.value.op


@pytest.mark.parametrize("dtype", [np.complex128, np.uint64, np.uint16, np.int8])
def test_the_dtypes_of_an_error_are_those_of_its_argument(dtype):
    v, t, x = episode(20, 50, 4)
    for call, arg, want in (
        (lambda: rc.resample(v.astype(dtype), t, x), "values", "float32, float64, float16 or bfloat16"),
        (lambda: rc.resample(v, t.astype(dtype), x), "times", "int64 (nanoseconds), float64 or float32 (seconds)"),
        (lambda: rc.resample(v, t, x.astype(dtype)), "targets", "int64 (nanoseconds), float64 or float32 (seconds)"),
        (lambda: rc.resample(v, t, x, lengths=np.ones(1, dtype)), "lengths", "int64"),
        (lambda: rc.voxelize(v[:, :3].astype(dtype), size=1), "points", "float32 or float64"),
        (lambda: rc.voxelize(v[:, :3], size=1, labels=np.ones(20, dtype)), "labels", "int32"),
        (lambda: rc.voxelize(v[:, :3], v.astype(dtype), size=1), "features", "float32, float64, float16 or bfloat16"),
    ):
        with pytest.raises(rc.ArgumentError) as e:
            call()
        assert e.value.arg == arg and str(e.value.want).startswith(want) and np.dtype(dtype).name in str(e.value)


def test_a_list_of_times_has_the_dtype_of_the_times_beside_it():
    v = np.array([[0.0], [1.0], [2.0]])
    for dtype in (np.float32, np.float64):
        t = np.arange(3, dtype=dtype)
        assert rc.resample(v, t, [0, 0.5]).tolist() == [[0], [0.5]] and rc.resample(v, t, [0, 1]).tolist() == [[0], [1]]
        assert rc.resample(v, [0, 1, 2], t / 2).tolist() == [[0], [0.5], [1]]
        assert rc.fuse([rc.Stream(v, t), rc.Stream(v, [0, 1, 2])], [0.5]).tolist() == [[0.5, 0.5]]
    assert rc.resample(v, [0, 1, 2], [0.5]).tolist() == [[0.5]]
    assert rc.resample(v, np.arange(3), [1, 2]).tolist() == [[1], [2]]
    for call in (lambda: rc.resample(v, np.arange(3), [0.5]), lambda: rc.fuse([rc.Stream(v, np.arange(3))], [1.0])):
        with pytest.raises(rc.ArgumentError, match="beside int64 nanoseconds.*500_000_000") as e:
            call()
        assert e.value.arg == "targets" and e.value.op


@pytest.mark.parametrize(
    "options, arg",
    [
        (dict(window=0.1), "window"),
        (dict(window=0.1, kind="slerp"), "window"),
        (dict(period=360), "period"),
        (dict(quat="wxyz"), "quat"),
        (dict(channels=[rc.Channel(0, 1, "previous", window=0.1)], kind="window-mean", window=1), "channels[0].window"),
        (dict(channels=[rc.Channel(0, 1, "linear", period=360)]), "channels[0].period"),
        (dict(channels=[rc.Channel(0, 4, "slerp")], quat="wxyz"), "quat"),
        (dict(channels=[rc.Channel(0, 1, "angle")], period=360), "period"),
    ],
)
def test_an_option_that_none_of_the_kinds_takes_is_refused(options, arg):
    v, t, x = episode(20, 50, 4)
    with pytest.raises(rc.ArgumentError, match="with kind") as e:
        rc.resample(v, t, x, **options)
    assert (e.value.op, e.value.arg) == ("resample", arg)
    with pytest.raises(rc.ArgumentError) as e:
        rc.fuse([rc.Stream(v, t, **options)], x)
    assert e.value.arg == "streams[0]." + arg


def test_a_window_is_that_of_the_channels_that_have_none():
    v, t, x = episode(20, 50, 4)
    y = rc.resample(v, t, x, channels=[rc.Channel(0, 2, "window-max")], window=2)
    assert np.array_equal(y[:, :2], rc.resample(v[:, :2], t, x, kind="window-max", window=2), equal_nan=True)


@pytest.mark.parametrize(
    "call, meant",
    [
        (lambda v, t, x: rc.resample(v, t, x, kind="lineer"), "linear"),
        (lambda v, t, x: rc.resample(v, t, x, edge="clmp"), "clamp"),
        (lambda v, t, x: rc.resample(v, t, x, channels=[(0, 1, "previos")]), "previous"),
        (lambda v, t, x: rc.fuse([rc.Stream(v, t, kind="slrp")], x), "slerp"),
        (lambda v, t, x: rc.voxelize(v[:, :3], size=1, mode="spars"), "sparse"),
        (lambda v, t, x: rc.voxelize(v[:, :3], size=1, reduce="men"), "mean"),
        (lambda v, t, x: rc.voxelize(v[:, :3], size=1, preset="opend3"), "open3d"),
    ],
)
def test_a_name_that_is_misspelt_is_asked_about(call, meant):
    with pytest.raises(rc.ArgumentError, match=r"\(did you mean {}\?\)".format(meant)):
        call(*episode(20, 50, 4))
    with pytest.raises(rc.ArgumentError, match="want one of") as e:
        rc.resample(*episode(20, 50, 4), kind="quadrature")
    assert "did you mean" not in str(e.value)
