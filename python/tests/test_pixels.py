"""The pixels of cameras, and the numbers that a policy sees: those of Pillow and of PyTorch."""

from __future__ import annotations

import io
import re
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest

from loader_data import ROOT, binary, shared
from robocache import Recording
from test_docs import without_safetensors
from test_logs import mcap, scan


def check(path: Path, camera: str, pictures: Any) -> None:
    """Frames are those of Pillow to 2 levels, but for one value in a thousand that both planes round to the other side."""
    with Recording(path) as rec:
        frames = rec[0][camera]
        far = np.concatenate([abs(frames[i].astype(int) - np.asarray(p).astype(int)).ravel() for i, p in enumerate(pictures)])
    assert far.max() <= 3 and (far > 2).mean() < 0.001 and far.mean() < 0.1


def test_python_jpeg_chroma(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="python has no Pillow, whose pixels these are")
    rng, lines, pictures = np.random.default_rng(3), [], []
    y, x = np.mgrid[:60, :80]
    for i in range(12):  # by Pillow: 4:4:4, 4:2:2 and 4:2:0
        pixels = np.stack([128 + 127 * np.sin(rng.normal(0, 0.2) * x + rng.normal(0, 0.2) * y) for _ in range(3)], -1)
        file = tmp_path / "{}.jpg".format(i)
        image.fromarray(pixels.astype(np.uint8)).save(str(file), quality=[60, 95][i % 2], subsampling=i % 3)
        lines.append("{}.5 {}\n".format(i, file.name))
        pictures.append(image.open(str(file)))
    (tmp_path / "rgb.txt").write_text("".join(lines))
    check(tmp_path, "rgb", pictures)
    path = shared("bridge_rlds")
    # The files of both cameras lie in the record as they are, one after the other, from the mark of the beginning to that of the end.
    record = (path / "bridge_dataset-train.tfrecord-00000-of-00001").read_bytes()
    with Recording(path) as rec:
        n = len(rec[0]["observation/image_0"])
    files = [m.group() for m in re.finditer(rb"\xff\xd8\xff.*?\xff\xd9", record, re.S)]
    assert len(files) % n == 0
    check(path, "observation/image_0", [image.open(io.BytesIO(f)) for f in files[:n]])


def predictions(data: Path, episode: int, how: List[str], out: Path, monkeypatch: pytest.MonkeyPatch, state: str) -> float:
    """The greatest difference of a policy to the same in PyTorch, by examples/pytorch/policy.py."""
    pytest.importorskip("torch")
    without_safetensors(monkeypatch)
    text = (ROOT / "examples/pytorch/policy.py").read_text(encoding="utf-8")
    names: Dict[str, Any] = {}
    exec(text, names)
    made = [binary(), "train", str(data), "--hold-out", str(episode), "--backend", "cpu", "--steps", "150", "--out", str(out / "p")]
    subprocess.run(made + how, check=True, capture_output=True)
    run = [binary(), "policy", str(out / "p"), str(data), "--episode", str(episode), "--backend", "cpu", "-o", str(out / "o.npz")]
    subprocess.run(run, check=True, capture_output=True)
    policy, chunks = names["Policy"](str(out / "p")), np.load(str(out / "o.npz"))
    with Recording(data) as rec:
        streams = [np.array(rec[episode][name].values, float) for name in (state, "action")]
    states, actions = (np.concatenate([np.full((5, s.shape[1]), np.nan), s]) for s in streams)
    far = [abs(policy.act(states[t + 1 : t + 6], actions[t : t + 5]) - c).max() for t, c in zip(chunks["ticks"], chunks["chunks"])]
    assert len(far) > 30
    return float(max(far))


def test_python_f32_normalise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A column whose mean is 8663 of its deviations.
    assert predictions(shared("lerobot_v2_gr1_sim"), 1, ["--clock", "frame_index"], tmp_path, monkeypatch, "observation.state") < 1e-5


def test_a_policy_of_a_column_far_from_0_is_the_same_in_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng, data = np.random.default_rng(1), tmp_path / "data"
    data.mkdir()
    for i in range(3):
        walk = rng.normal(0, 1, (90, 3)).cumsum(0)
        times = np.arange(90) * 100_000_000
        state = (np.array([5000.0, -3.0, 0.0]) + walk * [0.01, 1e-5, 1.0]).astype(np.float32)
        action = np.roll(walk, -1, 0).astype(np.float32)
        np.savez(str(data / "{}.npz".format(i)), **{"state.times": times, "state.values": state, "action.times": times, "action.values": action})
    assert predictions(data, 2, ["--hz", "10"], tmp_path, monkeypatch, "state") < 1e-5


def test_python_frame_minus_one(tmp_path: Path) -> None:
    with Recording(ROOT / "dataset/aloha/testdata/raw.hdf5") as rec:
        camera = next(iter(rec[0].media.values()))
        times = np.concatenate([[camera.times[0] - 1], camera.times])
        at = np.searchsorted(camera.times, times, "right") - 1
        with pytest.raises(IndexError, match="got -1, want 0 to {}; before the first there is none".format(len(camera) - 1)):
            camera.frames(at)
        for one in (-1, np.int64(-1)):
            with pytest.raises(IndexError, match="got -1"):
                camera[one]
        valid = at >= 0
        assert np.array_equal(camera.frames(at[valid]), camera.frames()) and valid.tolist() == [False] + [True] * len(camera)
        assert "camera.frames(at[valid])" in str(type(camera).__doc__)
        none, shape = camera.frames([]), camera[0].shape
        assert none.shape == (0,) + shape and none.dtype == np.uint8
        assert camera.frames(at[:0], size=(3, 5)).shape == (0, 3, 5, 3) and camera[5:5].shape == (0,) + shape
    clouds = mcap(tmp_path / "a.mcap", ("/points", "json", "foxglove.PointCloud", "jsonschema", [(100, scan(np.ones((2, 4), np.float32)))]))
    with Recording(clouds) as rec, pytest.raises(IndexError, match="cloud of /points: got -1, want 0 to 0"):
        rec["/points"][np.searchsorted(rec["/points"].times, 99, "right") - 1]
    with Recording(shared("lerobot_v3_g1")) as rec:
        video = rec[0]["observation.images.front"]
        with pytest.raises(IndexError, match="got -1"):
            video.frames(np.searchsorted(video.times, [video.times[0] - 1], "right") - 1)
        assert video.frames([]).shape == (0, video.height, video.width, 3)
