"""What long runs and failures leave behind."""

import os
import signal
import sys
import threading
import time

import numpy as np
import torch

import robocache as rc
from robocache import _child, _replay
from support import QUICK, check_equal, need_cuda, on_device, rss
from test_streams import inputs
from test_values import fused, job


def test_ten_thousand_calls_take_no_more_memory():
    args, _ = inputs()
    streams, targets = fused()
    streams, targets = [on_device(s) for s in streams], on_device(targets)
    cloud = on_device(torch.from_numpy(np.random.default_rng(0).uniform(0, 10, (5000, 3)).astype(np.float32)))

    def calls(n):
        for i in range(n):
            rc.resample(*args, valid=i % 2 == 0)
            if i % 10 == 0:
                rc.fuse(streams, targets)
                rc.voxelize(cloud, size=1, min=0, max=10)
        torch.cuda.synchronize()
        return torch.cuda.memory_allocated(), torch.cuda.mem_get_info()[0], rss(), _replay.info()["used"]["cuda:0"]["bytes"]

    n = 100 if QUICK else 10000
    before = calls(n // 5)
    after = calls(n)
    grown = [a - b for a, b in zip(after, before)]
    assert grown[3] == 0, grown
    if not QUICK:  # compute-sanitizer keeps what is freed, and torch counts without its cache what was ever allocated
        assert grown[0] == 0 and grown[1] >= -(2 << 20) and grown[2] < 4 << 20, grown


def test_a_thousand_shapes_are_bounded():
    need_cuda()
    rng = np.random.default_rng(1)
    points = on_device(torch.from_numpy(rng.uniform(0, 10, (100000, 3)).astype(np.float32)))
    for i in range(20 if QUICK else 1000):
        rc.voxelize(points[: 50000 + i], size=0.5, min=0, max=10, mode="sparse")
    used = _replay.info()["used"]["cuda:0"]
    assert used["plans"] <= _replay.PLANS and used["bytes"] < _replay.PLAN_BYTES + (600 << 20), used
    one = _replay.replayer(0)
    one.trim()
    one.device.pool.flush()
    left = _replay.info()["used"]["cuda:0"]
    assert left["instances"] == 0 and left["bytes"] < (64 << 20), left


def test_little_memory_is_an_error_and_calls_go_on():
    args, want = inputs()
    free, _ = torch.cuda.mem_get_info()
    torch.cuda.empty_cache()
    rng = np.random.default_rng(2)
    cloud = on_device(torch.from_numpy(rng.uniform(0, 10, (200000, 3)).astype(np.float32)))
    free, _ = torch.cuda.mem_get_info()
    hog = [torch.empty(max(free - (96 << 20), 1), dtype=torch.uint8, device="cuda")]
    try:
        # torch keeps what it frees: the replayer has it give that back.
        hog.append(torch.empty(64 << 20, dtype=torch.uint8, device="cuda"))
        del hog[1]
        try:
            for i in range(40):
                rc.voxelize(cloud[: 200000 - i], size=0.01, min=0, max=10, mode="sparse", max_voxels=1000)
        except rc.OutOfMemoryError as e:
            assert "bytes" in str(e)
        check_equal(rc.resample(*args), want, "with little memory")
    finally:
        hog.clear()
        torch.cuda.empty_cache()
    check_equal(rc.resample(*args), want, "after")


def test_a_forked_process_is_refused():
    args, want = inputs()
    check_equal(rc.resample(*args), want, "before")
    host = job(3, (2, 9, 5, 3), "f32", "i64")
    rc.resample(*host, backend="cpu")
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            rc.resample(*host, backend="cpu")
        except rc.ForkError:
            code += 1
        try:
            _replay.replayer(0).run("k", lambda: {}, (), 0)
        except rc.ForkError:
            code += 1
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 3
    check_equal(rc.resample(*args), want, "after")


def test_the_helper_process_may_be_killed_at_any_moment():
    args, want = inputs()
    rounds = 2 if QUICK else 5
    for round_ in range(rounds):
        stop = threading.Event()
        errors = []

        def work():
            n = 0
            while not stop.is_set():
                n += 1
                m, k = 1 + n % 32, 1 + (n // 32 + 20 * round_) % 100  # mostly a plan that is not known
                try:
                    y = rc.resample(args[0][:, :, :m], args[1], args[2][:, :k])
                    check_equal(y, want[:, :k, :m].contiguous(), (k, m))
                except rc.ServerError as e:
                    errors.append(e)
                except BaseException as e:
                    errors.append(e)
                    return

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.3)
        os.kill(_child.shared().process_id, signal.SIGKILL)
        time.sleep(0.5)
        stop.set()
        thread.join(60)
        assert not thread.is_alive()
        assert all(isinstance(e, rc.ServerError) for e in errors) and len(errors) <= 1, errors
    check_equal(rc.resample(*args), want, "after")


def test_the_interpreter_ends_quietly_with_work_under_way():
    import subprocess

    need_cuda()
    code = (
        "import sys, torch; sys.path[:0] = sys.argv[1:]; import robocache as rc\n"
        "x = torch.zeros(64, 1000, 64, device='cuda'); t = torch.arange(1000, device='cuda'); q = torch.arange(2000, device='cuda') // 2\n"
        "g = torch.cuda.CUDAGraph(); torch.cuda.synchronize()\n"
        "with torch.cuda.graph(g): y = rc.resample(x, t, q)\n"
        "for _ in range(100): z = rc.resample(x, t, q); g.replay()\n"
    )
    root = os.path.dirname(os.path.dirname(rc.__file__))
    out = subprocess.run([sys.executable, "-c", code, root], capture_output=True, text=True, timeout=300)
    assert out.returncode == 0 and out.stderr == "", out
