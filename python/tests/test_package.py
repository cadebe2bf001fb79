"""The package as a whole: what importing it costs, threads, deaths in the middle of calls, leaks, documentation."""

import gc
import importlib
import inspect
import os
import pathlib
import pkgutil
import random
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import robocache as rc
from loader_data import LONG
from robocache import _child

S = 1_000_000_000
V = np.random.default_rng(0).standard_normal((4, 300, 6)).astype(np.float32)
T = np.arange(300) * S // 100
X = np.arange(500) * S // 200 + 1


def test_importing_it_imports_no_framework_and_starts_nothing():
    code = (
        "import sys, os, robocache\n"
        "assert not {'torch', 'numpy', 'jax', 'cupy', 'ctypes.util'} & set(sys.modules), sorted(sys.modules)\n"
        "assert robocache._child._shared is None\n"
        "import multiprocessing, threading; assert threading.active_count() == 1\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_lists_without_numpy_are_refused_with_the_reason():
    code = (
        "import sys; sys.modules['numpy'] = None\n"
        "import robocache as rc\n"
        "try: rc.resample([[0.0]], [0.0], [0.0])\n"
        "except rc.UnsupportedError as e: assert 'NumPy is not installed' in str(e); print('refused')\n"
    )
    assert subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=60).stdout == b"refused\n"


def test_names_that_are_imported_later_are_there():
    code = (
        "import sys, robocache\n"
        "assert 'robocache._recording' not in sys.modules and 'robocache._loader' not in sys.modules\n"
        "from robocache import *\n"
        "assert set(robocache.__all__) <= set(dir(robocache)) and set(robocache._LATER) <= set(robocache.__all__)\n"
        "assert not [n for n in dir(robocache) if n not in robocache.__all__ and not n.startswith('__')]\n"
        "assert not {'Any', 'List', 'TYPE_CHECKING'} & set(vars(robocache))\n"
        "assert Recording is robocache.Recording and robocache.Loader.__name__ == 'Loader'\n"
        "try: robocache.Nothing\n"
        "except AttributeError as e: assert 'Nothing' in str(e)\n"
        "else: raise AssertionError\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


PUBLIC = [getattr(rc, name) for name in rc.__all__ if not name.startswith("__")]


def test_every_public_name_is_documented_with_an_example_where_it_is_a_function():
    assert sorted(rc.__all__) == sorted(set(rc.__all__))
    for x in PUBLIC:
        assert x.__doc__ and len(x.__doc__.split()) > 4, x
        assert not x.__doc__.startswith(x.__name__ + "("), "{}: has no doc string of its own".format(x.__name__)
        if inspect.isfunction(x):
            assert "Example:" in x.__doc__ and ">>>" in x.__doc__, x.__name__
            for name in inspect.signature(x).parameters:
                assert name in x.__doc__, "{} says nothing of {}".format(x.__name__, name)


def test_everything_has_a_doc_string_and_every_module_is_imported_alone():
    for module in pkgutil.iter_modules(rc.__path__):
        if module.name == "__main__":
            continue
        try:
            m = importlib.import_module("robocache." + module.name)
        except ImportError as e:
            if e.name in ("jax", "cupy", "torch"):
                continue
            raise
        assert m.__doc__, module.name
        for name, x in vars(m).items():
            if (
                getattr(x, "__module__", None) == m.__name__
                and not name.startswith("_")
                and callable(x)
                and not isinstance(x, type(V))
            ):
                assert x.__doc__, "{}.{}".format(module.name, name)


def test_threads_may_call_at_once():
    want = rc.resample(V, T, X)
    points = np.random.default_rng(1).random((1000, 3)).astype(np.float32)
    voxels = rc.voxelize(points, size=0.1, mode="sparse")
    wrong = []

    def work(i):
        try:
            for k in range(30):
                if i % 3 == 0:
                    assert np.array_equal(rc.resample(V[:, :, : 1 + k % 6], T, X), want[:, :, : 1 + k % 6])
                elif i % 3 == 1:
                    assert np.array_equal(rc.voxelize(points, size=0.1, mode="sparse").values, voxels.values)
                else:
                    with pytest.raises(rc.DataError):
                        rc.resample(V, T[::-1], X)
        except BaseException as e:
            wrong.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(9)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong, wrong


def test_one_process_serves_all_threads_that_come_first_together():
    _child.stop()
    seen, gate = set(), threading.Barrier(8)

    def work():
        gate.wait()
        seen.add(_child.shared().process_id)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(seen) == 1


def test_a_process_killed_in_the_middle_of_calls_costs_these_calls_only():
    want = rc.resample(V, T, X)
    dice = random.Random(3)
    died = 0
    for _ in range(100):
        child = _child.shared()
        timer = threading.Timer(dice.random() * 0.003, os.kill, (child.process_id, signal.SIGKILL))
        timer.start()
        try:
            while timer.is_alive():
                assert np.array_equal(rc.resample(V, T, X), want)
        except rc.ServerError as e:
            assert "SIGKILL" in str(e)
            died += 1
        timer.join()
        try:
            rc.resample(V, T, X)
        except rc.ServerError:
            died += 1
        assert np.array_equal(rc.resample(V, T, X), want)
    assert died == 100


def resident():
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def test_many_calls_leak_no_descriptor_and_no_memory():
    points = np.random.default_rng(1).random((500, 3)).astype(np.float32)

    def calls(n):
        for i in range(n):
            rc.resample(V[:1], T, X, fill=float(i), max_gap=i * 1e-3, valid=True)
            if i % 4 == 0:
                rc.fuse([rc.Stream(V[0], T, shift=i * 0.5), rc.Stream(V[1], T)], rc.Uniform(i, 10, 20))
                rc.voxelize(points, size=0.1, mode="hard", max_points=2)
                with pytest.raises(rc.ArgumentError):
                    rc.resample(V, T, X, edge=str(i))
                with pytest.raises(rc.DataError):
                    rc.resample(V, T[::-1], X)

    calls(400)
    gc.collect()
    descriptors, memory, child = len(os.listdir("/proc/self/fd")), resident(), _child.shared()
    calls(2000 if LONG else 800)
    gc.collect()
    assert _child.shared() is child
    assert len(os.listdir("/proc/self/fd")) == descriptors
    assert resident() - memory < 8 << 20
    kept = [
        line
        for line in pathlib.Path("/proc/{}/status".format(child.process_id)).read_text().splitlines()
        if "VmRSS" in line
    ]
    assert int(kept[0].split()[1]) < 400 << 10, kept
    assert len(os.listdir("/proc/{}/fd".format(child.process_id))) < 20


def test_memory_of_a_large_call_is_given_back():
    large = np.zeros((320, 100_000, 2), np.float32)  # 256 MB
    rc.resample(large, np.arange(100_000), np.arange(10))
    arena = _child.shared()._arena
    assert arena is not None and len(arena) > _child.KEEP
    shared = [line for line in pathlib.Path("/proc/self/status").read_text().splitlines() if "RssShmem" in line]
    assert int(shared[0].split()[1]) << 10 < _child.KEEP + (32 << 20), shared


def test_info_is_plain_and_says_what_there_is():
    info = rc.info()
    assert info["version"] == rc.__version__ and os.path.exists(info["binary"]) and "linux" in info["platform"]
    assert (info["cuda"] is None) == (info["no_cuda"] is not None)


def test_backend_cuda_without_a_gpu_says_why():
    if rc.info()["cuda"] is not None:
        pytest.skip("there is a GPU")
    for backend in ("cuda", "cuda:1"):
        for op, call in (
            ("resample", lambda: rc.resample(V, T, X, backend=backend)),
            ("fuse", lambda: rc.fuse([rc.Stream(V, T)], X, backend=backend)),
            ("voxelize", lambda: rc.voxelize(np.zeros((4, 3), np.float32), size=1, backend=backend)),
        ):
            with pytest.raises(rc.DeviceError) as e:
                call()
            assert (e.value.op, e.value.arg) == (op, "backend") and rc.info()["no_cuda"] in str(e.value)
    assert np.array_equal(rc.resample(V, T, X, backend="cpu"), rc.resample(V, T, X))


def test_the_first_names_still_work():
    times = np.broadcast_to(T / S, (4, 300))
    targets = np.broadcast_to(X / S, (4, 500))
    got = rc.resample_trajectories(V, times, targets, backend="pytorch")
    assert np.array_equal(got, rc.resample(V, times, targets))
    fused = rc.fuse_multimodal(V, times, V[:, ::2], times[:, ::2], targets)
    assert np.array_equal(fused, rc.fuse([rc.Stream(V, times), rc.Stream(V[:, ::2], times[:, ::2])], targets))
    assert np.array_equal(rc.fuse_multimodal(V, times, V, times)[..., :6], V)
    with pytest.raises(rc.ArgumentError):
        rc.fuse_multimodal(V)
    points = np.random.default_rng(1).random((2, 100, 3)).astype(np.float32)
    grid = rc.voxelize_point_cloud(points, (4, 5, 6), 0.2)
    assert grid.shape == (2, 4, 5, 6)
    assert np.array_equal(grid[1], rc.voxelize(points[1], size=0.2, min=0, max=(0.8, 1, 1.2), order="xyz").grid)


def test_a_first_result_comes_soon():
    code = (
        "import time; t = time.perf_counter()\n"
        "import robocache as rc\n"
        "rc.resample([[0.0], [1.0]], [0.0, 1.0], [0.5]); print(time.perf_counter() - t)\n"
    )
    took = [
        float(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, timeout=60).stdout) for _ in range(3)
    ]
    assert min(took) < 5, took
