import ctypes
import os
import struct
import subprocess
import sys
import threading

import pytest

import standin_driver
from robocache import _child, _cuda, _replay
from robocache._errors import DataError, DeviceError, ForkError, OutOfMemoryError, UnsupportedError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stand-in is built for Linux")


@pytest.fixture
def driver(monkeypatch):
    os.environ["ROBOCACHE_LIBCUDA"] = standin_driver.built()
    for name in ("STANDIN_REFUSE", "STANDIN_MEMORY", "ROBOCACHE_KERNELS"):
        monkeypatch.delenv(name, raising=False)
    standin = standin_driver.Standin()
    _cuda.driver()
    standin.logging(True)
    standin.log()
    before = standin.count("violations")
    yield standin
    standin.logging(True)
    assert standin.count("violations") == before
    assert standin.count("depth") == 0 and standin.count("mode") == 0


@pytest.fixture
def child(monkeypatch):
    process = standin_driver.Process()
    monkeypatch.setattr(_child, "shared", lambda: process)
    return process


@pytest.fixture
def replayer(driver, child):
    return _replay.Replayer(_cuda.device(0))


@pytest.fixture
def stream(driver):
    made = _cuda.device(0).new_stream()
    driver.log()
    return made


def request(**more):
    tensors = {name: {"dtype": "f32", "shape": [2], "strides": [1]} for name in ("Dst", "Src", "SrcTimes")}
    return lambda: dict({"op": "resample", "tensors": tensors}, **more)


def arguments(n=3, size=64):
    return tuple(_cuda.device(0).alloc(size) for _ in range(n))


def words(launch):
    return struct.unpack("<{}Q".format(len(launch.parameters) // 8), launch.parameters[: len(launch.parameters) // 8 * 8])


def test_a_launch_is_what_the_plan_says_with_addresses_where_relocations_are(driver, replayer, stream):
    dst, src, times = arguments()
    replayer.run("k", request(shared=50000), (dst, src, times), stream)
    lines = driver.log()
    assert "attribute main 8 50000" in lines
    replayer.run("k", None, (dst, src, times), stream)
    (launch,) = driver.launches()
    assert launch.entry == "main" and launch.grid == (5, 1, 1) and launch.block == (128, 1, 1)
    assert launch.shared == 50000 and launch.stream == stream and launch.attributes == {}
    cells = replayer.cells
    # The plan's arguments come in another order than the request's.
    assert words(launch)[:3] == (times, src + 16, dst + 32)
    assert words(launch)[4] == cells.flag + 64
    assert launch.parameters[40:] == (7).to_bytes(4, "little")
