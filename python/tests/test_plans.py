"""Plans of the real helper process, on the stand-in driver: what is launched is what the plan says, and nothing
else."""

import ctypes
import os

import numpy as np
import pytest

import standin_driver

os.environ.setdefault("ROBOCACHE_LIBCUDA", standin_driver.built())

import robocache as rc
from robocache import _child, _replay


@pytest.fixture
def driver(monkeypatch):
    os.environ["ROBOCACHE_LIBCUDA"] = standin_driver.built()
    monkeypatch.setattr(_replay, "_replayers", {})
    standin = standin_driver.Standin()
    standin.log()
    before = standin.count("violations")
    yield standin
    assert standin.count("violations") == before


def arrays(b=4, s=100, t=50, d=14):
    rng = np.random.default_rng(0)
    values = rng.standard_normal((b, s, d)).astype(np.float32)
    return values, np.cumsum(rng.integers(1, 1000, (b, s)), 1), rng.integers(0, 50000, (b, t))


def resample():
    rc.resample(*arrays(), valid=True, backend="cuda")


def channels():
    rc.resample(*arrays(), channels=[rc.Channel(0, 4, "slerp"), rc.Channel(4, 14, "pchip")], backend="cuda")


def fuse():
    values, times, targets = arrays()
    streams = [rc.Stream(values, times, shift=[0.5] * 14), rc.Stream(values[:, :30], times[:, :30], kind="previous")]
    rc.fuse(streams, targets, valid=True, age=True, backend="cuda")


def packed():
    values, times, targets = arrays()
    rc.resample(values[0], times[0], targets[:3], offsets=np.array([0, 10, 10 + 60, 100]), backend="cuda")


def dense():
    rc.voxelize(np.random.rand(5000, 3).astype(np.float32), size=0.1, min=0, max=1, backend="cuda")


def hard():
    rc.voxelize(np.random.rand(5000, 3).astype(np.float32), size=0.1, min=0, max=1, mode="hard", backend="cuda")


def sparse():
    points = np.random.rand(5000, 3).astype(np.float32)
    rc.voxelize(points, points, size=0.1, min=0, max=1, mode="sparse", reduce="max", backend="cuda")


@pytest.mark.parametrize("call", [resample, channels, fuse, packed, dense, hard, sparse], ids=lambda f: f.__name__)
def test_the_launches_are_those_of_the_plan(driver, call):
    call()
    launches = driver.launches()
    one = _replay.replayer(0)
    (instance,) = one._instances
    plan, addresses = instance.plan, instance.buffers.addresses
    assert launches and len(launches) == len(plan.launches)
    given = dict(zip(plan.request["tensors"], instance.pointers))
    where = [given[name] for name in plan.arguments] + addresses
    for made, wanted in zip(launches, plan.launches):
        assert made.entry == wanted["entry"] and list(made.grid) == wanted["grid"] and list(made.block) == wanted["block"]
        assert made.shared == wanted["shared"] and made.attributes == ({6: 1} if wanted["dependent"] else {})
        parameters = bytearray(len(made.parameters))
        for at, size, offset in wanted["params"]:
            parameters[offset : offset + size] = plan.payload[at : at + size]
        for param, at, buffer, offset in wanted["relocations"]:
            place = wanted["params"][param][2] + at
            parameters[place : place + 8] = (where[buffer] + offset).to_bytes(8, "little")
        assert bytes(parameters) == made.parameters
        end = max(offset + size for _, size, offset in wanted["params"])
        assert len(made.parameters) == end
    for buffer, address in zip(plan.buffers, addresses):
        if buffer.get("init"):
            at, size = buffer["init"]
            data = bytearray(plan.payload[at : at + size])
            for place, of, offset in buffer.get("relocations") or ():
                data[place : place + 8] = (where[of] + offset).to_bytes(8, "little")
            assert ctypes.string_at(address, size) == bytes(data)


def test_a_second_call_launches_the_same(driver):
    for call in (resample, fuse, hard):
        call()
        first = driver.launches()
        call()
        second = driver.launches()
        assert [(x.entry, x.grid, x.shared) for x in first] == [(x.entry, x.grid, x.shared) for x in second]


def test_faults_are_explained_by_the_helper_process(driver):
    values, times, targets = arrays()
    one = _replay.replayer(0)
    rc.resample(values, times, targets, backend="cuda")
    (instance,) = one._instances
    word = 1 << 62 | (2 * 100 + 7) << 4 | 3  # times, row 2, index 7, not sorted
    ctypes.c_uint64.from_address(instance.buffers.addresses[0]).value = word
    one.flags[0] = 1
    with pytest.raises(rc.DataError) as caught:
        rc.resample(values, times, targets, backend="cuda")
    assert (caught.value.op, caught.value.arg, caught.value.row, caught.value.index) == ("resample", "times", 2, 7)
    rc.resample(values, times, targets, backend="cuda")
    rc.synchronize()


def test_faults_of_packed_rows_are_explained_with_their_offsets(driver):
    packed()
    one = _replay.replayer(0)
    (instance,) = one._instances
    ctypes.c_uint64.from_address(instance.buffers.addresses[0]).value = 1 << 62 | 75 << 4 | 3
    one.flags[0] = 1
    with pytest.raises(rc.DataError) as caught:
        rc.synchronize()
    assert (caught.value.row, caught.value.index) == (2, 5)


def test_a_killed_helper_process_costs_nothing_that_is_known(driver):
    resample()
    os.kill(_child.shared().process_id, 9)
    resample()  # its plan is known
    with pytest.raises(rc.ServerError):
        fuse()
    fuse()
    assert len(driver.launches()) == 3


@pytest.mark.parametrize("refused,kind", [("cubin", "sm_90.ptx"), ("cubin,sm_90", "sm_80.ptx")])
def test_images_that_the_driver_refuses(driver, monkeypatch, refused, kind):
    monkeypatch.setenv("STANDIN_REFUSE", refused)
    resample()
    used = rc.info()["cuda"]["used"]["cuda:0"]
    assert kind in used["kernels"] and len(used["refused"]) == len(refused.split(",")) and len(driver.launches()) == 1
