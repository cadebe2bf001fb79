#!/usr/bin/env python3
"""Train the policy of `robocache train` in PyTorch, and compare its skill with ours.

    go build -o /tmp/robocache ./cmd/robocache && python3 bench/peers/train_policy_peer.py /tmp/robocache DATASET --seeds 5

Each episode is held out once with each seed. Both have the same recipe, windows, statistics and metric, which package policy says; what differs
is the numbers that chance gives: the weights at first, the order of the windows, and dropout. So the means should agree within the spread of
the seeds. The recordings are read by robocache; windows, statistics, network, training and metric are this script's own.
"""
import argparse
import json
import math
import struct
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import torch

HISTORY, CHUNK, WIDTH, HEADS, FFN, DROPOUT = 5, 30, 64, 2, 128, 0.3
BATCH, STEPS, RATE, WARM_UP, DECAY, FLOOR = 16, 1000, 1e-3, 100, 4.0, 0.05
HORIZONS = (CHUNK // 3, 2 * CHUNK // 3, CHUNK)
DTYPES = {"F32": np.float32, "U8": np.uint8, "I64": np.int64}


def recordings(robocache, dataset, state):
    """Return a list of (states [N,D], actions [N,A]), an episode each, and which column of the action each state has the name of."""
    with tempfile.TemporaryDirectory() as folder:
        windows = [f"--window={name}=0s:1ms" for name in (state, "action")]
        subprocess.run([robocache, "batches", dataset, "--backend=cpu", "--shuffle=none", "--batch=4096", "--last=short", "--out", folder, *windows],
                       check=True, capture_output=True)
        parts = {}
        for path in sorted(Path(folder).glob("batch-*.safetensors")):
            data = path.read_bytes()
            (size,) = struct.unpack("<Q", data[:8])
            header = json.loads(data[8:8 + size])
            texts = header.pop("__metadata__")
            for name, h in header.items():
                lo, hi = (8 + size + o for o in h["data_offsets"])
                parts.setdefault(name, []).append(np.frombuffer(data[lo:hi], DTYPES[h["dtype"]]).reshape(h["shape"]))
    t = {name: np.concatenate(list_) for name, list_ in parts.items()}
    columns = {name: json.loads(texts[name + ".columns"]) for name in (state, "action")}
    relative = [columns["action"].index(c) if c in columns["action"] else -1 for c in columns[state]]
    of = t["episodes"]
    return [(t[state + ".values"][of == e, 0], t["action.values"][of == e, 0]) for e in range(of.max() + 1)], np.array(relative)


def windows(states, actions, relative):
    """Return tokens [N,T,W] with where they are, last actions [N,A], targets [N,C,A] and which are there [N,C], of all anchors but the first tick."""
    n, d, a = len(states), states.shape[1], actions.shape[1]
    at = np.arange(1, n)
    last = actions[at - 1]
    x, there = np.zeros((n - 1, HISTORY, d + 2 * a)), np.zeros((n - 1, HISTORY, d + 2 * a), bool)
    for k in range(HISTORY):
        tick = at - (HISTORY - 1 - k)
        for lo, hi, rows, values, to in ((0, d, tick, states, np.where(relative >= 0, last[:, relative], 0)), (d, d + a, tick - 1, actions, last)):
            ok = rows >= 0
            x[ok, k, lo:hi] = values[rows[ok]] - to[ok]
            there[ok, k, lo:hi] = True
    x[:, -1, d + a:], there[:, -1, d + a:] = last, True
    y, counts = np.zeros((n - 1, CHUNK, a)), np.zeros((n - 1, CHUNK), bool)
    for k in range(CHUNK):
        ok = at + k < n
        y[ok, k], counts[ok, k] = actions[at[ok] + k] - last[ok], True
    return x, there, last, y, counts


class Policy(torch.nn.Module):
    def __init__(self, inputs, actions):
        super().__init__()
        self.input = torch.nn.Linear(inputs, WIDTH)
        self.position = torch.nn.Parameter(torch.randn(HISTORY, WIDTH) * 0.02)
        self.layer = torch.nn.TransformerEncoderLayer(WIDTH, HEADS, FFN, DROPOUT, batch_first=True, norm_first=True)
        self.output = torch.nn.Linear(HISTORY * WIDTH, CHUNK * actions)
        torch.nn.init.zeros_(self.output.weight)
        torch.nn.init.zeros_(self.output.bias)

    def forward(self, x):
        return self.output(self.layer(self.input(x) + self.position).flatten(1)).view(len(x), CHUNK, -1)


def train(episodes, relative, held_out, seed):
    """Return the skill at each horizon on the episode that is held out."""
    torch.manual_seed(seed)
    parts = [windows(s, a, relative) for i, (s, a) in enumerate(episodes) if i != held_out]
    x, there, _, y, counts = (np.concatenate(p) for p in zip(*parts))
    n = np.maximum(there.sum((0, 1)), 1)
    mean = np.where(there, x, 0).sum((0, 1)) / n
    std = np.sqrt(np.where(there, x - mean, 0).__pow__(2).sum((0, 1)) / n)
    std[std < 1e-6] = 1
    scale = np.maximum(np.concatenate([a for i, (_, a) in enumerate(episodes) if i != held_out]).astype(float).std(0), FLOOR)

    def tensor(v):
        return torch.tensor(v, dtype=torch.float32)

    inputs, targets, weights = tensor(np.where(there, (x - mean) / std, 0)), tensor(y / scale), tensor(counts)[..., None]
    model = Policy(x.shape[2], y.shape[2])
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    order = torch.empty(0, dtype=torch.long)
    for step in range(1, STEPS + 1):
        rate = RATE * (step / WARM_UP if step < WARM_UP else (1 + math.cos(math.pi * (step - WARM_UP) / (STEPS - WARM_UP))) / 2)
        for group in optimiser.param_groups:
            group["lr"] = rate
        if len(order) < BATCH:
            order = torch.randperm(len(inputs))
        rows, order = order[:BATCH], order[BATCH:]
        w = weights[rows]
        loss = ((model(inputs[rows]) - targets[rows]) ** 2 * w).sum() / (w.sum() * y.shape[2])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval()
    x, there, _, y, counts = windows(*episodes[held_out], relative)
    with torch.no_grad():
        predicted = model(tensor(np.where(there, (x - mean) / std, 0))).double().numpy()
    y = y / scale
    skills = []
    for k in HORIZONS:
        ok = counts[:, k - 1]
        skills.append(1 - ((predicted - y)[ok, k - 1] ** 2).mean() / (y[ok, k - 1] ** 2).mean())
    return skills


def ours(robocache, dataset, held_out, seed, backend):
    run = subprocess.run([robocache, "train", dataset, f"--hold-out={held_out}", f"--seed={seed}", f"--backend={backend}", "--json"], check=True, capture_output=True, text=True)
    out = json.loads(run.stdout.splitlines()[-1])
    return [out["skill"][str(k)] for k in HORIZONS], [out["ridge_skill"][str(k)] for k in HORIZONS]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("robocache")
    parser.add_argument("dataset")
    parser.add_argument("--state", default="observation.state", help="the stream of states")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--backend", default="cpu", help="of robocache")
    args = parser.parse_args()
    episodes, relative = recordings(args.robocache, args.dataset, args.state)
    results = {"robocache": [], "torch": [], "ridge": []}
    for seed in range(args.seeds):
        for held_out in range(len(episodes)):
            skill, ridge = ours(args.robocache, args.dataset, held_out, seed, args.backend)
            for name, values in (("robocache", skill), ("torch", train(episodes, relative, held_out, seed)), ("ridge", ridge)):
                results[name].append(values)
        print(f"seed {seed}: " + ", ".join(f"{name} {np.mean(v[-len(episodes):], 0).round(3).tolist()}" for name, v in results.items()), flush=True)
    for name, values in results.items():
        by_seed = np.array(values).reshape(args.seeds, len(episodes), -1).mean(1)
        spread = by_seed.std(0, ddof=1) if args.seeds > 1 else np.zeros(len(HORIZONS))
        print(f"{name}: skill at {HORIZONS} ticks {by_seed.mean(0).round(3).tolist()}, spread of {args.seeds} seeds {spread.round(3).tolist()}")


if __name__ == "__main__":
    main()
