"""Behaviour cloning from images: from the last two frames of a camera and the state, the next second of action.

python3 cameras.py DATASET. It goes on from a checkpoint that is there.
"""

import argparse
import os
import time

import robocache as rc
import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("data", help="a LeRobot dataset, or another with a camera and the streams observation.state and action")
parser.add_argument("--camera", default="observation.images.front")
parser.add_argument("--steps", type=int, default=400)
parser.add_argument("--checkpoint", default="cameras.pt")
args = parser.parse_args()
HZ, CHUNK, BATCH = 30, 30, 32  # ticks a second; of what the policy predicts; windows a batch
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
camera = rc.Camera((48, 48), stored=(54, 54), crop="random", jitter=0.2, dtype="float32", normalise="imagenet", layout="CHW")

last = len(rc.Recording(args.data)) - 1  # the episode that is held out
windows = {args.camera: (-2 / HZ, 0), "action": (0, CHUNK / HZ)}  # seconds from now
options = dict(batch=BATCH, hz=HZ, streams=["observation.state", "action"], windows=windows, framework="torch", device=device)
train = rc.Loader(args.data, episodes=range(last), cameras={args.camera: camera}, normalise="mean-std", seed=17, **options)
options.update(cameras={args.camera: camera._replace(crop="centre", jitter=0)}, statistics=train.statistics)
held_out = rc.Loader(args.data, episodes=[last], shuffle=False, last="short", **options)

class Policy(nn.Module):
    def __init__(self, states, actions):
        super().__init__()
        layers = [nn.Conv2d(6, 16, 5, stride=2), nn.GELU(), nn.Conv2d(16, 32, 3, stride=2), nn.GELU(), nn.AdaptiveAvgPool2d(4)]
        self.see = nn.Sequential(*layers, nn.Flatten())
        self.act = nn.Sequential(nn.Linear(512 + states, 128), nn.GELU(), nn.Linear(128, CHUNK * actions))
    def forward(self, frames, state):
        return self.act(torch.cat([self.see(frames.flatten(1, 2)), state.flatten(1)], 1)).view(len(state), CHUNK, -1)

policy = Policy(*(len(train.columns[name]) for name in ("observation.state", "action"))).to(device)
optimiser = torch.optim.AdamW(policy.parameters(), lr=1e-3)
parts, done = {"policy": policy, "optimiser": optimiser, "loader": train}, 0
if os.path.exists(args.checkpoint):
    saved = torch.load(args.checkpoint, map_location=device)
    done = saved["step"]
    for name, part in parts.items():
        part.load_state_dict(saved[name])

def loss(batches, policy):  # the mean L1 of valid actions: not beyond an episode, nor in a gap
    total = count = 0
    for batch in batches:
        valid = batch["action_valid"][:, :, None]
        total = total + ((policy(batch[args.camera], batch["observation.state"]) - batch["action"]).abs() * valid).sum()
        count = count + valid.sum() * batch["action"].shape[2]
    return total / count

began = time.time()
for step in range(done + 1, args.steps + 1):
    value = loss([train.next()], policy)
    optimiser.zero_grad()
    value.backward()
    optimiser.step()
    if step % 100 == 0 or step == args.steps:
        rate = (step - done) * BATCH / (time.time() - began)
        with torch.no_grad():
            known, mean = loss(held_out, policy), loss(held_out, lambda seen, state: 0)
        print(f"step {step}: loss {value:.3f}, held out {known:.3f}, mean action {mean:.3f}, {rate:.0f} windows/s")
        saved = {name: part.state_dict() for name, part in parts.items()}
        torch.save(dict(saved, step=step), args.checkpoint + ".new")
        os.replace(args.checkpoint + ".new", args.checkpoint)
