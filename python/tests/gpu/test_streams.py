"""Streams, captures, threads, and errors that the GPU finds."""

import gc
import threading
import unittest

import numpy as np
import torch

import robocache as rc
from robocache import _device, _replay
from support import QUICK, check_equal, need_cuda, on_device
from test_values import fused, job


def inputs(seed=20, shape=(8, 129, 100, 32), dtype="f32"):
    need_cuda()
    args = job(seed, shape, dtype, "i64")
    return [on_device(a) for a in args], rc.resample(*args, backend="cpu")


def test_default_stream_side_streams_and_external_streams():
    args, want = inputs()
    check_equal(rc.resample(*args), want, "default")
    raw = _device.device(0).new_stream()
    for stream in (torch.cuda.Stream(), torch.cuda.Stream(priority=-1), torch.cuda.ExternalStream(raw)):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            y = rc.resample(*args)
        stream.synchronize()
        check_equal(y, want, stream)


def test_work_is_in_the_order_of_the_stream():
    args, _ = inputs()
    values = args[0]
    for stream in (torch.cuda.default_stream(), torch.cuda.Stream()):
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for i in range(5 if QUICK else 50):
                torch.cuda._sleep(2_000_000)
                x = torch.full_like(values, float(i))
                y = rc.resample(x, args[1], args[2])
                del x  # its memory may be used again, in the order of the stream
                z = torch.full_like(values, -1.0)
                assert bool((y == i).all()), i
                del z


def test_two_streams_at_once_share_nothing():
    need_cuda()
    rng = np.random.default_rng(0)
    box = {"size": 0.25, "min": 0, "max": 10, "mode": "hard", "max_points": 8, "max_voxels": 4000}
    clouds = [torch.from_numpy(rng.uniform(0, 10, (20000, 3)).astype(np.float32)) for _ in range(4)]
    want = [rc.voxelize(c, backend="cpu", **box) for c in clouds]
    clouds = [on_device(c) for c in clouds]
    streams = [torch.cuda.Stream() for _ in range(4)]
    torch.cuda.synchronize()
    got = [None] * 4

    def work(i):
        with torch.cuda.stream(streams[i]):
            for _ in range(2 if QUICK else 20):
                got[i] = rc.voxelize(clouds[i], **box)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    torch.cuda.synchronize()
    for g, w in zip(got, want):
        assert g is not None and g.found == w.found
        check_equal(g.values, w.values, "values")
        check_equal(g.coords, w.coords, "coords")


def test_threads_on_one_stream():
    args, _ = inputs()
    made = [[args[0] + i, args[1], args[2]] for i in range(8)]
    want = [rc.resample(*[a.cpu() for a in m], backend="cpu") for m in made]
    failed = []

    def work(i):
        try:
            for _ in range(5 if QUICK else 100):
                y = rc.resample(*made[i])
            check_equal(y, want[i], i)
        except BaseException as e:
            failed.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed, failed


def capture(function, warm=True):
    """Captures what a function does, which was run on a side stream before, as torch documents it; returns the graph
    and what the function returned."""
    if warm:
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            function()
        torch.cuda.current_stream().wait_stream(side)
    gc.collect()  # a graph of torch that is destroyed meanwhile ends the capture
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function()
    return graph, result


def test_a_capture_replayed_on_other_streams_beside_eager_calls():
    args, want = inputs()
    graph, y = capture(lambda: rc.resample(*args))
    other = [args[0] * 2, args[1], args[2]]
    twice = rc.resample(*[a.cpu() for a in other], backend="cpu")
    for stream in (torch.cuda.current_stream(), torch.cuda.Stream(), torch.cuda.Stream()):
        with torch.cuda.stream(stream):
            for _ in range(3 if QUICK else 50):
                y.zero_()
                graph.replay()
                z = rc.resample(*other)
        stream.synchronize()
        check_equal(y, want, "captured")
        check_equal(z, twice, "eager")
    args[0].mul_(2)
    graph.replay()
    torch.cuda.synchronize()
    check_equal(y, twice, "with new values")


def test_a_capture_of_a_first_call():
    args, want = inputs(21, (4, 77, 50, 12))
    graph, y = capture(lambda: rc.resample(*args), warm=False)
    graph.replay()
    torch.cuda.synchronize()
    check_equal(y, want, "first call")


def test_a_capture_of_fuse_and_of_what_comes_around_it():
    need_cuda()
    streams, targets = fused()
    want = rc.fuse(streams, targets, backend="cpu")
    streams, targets = [on_device(s) for s in streams], on_device(targets)
    graph, y = capture(lambda: rc.fuse(streams, targets).nan_to_num(0, 1, -1) * 2)
    graph.replay()
    torch.cuda.synchronize()
    check_equal(y, want.nan_to_num(0, 1, -1) * 2, "fuse")


def test_a_captured_call_can_be_waited_for_by_nobody():
    args, _ = inputs()
    side = torch.cuda.Stream()
    raised = []
    gc.collect()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=side):
        x = args[0] + 1
        for wait in (lambda: rc.resample(*args, check=True), lambda: rc.voxelize(args[0][0, :, :3].contiguous(), size=1, min=0, max=9)):
            try:
                wait()
            except rc.UnsupportedError as e:
                raised.append(str(e))  # not e: it holds this frame, and so the graph, in a cycle
    graph.replay()
    torch.cuda.synchronize()
    assert len(raised) == 2
    check_equal(x, (args[0] + 1).cpu(), "the rest of the capture")


def bad_times(args, row=5, index=77):
    times = args[1].clone()
    times[row, index] = times[row, index - 1] - 1
    return [args[0], times, args[2]]


def check_raises(function, row=5, index=77):
    try:
        function()
    except rc.DataError as e:
        assert (e.row, e.index) == (row, index) and e.arg == "times", (e.row, e.index, e.arg, e)
        return
    raise AssertionError("no DataError")


def test_check_raises_at_once_with_row_and_index():
    args, want = inputs()
    check_raises(lambda: rc.resample(*bad_times(args), check=True))
    check_equal(rc.resample(*args, check=True), want, "after")


def test_late_errors_come_with_a_later_call_or_synchronize():
    args, want = inputs()
    rc.resample(*bad_times(args))
    check_raises(rc.synchronize)
    rc.synchronize()
    rc.resample(*bad_times(args, 3, 9))
    torch.cuda.synchronize()
    check_raises(lambda: rc.resample(*args), 3, 9)
    check_equal(rc.resample(*args), want, "after")
    rc.synchronize()
    with torch.cuda.stream(torch.cuda.Stream()):
        rc.resample(*bad_times(args, 1, 2))
    check_raises(rc.synchronize, 1, 2)


def test_late_errors_of_a_replayed_graph():
    args, _ = inputs()
    bad = bad_times(args)
    good = args[1].clone()
    times = good.clone()
    graph, _ = capture(lambda: rc.resample(args[0], times, args[2]))
    graph.replay()
    rc.synchronize()
    times.copy_(bad[1])
    graph.replay()
    check_raises(rc.synchronize)
    graph.replay()  # found again with each replay
    torch.cuda.synchronize()
    check_raises(lambda: rc.resample(*args))
    times.copy_(good)
    graph.replay()
    rc.synchronize()


def test_a_bad_value_of_packed_rows_is_named_by_row():
    need_cuda()
    offsets = torch.tensor([0, 10, 30, 60])
    times = torch.cat([torch.arange(n) * 1000 for n in (10, 20, 30)])
    times[35] = 0  # row 2, index 5
    args = (torch.zeros(60, 4), times, torch.zeros(3, 5, dtype=torch.int64))
    where = []
    for move in (lambda x: x, on_device):
        backend = "cpu" if move is not on_device else "auto"
        try:
            rc.resample(*[move(a) for a in args], offsets=move(offsets), check=True, backend=backend)
        except rc.DataError as e:
            where.append((e.row, e.index, str(e)))
    assert len(where) == 2 and where[0] == where[1], where


def test_another_device_may_be_current():
    need_cuda()
    if torch.cuda.device_count() < 2:
        raise unittest.SkipTest("one device")
    args, want = inputs()
    with torch.cuda.device(1):
        check_equal(rc.resample(*args), want, "cuda:0 from cuda:1")
        there = [a.to("cuda:1") for a in args]
        check_equal(rc.resample(*there), want, "cuda:1")
    check_equal(rc.resample(*there), want, "cuda:1 from cuda:0")
    assert sorted(_replay.info()["used"]) == ["cuda:0", "cuda:1"]
