"""Behaviour cloning on recorded episodes: from a third of a second of state and action, the next second of action.

python3 train.py DATASET [--steps N] [--checkpoint FILE], or torchrun --nproc-per-node N train.py DATASET; again with the same checkpoint goes on.
"""

import argparse
import os
import time

import robocache as rc
import torch
import torch.distributed as dist
from torch import nn

args = argparse.ArgumentParser()
args.add_argument("data", help="a LeRobot dataset, or any other with streams observation.state and action")
for name, default in (("steps", 400), ("batch", 64), ("held-out", 1), ("checkpoint", "policy.pt")):
    args.add_argument("--" + name, type=type(default), default=default)
args = args.parse_args()
HZ, PAST, CHUNK = 30, 10, 30

device, rank, world = "cpu", int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
if torch.cuda.is_available():
    device = "cuda:" + os.environ.get("LOCAL_RANK", "0")
    torch.cuda.set_device(device)
if world > 1:
    dist.init_process_group("gloo" if device == "cpu" else "nccl")

episodes = len(rc.Recording(args.data))
windows = {"observation.state": (-PAST / HZ, 0.0), "action": (-PAST / HZ, CHUNK / HZ)}
options = dict(batch=args.batch, hz=HZ, streams=list(windows), windows=windows, framework="torch", device=device)
train = rc.Loader(args.data, episodes=range(episodes - args.held_out), seed=17, normalise="mean-std", **options)
test = rc.Loader(args.data, episodes=range(episodes - args.held_out, episodes), statistics=train.statistics, shuffle=False, last="short", rank=0, world=1, **options)


class Policy(nn.Module):
    """Predicts actions as what is added to the last one, from how state and action have moved; a dropped row has loss 0."""

    def __init__(self, state, action):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(PAST * (state + action), 128), nn.GELU(), nn.Dropout(0.1), nn.Linear(128, CHUNK * action))

    def forward(self, batch):
        state, past = batch["observation.state"], batch["action"][:, :PAST]
        moved = torch.cat([state - state[:, -1:], past - past[:, -1:]], dim=2)
        return past[:, -1:] + self.net(moved.flatten(1)).unflatten(1, (CHUNK, -1))


def loss_of(predicted, batch):  # the mean of |error| over the targets that are in the episode and in no gap
    valid = batch["action_valid"][:, PAST:, None]
    return ((predicted - batch["action"][:, PAST:]).abs() * valid).sum() / (valid.sum() * predicted.shape[2]).clamp(min=1)
