import ctypes
import os

import pytest

import standin_driver

os.environ.setdefault("ROBOCACHE_LIBCUDA", standin_driver.built())

from robocache import _device, _replay
from robocache._errors import DataError, DeviceError
from robocache._session import Session


def header(first=1):
    """A plan of one argument, with a store that was uploaded, a table that points into it, and a cursor that begins at
    0."""
    words = [[0, 0, 0, 0], [0, 8, first, 16], [0, 16, first + 1, 0], [0, 24, first + 2, 0], [0, 32, first + 3, 0]]
    return {
        "version": 1,
        "op": "loader",
        "arguments": [{"name": "action.values", "bytes": 64, "written": True, "align": 0}],
        "images": [{"family": "f", "file": "f.sm_90.cubin", "hash": "cubin", "bytes": 1}],
        "buffers": [
            {"kind": "memory", "bytes": 300, "id": 7},
            {"kind": "memory", "bytes": 8, "id": 8, "init": [40, 8], "relocations": [[0, first, 100]]},
            {"kind": "memory", "bytes": 16, "id": 9, "fill": [0, 16]},
            {"kind": "fault", "bytes": 8},
            {"kind": "flag", "bytes": 4},
        ],
        "launches": [
            {
                "image": 0, "entry": "main", "grid": [1, 1, 1], "block": [32, 1, 1], "shared": 0, "dependent": False,
                "params": [[0, 40, 0]], "relocations": words,
            }
        ],
    }  # fmt: skip


@pytest.fixture
def driver():
    os.environ["ROBOCACHE_LIBCUDA"] = standin_driver.built()
    standin = standin_driver.Standin()
    standin.log()
    before = standin.count("violations")
    yield standin
    assert standin.count("violations") == before


class Made:
    def __init__(self, told=None):
        self.on = _replay.Replayer(_device.device(0))
        self.session = Session(self.on)
        self.told = []
        data = (ctypes.c_char * 200)(*([5] * 200))
        self.session.put(7, 300, 0, ctypes.addressof(data), 200)
        self.session.put(7, 300, 200, ctypes.addressof(data), 100)
        process = standin_driver.Process()
        self.on.target(process)
        self.names = self.session.plan(header(), bytes(48), process, self.explain)
        self.out = self.on.device.pool.alloc(64)

    def explain(self, faults):
        self.told.append(faults)
        return DataError("a bad time in episode 3", row=3)


def words(launch):
    return [int.from_bytes(launch.parameters[i : i + 8], "little") for i in range(0, len(launch.parameters), 8)]


def test_uploads_are_where_the_plan_points(driver):
    made = Made()
    assert made.names == ["action.values"]
    stream = made.on.device.new_stream()
    made.session.run((made.out,), stream)
    (launch,) = driver.launches()
    out, store, table, cursor, fault = words(launch)
    assert out == made.out and ctypes.string_at(store - 16, 300) == b"\5" * 300
    assert ctypes.string_at(table, 8) == (store - 16 + 100).to_bytes(8, "little")
    assert ctypes.string_at(cursor, 16) == bytes(16) and fault in made.on.cells._owners


def test_all_streams_and_captures_go_on_with_the_same_memory(driver):
    made = Made()
    a, b = made.on.device.new_stream(), made.on.device.new_stream()
    driver.log()
    made.session.run((made.out,), a)
    made.session.run((made.out,), a)
    made.session.run((made.out,), b)
    lines = driver.log()
    assert [line.split()[0] for line in lines] == ["launch", "launch", "wait", "launch"] and lines[2] == "wait " + hex(b)
    driver.capture(b, True)
    made.session.run((made.out,), b)
    driver.capture(b, False)
    made.session.run((made.out,), 0)
    made.session.run((made.out,), b)
    launches = driver.launches()
    assert [launch.stream for launch in launches] == [b, 0, b]
    assert len({launch.parameters for launch in launches}) == 1


def test_the_cursor_can_be_read_and_set(driver):
    made = Made()
    stream = made.on.device.new_stream()
    made.session.write(3, 8, (77).to_bytes(8, "little"), stream)
    assert made.session.read(3, 0, 16, stream) == bytes(8) + (77).to_bytes(8, "little")


def test_faults_are_told_by_the_numbers_of_their_buffers(driver):
    made = Made()
    stream = made.on.device.new_stream()
    made.session.run((made.out,), stream)
    cell = words(driver.launches()[0])[4]
    ctypes.c_uint64.from_address(cell).value = 9
    made.on.flags[0] = 1
    with pytest.raises(DataError, match="episode 3"):
        made.session.run((made.out,), stream)
    assert made.told == [{4: 9}]
    made.session.run((made.out,), stream, check=True)


def test_a_run_that_failed_ends_the_session(driver):
    made = Made()
    stream = made.on.device.new_stream()
    made.session.run((made.out,), made.on.device.stream)
    driver.fail("cuLaunchKernelEx", 719)
    for on in (stream, stream, made.on.device.stream, made.on.device.new_stream()):
        with pytest.raises(DeviceError):
            made.session.run((made.out,), on)


def test_close_gives_the_memory_back(driver):
    made = Made()
    device = made.on.device
    device.pool.flush()
    with_session = driver.count("allocations")
    made.session.close()
    made.session.close()
    assert driver.count("allocations") == with_session - 2
    with pytest.raises(DeviceError, match="closed"):
        made.session.run((made.out,), device.new_stream())
    with pytest.raises(DeviceError, match="upload"):
        Made().session.put(7, 300, 299, 0, 2)


def test_a_session_that_is_closed_says_so(driver):
    made = Made()
    made.session.close()
    for do in (lambda: made.session.read(1, 0, 8, 0), lambda: made.session.write(1, 0, bytes(8), 0)):
        with pytest.raises(DeviceError, match="closed"):
            do()
