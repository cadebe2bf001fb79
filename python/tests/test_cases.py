"""Inputs that went wrong: the folders of shared/cases that are of the Python package, and others of their kinds."""

from __future__ import annotations

import os
import pathlib
import shutil
import signal

import numpy as np
import pytest

import robocache as rc
from loader_data import G1, binary, shared
from robocache import _child

FAKE = str(pathlib.Path(__file__).with_name("fake_serve.py"))


class Whole:
    """An integer of another library: torch's tensors are such."""

    def __init__(self, n):
        self.n = n

    def __index__(self):
        return self.n


@pytest.fixture(autouse=True)
def _binary():
    binary()


def some(tmp_path):
    """LeRobot's episodes 1, 2, 4, 5, 6 and 7."""
    folder = tmp_path / "some"
    shutil.copytree(str(shared("lerobot_v21_g1")), str(folder))
    for n in (0, 3):
        (folder / "data/chunk-000/episode_{:06d}.parquet".format(n)).unlink()
    return folder


def test_python_episode_index(tmp_path):
    folder = some(tmp_path)
    rec, whole = rc.Recording(folder), rc.Recording(shared("lerobot_v21_g1"))
    assert [e.number for e in rec] == [1, 2, 4, 5, 6, 7]
    assert rec.info.splits == {"train": [1, 2, 4, 5, 6, 7]}
    with rc.Loader(folder, batch=16, streams=["action"], windows={"action": (0, 1 / 30)}, framework="numpy", episodes=[4, 7], last="short") as loader:
        drawn = set()
        for batch in loader:
            for n, i, row in zip(batch["episode_index"], batch["frame_index"], batch["action"][:, 0]):
                if n >= 0:
                    drawn.add(int(n))
                    assert np.array_equal(rec[n]["action"].values[i], row)
                    assert np.array_equal(whole[n]["action"].values[i], row)
    assert drawn == {4, 7}
    assert rec.align(hz=30, episode=7, streams=["action"])["action"].values.shape[0] == len(whole[7]["action"].times)
    assert [rec.episodes[0].number, rec.episodes[-1].number, rec[-1].number, rec[1:3][0].number] == [1, 7, 7, 2]
    for n in (0, 3, 8):
        with pytest.raises(IndexError, match="1, 2, 4, 5, 6, 7"):
            rec[n]
        with pytest.raises(rc.ArgumentError):
            rc.Loader(folder, batch=4, streams=["action"], framework="numpy", episodes=[n])
    (folder / "data/chunk-000/episode_000004.parquet").write_bytes(b"nothing")
    with pytest.raises(rc.RecordingError, match="episode 4"):
        rc.Recording(folder)[4]


def test_python_drifted_timestamps():
    for name in ("dataset_float32", "dataset_trimmed", "dataset_jitter"):
        path = shared("../cases/python-drifted-timestamps/" + name)
        for clock in ("", "frame_index"):
            with rc.Loader(path, batch=8, framework="numpy", last="short", episodes=[0], shuffle=False, clock=clock) as loader:
                rows = np.concatenate([b["observation.state"][b["episode_index"] >= 0, 0, 0] for b in loader])
            assert np.array_equal(rows, np.arange(len(rc.Recording(path)[0]["action"].times)))


def test_a_window_in_seconds_has_lerobots_ticks():
    for fps, n in ((30, 16), (50, 35), (15, 7)):
        for to in (n / fps, round(n / fps, 4), float(np.float32(n / fps)), np.float32(n / fps)):
            with rc.Loader(G1, batch=4, hz=fps, windows={"action": (0, to)}, framework="numpy") as loader:
                assert loader.next()["action"].shape[1] == n, (fps, to)


def test_python_uniform_int():
    values, seconds = np.arange(100.0)[:, None], np.arange(100.0) * 0.1
    for start in (5, 5.0, np.int64(5)):
        for times in (seconds, seconds.astype("f4")):
            got = rc.resample(values, times, rc.Uniform(start, rate=10, count=2))
            assert np.allclose(got.ravel(), [50, 51], atol=1e-4)
            fused = rc.fuse([rc.Stream(values, times)], rc.Uniform(start, rate=10, count=2))
            assert np.allclose(fused.ravel(), [50, 51], atol=1e-4)
    assert rc.resample([[0.0], [1.0], [2.0]], [0, 1, 2], rc.Uniform(0.5, rate=1, count=2)).ravel().tolist() == [0.5, 1.5]
    ns = np.arange(100) * 100_000_000
    assert rc.resample(values, ns, rc.Uniform(5_000_000_000, rate=10, count=2)).ravel().tolist() == [50, 51]
    assert rc.resample(values, ns, rc.Uniform(5.0, rate=10, count=2)).ravel().tolist() == [50, 51]
    for times, targets in ((seconds, ns), (ns, seconds)):  # beside each other neither is taken for the other
        with pytest.raises(rc.ArgumentError):
            rc.resample(values, times, targets)


def test_python_float64_loader(tmp_path):
    ns = np.arange(100) * 50_000_000
    for name in ("npz", "csv"):
        folder = tmp_path / name
        folder.mkdir()
        x = 4_500_000.0 + np.cumsum(np.random.default_rng(0).normal(size=(100, 2)) * 0.01, 0)
        if name == "npz":
            np.savez(str(folder / "ep0.npz"), **{"pos.values": x, "pos.times": ns})
            stream = "pos"
        else:
            lines = ["timestamp,x,y"] + ["{},{!r},{!r}".format(t / 1e9, float(a), float(b)) for t, (a, b) in zip(ns, x)]
            (folder / "ep0.csv").write_text("\n".join(lines) + "\n")
            stream = next(iter(rc.Recording(folder)))
        if name == "csv":
            stream = next(iter(rc.Recording(folder)[0]))
        for streaming in (False, True):
            with rc.Loader(folder, batch=10, hz=20, streams=[stream], dtype="float64", framework="numpy", streaming=streaming) as loader:
                for batch in loader:
                    rows = batch["frame_index"]
                    assert np.array_equal(batch[stream][:, 0], x[rows]), (name, streaming)
        with pytest.raises(rc.ArgumentError, match="dtype"):
            rc.Loader(folder, batch=10, hz=20, streams=[stream], dtype="float64", framework="numpy", normalise="mean-std")


def test_python_numpy_int():
    rec = rc.Recording(G1)
    for one in (np.int64(1), np.uint8(1), Whole(1), np.array(1)):
        assert rec[one].number == rec.episodes[one].number == 1
        assert rec.align(hz=30, episode=one).times is not None
    for other in (1.0, np.float32(1), None):
        with pytest.raises(TypeError):
            rec[other]
    plan = {"rate": np.int64(30), "windows": {"action": [np.float32(0), np.int64(1)]}}
    with rc.Loader(G1, batch=np.int64(4), framework="numpy", prefetch=np.int64(2), seed=np.int64(3), plan=plan) as loader:
        batch = loader.next()
        assert rec[batch["episode_index"][0]].number == batch["episode_index"][0]
        state = loader.state_dict()
        state["state"] = {name: np.int64(v) if isinstance(v, int) else v for name, v in state["state"].items()}
        expected = loader.next()
        loader.load_state_dict(state)
        assert np.array_equal(loader.next()["action"], expected["action"])
        loader.set_epoch(np.int64(2))
        assert loader.epoch == 2


def test_python_wrong_hints():
    values, seconds, ns = np.arange(10.0)[:, None], np.arange(10) * 0.1, np.arange(10) * 100_000_000
    whole = np.arange(10, dtype="i4")
    for call, words in (
        (lambda: rc.resample(values, whole, whole), "whole numbers are int64 nanoseconds"),
        (lambda: rc.resample(values, seconds, ns), "times are seconds, targets nanoseconds"),
        (lambda: rc.resample(values, ns, seconds), "times are nanoseconds, targets seconds"),
        (lambda: rc.fuse([rc.Stream(values, seconds), rc.Stream(values, ns)], seconds), "the other times are seconds"),
    ):
        with pytest.raises(rc.ArgumentError, match=words) as e:
            call()
        assert "did you mean" not in str(e.value)


def test_python_robomimic_rate_error():
    path = shared("robomimic_bridge") / "lowdim_v18.hdf5"
    for streams in (["obs/state", "actions"], ["actions"], None):
        for streaming in (False, True):
            with pytest.raises(rc.Error, match="want rate HZ"):
                rc.Loader(path, batch=4, hz=5, framework="numpy", streams=streams, streaming=streaming)
    with pytest.raises(rc.ArgumentError, match="which no episode has"):
        rc.Loader(path, batch=4, framework="numpy", streams=["nothing"], rate=5)


def test_python_train_unordered(tmp_path):
    ns = np.arange(200) * 50_000_000
    for k in range(3):
        a = np.full((200, 2), float(k))
        times = ns[::-1] if k == 0 else ns
        np.savez(str(tmp_path / "ep{}.npz".format(k)), **{"action.values": a, "action.times": times, "state.values": a, "state.times": times})
    with rc.Loader(tmp_path, hz=20, batch=4, framework="numpy") as loader:
        notes = [n["text"] for n in loader.report()["notes"]]
        assert len(notes) == 1 and "ep0" in notes[0] and 'unordered="sort"' in notes[0] and "--" not in notes[0]
    with rc.Loader(tmp_path, hz=20, batch=4, framework="numpy", unordered="sort") as loader:
        assert loader.report()["notes"] == [] and loader.report()["episodes"] == 3
    assert "--unordered" not in str(rc.Recording(tmp_path)[0].align(hz=20, streams=["state"], unordered="sort").report)


def test_a_state_is_of_its_order_and_its_episodes():
    options = dict(batch=4, hz=30, framework="numpy", streams=["action"], windows={"action": (0, 0.1)})
    with rc.Loader(G1, episodes=[0, 1], **options) as loader:
        loader.next()
        state = loader.state_dict()
    for other in (dict(episodes=[0, 1], shuffle=False), dict(episodes=[0, 2])):
        with rc.Loader(G1, **options, **other) as loader, pytest.raises(rc.LoaderError):
            loader.load_state_dict(state)


def hasty(seconds):
    """Returns a helper process that has started, and must reply within a time."""
    child = _child.Child()
    child._patience = seconds
    child._socket.settimeout(seconds)
    return child


def test_a_helper_that_never_replies_is_an_error(monkeypatch):
    monkeypatch.setenv("ROBOCACHE_BINARY", FAKE)
    child = hasty(0.5)
    with pytest.raises(rc.ServerError, match="did nothing for 0.5 s.*ROBOCACHE_TIMEOUT"):
        child.request("slow", seconds=60)
    assert child.closed
    child = hasty(0.5)
    os.kill(child.process_id, signal.SIGSTOP)
    with pytest.raises(rc.ServerError, match="ROBOCACHE_TIMEOUT"):
        child.request("echo")
    assert child.closed
    monkeypatch.setenv("ROBOCACHE_TIMEOUT", "soon")
    with pytest.raises(rc.ServerError, match="ROBOCACHE_TIMEOUT: got 'soon'"):
        _child.Child()


def test_a_helper_that_works_may_take_long(monkeypatch):
    monkeypatch.setenv("ROBOCACHE_BINARY", FAKE)
    child = hasty(0.5)
    assert child.request("work", seconds=2)[0]["ok"]
    child.close()


def test_clock_set_back_interleaves():
    path = shared("../cases/clock-set-back-interleaves") / "reset.mcap"
    with rc.Recording(path) as rec, pytest.raises(rc.RecordingError, match=r"want stretch 1 to 2.*stretch=1\) reads the first"):
        rec[0]
    for stretch, samples in ((1, 200), (2, 200), (-1, 400)):
        with rc.Recording(path, stretch=stretch) as rec:
            assert len(rec["/arm"].times) == samples
    with rc.Loader(path, hz=10, batch=4, stretch=2, framework="numpy", shuffle="none") as loader:
        assert loader.report()["episodes"] == 1


def test_notes_have_the_codes_of_inspect():
    path = shared("../cases/small-ones") / "null_image_no_statistics"
    with rc.Recording(path) as rec:
        assert {p.code for p in rec.problems} == {"statistics-missing"}
        assert {n.code for e in rec for n in e.notes} == {"empty-images"}
        note = rec[0].notes[0]
        assert (note.subject, note.text) == (rec[0].left_out[0].name, rec[0].left_out[0].reason)
    path = shared("../cases/header-latency-unseen") / "late.mcap"
    with rc.Recording(path) as rec:
        assert {n.code for n in rec[0].notes} == {"header-fields", "header-latency"}


def test_tasks_of_windows():
    folder = shared("../cases/language-lost-without-a-word")
    with rc.Recording(folder / "rlds", rate=5) as rec:
        said = {e.number: e.task for e in rec}
    with rc.Loader(folder / "rlds", hz=5, rate=5, batch=2, framework="numpy", shuffle="none", last="short") as loader:
        for batch in loader:
            tasks = loader.tasks(batch)
            assert len(tasks) == 2 and all(isinstance(t, str) for t in tasks)
            for number, task in zip(batch["episode_index"].tolist(), tasks):
                assert task == said[number] if said.get(number) else isinstance(task, str)
    with pytest.raises(rc.ArgumentError, match="task_from: got nothing, want") as failed:
        rc.Loader(folder / "rlds", hz=5, rate=5, batch=2, framework="numpy", task_from="nothing")
    assert failed.value.arg == "task_from"
    with pytest.raises(rc.ArgumentError, match="task_from: got nothing, want"):
        list(rc.Recording(folder / "rlds", rate=5, task_from="nothing"))
