import ctypes
import os
import struct
import subprocess
import sys
import threading

import pytest

import standin_driver
from loader_data import LONG
from robocache import _child, _cuda, _device, _pool, _replay
from robocache._errors import DataError, DeviceError, ForkError, OutOfMemoryError, ServerError, UnsupportedError

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the stand-in is built for Linux")


@pytest.fixture
def driver(monkeypatch):
    os.environ["ROBOCACHE_LIBCUDA"] = standin_driver.built()
    for name in ("STANDIN_REFUSE", "STANDIN_MEMORY", "ROBOCACHE_KERNELS"):
        monkeypatch.delenv(name, raising=False)
    standin = standin_driver.Standin()
    _cuda._reason = None  # other tests may have found no driver before
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
    return _replay.Replayer(_device.device(0))


@pytest.fixture
def stream(driver):
    made = _device.device(0).new_stream()
    driver.log()
    return made


def request(**more):
    tensors = {name: {"dtype": "f32", "shape": [2], "strides": [1]} for name in ("Dst", "Src", "SrcTimes")}
    return lambda: dict({"op": "resample", "tensors": tensors}, **more)


def arguments(n=3, size=64):
    return tuple(_device.device(0).pool.alloc(size) for _ in range(n))


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
    assert words(launch)[:3] == (times, src + 8, dst + 16)
    assert words(launch)[4] == cells.flag
    assert launch.parameters[40:] == (7).to_bytes(4, "little")


def test_a_later_call_asks_nobody_and_patches_new_addresses(driver, child, replayer, stream):
    first, second = arguments(), arguments()
    replayer.run("k", request(), first, stream)
    asked = len(child.asked)
    driver.log()
    replayer.run("k", None, second, stream)
    (launch,) = driver.launches()
    assert len(child.asked) == asked
    assert words(launch)[:3] == (second[2], second[1] + 8, second[0] + 16)


def test_addresses_that_are_aligned_otherwise_have_a_plan_of_their_own(driver, child, replayer, stream):
    dst, src, times = arguments()
    replayer.run("k", request(), (dst, src, times), stream)
    replayer.run("k", request(), (dst, src + 4, times), stream)
    replayer.run("k", None, (dst, src + 4, times), stream)
    replayer.run("k", None, (dst, src, times), stream)
    replayer.run("k", None, (dst + 16, src, times), stream)
    plans = [fields["request"]["tensors"] for do, fields in child.asked if do == "plan"]
    assert [[t["align"] for t in plan.values()] for plan in plans] == [[0, 0, 0], [0, 4, 0]]
    assert [words(launch)[1] - 8 - src for launch in driver.launches()] == [0, 4, 4, 0, 0]


def test_kernels_of_a_chain_are_launched_in_order_and_may_begin_early(driver, replayer, stream):
    replayer.run("k", request(launches=3), arguments(), stream)
    launches = driver.launches()
    assert [launch.entry for launch in launches] == ["main", "second", "second"]
    assert [launch.attributes for launch in launches] == [{}, {6: 1}, {6: 1}]


def test_memory_of_an_instance_is_filled_copied_and_relocated_once(driver, replayer, stream):
    replayer.run("k", request(memory=1000, table=True), arguments(), stream)
    (launch,) = driver.launches()
    _, _, _, fault, flag = words(launch)
    instance = replayer._instances.young["k", stream]
    memory, table = instance.buffers.addresses[2:]
    assert instance.buffers.addresses[:2] == [fault, flag]
    assert ctypes.string_at(memory, 1000) == b"\3" * 1000
    assert ctypes.string_at(table, 24) == b"\x11" * 8 + (table + 4).to_bytes(8, "little") + b"\x11" * 8
    ctypes.memset(memory, 9, 1000)
    replayer.run("k", None, arguments(), stream)
    assert ctypes.string_at(memory, 1000) == b"\x09" * 1000


def test_streams_share_neither_memory_nor_faults(driver, child, replayer, stream):
    device, given = _device.device(0), arguments()
    other = device.new_stream()
    for s in (stream, other, 0):
        replayer.run("k", request(memory=100), given, s)
    assert child.count("plan") == 1
    found = [replayer._instances.young["k", s] for s in (stream, other, 0)]
    assert len({i.buffers.addresses[0] for i in found}) == 3 and len({i.buffers.addresses[2] for i in found}) == 3
    assert [launch.stream for launch in driver.launches()] == [stream, other, 0]


def test_the_default_stream_is_that_of_the_device_whatever_context_is_current(driver, replayer, monkeypatch):
    monkeypatch.setenv("STANDIN_DEVICES", "2")
    given = arguments()
    replayer.run("k", request(), given, 0)  # none is current
    assert driver.count("depth") == 0
    other = ctypes.c_void_p()
    drv = replayer.device.driver
    assert drv.context_retain(ctypes.byref(other), 1) == 0 and other.value != replayer.device.context
    now = ctypes.c_void_p()
    for context in (other.value, replayer.device.context):
        drv.context_push(context)
        replayer.run("k", None, given, 0)
        drv.context_current(ctypes.byref(now))
        assert now.value == context
        drv.context_pop(ctypes.byref(now))
    assert len(driver.launches()) == 3


def test_a_capture_has_an_instance_of_its_own_which_is_kept(driver, child, replayer, stream):
    given = arguments()
    replayer.run("k", request(memory=100), given, stream)
    driver.log()
    for _ in range(2):
        driver.capture(stream, True)
        replayer.run("k", request(memory=100), given, stream)
        replayer.run("k", request(memory=100), given, stream)
        driver.capture(stream, False)
    replayer.run("k", request(memory=100), given, stream)
    eager = replayer._instances.young["k", stream]
    cells = [words(launch)[3] for launch in driver.launches()]
    assert cells[0] == cells[1] and cells[2] == cells[3] and len(set(cells)) == 3 and cells[4] == eager.buffers.addresses[0]
    assert child.count("plan") == 1
    replayer.device.pool.flush()
    before = driver.count("allocations")
    kept = [i.buffers.addresses[2] for i in replayer._captured.values()]
    replayer.trim()
    replayer.device.pool.flush()
    assert driver.count("allocations") == before - 1
    for address in kept:
        ctypes.memset(address, 1, 100)  # still there


def test_a_first_call_may_be_captured(driver, child, replayer, stream):
    driver.capture(stream, True)
    replayer.run("k", request(memory=100), arguments(), stream)
    driver.capture(stream, False)
    assert len(driver.launches()) == 1 and len(replayer._captured) == 1 and len(replayer._instances) == 0
    for wait in ({"check": True}, {"counts": True}):
        driver.capture(stream, True)
        with pytest.raises(UnsupportedError, match="captured"):
            replayer.run("k", request(memory=100), arguments(), stream, **wait)
        driver.capture(stream, False)


def fault(replayer, key, stream, word):
    """Does what a kernel does that meets a bad value."""
    instance = replayer._instances.young[key, stream]
    ctypes.c_uint64.from_address(instance.buffers.addresses[0]).value = word
    ctypes.c_uint32.from_address(replayer.cells.flag).value = 1
    return instance


def explained(child, **fields):
    def explain(asked):
        child.told = asked
        raise DataError("resample: times: not sorted", op="resample", arg="times", row=3, index=5)

    child.explains = explain


def test_a_bad_value_is_raised_by_the_next_call_and_once(driver, child, replayer, stream):
    explained(child)
    given = arguments()
    replayer.run("k", request(), given, stream)
    instance = fault(replayer, "k", stream, 1 << 62 | 5 << 4 | 3)
    driver.log()
    with pytest.raises(DataError, match="not sorted") as caught:
        replayer.run("other", request(), given, stream)
    assert (caught.value.row, caught.value.index) == (3, 5)
    assert driver.launches() == []
    assert child.told["fault"] == 1 << 62 | 5 << 4 | 3 and child.told["request"] == instance.plan.request
    replayer.run("k", request(), given, stream)
    replayer.synchronize()
    assert ctypes.c_uint64.from_address(instance.buffers.addresses[0]).value == (1 << 64) - 1


def test_synchronize_raises_late_errors_one_after_the_other(driver, child, replayer, stream):
    explained(child)
    for key in ("a", "b"):
        replayer.run(key, request(), arguments(), stream)
    for key in ("a", "b"):
        fault(replayer, key, stream, 7)
    for _ in range(2):
        with pytest.raises(DataError):
            replayer.synchronize()
    replayer.synchronize()


def test_check_raises_the_errors_of_this_call(driver, child, replayer, stream, monkeypatch):
    explained(child)
    given = arguments()
    replayer.run("k", request(), given, stream, check=True)
    monkeypatch.setattr(replayer.device, "synchronize", lambda s: fault(replayer, "k", stream, 9))
    with pytest.raises(DataError):
        replayer.run("k", request(), given, stream, check=True)
    monkeypatch.undo()
    assert child.told["fault"] == 9


def test_nothing_is_raised_while_the_stream_is_captured(driver, child, replayer, stream):
    explained(child)
    given = arguments()
    replayer.run("k", request(), given, stream)
    fault(replayer, "k", stream, 7)
    driver.capture(stream, True)
    replayer.run("k", request(), given, stream)
    driver.capture(stream, False)
    with pytest.raises(DataError):
        replayer.run("k", request(), given, stream)


def test_an_explanation_gets_the_offsets_of_packed_rows(driver, child, replayer, stream):
    explained(child)
    tensors = {"Dst": ("f32", [9]), "SrcOffsets": ("i64", [3])}
    packed = lambda: {"op": "resample", "tensors": {n: {"dtype": d, "shape": s, "strides": [1]} for n, (d, s) in tensors.items()}}
    dst, offsets = arguments(2)
    (ctypes.c_int64 * 3).from_address(offsets)[:] = [0, 4, 9]
    replayer.run("k", packed, (dst, offsets), stream)
    fault(replayer, "k", stream, 7)
    with pytest.raises(DataError):
        replayer.synchronize()
    assert child.told["contents"] == {"SrcOffsets": [0, 4, 9]}


def test_counts_are_read_after_the_run(driver, child, replayer, stream):
    given = arguments()
    replayer.run("k", request(memory=64), given, stream)
    instance = replayer._instances.young["k", stream]
    ctypes.memset(instance.buffers.addresses[2] + 8, 42, 16)
    assert replayer.run("k", None, given, stream, counts=True) == {"points": 42}


@pytest.mark.parametrize("refused,taken", [("cubin", "sm_90.ptx"), ("cubin,sm_90", "sm_80.ptx")])
def test_where_the_driver_refuses_an_image_the_next_kind_is_asked_for(driver, child, replayer, stream, monkeypatch, refused, taken):
    monkeypatch.setenv("STANDIN_REFUSE", refused)
    replayer.run("k", request(), arguments(), stream)
    assert child.kinds[len(child.kinds)] == taken
    assert replayer.info()["kernels"] == taken
    assert len(replayer.info()["refused"]) == len(child.kinds) - 1
    assert "CUDA_ERROR_NO_BINARY_FOR_GPU" in replayer.info()["refused"][0]


def test_where_the_driver_refuses_all_images_its_words_are_raised(driver, child, replayer, stream, monkeypatch):
    monkeypatch.setenv("STANDIN_REFUSE", "cubin,sm_90,sm_80")
    with pytest.raises(DeviceError, match="takes no sm_80"):
        replayer.run("k", request(), arguments(), stream)
    monkeypatch.delenv("STANDIN_REFUSE")
    monkeypatch.setenv("ROBOCACHE_KERNELS", "cubin")
    forced = _replay.Replayer(_device.device(0))
    monkeypatch.setenv("STANDIN_REFUSE", "cubin")
    with pytest.raises(DeviceError, match="takes no cubin"):
        forced.run("k", request(), arguments(), stream)


def test_each_image_is_fetched_once(driver, child, replayer, stream):
    for key in "abc":
        replayer.run(key, request(), arguments(), stream)
    assert child.count("image") == 1 and child.count("target") == 1


def test_another_process_is_told_of_the_device_anew(driver, child, replayer, stream, monkeypatch):
    replayer.run("a", request(), arguments(), stream)
    second = standin_driver.Process()
    monkeypatch.setattr(_child, "shared", lambda: second)
    replayer.run("a", request(), arguments(), stream)
    assert second.asked == []
    replayer.run("b", request(), arguments(), stream)
    assert second.count("target") == 1 and second.count("image") == 0


def test_a_launch_that_fails_is_an_error_and_the_instance_is_made_anew(driver, child, replayer, stream):
    given = arguments()
    replayer.run("k", request(memory=100, launches=3), given, stream)
    before = replayer._instances.young["k", stream]
    driver.fail("cuLaunchKernelEx", 701, 1)
    with pytest.raises(DeviceError, match="701"):
        replayer.run("k", request(memory=100, launches=3), given, stream)
    replayer.run("k", request(memory=100, launches=3), given, stream)
    after = replayer._instances.young["k", stream]
    assert before.closed and after is not before and after.buffers.addresses[2] != before.buffers.addresses[2]
    assert child.count("plan") == 1


def test_an_interrupted_call_leaves_nothing_half_done(driver, child, replayer, stream, monkeypatch):
    given, other = arguments(), arguments()
    replayer.run("k", request(memory=100, launches=3), given, stream)
    before = replayer._instances.young["k", stream]
    real, calls = replayer.device.driver.launch, []

    def interrupted(*args):
        calls.append(args)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(*args)

    monkeypatch.setattr(replayer.device.driver, "launch", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replayer.run("k", request(memory=100, launches=3), other, stream)
    monkeypatch.undo()
    monkeypatch.setattr(_child, "shared", lambda: child)
    driver.log()
    replayer.run("k", request(memory=100, launches=3), given, stream)
    assert before.closed and [words(x)[:3] for x in driver.launches()] == [(given[2], given[1] + 8, given[0] + 16)] * 3


def test_a_fault_is_kept_where_nobody_can_explain_it_now(driver, child, replayer, stream):
    replayer.run("k", request(), arguments(), stream)
    fault(replayer, "k", stream, 9)

    def gone(asked):
        raise ServerError("the helper process has ended")

    child.explains = gone
    with pytest.raises(ServerError):
        replayer.synchronize()
    explained(child)
    with pytest.raises(DataError):
        replayer.synchronize()
    replayer.synchronize()


def test_out_of_memory_says_how_much_and_gives_back_what_it_can_first(driver, replayer, stream, monkeypatch):
    replayer.run("a", request(memory=1 << 20), arguments(), stream)
    replayer.device.pool.flush()
    have = driver.count("bytes")
    monkeypatch.setenv("STANDIN_MEMORY", str(have + (1 << 19)))
    given = arguments()
    replayer.run("b", request(memory=1 << 20), given, stream)
    assert driver.count("bytes") <= have + (1 << 19)
    with pytest.raises(OutOfMemoryError, match="4194304 bytes for a plan's memory"):
        replayer.run("c", request(memory=4 << 20), given, stream)
    assert isinstance(OutOfMemoryError(""), MemoryError)
    replayer.run("b", request(memory=1 << 20), given, stream)


def test_what_is_kept_is_bounded_and_what_is_given_up_is_freed(driver, child, replayer, stream, monkeypatch):
    given = arguments()
    before = driver.count("allocations")
    driver.logging(False)
    for i in range((3 if LONG else 2) * _replay.PLANS):
        replayer.run(i, request(memory=256), given, stream)
        replayer.run("often", request(), given, stream)
    assert len(replayer._instances) <= _replay.PLANS and len(replayer._plans) <= _replay.PLANS
    assert driver.count("allocations") - before <= _replay.PLANS + 2 * _pool.LIMBO_COUNT
    assert sum(f["request"].get("memory") is None for d, f in child.asked if d == "plan") == 1
    replayer.run("large", request(memory=_replay.PLAN_BYTES), given, stream)
    replayer.run("larger", request(memory=_replay.PLAN_BYTES + 1), given, stream)
    replayer.run("small", request(), given, stream)
    replayer.run("last", request(memory=_replay.PLAN_BYTES + 2), given, stream)
    replayer.device.pool.flush()
    assert driver.count("bytes") < 3 * _replay.PLAN_BYTES


def test_ten_thousand_calls_take_no_more_memory(driver, replayer, stream):
    resource = pytest.importorskip("resource")
    given = [arguments() for _ in range(3)]
    driver.logging(False)

    def calls(n):
        for i in range(n):
            replayer.run("k", request(memory=100), given[i % 3], stream)
        return driver.count("allocations"), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    begin = calls(1000)
    end = calls(10000)
    assert end[0] == begin[0] and end[1] - begin[1] < 256  # KiB


def test_threads_share_a_plan_without_mixing_addresses(driver, child, replayer, stream):
    given = [arguments() for _ in range(8)]

    def work(mine):
        for _ in range(200):
            replayer.run("k", request(), mine, stream)

    threads = [threading.Thread(target=work, args=(g,)) for g in given]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    launches = driver.launches()
    assert len(launches) == 1600 and child.count("plan") == 1
    assert {words(launch)[:3] for launch in launches} == {(times, src + 8, dst + 16) for dst, src, times in given}


def test_threads_go_on_while_instances_are_given_up(driver, replayer, stream):
    given = arguments()
    errors = []

    def work():
        try:
            for i in range(300):
                replayer.run(i % 7, request(memory=64), given, stream)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    while any(t.is_alive() for t in threads):
        replayer.trim()
        replayer.device.pool.flush()
    assert errors == []


def test_a_forked_process_is_refused(driver, child, stream, monkeypatch):
    monkeypatch.setattr(_replay, "_replayers", {})
    replayer = _replay.replayer(0)
    given = arguments()
    replayer.run("k", request(), given, stream)
    pid = os.fork()
    if pid == 0:
        try:
            replayer.run("k", request(), given, stream)
        except ForkError:
            os._exit(7)
        os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


def _run(code, **env):
    path = os.pathsep.join([os.path.dirname(os.path.dirname(_cuda.__file__)), os.environ.get("PYTHONPATH", "")])
    out = subprocess.run(
        [sys.executable, "-c", code], env=dict(os.environ, PYTHONPATH=path, **env), capture_output=True, text=True, timeout=60
    )
    assert out.returncode == 0, out.stderr
    return out.stdout.strip()


REASON = "from robocache import _cuda; print(_cuda.reason())"


@pytest.mark.parametrize(
    "env,words",
    [
        ({"ROBOCACHE_LIBCUDA": "libcuda-that-is-not-there.so.1"}, "libcuda-that-is-not-there"),
        ({"ROBOCACHE_LIBCUDA": "libc.so.6"}, "libc.so.6 has no cuInit"),
        ({"ROBOCACHE_LIBCUDA": "here/libcuda.so"}, "absolute path"),
        ({"STANDIN_INIT": "100"}, "finds no GPU"),
        ({"STANDIN_INIT": "34"}, "stub"),
        ({"STANDIN_INIT": "999"}, "CUDA error 999"),
        ({"STANDIN_VERSION": "11040"}, "supports CUDA 11.4"),
        ({}, "None"),
    ],
)
def test_where_there_is_no_driver_the_reason_is_told(env, words):
    assert words in _run(REASON, **dict({"ROBOCACHE_LIBCUDA": standin_driver.built()}, **env))


def test_structures_are_laid_out_as_the_driver_has_them():
    config, attribute = _cuda.LaunchConfig, _cuda.LaunchAttribute
    assert [getattr(config, f[0]).offset for f in config._fields_] == [0, 12, 24, 32, 40, 48]
    assert ctypes.sizeof(config) == 56 and ctypes.sizeof(attribute) == 72 and attribute.value.offset == 8
