import gc
import os
import subprocess
import sys

import numpy as np
import pytest

import standin_driver

os.environ.setdefault("ROBOCACHE_LIBCUDA", standin_driver.built())

from robocache import _device, _dlpack
from robocache._errors import ArgumentError


@pytest.fixture
def on():
    os.environ["ROBOCACHE_LIBCUDA"] = standin_driver.built()
    return _device.device(0)


def memory(on, dtype="f32", shape=(2, 3)):
    """Device memory of the stand-in, which lies on the host, with numbers in it."""
    made = _dlpack.Memory(on, dtype, shape, on.stream)
    (_dlpack.ctypes.c_uint8 * made.nbytes).from_address(made.pointer)[:] = range(made.nbytes)
    return made


@pytest.mark.parametrize("dtype", ["f32", "f64", "f16", "bf16", "i64", "i32", "u8", "bool"])
def test_what_is_made_can_be_taken(on, dtype):
    made = memory(on, dtype)
    taken = _dlpack.Taken(made.__dlpack__(stream=1))
    assert (taken.dtype, taken.shape, taken.strides) == (dtype, (2, 3), (3, 1))
    assert taken.pointer == made.pointer and taken.device == (_dlpack.CUDA, 0) == made.__dlpack_device__()


def test_torch_takes_what_is_made(on):
    torch = pytest.importorskip("torch")
    made = memory(on)
    # As memory of the host: there is no CUDA here.
    x = torch.utils.dlpack.from_dlpack(_dlpack._capsule(made, made.pointer, (_dlpack.CPU, 0), "f32", (2, 3)))
    assert x.shape == (2, 3) and x.data_ptr() == made.pointer
    assert x.numpy().tobytes() == bytes(range(24))


def test_memory_is_given_up_with_the_last_that_uses_it(on):
    torch = pytest.importorskip("torch")
    made = memory(on)
    pointer = made.pointer
    x = torch.utils.dlpack.from_dlpack(_dlpack._capsule(made, pointer, (_dlpack.CPU, 0), "f32", (2, 3)))
    y = x[1:]
    del made, x
    gc.collect()
    assert pointer in on.pool._sizes
    del y
    gc.collect()
    assert pointer not in on.pool._sizes and _dlpack._exports == {}


def test_a_capsule_that_nobody_takes_holds_nothing(on):
    made = memory(on)
    capsule = made.__dlpack__(stream=-1)
    assert len(_dlpack._exports) == 1
    del capsule
    _dlpack._look()
    gc.collect()
    assert _dlpack._exports == {}


def test_what_is_taken_is_given_back_once(on):
    made = memory(on)
    capsule = made.__dlpack__(stream=-1)
    taken = _dlpack.Taken(capsule)
    with pytest.raises(ArgumentError, match="used before"):
        _dlpack.Taken(capsule)
    del capsule
    _dlpack._look()
    gc.collect()
    assert len(_dlpack._exports) == 1
    taken.close()
    taken.close()
    del taken
    assert _dlpack._exports == {}


def test_tensors_of_torch_are_taken_with_strides_and_offsets():
    torch = pytest.importorskip("torch")
    x = torch.arange(60, dtype=torch.int64).view(3, 4, 5)[1:, ::2]
    taken = _dlpack.Taken(torch.utils.dlpack.to_dlpack(x))
    assert (taken.dtype, taken.shape, taken.strides) == ("i64", (2, 2, 5), (20, 10, 1))
    assert taken.pointer == x.data_ptr() and taken.device == (_dlpack.CPU, 0)
    y = torch.zeros(2, dtype=torch.bfloat16)
    assert _dlpack.Taken(torch.utils.dlpack.to_dlpack(y)).dtype == "bf16"
    before = sys.getrefcount(y)
    for _ in range(100):
        _dlpack.Taken(torch.utils.dlpack.to_dlpack(y)).close()
    assert sys.getrefcount(y) == before


def test_versioned_capsules_are_taken():
    c = _dlpack.ctypes
    given = []
    deleter = _dlpack._Deleter(given.append)
    shape = (c.c_int64 * 1)(4)
    made = c.create_string_buffer(80)
    head = [1, 1, 0, c.cast(deleter, c.c_void_p).value, 0]
    _dlpack._VERSIONED.pack_into(made, 0, *head)
    _dlpack._TENSOR.pack_into(made, 32, 4096, 2, 0, 1, 2, 32, 1, c.addressof(shape), 0, 256)
    address = c.addressof(made)
    taken = _dlpack.Taken(_dlpack._new(address, _dlpack._FRESH_VERSIONED, None))
    assert (taken.pointer, taken.strides, taken.dtype) == (4352, (1,), "f32")
    taken.close()
    assert given == [address]
    _dlpack._VERSIONED.pack_into(made, 0, 2, 1, *head[2:])
    with pytest.raises(ArgumentError, match="version 2.1"):
        _dlpack.Taken(_dlpack._new(address, _dlpack._FRESH_VERSIONED, None))


def test_who_takes_memory_waits_for_its_stream(on):
    standin = standin_driver.Standin()
    made = memory(on)
    standin.log()
    for stream, waits in ((None, "0x1"), (1, "0x1"), (2, "0x2"), (on.new_stream(), None), (on.stream, ""), (-1, "")):
        made.__dlpack__(stream=stream)
        lines = [line for line in standin.log() if line.startswith("wait")]
        assert lines == ([] if waits == "" else ["wait " + (waits or hex(stream))])
    with pytest.raises(BufferError):
        made.__dlpack__(copy=True)
    with pytest.raises(BufferError):
        made.__dlpack__(dl_device=(1, 0))
    made.__dlpack__(max_version=(1, 0), dl_device=(2, 0))


def test_users_that_outlive_the_interpreter_call_nobody():
    pytest.importorskip("torch")
    code = (
        "import ctypes, torch, standin_driver\n"
        "from robocache import _device, _dlpack\n"
        "on = _device.device(0); m = _dlpack.Memory(on, 'f32', (2, 3), on.stream)\n"
        "x = torch.utils.dlpack.from_dlpack(_dlpack._capsule(m, m.pointer, (1, 0), 'f32', (2, 3)))\n"
        "ctypes.pythonapi.Py_IncRef(ctypes.py_object(x)); c = m.__dlpack__(stream=-1)\n"
        "import atexit; atexit.register(lambda: print(len(_dlpack._exports)))"
    )
    path = os.pathsep.join([os.path.dirname(__file__), os.path.dirname(os.path.dirname(_dlpack.__file__))])
    env = dict(os.environ, PYTHONPATH=path, ROBOCACHE_LIBCUDA=standin_driver.built())
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=60)
    assert (out.returncode, out.stdout, out.stderr) == (0, "2\n", "")


class Tracer:
    pass


class Array:
    """Stands in for a JAX array: what it gives is memory of the stand-in driver."""

    def __init__(self, on, x):
        self.dtype, self.shape, self.asked = x.dtype, x.shape, []
        self._memory = _dlpack.Memory(on, {"f": "f32", "i": "i64"}[x.dtype.kind], x.shape, on.stream)
        _dlpack.ctypes.memmove(self._memory.pointer, x.ctypes.data, x.nbytes)

    def devices(self):
        return {self}

    platform = "gpu"

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, *, stream):
        self.asked.append(stream)
        return self._memory.__dlpack__(stream=stream)


Tracer.__module__ = Array.__module__ = "jaxlib.standin"


@pytest.fixture
def jax(monkeypatch):
    import types

    fake = types.ModuleType("jax")
    fake.core = types.SimpleNamespace(Tracer=Tracer)
    fake.config = types.SimpleNamespace(jax_enable_x64=False)
    fake.dlpack = types.SimpleNamespace(from_dlpack=lambda x: _dlpack.Taken(x.__dlpack__(stream=1)))
    fake.numpy = np
    monkeypatch.setitem(sys.modules, "jax", fake)
    monkeypatch.delitem(sys.modules, "robocache._jax", raising=False)
    from robocache import _arrays

    monkeypatch.setattr(_arrays, "_known", {})
    yield fake
    sys.modules.pop("robocache._jax", None)


def test_arrays_of_jax_are_taken_on_our_stream_and_held_until_it_has_passed(on, jax):
    import robocache as rc

    standin = standin_driver.Standin()
    x = Array(on, np.random.rand(3, 20, 4).astype(np.float32))
    t, q = np.arange(20) * 10, np.arange(50) * 3
    before = len(_dlpack._exports)
    standin.library.standin_events_pending(1)
    y = rc.resample(x, t, q, backend="cuda")
    launch = standin.launches()[-1]
    assert x.asked == [on.stream] == [launch.stream]
    assert y.shape == (3, 50, 4) and y.dtype == "f32"
    assert len(_dlpack._exports) == before + 2  # the result, and the array until the kernel has passed
    assert x._memory.pointer.to_bytes(8, "little") in launch.parameters
    standin.library.standin_events_pending(0)
    del y
    rc.resample(x, t, q, backend="cuda")
    gc.collect()
    assert len(_dlpack._exports) == before


def test_what_jax_cannot_have_is_refused_by_name(on, jax):
    import robocache as rc

    x = Array(on, np.random.rand(3, 20, 4).astype(np.float32))
    t, q = np.arange(20) * 10, np.arange(50) * 3
    traced = Tracer()
    traced.shape = (3, 20, 4)
    with pytest.raises(rc.UnsupportedError, match="pure_callback"):
        rc.resample(traced, t, q)
    with pytest.raises(rc.ArgumentError, match="jax_enable_x64"):
        rc.resample(x, t, q, age=True)
    with pytest.raises(rc.ArgumentError, match="cannot be written"):
        rc.resample(x, t, q, out=x)


def test_structures_are_laid_out_as_dlpack_has_them():
    assert [s.size for s in (_dlpack._TENSOR, _dlpack._MANAGED, _dlpack._VERSIONED)] == [48, 16, 32]


@pytest.mark.parametrize("refuse", [int, len, ord])
def test_who_refuses_a_capsule_is_heard_and_keeps_nothing(on, refuse):
    made = _dlpack.Memory(on, "f32", (2, 3), on.stream)
    with pytest.raises(TypeError):
        refuse(made.__dlpack__(stream=-1))
    del made
    before = len(_dlpack._exports)
    _dlpack.Memory(on, "f32", (1,), on.stream)
    gc.collect()
    assert len(_dlpack._exports) == before - 1 == 0 and not _dlpack._fresh
