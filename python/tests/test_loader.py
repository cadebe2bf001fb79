"""Loader: what batches hold, in what order, and how long they stay."""

from __future__ import annotations

import gc
import json
import os
import signal
import threading

import numpy as np
import pytest

from loader_data import G1, assert_equal, binary, rows, same, shared, written
from robocache import _child
from robocache._errors import ArgumentError, ForkError, LoaderError, RecordingError
from robocache._loader import Loader
from robocache._recording import Recording

WINDOWS = {"observation.state": (-1.0, 0.0), "action": (0.0, 1.0)}


@pytest.fixture(autouse=True)
def _binary():
    binary()


def g1(paths=G1, **options):
    return Loader(paths, **{"batch": 32, "hz": 50, "seed": 7, "windows": WINDOWS, "framework": "numpy", **options})


@pytest.mark.parametrize(
    "name, options, args",
    [
        ("bridge_rlds", {"rate": 5}, ["--rate=5"]),
        ("calvin_layout", {"rate": 10, "batch": 4}, ["--rate=10", "--batch=4"]),
        ("lerobot_v21_g1", {"normalise": "lerobot"}, None),
        ("lerobot_v2_gr1_sim", {"dtype": "float64"}, ["--dtype=f64"]),
        (
            "lerobot_v3_g1",
            {"streaming": True, "shard_windows": 500, "mix_shards": 3},
            ["--streaming", "--shard-windows=500", "--mix-shards=3"],
        ),
        ("robomimic_bridge", {"rate": 5, "last": "short"}, ["--rate=5", "--last=short"]),
        ("robosuite_hdf5", {"rate": 20, "shuffle": False}, ["--rate=20", "--shuffle=none"]),
        ("px4_ulog", {"dtype": "bfloat16", "max_gap": "auto"}, ["--dtype=bf16"]),
        ("lerobot_studio/lerobotv3", {"batch": 2}, ["--batch=2"]),
    ],
)
def test_batches_are_those_that_the_command_writes(name, options, args, tmp_path):
    path = shared(name)
    common = {"batch": 16, "hz": 20, "seed": 5, "framework": "numpy", **options}
    if args is None:
        plan = tmp_path / "plan.yaml"
        text = "version: 1\nrate: 20\nstreams:\n"
        text += "".join("  - {{name: {}, normalise: lerobot}}\n".format(n) for n in ("observation.state", "action"))
        plan.write_text(text + "windows: {action: [0, 1]}\nshuffle: windows\n")
        args = ["--plan", str(plan)]
    else:
        args = ["--hz=20", *args]
    if not any(a.startswith("--batch") for a in args):
        args = args + ["--batch=16"]
    files = written(tmp_path / "out", str(path), "--seed=5", "--epochs=2", "--steps=120", *args)
    with Loader(path, **common) as loader:
        for file, batch in zip(files, loader.batches()):
            same(batch, file)
        assert len(files) > 0


def test_windows_plans_mixtures_and_columns_are_those_of_the_command(tmp_path):
    window = ["--window=observation.state=-1s:0s", "--window=action=0s:0.5s"]
    base = [str(G1), "--hz=50", "--batch=8", "--seed=3", "--steps=40"]
    windows = {"observation.state": (-1, 0), "action": (0, 0.5)}
    for i, (options, args) in enumerate(
        [
            ({"windows": windows}, [*base, *window]),
            (
                {"windows": windows, "streams": {"action": ["0:3"], "observation.state": None}},
                [*base, *window, "--stream=action[0:3]", "--stream=observation.state"],
            ),
            ({"windows": windows, "rank": 1, "world": 3}, [*base, *window, "--rank=1", "--world=3"]),
            (
                {"windows": windows, "paths": [G1, G1], "weights": [3, 1], "epoch_windows": 500},
                [str(G1), *base, *window, "--weight=3", "--weight=1", "--epoch-windows=500"],
            ),
        ]
    ):
        files = written(tmp_path / str(i), *args)
        paths = options.pop("paths", G1)
        with Loader(paths, batch=8, hz=50, seed=3, framework="numpy", **options) as loader:
            for file, batch in zip(files, loader.batches()):
                same(batch, file)


def test_cameras_are_those_of_the_command(tmp_path):
    path = shared("bridge_rlds")
    args = [
        "--rate=5",
        "--hz=10",
        "--batch=4",
        "--stream=action",
        "--camera=observation/image_0=24x16",
        "--window=observation/image_0=-0.2:0",
        "--steps=6",
    ]
    files = written(tmp_path / "out", str(path), *args)
    with Loader(
        path,
        batch=4,
        hz=10,
        rate=5,
        streams=["action"],
        cameras={"observation/image_0": (16, 24)},
        windows={"observation/image_0": (-0.2, 0)},
        framework="numpy",
    ) as loader:
        for file, batch in zip(files, loader.batches()):
            same(batch, file)
            assert batch["observation/image_0"].shape == (4, 2, 16, 24, 3)


def test_a_state_goes_on_after_any_batch_on_another_number_of_ranks():
    with g1(batch=60) as loader:
        whole = [row for _, batch in zip(range(2 * len(loader)), loader.batches()) for row in rows(batch)]
    per_epoch = len(whole) // 2
    with g1(batch=60) as loader:
        ranks = [g1(batch=20, rank=r, world=3) for r in range(3)]
        for k in range(1, 2 * len(loader)):
            loader.next()
            state = json.loads(json.dumps(loader.state_dict()))
            for rank in ranks:
                rank.load_state_dict(state)
                assert rank.state_dict() == state and rank.epoch == loader.epoch
            got = [rows(rank.next()) for rank in ranks]
            at = loader.epoch * per_epoch + (k % len(loader)) * 60
            assert [r for group in zip(*got) for r in group] == whole[at : at + 60], k
        for rank in ranks:
            rank.close()


def test_the_ranks_of_a_world_share_an_epoch():
    with g1(batch=1, last="short") as loader:
        whole = [row for batch in loader for row in rows(batch)]
    for world in (2, 4):
        ranks = [g1(batch=8, rank=r, world=world, last="short") for r in range(world)]
        epochs = [
            [row for batch in rank for row in zip(rows(batch), batch["episode_index"].tolist())] for rank in ranks
        ]
        union = [row for group in zip(*epochs) for row, episode in group if episode >= 0]
        assert union == whole and len(union) == 1865
        for rank in ranks:
            rank.close()


def test_every_batch_that_is_kept_keeps_its_values():
    with g1() as loader:
        want = [{k: v.copy() for k, v in b.items()} for b in loader]
        loader.set_epoch(0)
        kept = list(loader)  # more than there are slots
        for batch, copy in zip(kept, want):
            for name in copy:
                assert_equal(batch[name], copy[name])
        loader.set_epoch(0)
        views, held = [], []
        for i, batch in enumerate(loader):
            if i % 3 == 0:
                views.append((i, batch["action"][3:5, ::2].T))  # a view alone
            elif i % 3 == 1:
                held.append((i, memoryview(batch["action"])))
            del batch
        for i, view in views:
            assert np.array_equal(view, want[i]["action"][3:5, ::2].T)
        for i, view in held:
            assert view.tobytes() == want[i]["action"].tobytes()
        del views, held, kept, view
        gc.collect()
        loader.next()
        assert loader._way.pool.held <= 2  # they came back


def test_random_keeping_never_changes_a_batch():
    rng = np.random.default_rng(3)
    with g1(batch=16, prefetch=1) as loader:
        total, begin = len(loader), loader.state_dict()
        want = [b["action"].copy() for b in loader]
        kept = {}
        for i in range(600):
            if i % total == 0:
                loader.load_state_dict(begin)
            kept[i] = (i % total, loader.next()["action"])
            while len(kept) > rng.integers(1, 9):
                j = rng.choice(list(kept))
                at, x = kept.pop(j)
                assert np.array_equal(x, want[at])


def test_threads_take_batches_of_one_order():
    with g1(batch=16) as loader:
        want = sorted(rows(b)[0] for b in loader)
        got, errors = [], []
        loader.set_epoch(0)
        epoch = iter(loader)

        def take():
            try:
                for batch in epoch:
                    got.append(rows(batch)[0])
                    loader.state_dict()
            except BaseException as e:
                errors.append(e)

        threads = [threading.Thread(target=take) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not errors and sorted(got) == want


def test_batches_outlive_the_loader():
    loader = g1()
    batch = loader.next()
    want = {k: v.copy() for k, v in batch.items()}
    loader.close()
    loader.close()
    with pytest.raises(LoaderError, match="closed"):
        loader.next()
    with pytest.raises(LoaderError, match="closed"):
        next(iter(loader))
    del loader
    gc.collect()
    for name in want:
        assert_equal(batch[name], want[name])


def test_statistics_undo_what_normalises():
    with g1(normalise={"action": "mean-std"}) as loader, g1() as raw:
        by = loader.statistics["action"]
        assert set(loader.statistics) == {"action"} and by["names"] == loader.columns["action"]
        a, b = loader.next(), raw.next()
        back = a["action"] / np.float32(by["scale"]) + np.float32(by["shift"])
        assert np.allclose(back, b["action"], atol=1e-5)
        assert np.array_equal(a["observation.state"], b["observation.state"])


def test_episodes_are_those_that_are_asked_for(tmp_path):
    import subprocess

    store = tmp_path / "store.safetensors"
    subprocess.run([binary(), "pack", str(G1), "-o", str(store)], check=True, stdout=subprocess.DEVNULL)
    ways = {}
    for path in (G1, store):
        for streaming in (False, True):
            options = {"streaming": streaming, "shuffle": False, "last": "short", "batch": 100, "normalise": "min-max"}
            with g1(paths=path, episodes=[2, 0], **options) as some, g1(
                paths=path, episodes=range(3), **options
            ) as every:
                with g1(paths=path, **options) as whole:
                    assert [rows(b) for b in every] == [rows(b) for b in whole]
                got = [b for b in some]
                seen = {n for b in got for n in b["episode_index"].tolist()}
                assert seen - {-1} == {0, 2} and some.report()["episodes"] == 2
                ways[str(path), streaming] = [rows(b) for b in got], some.statistics
    assert all(w == ways[str(G1), False] for w in ways.values())
    with g1(paths=[G1, G1], episodes=[[1], None], last="short") as mixed:
        where = {(d, e) for b in mixed for d, e in zip(b["dataset_index"].tolist(), b["episode_index"].tolist())}
        assert where - {(-1, -1)} == {(0, 1), (1, 0), (1, 1), (1, 2)}
    for path in (G1, store):
        for streaming in (False, True):
            with pytest.raises(ArgumentError, match="episodes: got 3, want numbers for the dataset's 3 episodes"):
                g1(paths=path, episodes=[0, 3], streaming=streaming)
            with g1(paths=path, leave_out=[1], streaming=streaming, shuffle=False, last="short") as some:
                assert {n for b in some for n in b["episode_index"].tolist()} - {-1} == {0, 2}
            with g1(paths=path, episodes=[0, 1], leave_out=[0], streaming=streaming, last="short") as one:
                assert one.report()["episodes"] == 1
            with pytest.raises(ArgumentError, match="leave_out: got 3, want numbers for the dataset's 3 episodes"):
                g1(paths=path, leave_out=[3], streaming=streaming)
    with g1(paths=[G1, G1], leave_out=[[1], None], last="short") as mixed:
        assert mixed.report()["episodes"] == 5
    for bad in ([1, 1], [-1], [0.5], 3):
        with pytest.raises(ArgumentError, match="episodes"):
            g1(episodes=bad)
    with pytest.raises(ArgumentError, match="a list for each of 2 datasets"):
        g1(paths=[G1, G1], episodes=[[1]])
    with pytest.raises(RecordingError):
        g1(episodes=[])


def test_statistics_of_another_loader_normalise():
    for rule in ("mean-std", "q01-q99", "gr00t"):
        with g1(episodes=[0, 1], normalise=rule) as train:
            given = json.loads(json.dumps(train.statistics))
        held = {"episodes": [2], "shuffle": False, "last": "short"}
        with g1(**held) as raw, g1(**held, statistics=given) as one, g1(
            **held, statistics=given, normalise=rule
        ) as two, g1(**held, normalise=rule) as own:
            assert one.statistics == given == two.statistics != own.statistics
            by = given["action"]
            for a, b, c, d in zip(raw, one, two, own):
                want = (a["action"] - np.float32(by["shift"])) * np.float32(by["scale"])
                if "clip_min" in by:
                    lo, hi = (
                        np.float32([np.inf * s if x is None else x for x in by[k]])
                        for k, s in (("clip_min", -1), ("clip_max", 1))
                    )
                    want = np.clip(want, lo, hi)
                inside = a["episode_index"] >= 0
                assert np.allclose(b["action"][inside], want[inside], rtol=1e-5, atol=1e-5)
                assert rows(b) == rows(c) != rows(d)
    for change, text in (
        ({"rule": "min-max"}, 'rule "min-max"'),
        ({"names": ["a"] * 26}, "columns"),
        ({"scale": [0.0] * 26}, "a scale that is not 0"),
    ):
        with pytest.raises(ArgumentError, match=text):
            g1(normalise="gr00t", statistics=dict(given, action=dict(given["action"], **change)))
    with pytest.raises(ArgumentError, match="observation.state"):
        g1(streams=["action"], windows={}, statistics=given)


def test_rows_say_where_they_are_from():
    with g1(last="short", batch=64, shuffle=False, age=True) as loader:
        for batch in loader:
            inside = batch["episode_index"] >= 0
            assert (batch["frame_index"][inside] >= 0).all() and (batch["frame_index"][~inside] == -1).all()
            assert not batch["action_valid"][~inside].any()
            assert batch["action_age"].shape == batch["action_valid"].shape
        assert inside.sum() == 1865 % 64


def test_torch_tensors_are_the_same_bits():
    torch = pytest.importorskip("torch")
    for dtype in ("float32", "float16", "bfloat16"):
        with g1(dtype=dtype) as a, g1(dtype=getattr(torch, dtype), framework="torch", device="cpu") as b:
            kept = []
            for x, y in zip(a, b):
                kept.append(({k: v.copy() for k, v in x.items()}, y))
            for x, y in kept:
                assert set(x) == set(y)
                assert y["action"].dtype is getattr(torch, dtype) and y["action_is_pad"].dtype is torch.bool
                for name in x:
                    if y[name].dtype is torch.bfloat16:
                        y[name] = y[name].view(torch.int16)
                    assert y[name].is_contiguous()
                    assert y[name].numpy().tobytes() == x[name].tobytes()


def test_a_tensor_alone_keeps_its_slot():
    torch = pytest.importorskip("torch")
    with g1(framework="torch", device="cpu", dtype="bfloat16") as loader:
        want = [b["action"].clone() for b in loader]
        loader.set_epoch(0)
        kept = [b["action"][:, 1:].transpose(0, 1) for b in loader]
        for x, y in zip(kept, want):
            assert torch.equal(x, y[:, 1:].transpose(0, 1))


def test_close_waits_for_the_batch_that_another_thread_draws():
    loader = g1()
    draw, begun, go, done = loader._way.next, threading.Event(), threading.Event(), []

    def slow():
        begun.set()
        assert go.wait(30)
        return draw()

    loader._way.next = slow
    taking = threading.Thread(target=lambda: done.append(loader.next()))
    closing = threading.Thread(target=lambda: (loader.close(), done.append("closed")))
    taking.start()
    assert begun.wait(30)
    closing.start()
    closing.join(0.3)
    assert done == [] and not loader._way.child.closed
    go.set()
    taking.join(30)
    closing.join(30)
    assert len(done) == 2 and done[1] == "closed" and loader._way.child.closed
    with pytest.raises(LoaderError, match="closed"):
        loader.next()


def test_on_the_other_side_of_a_fork_nothing_waits_for_a_thread_that_is_not_there():
    loader = g1()
    recording = Recording(G1)
    held, go = threading.Event(), threading.Event()

    def hold():
        with loader._lock, _child.shared().lock:
            held.set()
            go.wait(60)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    pid = os.fork()
    if pid == 0:
        signal.alarm(20)
        refused = 0
        for use in (loader.next, loader.state_dict, loader.report, lambda: next(iter(loader)), lambda: loader.epoch):
            try:
                use()
            except ForkError:
                refused += 1
        loader.close()
        recording.close()
        os._exit(refused)
    assert os.waitpid(pid, 0)[1] == 5 << 8
    go.set()
    thread.join()
    assert len(loader.next()["action"]) and len(recording)
    loader.close()
