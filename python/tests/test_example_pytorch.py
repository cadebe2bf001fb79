"""examples/pytorch/train.py trains, prints what docs/python.md shows, goes on from its checkpoint, and runs on several ranks. cameras.py trains and goes on."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import List

import pytest
from loader_data import G1, ROOT, binary, shared

torch = pytest.importorskip("torch")
SCRIPT = ROOT / "examples" / "pytorch" / "train.py"
CAMERAS = SCRIPT.with_name("cameras.py")
LINE = re.compile(r"step (\d+): loss ([\d.]+), held out ([\d.]+), last action held ([\d.]+), (\d+) windows/s")


def start(data: Path, checkpoint: Path, steps: int, script: Path = SCRIPT, **env: str) -> "subprocess.Popen[str]":
    binary()
    command = [sys.executable, str(script), str(data), "--steps", str(steps), "--checkpoint", str(checkpoint)]
    environment = dict(os.environ, OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="", **env)
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def lines(process: "subprocess.Popen[str]") -> List[str]:
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    return out.splitlines()


def test_it_learns_more_than_to_hold_the_last_action_and_goes_on(tmp_path: Path) -> None:
    checkpoint = tmp_path / "policy.pt"
    (line,) = lines(start(G1, checkpoint, 60))
    step, loss, held_out, hold, rate = LINE.fullmatch(line).groups()
    assert step == "60" and float(loss) < float(hold) and float(held_out) < float(hold) and int(rate) > 0
    assert lines(start(G1, checkpoint, 60)) == [], "which are done already"
    saved = torch.load(checkpoint)
    assert saved["step"] == 60
    assert saved["loader"]["epoch"] == 60 // 11, "of 711 windows, 64 at a time"
    (line,) = lines(start(G1, checkpoint, 70))
    assert line.startswith("step 70: ")


def test_two_ranks_train_one_policy(tmp_path: Path) -> None:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = str(s.getsockname()[1])
    env = {"WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    ranks = [start(G1, tmp_path / "policy.pt", 20, RANK=r, LOCAL_RANK=r, **env) for r in ("0", "1")]
    first, second = [lines(r) for r in ranks]
    assert LINE.fullmatch(first[0]) and second == []
    (line,) = lines(start(G1, tmp_path / "policy.pt", 30))  # and one goes on
    assert line.startswith("step 30: ")


def test_the_document_shows_what_it_prints(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    shown = re.compile(r"train.py examples/data/g1 --steps (\d+)\n```\n<!-- script -->\n```\n(.*?)\n```", re.S)
    ((steps, printed),) = shown.findall(text)
    (line,) = lines(start(G1, tmp_path / "policy.pt", int(steps)))
    got, want = LINE.fullmatch(line), LINE.fullmatch(printed)
    assert (got[1], got[4]) == (want[1], want[4])
    assert float(got[3]) == pytest.approx(float(want[3]), abs=0.02)  # weights begin at random


def test_eight_episodes_in_under_a_minute(tmp_path: Path) -> None:
    began = time.monotonic()
    got = [LINE.fullmatch(line) for line in lines(start(shared("lerobot_v3_g1"), tmp_path / "policy.pt", 400))]
    assert [m[1] for m in got] == ["100", "200", "300", "400"]
    assert float(got[-1][3]) < 0.9 * float(got[-1][4])
    assert time.monotonic() - began < 120, "it took 6 s on two cores that were free"


def test_images_and_states_are_better_than_the_mean_action(tmp_path: Path) -> None:
    if shutil.which("ffmpeg") is None:
        pytest.skip("ffmpeg is not here")
    began = time.monotonic()
    data, checkpoint = shared("lerobot_v3_g1"), tmp_path / "cameras.pt"
    (line,) = lines(start(data, checkpoint, 50, CAMERAS))
    found = re.fullmatch(r"step 50: loss ([\d.]+), held out ([\d.]+), mean action ([\d.]+), \d+ windows/s", line)
    assert float(found[1]) < float(found[3]) and float(found[2]) < 0.9 * float(found[3])
    (line,) = lines(start(data, checkpoint, 52, CAMERAS))
    assert line.startswith("step 52: ")
    assert torch.load(checkpoint)["loader"]["state"]["taken"] == 52 * 32
    assert time.monotonic() - began < 180, "it took 40 s on two cores that were free"
