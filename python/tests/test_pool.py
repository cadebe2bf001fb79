import os
import threading

import pytest

import standin_driver

os.environ.setdefault("ROBOCACHE_LIBCUDA", standin_driver.built())

from robocache import _device, _pool
from robocache._errors import OutOfMemoryError
from robocache._recent import Recent


@pytest.fixture
def driver(monkeypatch):
    os.environ["ROBOCACHE_LIBCUDA"] = standin_driver.built()
    monkeypatch.delenv("STANDIN_MEMORY", raising=False)
    standin = standin_driver.Standin()
    standin.log()
    return standin


@pytest.fixture
def pool(driver):
    return _pool.Pool(_device.device(0))


def test_released_memory_is_used_again_only_behind_a_free(driver, pool):
    released = [pool.alloc(1000) for _ in range(_pool.LIMBO_COUNT + 1)]
    for address in released:
        pool.release(address)
    driver.log()
    again = pool.alloc(1000)
    assert again in released
    assert [line.split()[0] for line in driver.log()] == ["free"]
    fresh = [pool.alloc(1000) for _ in range(_pool.LIMBO_COUNT - 1)]
    assert sorted(fresh + [again]) == sorted(released[:-1]) and driver.log() == []
    pool.release(again)
    assert pool.alloc(1000) != again  # nothing was freed since


def test_sizes_are_not_mixed_and_what_is_kept_is_bounded(driver, pool, monkeypatch):
    monkeypatch.setattr(_pool, "KEPT_BYTES", 1 << 20)
    before = driver.count("bytes")
    for size in (1 << 19, 1 << 18, 1 << 19, 1 << 20) * 20:
        pool.release(pool.alloc(size))
    pool.alloc(512)
    assert sum(size * len(kept) for size, kept in pool._kept.items()) == pool._kept_bytes <= 1 << 20
    assert pool.flush() and not pool.flush()
    assert driver.count("bytes") == before + 512 and pool.allocated() == 512


def test_where_there_is_too_little_everything_that_can_be_had_is_asked_for(driver, pool, monkeypatch):
    asked = []
    held = [pool.alloc(1 << 20)]

    def give():
        asked.append("give")
        # Another thread may need the pool meanwhile.
        thread = threading.Thread(target=lambda: pool.release(held.pop()) if held else None)
        thread.start()
        thread.join(10)
        assert not thread.is_alive()
        return True

    pool.reclaim += [lambda: asked.append("nothing") or False, give]
    monkeypatch.setenv("STANDIN_MEMORY", str(driver.count("bytes") + 1000))
    pool.alloc(1 << 20)
    assert asked == ["nothing", "give"]
    with pytest.raises(OutOfMemoryError, match="no 1048576 bytes for a test"):
        pool.alloc(1 << 20, "a test")


def test_what_was_used_of_late_stays():
    dropped = []
    recent = Recent(8, 0, dropped.append)
    recent.put("often", "often")
    for i in range(100):
        recent.put(i, i)
        assert recent.find("often") == "often"
        assert len(recent) <= 8
    assert "often" not in dropped and dropped == sorted(dropped) and len(dropped) + len(recent) == 101
    assert recent.find(3) is None and recent.find(99) == 99
    recent.discard(99)
    assert recent.find(99) is None and 99 not in dropped
    assert recent.clear() and not recent.clear() and len(dropped) == 100


def test_heavy_values_are_few():
    dropped = []
    recent = Recent(100, 100, dropped.append)
    for i in range(10):
        recent.put(i, i, 40)
    assert dropped == list(range(8)) and recent.young == {9: 9}
    recent.put("huge", "huge", 1000)
    assert recent.find("huge") == "huge"
