"""Loader on a GPU: what it draws there is what it draws on the CPU, to the bit."""

import contextlib
import gc
import os
import pathlib
import signal
import sys
import tempfile
import time
import unittest

import numpy as np
import torch

from robocache import _replay
from robocache._errors import LoaderError, OutOfMemoryError, UnsupportedError
from robocache._loader import Loader
from support import QUICK, need_cuda

ROOT = pathlib.Path(__file__).resolve().parents[3]
G1 = ROOT / "examples" / "data" / "g1"
SHARED = [p / "data" for p in (ROOT / "shared", ROOT.parent / "shared") if (p / "data").is_dir()]
WINDOWS = {"observation.state": (-1.0, 0.0), "action": (0.0, 1.0)}


def loaders(paths=G1, device="cuda", host=None, **options):
    """The same loader on a device, and on the CPU for NumPy; host has options of the latter alone."""
    need_cuda()
    options = {"batch": 32, "hz": 50, "seed": 7, "windows": WINDOWS, **options}
    if "plan" in options:
        del options["hz"], options["windows"]
    on = Loader(paths, device=device, framework="torch", **options)
    return on, Loader(paths, framework="numpy", **dict(options, **(host or {})))


def same(got, want, what=""):
    assert set(got) == set(want), (sorted(got), sorted(want))
    for name, w in want.items():
        g = got[name]
        assert g.is_cuda and tuple(g.shape) == w.shape, (what, name, g.shape, w.shape)
        if g.dtype is torch.bfloat16:
            g = g.view(torch.int16)
        g = g.cpu().contiguous().numpy()
        assert g.dtype.itemsize == w.dtype.itemsize and (g.dtype == bool) == (w.dtype == bool), (name, g.dtype, w.dtype)
        if g.tobytes() != w.tobytes():
            wrong = np.flatnonzero(np.frombuffer(g.tobytes(), "u1") != np.frombuffer(w.tobytes(), "u1"))
            raise AssertionError("{}: {} differs in {} bytes, the first at {}".format(what, name, len(wrong), wrong[0]))


def compare(on, host, batches, what=""):
    for i in range(batches):
        same(on.next(), host.next(), "{} batch {}".format(what, i))
    assert on.state_dict() == host.state_dict()
    assert on.epoch == host.epoch


def broken(folder):
    """Three episodes of one stream, of which the second has no sample: so there is a gap in their numbers."""
    for i in range(3):
        n = 90 if i != 1 else 0
        np.savez(
            folder / "e{}.npz".format(i),
            **{
                "joint.times": np.arange(n) * 20_000_000,
                "joint.values": np.sin(np.arange(2 * n)).reshape(n, 2).astype("f4"),
            },
        )


def test_resident_batches_are_those_of_the_cpu_over_two_epochs():
    for options in (
        {},
        {"normalise": "mean-std", "dtype": "float16"},
        {"normalise": "q01-q99", "dtype": "bfloat16", "age": True},
        {"dtype": "float64", "shuffle": False},
        {"last": "short", "rank": 1, "world": 3},
        {"shuffle": "shards", "shard_windows": 300, "mix_shards": 2},
        {"paths": [G1, G1], "weights": [3, 1], "epoch_windows": 900},
        {"paths": [G1, G1], "last": "short", "batch": 100},
        {"windows": {"observation.state": (-0.5, 0.0), "action": (0.0, 1.0)}},
        {
            "plan": {
                "rate": 30,
                "streams": [{"name": "action", "kind": "previous", "offset": "20ms"}],
                "windows": {"action": [-0.2, 0.2]},
                "shuffle": "windows",
            }
        },
    ):
        on, host = loaders(**options)
        compare(on, host, min(2 * len(host) + 3, 20 if QUICK else 1000), str(options))
        on.close()
        host.close()


def test_numbers_of_episodes_are_those_of_the_dataset():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        broken(folder)
        on, host = loaders(folder, windows=None, last="short", batch=16)
        seen = set()
        for i in range(len(host)):
            a, b = on.next(), host.next()
            same(a, b)
            seen |= set(a["episode_index"].tolist())
        assert seen - {-1} == {0, 2}, seen
        on.close()


def test_a_state_goes_on_from_any_batch_and_between_devices():
    on, host = loaders()
    for _ in range(70):
        on.next()
    state = on.state_dict()
    host.load_state_dict(state)
    compare(on, host, 3)
    on.load_state_dict(state)
    host.load_state_dict(state)
    compare(on, host, 60)
    on.set_epoch(5)
    host.set_epoch(5)
    compare(on, host, 3)
    place = host.state_dict()
    assert on.state_dict() == place
    on.load_state_dict(place)
    host.load_state_dict(place)
    rest = list(on)  # what the epoch still had
    assert len(rest) == len(on) - 3
    for got, want in zip(rest, host):
        same(got, want)
    for got, want in zip(on, host):  # the next epoch, which is left
        same(got, want)
        break
    assert on.epoch == host.epoch == 6
    for got, want in zip(on, host):
        same(got, want)
    assert on.epoch == host.epoch == 8
    for bad in (dict(state["state"], seed=8), dict(state["state"], taken=-1), dict(state["state"], epoch=1 << 63), {}):
        try:
            on.load_state_dict(dict(state, state=bad))
        except LoaderError:
            pass
        else:
            raise AssertionError("a bad state was taken: {}".format(bad))
    assert on.state_dict() == host.state_dict()
    on.close()


def test_a_captured_next_draws_the_next_batch_at_each_replay():
    on, host = loaders()
    for _ in range(3):  # warm
        on.next(), host.next()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        batch = on.next()
        total = batch["action"].float().sum((1, 2))
    for i in range(2 * len(host)):  # over the ends of epochs
        graph.replay()
        want = host.next()
        torch.cuda.synchronize()
        same(batch, want, "replay {}".format(i))
        assert torch.equal(total, batch["action"].float().sum((1, 2)))
        if i % 17 == 0:
            assert on.state_dict() == host.state_dict(), i
    compare(on, host, 5)  # without the graph
    graph.replay()
    host.next()
    state = host.state_dict()
    assert on.state_dict() == state
    on.set_epoch(9)
    host.set_epoch(9)
    graph.replay()
    want = host.next()
    torch.cuda.synchronize()
    same(batch, want)
    assert len(list(on)) == len(on) and on.epoch == 11  # the next epoch
    del graph


def test_batches_that_are_kept_stay_on_any_stream():
    on, host = loaders(batch=8)
    side = torch.cuda.Stream()
    kept = []
    for i in range(40 if QUICK else 300):
        if i % 3 == 0:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                batch = on.next()
        else:
            batch = on.next()
        kept.append((batch if i % 4 else {"action": batch["action"][:, 1:]}, host.next()))
    torch.cuda.synchronize()
    for got, want in kept:
        same(got, want if len(got) > 1 else {"action": want["action"][:, 1:]})


def test_streaming_batches_are_those_of_the_cpu():
    for options in (
        {"streaming": True, "shard_windows": 300, "mix_shards": 2},
        {
            "streaming": True,
            "shard_windows": 300,
            "mix_shards": 2,
            "dtype": "bfloat16",
            "last": "short",
            "age": True,
            "prefetch": 1,
        },
    ):
        on, host = loaders(**options)
        kept = []
        burn = torch.randn(2048, 2048, device="cuda")
        for i in range(min(2 * len(host), 20 if QUICK else 1000)):
            batch = on.next()
            for _ in range(i % 5):
                burn = (burn @ burn).clamp_(-1, 1)  # the stream is late, and then early
            kept.append((batch, host.next()))
            if len(kept) > 8:
                same(*kept.pop(i % 8), "streaming batch {}".format(i))
        for got, want in kept:
            same(got, want)
        state = on.state_dict()
        assert state == host.state_dict()
        for _ in range(5):
            on.next()
        on.load_state_dict(state)
        compare(on, host, 4)
        try:
            with torch.cuda.graph(torch.cuda.CUDAGraph()):
                on.next()
        except UnsupportedError as e:
            assert "captured" in str(e)
        else:
            raise AssertionError("a streaming loader was captured")
        torch.cuda.synchronize()
        compare(on, host, 4)
        on.close()
        host.close()


def test_cameras_are_copied():
    if not SHARED or not (SHARED[0] / "bridge_rlds").is_dir():
        raise unittest.SkipTest("the shared recordings are not here")
    on, host = loaders(
        SHARED[0] / "bridge_rlds",
        hz=5,
        rate=5,
        streams=["action"],
        cameras={"observation/image_0": (32, 32)},
        windows=None,
        batch=16,
    )
    for i in range(2 * len(host)):
        same(on.next(), host.next(), "cameras {}".format(i))


def test_memory_is_said_before_it_is_taken_or_streamed():
    need_cuda()
    device = _replay.replayer(torch.cuda.current_device()).device
    kept = device.memory_info
    torch.cuda.empty_cache()
    device.memory_info = lambda: (1000 + torch.cuda.memory_allocated() - torch.cuda.memory_reserved(), 80 << 30)
    try:
        try:
            Loader(G1, hz=50, framework="torch", device="cuda")
        except OutOfMemoryError as e:
            assert "MiB are free" in str(e) and "streaming=True" in str(e), e
        else:
            raise AssertionError("no memory, and no error")
        on, host = loaders(streaming="auto", shard_windows=300, mix_shards=2)
        compare(on, host, 10)
    finally:
        device.memory_info = kept
    full, host = loaders(streaming="auto", shard_windows=300, mix_shards=2)
    compare(full, host, 10)
    assert type(full._way).__name__ == "Resident" and type(on._way).__name__ == "Staged"


def test_nothing_is_left_on_the_device():
    need_cuda()
    on, host = loaders()
    on.next()
    on.close()
    device = _replay.replayer(torch.cuda.current_device()).device
    gc.collect()
    torch.cuda.synchronize()
    device.pool.flush()
    before = device.pool.allocated()
    for i in range(5):
        on, host = loaders(streaming=i == 3, batch=64)
        batch = on.next()
        want = host.next()
        if i % 2:
            on.close()
        del on
        gc.collect()
        same(batch, want)  # which outlives it
    torch.cuda.synchronize()
    device.pool.flush()
    assert device.pool.allocated() == before, (device.pool.allocated(), before)


def test_a_helper_that_is_killed_costs_a_streaming_loader_no_batch():
    on, host = loaders(streaming=True, shard_windows=300, mix_shards=2, restart=True, host={"restart": False})
    for i in range(40):
        if i % 10 == 4:
            with contextlib.suppress(ProcessLookupError):  # whose end was seen already
                os.kill(on._way.child.process_id, signal.SIGKILL)
            time.sleep(0.002 * (i % 3))
        same(on.next(), host.next(), "batch {}".format(i))
    on.close()


def test_jax_arrays_are_those_of_numpy():
    if "jax" not in sys.modules:
        try:
            import jax  # noqa: F401
        except ImportError:
            raise unittest.SkipTest("no JAX") from None
    with Loader(G1, hz=50, batch=16, framework="jax", dtype="bfloat16") as on, Loader(
        G1, hz=50, batch=16, framework="numpy", dtype="bfloat16"
    ) as host:
        kept = [(on.next(), host.next()) for _ in range(20)]
        for got, want in kept:
            for name, w in want.items():
                g = np.asarray(got[name])
                if name in ("episode_index", "frame_index"):
                    assert (g == w).all()
                else:
                    assert g.tobytes() == w.tobytes(), name
