"""Loader: what it refuses, and what becomes of recordings that are broken."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from loader_data import G1, ROOT, binary, rows
from robocache._errors import ArgumentError, LoaderError, PlanError, RecordingError
from robocache._loader import Loader

WINDOWS = {"observation.state": (-1.0, 0.0), "action": (0.0, 1.0)}


@pytest.fixture(autouse=True)
def _binary():
    binary()


def g1(paths=G1, **options):
    return Loader(paths, **{"batch": 32, "hz": 50, "seed": 7, "windows": WINDOWS, "framework": "numpy", **options})


def test_what_cannot_be_is_said_in_words_of_the_arguments(tmp_path):
    for options, error, text in [
        ({"batch": 0}, ArgumentError, "batch: got 0"),
        ({"hz": 0}, ArgumentError, "hz: got 0"),
        ({"hz": float("nan")}, ArgumentError, "hz: got nan"),
        ({"rate": "fast"}, ArgumentError, "rate: got 'fast'"),
        ({"batch": 2.5}, ArgumentError, "batch: got 2.5"),
        ({"batch": 1 << 40}, ArgumentError, "batch: got"),
        ({"seed": -1}, ArgumentError, "seed: got -1"),
        ({"rank": 2, "world": 2}, ArgumentError, "rank: got 2 of world 2"),
        ({"rank": 2}, ArgumentError, "without world"),
        ({"dtype": "int32"}, ArgumentError, "dtype: got 'int32'"),
        ({"windows": {"nobody": (0, 1)}}, ArgumentError, 'got stream "nobody"'),
        ({"windows": {"action": 1}}, ArgumentError, "(from, to) in seconds"),
        ({"windows": {"action": (1, 0)}}, PlanError, "beginning before the end"),
        ({"streams": "action"}, ArgumentError, "a list of names"),
        ({"normalise": "best"}, PlanError, "normalise"),
        ({"plan": tmp_path / "none.yaml", "hz": None, "windows": None}, PlanError, "none.yaml"),
        ({"plan": {"rate": 50, "stream": []}, "hz": None, "windows": None}, PlanError, "stream"),
        ({"framework": "tensorflow"}, ArgumentError, "torch, numpy or jax"),
        ({"prefetch": 0}, ArgumentError, "prefetch: got 0"),
        ({"shard_windows": -1}, ArgumentError, "shard_windows: got -1"),
        ({"streaming": True, "mix_shards": 1, "shard_windows": 2}, ArgumentError, "mix_shards: got 1 of 2 windows"),
    ]:
        with pytest.raises(error) as caught:
            g1(**options).close()
        assert text in str(caught.value), options
        assert "--" not in str(caught.value)
    with pytest.raises(RecordingError, match="nothing_here"):
        Loader(tmp_path / "nothing_here", framework="numpy")


def test_a_plan_may_be_a_file_or_a_dict(tmp_path):
    plan = {
        "rate": 50,
        "streams": [{"name": "action", "kind": "previous"}],
        "windows": {"action": [0, 0.2]},
        "shuffle": "none",
    }
    file = tmp_path / "plan.yaml"
    file.write_text(
        "version: 1\nrate: 50\nstreams: [{name: action, method: previous}]\nwindows: {action: [0, 0.2]}\nshuffle: none\n"
    )
    with Loader(G1, plan=plan, framework="numpy") as a, Loader(G1, plan=file, framework="numpy") as b:
        assert rows(a.next()) == rows(b.next())


def test_a_state_of_another_order_is_refused_and_changes_nothing():
    with g1() as loader, g1(seed=8) as other:
        loader.next()
        before = loader.state_dict()
        with pytest.raises(LoaderError, match="seed"):
            loader.load_state_dict(other.state_dict())
        for state in ({}, {"version": 2}, dict(before, state={}), None):
            with pytest.raises(LoaderError):
                loader.load_state_dict(state)
        assert loader.state_dict() == before
        following = rows(loader.next())
        loader.load_state_dict(before)
        assert rows(loader.next()) == following


def test_a_broken_episode_is_counted_or_with_strict_refused(tmp_path):
    shape = tmp_path / "demo"
    shape.mkdir()
    for i in range(3):
        np.savez(
            shape / "e{}.npz".format(i),
            **{"joint.times": np.arange(50) * 20_000_000, "joint.values": np.zeros((50, 2), np.float32)},
        )
    with Loader(shape, hz=50, batch=8, framework="numpy") as loader:
        whole = loader.report()["episodes"]
    data = (shape / "e1.npz").read_bytes()
    (shape / "e1.npz").write_bytes(data[: len(data) // 2])
    with Loader(shape, hz=50, batch=8, framework="numpy") as loader:
        report = loader.report()
        assert report["episodes"] == whole - 1
        assert len(report["skipped"]) + len(report["notes"]) >= 1
    with pytest.raises(RecordingError, match="e1"):
        Loader(shape, hz=50, batch=8, framework="numpy", strict=True)


def test_a_file_that_changes_is_an_error_or_counted(tmp_path):
    def made(strict):
        folder = tmp_path / str(strict)
        folder.mkdir()
        for i in range(4):
            archive = {"joint.times": np.arange(50) * 20_000_000, "joint.values": np.full((50, 2), i, np.float32)}
            np.savez(folder / "e{}.npz".format(i), **archive)
        return folder, Loader(
            folder,
            hz=50,
            batch=10,
            framework="numpy",
            streaming=True,
            shard_windows=25,
            mix_shards=2,
            strict=strict,
            prefetch=1,
        )

    for strict in (False, True):
        folder, loader = made(strict)
        with loader:
            whole = [b["episode_index"].copy() for b in loader]
            assert len(whole) == 20
            archive = {"joint.times": np.arange(40) * 20_000_000, "joint.values": np.zeros((40, 2), np.float32)}
            np.savez(folder / "e2.npz", **archive)
            if strict:
                with pytest.raises(RecordingError, match="e2|episode 2"):
                    for _ in range(3 * len(loader)):
                        loader.next()
                state = loader.state_dict()
                with pytest.raises(RecordingError):  # and again
                    loader.next()
                assert loader.state_dict() == state
            else:
                lost = [b for _ in range(3) for b in loader]
                assert any((b["episode_index"] == -1).any() for b in lost)
                assert not any(b["joint_valid"][b["episode_index"] == -1].any() for b in lost)
                assert loader.report()["streaming"]["unread_windows"] > 0


def test_the_rank_is_told_by_launchers(monkeypatch):
    for name in ("ROBOCACHE_RANK", "ROBOCACHE_WORLD", "SLURM_PROCID", "SLURM_NTASKS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "3")
    with g1(batch=8) as told, g1(batch=8, rank=2, world=3) as said, g1(batch=8, rank=0, world=1) as alone:
        assert (told.rank, told.world) == (said.rank, said.world) == (2, 3) and alone.world == 1
        assert rows(told.next()) == rows(said.next()) != rows(alone.next())
    with pytest.raises(ArgumentError, match="world: got 2, where RANK and WORLD_SIZE set rank 2 of 3"):
        g1(world=2)


def test_copies_are_refused():
    import copy
    import pickle

    with g1() as loader:
        for do in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(LoaderError):
                do(loader)


WORKERS = """
import sys
import torch
from robocache._loader import Loader

with Loader(sys.argv[1], batch=32, hz=50, device="cpu") as loader:
    data = torch.utils.data.DataLoader(loader.as_dataset(), batch_size=None)
    assert len(data) == 58 and sum(1 for _ in data) == 58
    try:
        next(iter(torch.utils.data.DataLoader(loader.as_dataset(), batch_size=None, num_workers=1)))
    except Exception as e:
        assert "num_workers=0" in str(e), e
    else:
        raise AssertionError("a worker drew a batch")
    assert sum(1 for _ in loader) == 58  # which the worker has not touched
"""


def test_workers_of_a_dataloader_are_refused():
    pytest.importorskip("torch")
    # In a process of its own: a worker that fails leaves torch's handler of SIGCHLD behind.
    path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")])
    subprocess.run(
        [sys.executable, "-c", WORKERS, str(G1)], check=True, env=dict(os.environ, PYTHONPATH=path), timeout=120
    )
