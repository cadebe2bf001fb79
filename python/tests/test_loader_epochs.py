"""Loader: what a loop over it has, and what Ctrl-C costs."""

from __future__ import annotations

import json
import pickle

import pytest

from loader_data import G1, binary, rows
from robocache._errors import LoaderError
from robocache._loader import Loader

WINDOWS = {"observation.state": (-1.0, 0.0), "action": (0.0, 1.0)}


@pytest.fixture(autouse=True)
def _binary():
    binary()


def g1(paths=G1, **options):
    return Loader(paths, **{"batch": 32, "hz": 50, "seed": 7, "windows": WINDOWS, "framework": "numpy", **options})


def test_a_loop_is_an_epoch_even_behind_one_that_was_left():
    with g1() as loader:
        assert len(loader) == 58 and loader.epoch == 0
        epochs = [[rows(b) for b in loader] for _ in range(4)]
        assert [len(e) for e in epochs] == [58] * 4 and loader.epoch == 4
    with g1() as loader:
        for i, batch in enumerate(loader):
            if i == 9:
                break
        assert loader.epoch == 0
        assert [rows(b) for b in loader] == epochs[1] and loader.epoch == 2
        assert rows(next(iter(loader))) == epochs[2][0]  # a look
        assert [rows(b) for b in loader] == epochs[3]
        loader.set_epoch(0)
        assert rows(loader.next()) == epochs[0][0]
        loader.set_epoch(0)  # from its beginning
        assert [rows(b) for b in loader] == epochs[0] and loader.epoch == 1
        assert rows(loader.next()) == epochs[1][0]
        endless = loader.batches()
        assert rows(next(endless)) == epochs[1][1]
        for _ in range(57):
            last = rows(next(endless))
        assert last == epochs[2][0]


def test_a_loop_behind_a_state_goes_on():
    with g1() as loader, g1() as other:
        whole = [[rows(b) for b in loader] for _ in range(2)]
        for taken in (1, 30, 57, 58):
            loader.set_epoch(0)
            for i, _ in zip(range(taken), loader):
                pass
            state = json.loads(json.dumps(loader.state_dict()))
            other.load_state_dict(state)
            other.set_epoch(other.epoch)  # as trainers do
            assert other.state_dict() == state
            assert [rows(b) for b in other] == (whole[0][taken:] or whole[1]), taken
            other.load_state_dict(state)
            loader.load_state_dict(state)
            assert rows(next(iter(other))) == rows(loader.next())
            if taken < 58:
                assert rows(next(iter(other))) == whole[1][0]


def test_a_loop_in_order_that_is_left_has_the_same_windows_each_time():
    with g1(shuffle=False, last="short") as loader:
        seen = []
        for _ in range(4):
            for i, batch in enumerate(loader):
                seen.append((i, rows(batch)))
                if i == 4:
                    break
        assert seen == seen[:5] * 4


def test_one_loop_at_a_time():
    with g1() as loader:
        one, two = iter(loader), iter(loader)
        next(one)
        next(two)
        with pytest.raises(LoaderError, match="after another one began"):
            next(one)
        assert sum(1 for _ in two) == 57 and list(two) == []


def test_a_batch_that_nobody_got_is_the_next_one():
    class Late:  # a lock that is interrupted where it is let go
        def __init__(self, lock, at):
            self.lock, self.left = lock, at

        def __enter__(self):
            self.lock.acquire()

        def __exit__(self, *_):
            self.lock.release()
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt

    with g1() as loader, g1() as want:
        expected = [rows(b) for b in want]
        got, lock, lost = [], loader._lock, 0
        while len(got) < 20:
            if len(got) in (3, 11) and lost < 4:
                loader._lock = Late(lock, 1)
            state = loader._way.place.state
            try:
                got.append(rows(loader.next()))
            except KeyboardInterrupt:
                loader._lock, lost = lock, lost + 1
                assert loader.state_dict()["state"] == state
            loader._lock = lock
        assert lost == 4 and got == expected[:20]


def test_a_slot_is_back_without_python_that_could_be_interrupted():
    with g1() as loader:
        batch = loader.next()
        (lease,) = loader._way.pool._leases.values()
        assert not hasattr(lease.__callback__, "__code__")
        del batch
        assert len(loader._way.pool.returned) == 1


def test_a_dataset_is_an_epoch_each_time_and_no_worker_has_it():
    torch = pytest.importorskip("torch")
    with g1(framework="torch", device="cpu", shuffle=False) as loader:
        data = torch.utils.data.DataLoader(loader.as_dataset(), batch_size=None)
        look = next(iter(data))
        assert torch.equal(look["anchor"], next(iter(data))["anchor"])
        assert sum(1 for _ in data) == len(data) == 58
        with pytest.raises(LoaderError, match="num_workers=0"):
            pickle.dumps(loader.as_dataset())
