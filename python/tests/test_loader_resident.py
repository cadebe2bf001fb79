"""Resident loaders against the stand-in driver: what is uploaded and launched, and where the place is."""

from __future__ import annotations

import os
import struct
import sys
import types

import numpy as np
import pytest

import standin_driver
from loader_data import G1, binary, safetensors
from robocache import _replay
from robocache._asked import request
from robocache._errors import LoaderError, OutOfMemoryError
from robocache._loader import Loader
from robocache._resident import Resident

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stand-in is built for Linux")
torch = pytest.importorskip("torch")

DEFAULTS = dict(
    batch=32,
    hz=50,
    seed=7,
    windows={"observation.state": (-1.0, 0.0), "action": (0.0, 1.0)},
    streams=None,
    normalise=None,
    plan=None,
    dtype=None,
    shuffle=None,
    last="drop",
    rank=None,
    world=None,
    weights=None,
    epoch_windows=0,
    cameras=None,
    age=False,
    workers=0,
    shard_windows=0,
    mix_shards=0,
    strict=False,
    rate=None,
    clock="",
    definitions=(),
    stretch=0,
    episodes=None,
    statistics=None,
)


@pytest.fixture
def driver(monkeypatch):
    binary()
    os.environ["ROBOCACHE_LIBCUDA"] = standin_driver.built()
    for name in ("STANDIN_REFUSE", "STANDIN_MEMORY", "ROBOCACHE_KERNELS"):
        monkeypatch.delenv(name, raising=False)
    standin = standin_driver.Standin()
    on = _replay.replayer(0)
    stream = on.device.new_stream()
    # Memory of the stand-in is the host's, so torch's tensors on the CPU stand for those on a GPU.
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: types.SimpleNamespace(cuda_stream=stream))
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device=None: 0)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device=None: 0)
    standin.logging(True)
    standin.log()
    before = standin.count("violations")
    yield standin
    assert standin.count("violations") == before
    on.device.close_stream(stream)


def resident(paths=G1, **options):
    return Resident(request(paths, **dict(DEFAULTS, **options)), torch.device("cpu", 0))


def host(paths=G1, **options):
    return Loader(paths, framework="numpy", **dict(DEFAULTS, **options))


def test_the_recordings_are_uploaded_as_they_are(driver, tmp_path):
    import subprocess

    store = tmp_path / "store.safetensors"
    subprocess.run([binary(), "pack", str(G1), "-o", str(store)], check=True, stdout=subprocess.DEVNULL)
    want = safetensors(store)
    one = resident(store)
    memory = [_replay.replayer(0).device.read(a, s, 0) for a, s in list(_replay.replayer(0).device.pool._sizes.items())]
    for name in ("observation.state.values", "action.values"):
        assert any(m.startswith(want[name].tobytes()) for m in memory), name
    one.close()


def test_a_batch_is_launched_into_memory_of_its_own(driver):
    one = resident()
    driver.log()
    seen = []
    for _ in range(3):
        batch = one.next()
        launches = driver.launches()
        assert [len(l.grid) for l in launches] == [3] * len(launches) and 2 <= len(launches) <= 4
        begin = min(t.storage().data_ptr() for t in batch.values())
        words = {w for l in launches for (w,) in struct.iter_unpack("<Q", l.parameters[: len(l.parameters) // 8 * 8])}
        assert begin in words or any(begin <= w < begin + one._bytes for w in words)
        seen.append((batch, begin))
    assert len({begin for _, begin in seen}) == 3  # while they are kept
    with host() as loader:
        want = loader.next()
    assert set(want) == set(batch)
    for name, x in want.items():
        assert tuple(batch[name].shape) == x.shape and str(batch[name].dtype).split(".")[1] == x.dtype.name, name
    one.close()


def test_the_place_is_that_of_the_order(driver):
    for options in (
        {},
        {"last": "short"},
        {"batch": 100, "world": 3, "rank": 2},
        {"last": "short", "world": 2, "rank": 0, "batch": 64},
    ):
        one = resident(**options)
        with host(**options) as loader:
            n = len(loader)
            for i in range(2 * n + 2):
                assert one.place.epoch == loader.epoch
                one.next(), loader.next()
                assert one.place.state == loader.state_dict()["state"], (options, i)
        one.close()


def test_a_state_is_written_to_the_device_and_read_from_it(driver):
    one = resident()
    state = dict(one.place.state, epoch=3, taken=320)
    one.seek(state)
    buffer, at = one.reply["cursors"][0]
    assert struct.unpack("<qq", one._session.read(buffer, at, 16, 0)) == (3, 320)
    assert one.place.state == state and one.place.epoch == 3
    one._session.write(buffer, at, struct.pack("<qq", 5, 1856), 0)  # as replays of a graph do
    assert one.refresh().state == state
    one._unsure = True
    assert one.refresh().state == dict(state, epoch=5, taken=1856) and one.place.epoch == 6
    for bad in ({"seed": 8}, {"windows": 1}, {"epoch": -1}, {"taken": 1866}, {"taken": None}, {"more": 1}):
        with pytest.raises(LoaderError, match="state"):
            one.seek(dict(state, **bad))
    assert one.refresh().state == dict(state, epoch=5, taken=1856)
    one.close()


def test_after_an_interrupt_the_place_is_read_from_the_device(driver, monkeypatch):
    one = resident()
    one.next()
    step, before = one._step, one.place.state["taken"]
    run = one._session.run

    def interrupted(*arguments):
        run(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(one._session, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        one.next()
    monkeypatch.setattr(one._session, "run", run)
    # The stand-in runs no kernels: what they would have written.
    buffer, at = one.reply["cursors"][0]
    one._session.write(buffer, at, struct.pack("<qq", 0, before + step), 0)
    assert one.refresh().state["taken"] == before + step == 2 * step
    one.close()


def test_a_batch_that_nobody_got_is_the_next_one(driver):
    one = resident()
    one.next()
    mark, place = one.mark, one.place
    one.next()
    assert one.mark is not mark
    buffer, at = one.reply["cursors"][0]
    one._session.write(buffer, at, struct.pack("<qq", 0, 64), 0)  # as the draw does
    one.undo(mark)
    assert one.place == place == one.refresh()
    one.next()  # from where it was: the stand-in draws nothing
    assert struct.unpack("<qq", one._session.read(buffer, at, 16, 0)) == (0, 32)
    assert one.place.state["taken"] == 64
    one._unsure = True  # as behind a capture
    assert one.mark is None
    one.undo(one.mark)
    assert one._unsure
    one.close()


def test_the_helper_is_there_only_while_it_is_needed(driver):
    def helpers():
        found = set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/{}/stat".format(pid)) as f:
                    parent = int(f.read().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if parent == os.getpid():
                found.add(pid)
        return found

    before = helpers()
    one = resident()
    assert helpers() == before
    one.next()
    assert one.report()["report"]["batches"] == 58
    one.close()


def test_memory_is_asked_for_first(driver, monkeypatch):
    device = _replay.replayer(0).device
    allocated = device.pool.allocated()
    monkeypatch.setattr(device, "memory_info", lambda: (1000, 1 << 34))
    with pytest.raises(OutOfMemoryError, match="take about 1 MiB .* 0 MiB are free: want streaming=True"):
        resident()
    assert device.pool.allocated() == allocated


def test_all_memory_is_given_back(driver):
    import gc

    device = _replay.replayer(0).device
    resident().close()
    gc.collect()
    device.pool.flush()
    before = device.pool.allocated()
    for i in range(4):
        one = resident(batch=16 + i)
        batch = one.next()
        if i % 2:
            one.close()
        del one
        gc.collect()
        assert batch["action"].shape == (16 + i, 50, 26)
    device.pool.flush()
    assert device.pool.allocated() == before
    assert np.isfinite(before)
