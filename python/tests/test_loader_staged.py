"""Batches that are copied to a GPU, against the stand-in driver, whose device memory is that of the host."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import random
import signal
import sys
import types

import pytest

import standin_driver
from loader_data import G1, binary
from robocache import _replay
from robocache._ahead import Staged
from robocache._asked import request
from robocache._errors import OutOfMemoryError, UnsupportedError
from robocache._loader import Loader
from test_loader_resident import DEFAULTS

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stand-in is built for Linux")
torch = pytest.importorskip("torch")


class Event:
    """An event that is passed when it is asked for the second time, or waited for."""

    def __init__(self, told):
        self.asked, self.told = 0, told

    def record(self, stream):
        self.told.recorded += 1

    def wait(self, stream):
        self.told.waited.append(self)

    def passed(self):
        self.asked += 1
        return self.asked > 1

    def synchronize(self):
        self.asked = 2


@pytest.fixture
def driver(monkeypatch):
    binary()
    os.environ["ROBOCACHE_LIBCUDA"] = standin_driver.built()
    for name in ("STANDIN_REFUSE", "STANDIN_MEMORY", "ROBOCACHE_KERNELS"):
        monkeypatch.delenv(name, raising=False)
    standin = standin_driver.Standin()
    on = _replay.replayer(0)
    handle = on.device.new_stream()
    current = types.SimpleNamespace(cuda_stream=handle)
    side = types.SimpleNamespace(cuda_stream=handle)
    told = types.SimpleNamespace(waited=[], recorded=0)
    monkeypatch.setattr(torch.cuda, "Stream", lambda device=None: side)
    monkeypatch.setattr(torch.cuda, "Event", None)
    monkeypatch.setattr(on.device, "event", lambda: Event(told))
    monkeypatch.setattr(torch.cuda, "stream", lambda stream: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "current_stream", lambda device=None: current)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda self, stream: None)
    # torch's memory is none of the stand-in's.
    monkeypatch.setattr(on.device, "to_device", lambda to, host, size, stream: ctypes.memmove(to, host, size))
    before = standin.count("violations")
    yield types.SimpleNamespace(standin=standin, told=told)
    assert standin.count("violations") == before
    on.device.close_stream(handle)


def pair(restart=False, prefetch=2, **options):
    options = dict(DEFAULTS, batch=16, **options)
    on = Staged(dict(request(G1, **options), streaming=False), torch.device("cpu", 0), prefetch, restart)
    return on, Loader(G1, framework="numpy", **options)


def same(got, want):
    assert set(got) == set(want)
    for name, w in want.items():
        assert got[name].numpy().tobytes() == w.tobytes() and tuple(got[name].shape) == w.shape, name


def test_batches_are_those_of_the_host_and_stay(driver):
    for prefetch in (1, 4):
        on, host = pair(prefetch=prefetch, age=True)
        kept = []
        for i in range(300):
            kept.append((on.next(), host.next()))
            assert on.place.state == host.state_dict()["state"] and on.place.epoch == host.epoch
            assert len(driver.told.waited) >= i + 1  # for the copy of each batch
            if len(kept) > 10:
                same(*kept.pop(i % 10))
        for got, want in kept:
            same(got, want)
        on.close()
        host.close()


def test_a_place_is_that_of_the_batch_that_was_returned(driver):
    on, host = pair()
    for i in range(20):
        on.next(), host.next()
        state = on.place.state
        on.next(), on.next()
        on.seek(state)
        assert on.place.state == host.state_dict()["state"]
        same(on.next(), host.next())
    on.close()
    host.close()


def test_a_capture_is_refused_and_costs_nothing(driver, monkeypatch):
    on, host = pair()
    same(on.next(), host.next())
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    with pytest.raises(UnsupportedError, match="captured"):
        on.next()
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    same(on.next(), host.next())
    on.close()
    host.close()


def test_a_helper_that_is_killed_costs_no_batch(driver):
    rng = random.Random(4)
    on, host = pair(restart=True)
    for _ in range(150):
        if rng.random() < 0.1:
            with contextlib.suppress(ProcessLookupError):  # whose end was seen already
                os.kill(on.child.process_id, signal.SIGKILL)
        same(on.next(), host.next())
    on.close()
    host.close()


def test_a_copy_that_fails_costs_no_batch(driver, monkeypatch):
    on, host = pair()
    device, fails = _replay.replayer(0).device, [OutOfMemoryError("none"), RuntimeError("none of torch's"), None, None]
    copy, rng, failed = device.to_device, random.Random(5), 0

    def to_device(*args):
        error = rng.choice(fails)
        if error is not None:
            raise error
        copy(*args)

    monkeypatch.setattr(device, "to_device", to_device)
    for _ in range(40):
        while True:
            try:
                got = on.next()
                break
            except (OutOfMemoryError, RuntimeError):
                failed += 1
        same(got, host.next())
    assert failed > 10
    on.close()
    host.close()


def test_slots_are_let_go(driver):
    registered = []
    device = _replay.replayer(0).device
    kept = device.register, device.unregister
    device.register = lambda address, size: (registered.append(address), kept[0](address, size))[1]
    device.unregister = lambda address: (registered.remove(address), kept[1](address))[1]
    try:
        for close in (True, False):
            on, host = pair()
            batch, want = on.next(), host.next()
            assert len(registered) == 1
            if close:
                on.close()
            del on
            gc.collect()
            assert not registered
            same(batch, want)
            host.close()
    finally:
        del device.register, device.unregister
