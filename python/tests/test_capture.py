"""While somebody captures a stream nothing of ours may end the capture: on no thread, in no destructor."""

import ctypes
import gc
import os
import threading

import pytest

import standin_driver

os.environ.setdefault("ROBOCACHE_LIBCUDA", standin_driver.built())

from robocache import _child, _device, _dlpack, _replay
from robocache._session import Session
from test_replay import request
from test_session import header


@pytest.fixture
def capture(monkeypatch):
    """A capture on a stream of somebody else; what is refused in it is seen."""
    os.environ["ROBOCACHE_LIBCUDA"] = standin_driver.built()
    standin = standin_driver.Standin()
    process = standin_driver.Process()
    monkeypatch.setattr(_child, "shared", lambda: process)
    device = _device.device(0)
    stream = device.new_stream()
    standin.log()
    before = standin.count("violations")
    standin.capture(stream, True)
    yield stream
    standin.capture(stream, False)
    assert [line for line in standin.log() if line.startswith("violation")] == []
    assert standin.count("violations") == before and standin.count("mode") == 0


def arguments():
    return tuple(_device.device(0).pool.alloc(64) for _ in range(3))


def test_a_first_call_makes_its_plan_inside(capture):
    one = _replay.Replayer(_device.device(0))
    for memory in (100, 5000):
        one.run(memory, request(memory=memory, launches=2, table=True), arguments(), capture)


def test_eager_calls_go_on_beside_it(capture):
    one = _replay.Replayer(_device.device(0))
    other = _device.device(0).new_stream()
    for i in range(_replay.PLANS + 10):
        one.run(i, request(memory=100), arguments(), other)
    one.run("k", request(memory=100), arguments(), other, check=True, counts=True)
    one.trim()
    one.device.pool.flush()
    assert len(one._instances) == 0


def test_other_threads_go_on_beside_it(capture):
    one = _replay.Replayer(_device.device(0))
    errors = []

    def work(i):
        try:
            stream = _device.device(0).new_stream()
            one.run(i, request(memory=100), arguments(), stream)
            one.run(i, request(memory=100), arguments(), stream, check=True)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []


def test_faults_are_read_beside_it(capture):
    one = _replay.Replayer(_device.device(0))
    other = _device.device(0).new_stream()
    one.run("k", request(), arguments(), other)
    ctypes.c_uint64.from_address(one._instances.young["k", other].buffers.addresses[0]).value = 5
    one.flags[0] = 1
    one.run("k", request(), arguments(), capture)
    _child.shared().explains = lambda asked: None
    with pytest.raises(ValueError):
        one.run("k", request(), arguments(), other)


def test_what_the_collector_ends_meanwhile_is_harmless(capture):
    device = _device.device(0)
    made = [device.event(), _dlpack.Memory(device, "f32", (10,), device.stream)]
    made[0].record(device.stream)
    assert made[0].passed()
    made[0].synchronize()
    capsule = made[1].__dlpack__(stream=device.new_stream())
    made.append(made)
    del made, capsule
    gc.collect()
    device.pool.flush()
    session = Session(_replay.Replayer(device))
    host = (ctypes.c_char * 300)()
    device.register(ctypes.addressof(host), 300)
    session.put(7, 300, 0, ctypes.addressof(host), 300)
    session.flush()
    device.unregister(ctypes.addressof(host))
    process = _child.shared()
    session._on.target(process)
    session.plan(header(), bytes(48), process, lambda faults: ValueError())
    out = device.pool.alloc(64)
    session.run((out,), capture)
    session.run((out,), device.new_stream())
    session.close()


def test_the_stand_in_refuses_what_the_driver_does():
    device = _device.device(0)
    standin = standin_driver.Standin()
    stream = device.new_stream()
    standin.capture(stream, True)
    address = ctypes.c_uint64()
    now = ctypes.c_void_p()
    device.driver.context_push(device.context)
    assert device.driver.alloc(ctypes.byref(address), 64) == 900
    device.driver.context_pop(ctypes.byref(now))
    with device:
        assert device.driver.context_synchronize() == 900
        assert device.driver.stream_synchronize(stream) == 900
    standin.capture(stream, False)
    assert [line for line in standin.log() if line.startswith("violation")] == [
        "violation cuMemAlloc_v2 in a capture",
        "violation cuCtxSynchronize in a capture",
    ]
