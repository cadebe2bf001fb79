"""Recordings: what Python gets is what the command-line program says and writes, bit for bit."""

from __future__ import annotations

import copy
import doctest
import pathlib
import pickle
import sys
from typing import Any, Dict, List

import numpy as np
import pytest

from loader_data import G1, LONG, ROOT, binary, safetensors
from recording_data import FLIGHT, SHARED, archive, cli, name_of, paths, same
from robocache import ArgumentError, Episode, Error, OutOfMemoryError, PlanError, Recording, RecordingError, UnsupportedError

# Of the many kinds of HDF5 storage the whole folder is enough where the program is asked several times.
FEW = [p for p in paths() if p.parent.name != "hdf5_jhdf"]
CLOCKED = [p for p in FEW if LONG or p.name != "hdf5_jhdf"]  # files of HDF5 are in other folders too


@pytest.fixture(autouse=True)
def _binary() -> None:
    binary()


@pytest.mark.parametrize("path", paths(), ids=name_of)
def test_every_recording_is_what_the_program_says(path: pathlib.Path) -> None:
    code, said = cli("inspect", path)
    if code != 0:
        with pytest.raises(RecordingError) as info:
            for _ in Recording(path):
                pass
        assert str(path.resolve()) in str(info.value) and info.value.path is not None
        return
    with Recording(path) as rec:
        got = rec.inspect()[0]
        assert {**got, "path": ""} == {**said, "path": ""}
        assert (rec.format, len(rec)) == (said["format"], said["episodes"])
        samples: Dict[str, int] = {}
        for i in range(len(rec)):
            try:
                episode = rec[i]
            except RecordingError as e:
                assert any(p["where"] == "episode {}".format(i) for p in said["problems"]), e
                continue
            for s in episode.streams.values():
                samples[s.name] = samples.get(s.name, 0) + len(s)
                assert s.times.shape == (len(s),) and s.values.shape == (len(s), len(s.columns))
            for m in episode.media.values():
                samples[m.name] = samples.get(m.name, 0) + len(m)
        assert samples == {**{s["name"]: s["samples"] for s in said["streams"]}, **{m["name"]: m["frames"] for m in said["media"]}}
        if len(rec) == 1 and said["episode"]:
            for s, told in zip(rec[0].streams.values(), said["streams"]):
                assert (s.dtype, s.columns) == (told["dtype"], [c["name"] for c in told["columns"]])
                assert (s.stats.first_ns, s.stats.last_ns, s.stats.gaps) == (told["first_ns"], told["last_ns"], told["gaps"])


@pytest.mark.parametrize("path", FEW, ids=name_of)
def test_every_number_is_the_one_that_the_program_packs(path: pathlib.Path, tmp_path: pathlib.Path) -> None:
    store = tmp_path / "store.safetensors"
    code, said = cli("pack", path, "-o", store, "--rate", "10")
    if code != 0:
        return
    packed = safetensors(store)
    skipped = len(said["skipped"])
    with Recording(path, rate=10) as rec:
        row = 0
        for i in range(len(rec)):
            try:
                episode = rec[i]
            except RecordingError:
                skipped -= 1
                continue
            for told in said["streams"]:
                name = told["name"]
                lo, hi = packed[name + ".offsets"][row : row + 2]
                if told["rounded"] or told["overflowed"]:
                    continue
                want_times, want = packed[name + ".times"][lo:hi], packed[name + ".values"][lo:hi]
                s = episode.streams.get(name)
                if s is None or len(s.columns) != told["columns"]:  # what is another stream in this episode
                    assert lo == hi
                    continue
                times = s.times if s.times.dtype == np.int64 else np.round(s.times * 1e9).astype(np.int64)  # a store has nanoseconds
                assert same(times, want_times), name
                assert same(s.values.astype(want.dtype), want), name
            row += 1
        assert skipped == 0 and row == said["episodes"]


@pytest.mark.parametrize("path", CLOCKED, ids=name_of)
@pytest.mark.parametrize("fuse", [False, True], ids=["resample", "fuse"])
def test_every_clock_is_the_one_that_the_program_makes(path: pathlib.Path, fuse: bool, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "out.npz"
    code, opened = cli("inspect", path)
    if code != 0 or opened["format"] == "npz":
        return
    args = [path, "-o", out, "--hz", "13", "--max-gap", "70ms", "--edge", "fill", "--fill", "-7.5", "--backend", "cpu"]
    args += ["--episode", "0"] if opened["episodes"] > 1 else []
    args += ["--rate", "10"] if opened["format"] not in ("ulg", "ulog") else []
    code, said = cli("fuse" if fuse else "resample", *args)
    with Recording(path, rate=10) as rec:
        align = rec.fuse if fuse else rec.align
        how: Dict[str, Any] = {"hz": 13, "max_gap": 0.07, "edge": "fill", "fill": -7.5, "episode": 0}
        if code != 0:
            with pytest.raises(Error):
                align(**how)
            return
        got: Any = align(**how)
        want = archive(out)
        assert same(got.times, want["times"])
        if fuse:
            assert same(got.values, want["values"]) and same(got.age, want["age"])
            assert same(got.valid.view(np.uint8), want["valid"]) and got.columns == list(want["columns"])
            assert list(got) == list(want["streams"])
        else:
            assert len(got) == sum(name.endswith(".values") for name in want)
            for name in got:
                s = got[name]
                assert same(s.values, want[name + ".values"]) and same(s.age, want[name + ".age"])
                assert same(s.valid.view(np.uint8), want[name + ".valid"]) and s.columns == list(want[name + ".columns"])
        for key in ("clock", "streams", "lost_bytes"):
            assert got.report[key] == said[key], key
        left = [[n for n in report["notes"] if n["class"] == "left-out"] for report in (got.report, said)]
        assert left[0] == left[1]


def test_an_archive_of_streams_aligns_as_the_program_does(tmp_path: pathlib.Path) -> None:
    path, out = tmp_path / "a.npz", tmp_path / "out.npz"
    rng = np.random.default_rng(1)
    arrays: Dict[str, Any] = {"note": np.array("x"), "empty.values": np.zeros((0, 2), np.float32), "empty.times": np.zeros(0, np.int64)}
    for name, n, d in (("imu", 200, 6), ("joints", 50, 7)):
        arrays[name + ".values"] = rng.standard_normal((n, d)).astype(np.float32)
        arrays[name + ".times"] = np.cumsum(rng.integers(1, 20_000_000, n))
    np.savez(path, **arrays)
    with Recording(path) as rec:
        assert same(rec["imu"].values, arrays["imu.values"]) and same(rec["imu"].times, arrays["imu.times"])
        assert [x.name for x in rec[0].left_out] == ["note"]
        code, said = cli("fuse", path, "-o", out, "--hz", "50", "--backend", "cpu")
        assert code == 0, said
        got, want = rec.fuse(hz=50), archive(out)
        assert same(got.values, want["values"]) and list(got) == list(want["streams"]) and got.report["streams"] == said["streams"]


def test_times_may_be_given() -> None:
    with Recording(FLIGHT) as rec:
        own = rec["sensor_combined"].times[100:200]
        got = rec.align(times=own, streams={"sensor_combined": {"kind": "previous", "columns": ["gyro_rad"]}})
        assert same(got.times, own)
        assert same(got["sensor_combined"].values, np.ascontiguousarray(rec["sensor_combined"]["gyro_rad"][100:200]))
        assert got["sensor_combined"].valid.all() and not got["sensor_combined"].pad.any() and not got["sensor_combined"].age.any()
        listed = rec.align(times=[int(t) for t in own], streams=["sensor_combined"])
        dated = rec.align(times=own.view("datetime64[ns]"), streams=["sensor_combined"])
        assert same(listed["sensor_combined"].values, dated["sensor_combined"].values)
        with pytest.raises(ArgumentError, match="times: got"):
            rec.align(times=own[None])
        with pytest.raises(PlanError, match="targets"):
            rec.align(times=own / 1e9)


def test_pad_is_where_the_stream_has_no_samples() -> None:
    with Recording(FLIGHT) as rec:
        got = rec.align(hz=10, streams=["airspeed", "cpuload"], range="union")
        for s in got:
            at, t = rec[s].times, got.times
            assert (got[s].pad == ((t < at[0] - 1000) | (t > at[-1] + 1000))).all() and got[s].pad.any()
        both = rec.fuse(hz=10, streams=["airspeed", "cpuload"], range="union")
        assert (both.pad == np.stack([got[s].pad for s in got], 1)).all()


def test_a_plan_file_says_what_keywords_say(tmp_path: pathlib.Path) -> None:
    text = "version: 1\nrate: 20\nrange: [1s, 3.5s]\nsnap: 2us\nstreams:\n  - name: attitude\n    from: vehicle_attitude\n    max_gap: 100ms\n    columns: [q]\n"
    file = tmp_path / "plan.yaml"
    file.write_text(text)
    with Recording(FLIGHT) as rec:
        streams = {"attitude": {"from": "vehicle_attitude", "max_gap": "100ms", "columns": ["q"]}}
        want = rec.align(hz=20, range=(1, 3.5), snap=2e-6, streams=streams)
        plans: List[Any] = [text, file, str(file)]
        for plan in plans:
            got = rec.align(plan=plan)
            assert same(got["attitude"].values, want["attitude"].values) and got.report == want.report
        with pytest.raises(ArgumentError, match="a plan and hz, kind"):
            rec.align(hz=3, plan=text, kind="linear")
        file.write_text(text.replace("max_gap", "max_gab"))
        with pytest.raises(PlanError) as info:
            rec.align(plan=file)
        assert (info.value.path, info.value.line, info.value.column) == (str(file), 8, 5) and "did you mean max_gap" in str(info.value)


@pytest.mark.parametrize(
    "how, error, words",
    [
        ({}, ArgumentError, "neither hz nor times"),
        ({"hz": -1}, PlanError, "plan: hz: got -1"),
        ({"hz": "fast"}, ArgumentError, "hz: got 'fast', want a number"),
        ({"hz": 1e9, "range": "union"}, PlanError, "got 7.382e.09 targets"),
        ({"hz": 1e6}, OutOfMemoryError, "Hz: got .* targets that take .* GiB"),
        ({"hz": 10, "kind": "linaer"}, PlanError, "plan: kind: got \"linaer\" .did you mean linear"),
        ({"hz": 10, "max_gab": 1}, PlanError, "did you mean max_gap"),
        ({"hz": 10, "max_gap": -1}, PlanError, "not negative"),
        ({"hz": 10, "streams": "imu"}, ArgumentError, "a list of names"),
        ({"hz": 10, "streams": ["vehicle_atitude"]}, PlanError, "did you mean vehicle_attitude"),
        ({"hz": 10, "streams": {"vehicle_attitude": {"metod": 1}}}, PlanError, "did you mean method"),
        ({"hz": 10, "range": 3}, ArgumentError, "range: got 3"),
        ({"hz": 10, "range": (1, 2, 3)}, ArgumentError, "range: got"),
        ({"hz": 10, "range": (4, 3)}, PlanError, "a beginning that is not after the end"),
        ({"hz": 10, "dtype": "i64"}, PlanError, "dtype"),
        ({"hz": 10, "plan": 'version: 1\nrate: "x'}, ArgumentError, "a plan and hz"),
    ],
)
def test_what_cannot_be_is_said(how: Dict[str, Any], error: Any, words: str) -> None:
    with Recording(FLIGHT) as rec:
        with pytest.raises(error, match=words) as info:
            rec.align(**how)
        assert "line 1, column" not in str(info.value)


def test_torch_gets_tensors_over_the_same_memory() -> None:
    torch = pytest.importorskip("torch")
    with Recording(G1, framework="torch") as rec, Recording(G1) as np_rec:
        s = rec[1]["action"]
        assert isinstance(s.values, torch.Tensor) and s.values.dtype is torch.float32 and s.times.dtype is torch.int64
        assert same(s.values.numpy(), np_rec[1]["action"].values)
        got = rec.fuse(hz=30, episode=2, dtype="bf16")
        assert got.values.dtype is torch.bfloat16 and got.valid.dtype is torch.bool and got.dtype == "bf16"
        plain = np_rec.fuse(hz=30, episode=2, dtype="bf16")
        assert plain.dtype == "bf16" and plain.values.dtype == np.uint16
        assert same(got.values.view(torch.int16).numpy().view(np.uint16), plain.values)


def test_names_find_streams_columns_and_what_was_left_out() -> None:
    with Recording(FLIGHT) as rec:
        episode = rec[-1]
        assert "airspeed" in episode and "nothing" not in episode
        assert episode["vehicle_attitude"]["q"].shape == (1298, 4)
        assert episode["vehicle_attitude"]["q[2]"].base is not None and episode["vehicle_attitude"]["q[2]"].shape == (1298,)
        with pytest.raises(KeyError, match="left out: no samples"):
            episode["sensor_mag_2"]
        with pytest.raises(KeyError, match="no column of vehicle_attitude"):
            episode["vehicle_attitude"]["z"]
        for bad in (1, -2):
            with pytest.raises(IndexError):
                rec[bad]
        assert "flight, ulog: 70 streams" in str(rec) and "&lt;" not in rec._repr_html_() and "<pre>" in rec._repr_html_()
    with Recording(G1) as many:
        assert [e.number for e in many] == [0, 1, 2] and [e.number for e in many.episodes[1:]] == [1, 2]
        assert many.info.splits == {"train": [0, 1, 2]} and many.info.features[0].shape == [26]
        assert "episode 0 of 3" in str(many)
        with pytest.raises(ArgumentError, match="holds 3 episodes"):
            many["action"]
        with pytest.raises(ArgumentError, match="holds 3 episodes"):
            many.align(hz=30)


def test_a_broken_file_is_an_error_with_its_place(tmp_path: pathlib.Path) -> None:
    cut = tmp_path / "cut.ulg"
    whole = FLIGHT.read_bytes()
    cut.write_bytes(whole[: len(whole) // 2])
    with Recording(cut) as rec:
        assert rec[0].damage and rec[0].damage[0].bytes > 0 and str(cut) in rec[0].damage[0].first
    with pytest.raises(RecordingError) as info:
        Recording(cut, strict=True)[0]
    assert info.value.path == str(cut) and info.value.offset is not None and "truncated" in str(info.value)
    again = pickle.loads(pickle.dumps(info.value))
    assert (again.offset, str(again)) == (info.value.offset, str(info.value))
    for name, text in (("a.ulg", b"no log at all"), ("empty.bin", b""), ("none", None)):
        path = tmp_path / name
        if text is not None:
            path.write_bytes(text)
        with pytest.raises(RecordingError) as info:
            Recording(path)[0]
        assert info.value.path == str(path) and str(path) in str(info.value)
    with pytest.raises(ArgumentError, match="(?i)clock"):
        Recording(FLIGHT, clock="sundial")
    with pytest.raises(ArgumentError, match="(?i)rate"):
        Recording(G1, rate=-3)
    with pytest.raises(ArgumentError, match="framework"):
        Recording(FLIGHT, framework="abacus")


def test_a_stream_out_of_order_names_what_takes_it(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "back.npz"
    np.savez(path, **{"a.values": np.zeros((3, 1)), "a.times": np.array([0, 2, 1]) * 10**9})
    with Recording(path) as rec:
        with pytest.raises(RecordingError, match='unordered="sort"') as info:
            rec.align(hz=1, unordered="error")
        assert info.value.stream == "a" and info.value.index == 2
        assert rec.align(hz=1, unordered="sort").report["streams"][0]["sorted_back_steps"] == 1


def test_a_broken_episode_costs_itself(tmp_path: pathlib.Path) -> None:
    for i in range(3):
        (tmp_path / "f{}.ulg".format(i)).write_bytes(FLIGHT.read_bytes())
    (tmp_path / "f1.ulg").write_bytes(FLIGHT.read_bytes()[:10])
    with Recording(tmp_path) as rec:
        episodes, read, failed = iter(rec), [], 0
        while True:
            try:
                read.append(next(episodes).name)
            except StopIteration:
                break
            except RecordingError as e:
                failed += 1
                assert "episode 1" in str(e) and "f1.ulg" in str(e)
        assert read == ["f0", "f2"] and failed == 1


def test_frames_are_images() -> None:
    path = ROOT / "dataset/aloha/testdata/raw.hdf5"
    with Recording(path) as rec:
        camera = next(iter(rec.media.values()))
        every = camera.frames()
        assert every.dtype == np.uint8 and every.shape[0] == len(camera) and every.ndim == 4
        assert same(camera.frames([1, 0, 1, 2]), every[[1, 0, 1, 2]]) and same(camera.frames(np.array([1])), every[1:2])
        assert same(camera.frames(np.int64(0)), every[0]) and same(camera.frames(slice(1, None)), every[1:])
        small = camera.frames([0], size=(3, 5))
        assert small.shape == (1, 3, 5, every.shape[3])
        for bad in (len(camera), -len(camera) - 1):
            with pytest.raises(IndexError, match="got {}, want 0 to {}".format(bad, len(camera) - 1)):
                camera.frames(bad)
        with pytest.raises(ArgumentError, match="size"):
            camera.frames(0, size=(0, 3))


def test_frames_of_a_video_are_those_of_their_numbers() -> None:
    path = SHARED / "lerobot_v3_g1"
    if not path.is_dir():
        pytest.skip("needs the shared recordings")
    with Recording(path) as rec:
        before = sum(len(rec[i]["action"]) for i in range(2))
        camera: Any = next(m for m in rec[2].media.values())
        try:
            images = camera.frames([40, 3, 4, 41])
        except RecordingError as e:
            assert "ffmpeg" in str(e)
            pytest.skip("needs ffmpeg")
        # Red and green of the top rows spell the frame's number in the dataset: 16 cells of 8x16.
        for image, n in zip(images, (40, 3, 4, 41)):
            cells = image[:32, :64, 0].reshape(2, 16, 8, 8).mean((1, 3)) > 127
            assert sum(1 << b for b in range(16) if cells[b // 8, b % 8]) == before + n


def test_numpy_may_be_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)  # type: ignore[misc]
    with pytest.raises(UnsupportedError, match='framework="torch" is the other'):
        Recording(FLIGHT)


def test_an_episode_aligns_itself_and_a_recording_pickles() -> None:
    with Recording(G1, clock="timestamp") as first:
        rec = pickle.loads(pickle.dumps(first))
        assert rec.info == first.info and rec.info.clock == "timestamp"
        episode: Episode = rec[2]
        assert same(episode.fuse(hz=30).values, rec.fuse(hz=30, episode=-1).values)
        assert episode.task == "Pick up the yellow bottle on the table." and episode.success is None


def test_the_example_is_true(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FLIGHT.parent)
    tests = doctest.DocTestFinder(recurse=False).find(Recording, "Recording")
    runner = doctest.DocTestRunner()
    for test in tests:
        runner.run(test)
    assert runner.tries >= 5 and runner.failures == 0


def test_an_episode_is_a_mapping_of_its_streams_and_cameras() -> None:
    with Recording(FLIGHT) as rec:
        episode = rec[0]
        assert list(episode) == list(episode.keys()) == list(episode.streams) and len(episode) == len(episode.streams) > 60
        assert dict(episode) == episode.streams == dict(episode.items()) and list(episode.values()) == list(dict(episode).values())
        with pytest.raises(KeyError, match=r"no stream 'airspeeed' in flight \(did you mean airspeed\?\)"):
            rec["airspeeed"]
        with pytest.raises(KeyError, match="no stream 0"):
            episode[0]
        with pytest.raises(TypeError, match="pickle its streams"):
            pickle.dumps(episode)
        out = rec.align(hz=50, streams=["airspeed"])
        assert list(out.keys()) == ["airspeed"] and dict(out.items())["airspeed"] is out["airspeed"]
        assert str(out.report) == out.report.text and not str(out.report).endswith("\n") and str(out.report)


def test_cameras_are_in_the_mapping_and_their_frames_are_counted_from_0() -> None:
    with Recording(ROOT / "dataset/aloha/testdata/raw.hdf5") as rec:
        episode = rec[0]
        name = next(iter(episode.media))
        assert set(episode) == {*episode.streams, *episode.media} and episode[name] is dict(episode)[name]
        camera = episode[name]
        assert same(camera[0], camera.frames(0)) and same(camera[-2:], camera.frames(slice(-2, None)))
        assert len(list(iter(camera))) == len(camera)
        with pytest.raises(TypeError, match="pickle its frames"):
            pickle.dumps(camera)


def test_a_stream_pickles_as_a_copy() -> None:
    for framework in ("numpy", "torch"):
        if framework == "torch":
            pytest.importorskip("torch")
        with Recording(FLIGHT, framework=framework) as rec:
            stream = rec["airspeed"]
            copies = [pickle.loads(pickle.dumps(stream)), copy.deepcopy(stream)]
            stats = stream.stats
            aligned = pickle.loads(pickle.dumps(rec.align(hz=50, streams=["airspeed"])))
            assert aligned["airspeed"].values.shape == (len(aligned.times), len(stream.columns)) and "timestamps" in str(aligned.report)
            copies.append(copy.copy(stream))
        for other in copies:
            assert same(np.asarray(other.values), np.asarray(stream.values)) and same(np.asarray(other.times), np.asarray(stream.times))
            assert other.columns == stream.columns and other.stats == stats and other.rate == stream.rate and repr(other) == repr(stream)
