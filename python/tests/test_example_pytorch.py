"""examples/pytorch trains, prints what docs/python.md shows, goes on from its checkpoint, and runs on several ranks."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest
from loader_data import G1, ROOT, binary, shared

torch = pytest.importorskip("torch")
SCRIPT = ROOT / "examples" / "pytorch" / "train.py"
LINE = re.compile(r"step (\d+): loss ([\d.]+), held out ([\d.]+), the last action held ([\d.]+), (\d+) windows a second")


def start(data: Path, checkpoint: Path, steps: int, **env: str) -> "subprocess.Popen[str]":
    binary()
    command = [sys.executable, str(SCRIPT), str(data), "--steps", str(steps), "--checkpoint", str(checkpoint)]
    environment = dict(os.environ, PYTHONPATH=str(ROOT / "python"), OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="", **env)
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
    assert torch.load(checkpoint)["loader"]["steps"] == 60
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
    (shown,) = re.findall(r"train.py (\S+)\n```\n<!-- script -->\n```\n(.*?)```", text, re.S)
    data, printed = shown
    assert data == "lerobot_v3_g1"
    got = lines(start(shared(data), tmp_path / "policy.pt", 400))
    want = printed.splitlines()
    assert [LINE.fullmatch(x)[1] for x in got] == [LINE.fullmatch(x)[1] for x in want]
    for a, b in zip(got, want):
        assert float(LINE.fullmatch(a)[4]) == float(LINE.fullmatch(b)[4]), "which no chance is in"
        assert float(LINE.fullmatch(a)[3]) == pytest.approx(float(LINE.fullmatch(b)[3]), abs=0.01)
