#!/usr/bin/env python3
"""Train the policy of `robocache train` in PyTorch, and compare its skill with ours.

    go build -o /tmp/robocache ./cmd/robocache && python3 bench/peers/train_policy_peer.py /tmp/robocache DATASET --seeds 5
    python3 bench/peers/train_policy_peer.py /tmp/robocache DATASET --seeds 1 --same

Each episode is held out once with each seed. Both have the same recipe, windows, statistics and metric, which package policy says; what differs
is the numbers that chance gives: the weights at first, the order of the windows, and dropout. So the means should agree within the spread of
the seeds. With --same PyTorch has our weights at first, our order of the windows and our dropout masks: then nothing but rounding differs, and a
skill that is more than 0.001 apart is a failure. The recordings are read by robocache; windows, statistics, network, training and metric are
this script's own.
"""
import argparse
import functools
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
MASK = 0xFFFFFFFF
HORIZONS = (CHUNK // 3, 2 * CHUNK // 3, CHUNK)
DTYPES = {"F32": np.float32, "U8": np.uint8, "I64": np.int64}


def read_rows(robocache, dataset, names):
    """Return a list with a dictionary of each episode, from stream to values [N,D], and the columns of each stream."""
    with tempfile.TemporaryDirectory() as folder:
        windows = [f"--window={name}=0s:1ms" for name in names]
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
    columns = {name: json.loads(texts[name + ".columns"]) for name in names}
    return [{name: t[name + ".values"][t["episodes"] == e, 0] for name in names} for e in range(t["episodes"].max() + 1)], columns


def recordings(robocache, dataset, state):
    """Return a list of (states [N,D], actions [N,A]), an episode each, and which column of the action each state has the name of."""
    episodes, columns = read_rows(robocache, dataset, (state, "action"))
    relative = [columns["action"].index(c) if c in columns["action"] else -1 for c in columns[state]]
    return [(e[state], e["action"]) for e in episodes], np.array(relative)


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


def mixed(x):
    """The 32-bit finalizer of MurmurHash3."""
    x = (x ^ x >> 16) * 0x85EBCA6B & MASK
    x = (x ^ x >> 13) * 0xC2B2AE35 & MASK
    return x ^ x >> 16


def our_order(count, epoch, seed):
    """Return the windows of an epoch in the order of ops.DrawOptions.Window, for seeds of 32 bits."""
    half, rounds = max(((count - 1).bit_length() + 1) // 2, 1), 8 if count <= 4096 else 4
    keys = [mixed(mixed(seed + (i + 1) * 0x9E3779B9 & MASK)) for i in range(4)]
    keys = [mixed(mixed(keys[i % 4] ^ epoch)) + i // 4 * 0x9E3779B9 & MASK for i in range(rounds)]

    def place(x):
        while True:
            l, r = x >> half, x & (1 << half) - 1
            for k in keys:
                l, r = r, l ^ mixed(r ^ k) & (1 << half) - 1
            x = l << half | r
            if x < count:
                return x

    return torch.tensor([place(i) for i in range(count)])


def our_words(count, step, site, seed):
    """Return our random words of a site in a step: Philox4x32-10 of {element/4, 0, step, site}, with the seed as the key."""
    a = np.arange((count + 3) // 4, dtype=np.uint64)
    b, c, d = (np.full_like(a, v) for v in (0, step, site))
    low, half = np.uint64(MASK), np.uint64(32)
    for i in range(10):
        k0, k1 = np.uint64(seed + i * 0x9E3779B9 & MASK), np.uint64(i * 0xBB67AE85 & MASK)
        p, q = a * np.uint64(0xD2511F53), c * np.uint64(0xCD9E8D57)
        a, b, c, d = q >> half ^ b ^ k0, q & low, p >> half ^ d ^ k1, p & low
    return np.stack([a, b, c, d], 1).reshape(-1)[:count]


def our_mask(like, step, site, seed):
    """Return the factors of our dropout."""
    words = our_words(like.numel(), step, site, seed).reshape(like.shape)
    return torch.tensor((words >= math.ceil(float(np.float32(DROPOUT)) * 2**32)) / (1 - DROPOUT), dtype=torch.float32)


class Same(Policy):
    """The policy with our dropout: its sites are the network's products and attentions, counted from 0."""

    step = seed = 0

    def forward(self, x):
        if not self.training:
            return super().forward(x)
        layer, attention = self.layer, self.layer.self_attn
        x = self.input(x) + self.position
        qkv = torch.nn.functional.linear(layer.norm1(x), attention.in_proj_weight, attention.in_proj_bias)
        q, k, v = (t.unflatten(-1, (HEADS, -1)).transpose(1, 2) for t in qkv.chunk(3, -1))
        p = self.dropped((q @ k.transpose(-1, -2) / math.sqrt(WIDTH // HEADS)).softmax(-1), 2)
        x = x + self.dropped(attention.out_proj((p @ v).transpose(1, 2).flatten(2)), 3)
        x = x + self.dropped(layer.linear2(self.dropped(layer.linear1(layer.norm2(x)).relu(), 4)), 5)
        return self.output(x.flatten(1)).view(len(x), CHUNK, -1)

    def dropped(self, x, site):
        return x * our_mask(x, self.step, site, self.seed)


def our_weights(robocache, dataset, held_out, seed, model):
    """Give a model the weights that ours begins with: those after a step of a rate that changes nothing."""
    with tempfile.TemporaryDirectory() as folder:
        options = [f"--hold-out={held_out}", f"--seed={seed}", "--backend=cpu", "--steps=1", "--lr=1e-30"]
        command = [robocache, "train", dataset, *options, "--out", folder + "/policy"]
        subprocess.run(command, check=True, capture_output=True)
        data = Path(folder, "policy", "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    weights = {}
    for name, h in header.items():
        lo, hi = (8 + size + o for o in h["data_offsets"])
        name = "position" if name == "position.weight" else name.replace("encoder.layers.0", "layer")
        weights[name] = torch.tensor(np.frombuffer(data[lo:hi], DTYPES[h["dtype"]]).reshape(h["shape"]))
    model.load_state_dict(weights)


def train(episodes, relative, held_out, seed, same=None):
    """Return the skill at each horizon on the episode that is held out; same, if there, gives a model our weights."""
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

    inputs, targets, weights = tensor(np.where(there, (x - mean) * (1 / std), 0)), tensor(y / scale), tensor(counts)[..., None]
    model = (Same if same else Policy)(x.shape[2], y.shape[2])
    drawn, epoch = np.arange(len(inputs)), 0
    if same:  # ours draws first ticks too, which have no action before them and count for nothing
        same(model)
        drawn, at = [], 0
        for length in (len(s) for i, (s, _) in enumerate(episodes) if i != held_out):
            drawn += [-1, *range(at, at + length - 1)]
            at += length - 1
    drawn = torch.tensor(drawn)
    optimiser = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=DECAY)
    order = torch.empty(0, dtype=torch.long)
    for step in range(1, STEPS + 1):
        rate = RATE * (step / WARM_UP if step < WARM_UP else (1 + math.cos(math.pi * (step - WARM_UP) / (STEPS - WARM_UP))) / 2)
        for group in optimiser.param_groups:
            group["lr"] = rate
        if len(order) < BATCH:
            order = drawn[our_order(len(drawn), epoch, seed) if same else torch.randperm(len(drawn))]
            epoch += 1
        rows, order = order[:BATCH], order[BATCH:]
        model.step, model.seed = step, seed
        w = weights[rows] * (rows >= 0)[:, None, None]
        loss = ((model(inputs[rows]) - targets[rows]) ** 2 * w).sum() / (w.sum() * y.shape[2])
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    model.eval()
    x, there, _, y, counts = windows(*episodes[held_out], relative)
    with torch.no_grad():
        predicted = model(tensor(np.where(there, (x - mean) * (1 / std), 0))).double().numpy()
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
    parser.add_argument("--same", action="store_true", help="PyTorch with our weights, order and dropout")
    args = parser.parse_args()
    episodes, relative = recordings(args.robocache, args.dataset, args.state)
    results = {"robocache": [], "torch": [], "ridge": []}
    for seed in range(args.seeds):
        for held_out in range(len(episodes)):
            same = functools.partial(our_weights, args.robocache, args.dataset, held_out, seed) if args.same else None
            skill, ridge = ours(args.robocache, args.dataset, held_out, seed, args.backend)
            theirs = train(episodes, relative, held_out, seed, same)
            for name, values in (("robocache", skill), ("torch", theirs), ("ridge", ridge)):
                results[name].append(values)
        far = np.abs(np.subtract(results["robocache"], results["torch"])).max()
        if args.same and not far < 1e-3:
            raise SystemExit(f"skills that should be the same are {far:.2g} apart")
        print(f"seed {seed}: " + ", ".join(f"{name} {np.mean(v[-len(episodes):], 0).round(3).tolist()}" for name, v in results.items()), flush=True)
    for name, values in results.items():
        by_seed = np.array(values).reshape(args.seeds, len(episodes), -1).mean(1)
        spread = by_seed.std(0, ddof=1) if args.seeds > 1 else np.zeros(len(HORIZONS))
        print(f"{name}: skill at {HORIZONS} ticks {by_seed.mean(0).round(3).tolist()}, spread of {args.seeds} seeds {spread.round(3).tolist()}")


if __name__ == "__main__":
    main()
