"""A trainer that is killed leaves nothing: no helper process, and no memory of the card."""

import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import torch

from support import QUICK, need_cuda

ROOT = pathlib.Path(__file__).resolve().parents[3]

TRAINER = """
import sys
import torch
import robocache as rc
loader = rc.Loader(
    sys.argv[1], batch=32, hz=50, windows={"observation.state": (-1.0, 0.0), "action": (0.0, 1.0)}, device="cuda",
    framework="torch", streaming=sys.argv[2] == "streaming", dtype=torch.bfloat16,
)
weights = torch.randn(26, 512, device="cuda", dtype=torch.bfloat16)
times = torch.arange(50, device="cuda").double() / 50
print("ready", flush=True)
while True:
    for batch in loader:
        rc.resample(batch["observation.state"], times, times + 0.003) @ weights
"""


def helpers():
    """The numbers of the helper processes that there are."""
    found = []
    for name in os.listdir("/proc"):
        try:
            command = pathlib.Path("/proc", name, "cmdline").read_bytes() if name.isdigit() else b""
        except OSError:
            continue
        if b"serve\0--fd" in command:
            found.append(int(name))
    return set(found)


def test_a_trainer_that_is_killed_leaves_nothing():
    need_cuda()
    torch.cuda.synchronize()
    before, free = helpers(), torch.cuda.mem_get_info()[0]
    path = [str(ROOT / "python")] + os.environ.get("PYTHONPATH", "").split(os.pathsep)
    for i in range(2 if QUICK else 10):
        trainer = subprocess.Popen(
            [sys.executable, "-c", TRAINER, str(ROOT / "examples" / "data" / "g1"), ("resident", "streaming")[i % 2]],
            stdout=subprocess.PIPE,
            env=dict(os.environ, PYTHONPATH=os.pathsep.join(path)),
        )
        with trainer:
            assert trainer.stdout.readline() == b"ready\n"
            time.sleep(random.uniform(0, 1.5))
            assert trainer.poll() is None
            trainer.send_signal(signal.SIGKILL)
        begin = time.monotonic()
        while helpers() - before:
            assert time.monotonic() - begin < 1, "helper processes are left"
            time.sleep(0.01)
        while torch.cuda.mem_get_info()[0] < free - (64 << 20):  # others may use the card
            assert time.monotonic() - begin < 10, "memory of the card is left"
            time.sleep(0.05)
