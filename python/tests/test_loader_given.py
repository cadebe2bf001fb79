"""Loader: what is given to it, and what it says of recordings that lack something."""

from __future__ import annotations

import json
from datetime import timedelta

import numpy as np
import pytest

from loader_data import G1, binary, rows, shared
from robocache._errors import ArgumentError, DataError, OutOfMemoryError, RecordingError, ServerError
from robocache._loader import Loader
from robocache._recording import Recording

WINDOWS = {"observation.state": (-1.0, 0.0), "action": (0.0, 1.0)}
HELD = {"episodes": [2], "shuffle": False}


@pytest.fixture(autouse=True)
def _binary():
    binary()


def g1(paths=G1, **options):
    return Loader(paths, **{"batch": 32, "hz": 50, "seed": 7, "windows": WINDOWS, "framework": "numpy", **options})


def made(folder, spoil=lambda streams: None):
    """Makes three episodes of a state and an action, 100 Hz, of which the second is spoiled."""
    times = np.arange(500) / 100
    folder.mkdir()
    for k in range(3):
        streams = {"state": [np.sin(times)[:, None] + 5, times.copy()], "action": [np.cos(times)[:, None], times]}
        if k == 1:
            spoil(streams)
        arrays = {n + end: x for n, both in streams.items() for end, x in zip((".values", ".times"), both)}
        np.savez(folder / "e{}.npz".format(k), **arrays)
    return folder


def drawn(path, **options):
    windows = {"action": (0, 0.2)}
    return Loader(path, **{"hz": 100, "batch": 8, "framework": "numpy", "windows": windows, **options})


def backwards(streams):
    streams["state"][1][7] = 0


def wide(streams):
    streams["state"][0] = np.zeros((500, 2))


@pytest.mark.parametrize("streaming", [False, True])
@pytest.mark.parametrize(
    "spoil, why",
    [(lambda s: s.pop("state"), "no such stream"), (backwards, "goes backwards at sample 7"), (wide, "columns")],
)
def test_an_episode_that_lacks_a_stream_is_told_or_with_strict_an_error(tmp_path, spoil, why, streaming):
    path = made(tmp_path / "ds", spoil)
    with drawn(path, streaming=streaming, shuffle=False) as loader:
        report = loader.report()
        (lack,) = [n for n in report["notes"] if n["subject"] == "state"]
        assert (lack["episode"], lack["count"]) == ("e1", 500)
        remark = lack["text"]
        assert "episode e1 has no samples" in remark and why in remark and "500 windows" in remark
        for batch in loader:
            inside = batch["episode_index"] == 1
            assert not batch["state_valid"][inside].any() and batch["state_valid"][~inside].all()
    with pytest.raises(RecordingError, match="stream state: episode e1 has no samples: .*" + why) as caught:
        drawn(path, streaming=streaming, strict=True)
    assert (caught.value.path, caught.value.stream) == (str(path), "state")


def test_a_stream_that_no_episode_has_is_named(tmp_path):
    path = made(tmp_path / "ds", backwards)
    for streaming in (False, True):
        with pytest.raises(RecordingError, match="stream state: no episode has samples to draw: episode e1: time goes"):
            drawn(path, episodes=[1], streams=["state", "action"], streaming=streaming)
    folder = tmp_path / "names"
    folder.mkdir()
    np.savez(folder / "a.npz", state=np.zeros((5, 2)), timestamps=np.arange(5.0))
    with pytest.raises(RecordingError, match="none of 1 episodes has any, want arrays NAME.values .* NAME.times"):
        drawn(folder)


def test_samples_that_are_not_finite_are_counted(tmp_path):
    path = made(tmp_path / "ds", lambda streams: streams["state"][0].__setitem__((slice(3, 5), 0), np.nan))
    for streaming in (False, True):
        with drawn(path, streaming=streaming) as loader:
            report = loader.report()
            assert [s["not_finite"] for s in report["streams"]] == [2, 0]
            assert any("stream state: 2 of 1500 samples have a NaN or infinite value" in n["text"] for n in report["notes"])


def test_a_rate_is_for_recordings_without_times(tmp_path):
    path = made(tmp_path / "ds")
    for streaming in (False, True):
        with pytest.raises(ArgumentError, match="rate: got 10, want none: .* has times"):
            drawn(path, rate=10, streaming=streaming)
        with pytest.raises(ArgumentError, match="rate: got 10, want none, or the 30 steps a second"):
            g1(rate=10, streaming=streaming)
        with pytest.raises(ArgumentError, match="rate: got 10, want none, or the 30 steps a second"):
            g1(rate=10, clock="timestamp", streaming=streaming)
        with g1(rate=30, streaming=streaming) as same, g1(streaming=streaming) as want:
            assert rows(same.next()) == rows(want.next())


def test_given_statistics_are_used_as_they_are():
    for rule in ("mean-std", "gr00t"):
        with g1(normalise=rule, episodes=[0, 1]) as train:
            used = json.loads(json.dumps(train.statistics))
        least = {n: {k: x[k] for k in ("shift", "scale", "clip_min", "clip_max") if k in x} for n, x in used.items()}
        arrays = {n: {k: np.array(x[k]) for k in ("shift", "scale")} for n, x in used.items()}
        with g1(statistics=used, **HELD) as whole, g1(statistics=least, **HELD) as short:
            assert whole.statistics == used
            assert [rows(b) for b in whole] == [rows(b) for b in short]
        own = dict(used["action"], scale=[2 * x for x in used["action"]["scale"]], mean=[0.0] * 26, rule="mine")
        own.pop("clip_min", None), own.pop("clip_max", None)
        own["shift"] = [0.5] + own["shift"][1:]
        given = dict(used, action=own)
        with g1(statistics=given, **HELD) as edited, g1(**HELD) as raw, g1(statistics=arrays, **HELD) as of_arrays:
            assert edited.statistics == given
            a, b, c = edited.next(), raw.next(), of_arrays.next()
            for by, got in ((own, a), (arrays["action"], c)):
                want = (b["action"] - np.float32(by["shift"])) * np.float32(by["scale"])
                assert np.array_equal(got["action"], want)


def test_statistics_of_lerobot_take_the_rule_that_is_asked_for():
    path = shared("lerobot_v3_g1")
    stats = json.loads((path / "meta" / "stats.json").read_text())
    for rule in ("mean-std", "min-max"):
        with Loader(path, hz=30, framework="numpy", normalise=rule, statistics=stats) as given, Loader(
            path, hz=30, framework="numpy", normalise=rule
        ) as own:
            for name, by in own.statistics.items():
                assert np.allclose(by["shift"], given.statistics[name]["shift"], rtol=1e-4, atol=1e-6)
                assert np.allclose(by["scale"], given.statistics[name]["scale"], rtol=1e-2)
            (remark,) = [n["text"] for n in given.report()["notes"] if n["text"].startswith("statistics")]
            assert "timestamp" in remark and "action" not in remark
    with pytest.raises(ArgumentError, match="want normalise= to say by what rule"):
        Loader(path, hz=30, framework="numpy", statistics=stats)


def test_a_gap_may_be_too_long(tmp_path):
    def hole(streams):
        for both in streams.values():
            both[0], both[1] = (np.delete(x, slice(100, 300), 0) for x in both)

    path = made(tmp_path / "ds", hole)
    for gap, state, action in (
        (None, 0, 0),
        (1.0, 1, 1),
        (timedelta(seconds=1), 1, 1),
        ({"state": 1.0}, 1, 0),
        ({"action": 2.5}, 0, 0),
    ):
        one = {"action": (0, 0.01)}
        with drawn(path, max_gap=gap, windows=one, shuffle=False, last="short") as loader:
            lost = [
                [(~b[name + "_valid"][b["episode_index"] == 1]).sum() for name in ("state", "action")] for b in loader
            ]
        assert [n > 150 for n in np.sum(lost, 0)] == [bool(state), bool(action)], gap


@pytest.mark.parametrize(
    "options, text",
    [
        ({"normalise": True}, "normalise: got True, want a rule"),
        ({"normalise": {"action": 1}}, "normalise['action']: got 1"),
        ({"cameras": ["head"]}, "cameras: got ['head'], want {name: (height, width)}"),
        ({"windows": {"action": (0, float("nan"))}}, "windows['action']: got nan, want (from, to) in seconds"),
        ({"windows": [1]}, "windows: got [1], want {stream: (from, to)}"),
        ({"statistics": {"a": 1}}, "statistics['a']: got 1"),
        ({"statistics": {"action": {"foo": 1}}}, "want shift and scale, or mean"),
        ({"statistics": {"action": {"shift": [0.0] * 26}}}, "want both"),
        ({"statistics": {"action": {"shift": [0.0] * 26, "scale": [0.0] * 26}}}, "a scale that is not 0"),
        ({"statistics": {"action": {"shift": [float("nan")] * 26, "scale": [1.0] * 26}}}, "finite numbers"),
        ({"statistics": {"action": {"shift": [0.0], "scale": [1.0]}}}, "shift with 1 columns"),
        ({"statistics": {"action": {"mean": [0.0] * 26}}, "normalise": "mean-std"}, "no finite numbers, which"),
        ({"streams": {"action": "0:3"}}, "streams['action']: got '0:3', want a list of columns"),
        ({"streams": [1]}, "streams: got [1], want a list of names"),
        ({"hz": "50"}, "hz: got '50', want a number"),
        ({"frame_memory": -2}, "frame_memory: got -2, want 1 byte or more"),
        ({"frame_memory": 0.5}, "frame_memory: got 0.5, want a whole number"),
        ({"max_memory": "much"}, "max_memory: got 'much', want bytes, such as 2 << 30 or \"2GiB\""),
        ({"max_memory": 1000}, "max_memory: got 1000, want bytes"),
        ({"max_memory": True}, "max_memory: got True, want bytes"),
        ({"age": 1}, "age: got 1, want true or false"),
        ({"unordered": "keep"}, 'unordered: got "keep", want drop, sort, error'),
        ({"max_gap": "1"}, "max_gap: got '1', want seconds"),
        ({"max_gap": -1}, "max_gap: got -1, want seconds, 0 or more"),
        ({"max_gap": {"acton": 1}}, "did you mean action?"),
    ],
)
def test_what_cannot_be_is_an_argument_error(options, text):
    with pytest.raises(ArgumentError) as caught:
        g1(**options)
    assert text in str(caught.value)


@pytest.mark.parametrize("most", ["128MiB", 128 << 20])
def test_max_memory_is_the_limit_of_the_helper_process(tmp_path, most):
    rows = 5_000_000
    np.savez_compressed(tmp_path / "a.npz", **{"arm.times": np.arange(rows) / 1e3, "arm.values": np.zeros((rows, 6))})
    given = {"paths": tmp_path / "a.npz", "windows": {"arm": (0.0, 1.0)}}
    with pytest.raises(OutOfMemoryError, match="out of memory: got .* MiB \\(--max-memory\\)"):
        g1(max_memory=most, **given)
    with g1(max_memory="4GiB", **given) as loader:
        assert loader.next()["arm"].shape == (32, 50, 6)


def test_other_names_of_arguments_are_told():
    names = {"batch_size": "batch", "normalize": "normalise", "window": "windows"}
    for name, want in names.items():
        with pytest.raises(TypeError, match="unexpected keyword argument '{}': did you mean {}".format(name, want)):
            g1(**{name: 1})


def test_streams_out_of_order_may_be_sorted(tmp_path):
    path = made(tmp_path / "ds", backwards)
    with drawn(path, unordered="sort") as sorted_, drawn(path) as dropped:
        assert not sorted_.report()["notes"] and len(dropped.report()["notes"]) == 1
    with pytest.raises(DataError, match="goes backwards"):
        drawn(path, unordered="error", strict=True)


def test_scalars_of_numpy_are_numbers():
    with g1(batch=np.int64(8), seed=np.uint64(7), age=np.bool_(True)) as loader, g1(batch=8, age=True) as want:
        assert rows(loader.next()) == rows(want.next())


def test_columns_may_be_indices():
    with g1(streams={"action": [0, 2]}, windows={}) as some, g1(windows={}) as every:
        assert np.array_equal(some.next()["action"], every.next()["action"][..., [0, 2]])


def test_a_loader_says_what_it_is():
    with g1() as loader:
        text = "<Loader of 58 batches of 32 at 50 Hz: observation.state [50,26], action [50,26]; 1865 windows of "
        assert repr(loader) == text + "3 episodes, numpy>"
    assert "closed" in repr(loader)


def test_a_helper_that_is_gone_says_what_would_start_another():
    with g1() as loader:
        loader._way.child._process.kill()
        for _ in range(2):
            with pytest.raises(ServerError, match="restart=True"):
                loader.next()


FRONT, WRIST = "observation.images.front", "observation.images.wrist"


def test_a_batch_of_lerobots_keys_is_what_its_data_loader_makes():
    path = shared("lerobot_v3_g1")
    third = 1 / 30
    options = dict(batch=6, seed=1, framework="numpy", cameras={FRONT: (16, 24), WRIST: (8, 8)})
    with Loader(path, keys=["lerobot", "anchor"], delta_timestamps={"action": [0, third, 2 * third], FRONT: [-third, 0]}, **options) as loader:
        batch, report = loader.next(), loader.report()
        listed = loader.tasks(batch)
    shapes = {name: (str(x.dtype), x.shape[1:]) for name, x in batch.items() if name != "task"}
    assert shapes == {
        "observation.state": ("float32", (26,)),
        "action": ("float32", (3, 26)),
        "action_is_pad": ("bool", (3,)),
        FRONT: ("float32", (2, 3, 16, 24)),
        FRONT + "_is_pad": ("bool", (2,)),
        WRIST: ("float32", (3, 8, 8)),
        "anchor": ("int64", ()),
        **{name: ("int64", ()) for name in ("episode_index", "frame_index", "index", "task_index")},
        "timestamp": ("float32", ()),
    }
    assert report["windows"] == 3313 and 0 <= batch[FRONT].min() and 0.1 < batch[FRONT].max() <= 1
    lengths = [len(e["action"].values) for e in Recording(path)]
    for row, (episode, frame) in enumerate(zip(batch["episode_index"], batch["frame_index"])):
        recorded = Recording(path)[int(episode)]
        rows = np.minimum(np.arange(frame, frame + 3), lengths[episode] - 1)
        assert np.array_equal(batch["action"][row], np.asarray(recorded["action"].values)[rows])
        assert np.array_equal(batch["observation.state"][row], np.asarray(recorded["observation.state"].values)[frame])
        assert batch["index"][row] == sum(lengths[:episode]) + frame
        assert batch["timestamp"][row] == np.float32(frame / 30)
        assert batch["task"][row] == recorded.task
    assert batch["task"] == listed and len(set(zip(batch["task"], batch["task_index"].tolist()))) == len(set(listed)) == 2
    with Loader(path, windows={FRONT: (-third, 0)}, **options) as loader:
        assert loader.next()[FRONT].dtype == np.uint8  # without keys

    with Loader(path, keys="lerobot", drop_first=2, episodes=[3], **dict(options, cameras=None)) as loader:
        batch = loader.next()
    assert "index" not in batch and min(batch["frame_index"]) >= 2
    recorded = np.asarray(Recording(path)[3]["action"].values)
    assert np.array_equal(batch["action"], recorded[batch["frame_index"]])


@pytest.mark.parametrize(
    "options, text",
    [
        ({"keys": "rlds"}, "keys: got 'rlds', want \"lerobot\""),
        ({"delta_timestamps": {"action": 1}}, "delta_timestamps['action']: got 1, want a list"),
        ({"delta_timestamps": {"action": [0]}, "windows": {"action": (0, 1)}}, "delta_timestamps['action']: got [0], want a window or these"),
    ],
)
def test_keys_and_deltas_are_checked(options, text):
    with pytest.raises(ArgumentError) as caught:
        Loader(G1, **options)
    assert text in str(caught.value)
