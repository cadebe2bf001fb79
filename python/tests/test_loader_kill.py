"""Loader: what is left where a trainer, or the helper process, is killed at any moment."""

from __future__ import annotations

import gc
import os
import random
import signal
import struct
import threading
import time

import numpy as np
import pytest

from loader_data import G1, binary, rows
from robocache._errors import ForkError, ServerError
from robocache._loader import Loader

ROUNDS = 50


@pytest.fixture(autouse=True)
def _binary():
    binary()


def g1(**options):
    return Loader(G1, **{"batch": 16, "hz": 50, "seed": 7, "framework": "numpy", **options})


def gone(pid: int) -> bool:
    """Waits until a process is no more, nor a zombie, and says whether that came to be."""
    for _ in range(2000):
        try:
            with open("/proc/{}/stat".format(pid)) as f:
                if f.read().rpartition(")")[2].split()[0] == "Z":
                    return True  # which this process's init takes away
        except OSError:
            return True
        time.sleep(0.001)
    return False


def ours() -> int:
    """How many descriptors and mappings of memory without a name this process has."""
    fds = 0
    for fd in os.listdir("/proc/self/fd"):
        try:
            fds += os.readlink("/proc/self/fd/" + fd).startswith("/memfd:robocache")
        except OSError:
            pass
    with open("/proc/self/maps") as f:
        return fds + sum("memfd:robocache" in line for line in f)


def test_a_trainer_that_is_killed_leaves_no_process():
    rng = random.Random(5)
    for _ in range(ROUNDS):
        read, write = os.pipe()
        trainer = os.fork()
        if trainer == 0:
            try:
                os.close(read)
                loader = g1(streaming=rng.random() < 0.3)
                kept = []
                os.write(write, struct.pack("<q", loader._way.child.process_id))
                for batch in loader.batches():
                    kept = (kept + [batch])[-rng.randrange(1, 12) :]
            finally:
                os._exit(1)
        os.close(write)
        (helper,) = struct.unpack("<q", os.read(read, 8))
        time.sleep(rng.random() * 0.02)
        os.kill(trainer, signal.SIGKILL)
        os.waitpid(trainer, 0)
        os.close(read)
        assert gone(helper)


def test_a_helper_that_is_killed_costs_no_batch_with_restart():
    with g1() as loader:
        want = [rows(b) for b, _ in zip(loader.batches(), range(400))]
    rng = random.Random(6)
    for round in range(ROUNDS):
        loader = g1(restart=True)
        stop = threading.Event()

        def kill(loader=loader, stop=stop, rng=random.Random(round)):
            for _ in range(2):
                if stop.wait(rng.random() * 0.02):
                    return
                try:
                    os.kill(loader._way.child.process_id, signal.SIGKILL)
                except ProcessLookupError:
                    pass

        killer = threading.Thread(target=kill)
        killer.start()
        kept = []
        for i in range(rng.randrange(20, 120)):
            batch = loader.next()
            kept.append((i, batch))
            if len(kept) > rng.randrange(1, 20):
                at, old = kept.pop(rng.randrange(len(kept)))
                assert rows(old) == want[at]
        stop.set()
        killer.join()
        for at, old in kept:
            assert rows(old) == want[at]
        loader.close()


def test_a_helper_that_is_killed_is_an_error_without_restart():
    for _ in range(5):
        loader = g1()
        kept = [loader.next() for _ in range(3)]
        want = [rows(b) for b in kept]
        state = loader.state_dict()
        helper = loader._way.child.process_id
        os.kill(helper, signal.SIGKILL)
        for _ in range(2):
            with pytest.raises(ServerError, match="SIGKILL"):
                loader.next()
        assert gone(helper)
        assert [rows(b) for b in kept] == want
        assert loader.state_dict() == state
        loader.close()
        with g1() as other:
            other.load_state_dict(state)
            following = rows(other.next())
        with g1() as other:
            assert [rows(other.next()) for _ in range(4)] == want + [following]


def test_nothing_is_left_behind():
    gc.collect()
    before = ours()
    helpers = []
    for i in range(10):
        loader = g1()
        helpers.append(loader._way.child.process_id)
        batches = [b for b, _ in zip(loader, range(i))]
        if i % 3 == 0:
            loader.close()
        elif i % 3 == 1:
            for _ in loader:
                break  # and the loop is dropped
        del loader, batches
        gc.collect()
        assert gone(helpers[-1])
    assert ours() == before


def drawn(loader: Loader) -> int:
    """How many batches the state says were returned, from the first epoch on."""
    state = loader.state_dict()["state"]
    return int(state["epoch"] * len(loader) + state["taken"] // 16)


def test_an_interrupt_costs_no_batch():
    with g1() as loader:
        want = [rows(b) for b, _ in zip(loader.batches(), range(1000))]
    rng = random.Random(8)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    begin = time.perf_counter()
    g1().close()
    took = time.perf_counter() - begin  # to start a helper, which must be done at times
    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        with g1() as loader:
            seen = interrupts = 0
            until = time.monotonic() + 20
            while seen < len(want) and interrupts < 8 and time.monotonic() < until:
                try:
                    signal.setitimer(signal.ITIMER_REAL, took * (0.1 + 4 * rng.random()))
                    while seen < len(want):
                        batch = loader.next()
                        seen = drawn(loader)
                        assert rows(batch) == want[seen - 1]
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except KeyboardInterrupt:
                    interrupts += 1
                    seen = drawn(loader)  # the last batch may have been on its way here
        assert interrupts > 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_the_helper_sleeps_while_nobody_asks():
    with g1(streaming=True, shard_windows=100, mix_shards=2) as loader:
        first = loader.next()

        def spent() -> int:
            with open("/proc/{}/stat".format(loader._way.child.process_id)) as f:
                fields = f.read().rpartition(")")[2].split()
            return int(fields[11]) + int(fields[12])

        for _ in range(20):  # on a busy machine it takes a while until the next batches are made
            before = spent()
            time.sleep(0.5)
            if spent() - before <= 2:  # hundredths of a second
                break
        else:
            pytest.fail("the helper is never idle")
        assert rows(loader.next()) != rows(first)


def test_a_fork_is_refused():
    with g1() as loader:
        loader.next()
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            code = b"none"
            try:
                loader.next()
            except ForkError:
                code = b"fork"
            finally:
                os.write(write, code)
                os._exit(0)
        os.waitpid(pid, 0)
        assert os.read(read, 4) == b"fork"
        os.close(read)
        os.close(write)
        loader.next()


def test_slow_and_quick_consumers_see_the_same_batches():
    with g1() as quick, g1(prefetch=1) as slow:
        for i in range(60):
            a, b = quick.next(), slow.next()
            if i % 20 == 0:
                time.sleep(0.05)
            assert all(np.array_equal(a[k], b[k]) for k in a)
