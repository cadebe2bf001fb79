"""Behaviour cloning of recorded episodes: from a third of a second of state and action, the next second of action.

python3 train.py DATASET, or torchrun --nproc-per-node 8 train.py DATASET. Where the checkpoint is there, it goes on from it.
"""

import argparse
import os
import time

import robocache as rc
import torch
from torch import distributed, nn

parser = argparse.ArgumentParser()
parser.add_argument("data", help="a LeRobot dataset, or another with the streams observation.state and action")
parser.add_argument("--steps", type=int, default=400)
parser.add_argument("--checkpoint", default="policy.pt")
args = parser.parse_args()
HZ, PAST, CHUNK, BATCH = 30, 10, 30, 64  # ticks of the clock in a second, of what the policy sees, of what it predicts
rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
device = "cpu"
if torch.cuda.is_available():
    device = "cuda:" + os.environ.get("LOCAL_RANK", "0")
    torch.cuda.set_device(device)
if world > 1:
    distributed.init_process_group("gloo" if device == "cpu" else "nccl")

last = len(rc.Recording(args.data)) - 1  # the episode that is held out
windows = {"observation.state": (-PAST / HZ, 0), "action": (-PAST / HZ, CHUNK / HZ)}  # seconds from now
options = dict(batch=BATCH, hz=HZ, streams=list(windows), windows=windows, framework="torch", device=device)
train = rc.Loader(args.data, episodes=range(last), normalise="mean-std", seed=17, **options)
options.update(statistics=train.statistics, shuffle=False, last="short", rank=0, world=1)
held_out = rc.Loader(args.data, episodes=[last], **options)

sees, does = PAST * sum(map(len, train.columns.values())), len(train.columns["action"])
net = nn.Sequential(nn.Linear(sees, 128), nn.GELU(), nn.Dropout(0.1), nn.Linear(128, CHUNK * does), nn.Unflatten(1, (CHUNK, does)))
policy = nn.parallel.DistributedDataParallel(net.to(device)) if world > 1 else net.to(device)
optimiser = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.1)
parts = {"net": net, "optimiser": optimiser, "loader": train}
if os.path.exists(args.checkpoint):
    for name, state in torch.load(args.checkpoint, map_location=device).items():
        parts[name].load_state_dict(state)

def loss(batches, policy):  # the mean L1 of what there is to predict: not beyond an episode, nor in a gap
    total = count = 0
    for batch in batches:
        seen = torch.cat([batch["observation.state"], batch["action"][:, :PAST]], dim=2)
        change = policy((seen - seen[:, -1:]).flatten(1))  # of the last action; how things moved leads to it
        valid = batch["action_valid"][:, PAST:, None]
        total = total + ((batch["action"][:, PAST:] - batch["action"][:, PAST - 1 : PAST] - change).abs() * valid).sum()
        count = count + valid.sum() * does
    return total / count

began, first = time.time(), train.steps
while train.steps < args.steps:
    value = loss([train.next()], policy)
    optimiser.zero_grad()
    value.backward()
    optimiser.step()
    if rank == 0 and (train.steps % 100 == 0 or train.steps == args.steps):
        rate = (train.steps - first) * BATCH * world / (time.time() - began)
        net.eval()
        with torch.no_grad():
            known, hold = loss(held_out, net), loss(held_out, lambda seen: 0)
        net.train()
        print(f"step {train.steps}: loss {value:.3f}, held out {known:.3f}, the last action held {hold:.3f}, {rate:.0f} windows a second", flush=True)
        torch.save({name: part.state_dict() for name, part in parts.items()}, args.checkpoint + ".new")
        os.replace(args.checkpoint + ".new", args.checkpoint)
