"""Behaviour cloning of recorded episodes: from a third of a second of state and action, the next second of action.

python3 train.py DATASET, or torchrun --nproc_per_node 8 train.py DATASET. It goes on from a checkpoint that is there.
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
HZ, PAST, CHUNK, BATCH = 30, 10, 30, 64  # ticks a second; of what the policy sees; of what it predicts; windows a batch
rank, world = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if torch.cuda.is_available() else "cpu"
if world > 1:
    distributed.init_process_group("gloo" if device == "cpu" else "nccl")

last = len(rc.Recording(args.data)) - 1  # the episode that is held out
windows = {"observation.state": (-PAST / HZ, 0), "action": (-PAST / HZ, CHUNK / HZ)}  # seconds from now
options = dict(batch=BATCH, hz=HZ, streams=list(windows), windows=windows, framework="torch", device=device)
train = rc.Loader(args.data, episodes=range(last), normalise="mean-std", seed=17, **options)
options.update(statistics=train.statistics, shuffle=False, last="short", rank=0, world=1)
held_out = rc.Loader(args.data, episodes=[last], **options)

sees, does = PAST * sum(map(len, train.columns.values())), len(train.columns["action"])
net = nn.Sequential(nn.Linear(sees, 128), nn.GELU(), nn.Dropout(0.1), nn.Linear(128, CHUNK * does))
policy = nn.parallel.DistributedDataParallel(net.to(device)) if world > 1 else net.to(device)
optimiser = torch.optim.AdamW(net.parameters(), lr=1e-3, weight_decay=0.1)
parts, done = {"net": net, "optimiser": optimiser, "loader": train}, 0
if os.path.exists(args.checkpoint):
    saved = torch.load(args.checkpoint, map_location=device)
    done = saved["step"]
    for name, part in parts.items():
        part.load_state_dict(saved[name])

def loss(batches, policy):  # the mean L1 of what there is to predict: not beyond an episode, nor in a gap
    total = count = 0
    for batch in batches:
        seen = torch.cat([batch["observation.state"], batch["action"][:, :PAST]], dim=2)
        change = policy((seen - seen[:, -1:]).flatten(1)).view(-1, CHUNK, does)  # of the last action
        valid = batch["action_valid"][:, PAST:, None]
        off = batch["action"][:, PAST:] - batch["action"][:, PAST - 1 : PAST] - change
        total = total + (off.abs() * valid).sum()
        count = count + valid.sum() * does
    return total / count

hold, began = loss(held_out, lambda seen: seen.new_zeros(len(seen), CHUNK, does)), time.time()  # no change
for step in range(done + 1, args.steps + 1):
    value = loss([train.next()], policy)
    optimiser.zero_grad()
    value.backward()
    optimiser.step()
    if rank == 0 and (step % 100 == 0 or step == args.steps):
        rate = (step - done) * BATCH * world / (time.time() - began)
        with torch.no_grad():
            known = loss(held_out, net.eval())
        print(f"step {step}: loss {value:.3f}, held out {known:.3f}, last action held {hold:.3f}, {rate:.0f} windows/s")
        saved = {name: part.state_dict() for name, part in parts.items()}
        torch.save(dict(saved, step=step), args.checkpoint + ".new")
        os.replace(args.checkpoint + ".new", args.checkpoint)
        net.train()
