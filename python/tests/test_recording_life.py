"""Recordings: how long arrays stay, that nothing else does, and what becomes of a recording whose process has ended."""

from __future__ import annotations

import gc
import os
import pathlib
import signal
import threading
from typing import List, Tuple

import numpy as np
import pytest

from loader_data import G1, LONG, binary
from recording_data import FLIGHT, same
from robocache import PlanError, Recording, RecordingError, ServerError, _child, _recording


@pytest.fixture(autouse=True)
def _binary() -> None:
    binary()


def test_arrays_outlive_all_and_may_be_written() -> None:
    rec = Recording(FLIGHT)
    gyro = rec["sensor_combined"]["gyro_rad"]
    before = gyro.copy()
    rec.close()
    rec.close()
    del rec
    gc.collect()
    assert same(np.ascontiguousarray(gyro), before)
    gyro[:] = 3
    assert (gyro == 3).all()
    with Recording(FLIGHT) as again:
        assert same(np.ascontiguousarray(again["sensor_combined"]["gyro_rad"]), before)
    with pytest.raises(RecordingError, match="was closed"):
        again.align(hz=10)


def resident() -> int:
    """Returns how many bytes of memory the child has of its own."""
    status = pathlib.Path("/proc/{}/status".format(_child.shared().process_id)).read_text()
    return int(status.split("RssAnon:")[1].split()[0]) << 10


def test_the_child_gives_back_what_a_large_recording_took(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "large.npz"
    values = np.random.default_rng(2).standard_normal((1_000_000, 15)).astype(np.float32)
    with Recording(G1) as small:
        small[0]
        before = resident()
        np.savez(path, **{"a.values": values, "a.times": np.arange(len(values))})
        with Recording(path) as rec:
            got = rec["a"].values
        small.fuse(hz=30, episode=0)
        assert resident() - before < 16 << 20
        assert same(got, values)


def usage() -> Tuple[int, int]:
    """Returns how many descriptors and how many mappings of memfds this process and its child have."""
    child = _child.shared().process_id
    fds = sum(len(os.listdir("/proc/{}/fd".format(p))) for p in (os.getpid(), child))
    maps = sum(pathlib.Path("/proc/{}/maps".format(p)).read_text().count("memfd:") for p in (os.getpid(), child))
    return fds, maps


def test_nothing_is_left_of_many_recordings() -> None:
    def once() -> None:
        rec = Recording(G1)
        kept = rec[0]["action"].values
        rec.fuse(hz=10, episode=1)
        with pytest.raises(PlanError):
            rec.align(hz=10, episode=0, streams=["none"])
        assert kept.shape == (343, 26)

    for _ in range(20):
        once()
    gc.collect()
    Recording(FLIGHT).close()
    before = usage()
    for _ in range(500 if LONG else 150):
        once()
    gc.collect()
    Recording(FLIGHT).close()
    fds, maps = usage()
    assert (fds - before[0], maps - before[1]) == (0, 0)


def test_a_recording_goes_on_after_its_process_was_killed() -> None:
    with Recording(G1) as rec:
        want = rec[1]["action"].values.copy()
        os.kill(_child.shared().process_id, signal.SIGKILL)
        with pytest.raises(ServerError, match="SIGKILL"):
            rec[1]
        assert same(rec[1]["action"].values, want)
        with Recording(FLIGHT) as other:
            assert len(other) == 1
            os.kill(_child.shared().process_id, signal.SIGKILL)


def test_threads_may_share_a_recording() -> None:
    with Recording(G1) as rec:
        want = [rec.fuse(hz=30, episode=i).values.copy() for i in range(3)]
        wrong: List[int] = []

        def work(k: int) -> None:
            for i in range(20):
                n = (i + k) % 3
                if not same(rec.fuse(hz=30, episode=n).values, want[n]):
                    wrong.append(n)

        threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong


def test_a_recording_that_a_destructor_closes_ends_no_request() -> None:
    """A generator that holds one open may be collected in the middle of a request, on its thread."""
    rec, other = Recording(FLIGHT), Recording(FLIGHT)
    child = _child.shared()
    receive = child._receive

    def interrupted() -> Tuple[object, ...]:
        child._receive = receive  # type: ignore[method-assign]
        other.close()
        return receive()

    child._receive = interrupted  # type: ignore
    assert rec.align(hz=10).times.size
    assert _child.shared() is child and not child.closed
    with pytest.raises(RecordingError, match="was closed"):
        other.align(hz=10)
    rec.close()
    assert not child.memo[_recording._DROPPED]
