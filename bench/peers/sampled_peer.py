#!/usr/bin/env python3
"""Compare `robocache train --policy flow` and `diffusion` with PyTorch on PushT: losses, actions, and the time to sample them.

    bench/peers/sampled_peer.py robocache pusht_cchi_v7_replay.zarr                            # on a GPU, less than two minutes
    bench/peers/sampled_peer.py robocache pusht_cchi_v7_replay.zarr --backend cpu --torch cpu --size tiny --batch 32 --seeds 1
    ... --condition cross                                                                      # torch's TransformerDecoder

PyTorch has our weights at first, our order of the windows and our noise, by the rules that ops.DrawOptions.Window, nn.Denoise and
backend.NoiseJob state. It trains in float32 and under autocast to bfloat16. The script fails if our losses are further from float32 than
autocast's are. It samples the actions of one episode from our weights and noise too, in float32: ours in float32 (--backend cpu) must be
within 1e-3 of these, if an action's range is -1 to 1, and those of another backend no further than autocast's. The recordings are read by
robocache; windows, statistics, noise, schedules, network and samplers are this script's own.
"""
import argparse
import base64
import contextlib
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import torch

from train_parity import Net, distance, read
from train_policy_peer import our_order, our_words, read_rows

PLAN = 'version: 1\nrate: 10\nstreams: [{name: keypoint}, {name: state, columns: ["0", "1"]}, {name: action}]\n'
NOISE_SITE, DRAWS, EMBED = 1 << 31, 1 << 14, 64
EPISODE = 205  # whose actions are compared


def normal(words):
    """Return normally distributed float32 numbers, the quantiles of words."""
    x = torch.from_numpy(((words >> np.uint64(8)).astype(np.float64) * 2 + 1) / 2**24 - 1)
    return (math.sqrt(2) * torch.erfinv(x)).float()


class Denoise:
    """Flow matching with Euler steps, or diffusion with DDIM: factors by level, and coefficients by step."""

    def __init__(self, kind, steps):
        i = np.arange(DRAWS)
        if kind == "flow":
            t = np.arange(1000) / 1000
            self.factors = np.stack([t, 1 - t, np.ones(1000), -np.ones(1000)], 1)
            self.draws = (1000 * (1 - ((i + 0.5) / DRAWS) ** (1 / 1.5))).astype(int)
            self.levels = [1000 * k // steps for k in range(steps)]
            # y = x*a + v*b within -limit..limit, then x*c + y*d
            self.steps = [[1, (e - b) / 1000, 1 if e == 1000 else 1e30, 0, 1] for b, e in zip(self.levels, self.levels[1:] + [1000])]
        else:
            share = np.cos((np.arange(101) / 100 + 0.008) / 1.008 * np.pi / 2) ** 2
            kept = np.cumprod(1 - np.minimum(1 - share[1:] / share[:-1], 0.999))
            self.factors = np.stack([kept**0.5, (1 - kept) ** 0.5, np.zeros(100), np.ones(100)], 1)
            self.draws = i * 100 // DRAWS
            self.levels = [99 * (steps - 1 - k) // (steps - 1) for k in range(steps)]
            self.steps = []
            for a, b in zip(kept[self.levels], [*kept[self.levels[1:]], 1.0]):  # the noise follows from x and the limited y
                c = math.sqrt((1 - b) / (1 - a))
                self.steps.append([a**-0.5, -(((1 - a) / a) ** 0.5), 1, c, math.sqrt(b) - c * math.sqrt(a)])
        n = len(self.factors)
        f = np.exp(-math.log(1e4) * np.arange(EMBED // 2) / (EMBED // 2 - 1))
        angle = 1000 * np.arange(n)[:, None] / n * f
        self.embedding = torch.tensor(np.concatenate([np.sin(angle), np.cos(angle)], 1), dtype=torch.float32)

    def noisy(self, clean, step, seed):
        """Return the noisy chunks of a training batch [B,C,A], the targets and the levels [B]."""
        words = our_words(len(clean), step, NOISE_SITE + 1, seed)
        level = torch.from_numpy(self.draws[(words * np.uint64(DRAWS) >> np.uint64(32)).astype(int)])
        z = normal(our_words(clean.numel(), step, NOISE_SITE, seed)).reshape(clean.shape)
        f = torch.tensor(self.factors, dtype=torch.float32)[level][:, :, None, None]
        return f[:, 0] * clean + f[:, 1] * z, f[:, 2] * clean + f[:, 3] * z, level


class Policy(torch.nn.Module):
    """Our network: states in the first tokens, noisy actions and their level in the others, all causal."""

    def __init__(self, config):
        super().__init__()
        r, self.inputs, self.actions = config["recipe"], len(config["inputs"]), len(config["targets"])
        self.history, self.chunk = r["history"], r["chunk"]
        self.net = Net({"T": self.history + self.chunk, "In": self.inputs + self.actions + EMBED, "Out": self.actions, "Width": r["width"], "Heads": r["heads"],
                        "FFN": r["ffn"], "Layers": r["layers"], "GELU": r.get("gelu", False), "PreNorm": True, "Causal": True})

    def load(self, path):
        names = {"input": "in", "output": "out"}
        weights = {".".join([names.get(n.split(".")[0], n.split(".")[0]), *n.split(".")[1:]]): t for n, t in read(path).items()}
        self.net.load_state_dict(weights)
        return self

    def forward(self, states, noisy, level):
        """Of states [B,H,D], chunks [B,C,A] and embeddings [B,E]."""
        pad = torch.nn.functional.pad
        chunk = torch.cat([noisy, level[:, None].expand(-1, self.chunk, -1).to(noisy.dtype)], 2)
        return self.net(torch.cat([pad(states, (0, self.actions + EMBED)), pad(chunk, (self.inputs, 0))], 1))[:, self.history:]


class Decoder(Policy):
    """Our network with --condition cross: the states are a memory, and a decoder has the noisy actions and their level alone."""

    def __init__(self, config):
        torch.nn.Module.__init__(self)
        r, self.inputs, self.actions = config["recipe"], len(config["inputs"]), len(config["targets"])
        self.history, self.chunk = r["history"], r["chunk"]
        nn, width, activation = torch.nn, r["width"], "gelu" if r.get("gelu", False) else "relu"
        embed = lambda tokens: {"input": nn.Linear(self.inputs + self.actions + EMBED, width), "position": nn.Embedding(tokens, width)}
        mlp = {"linear1": nn.Linear(width, r["ffn"]), "linear2": nn.Linear(r["ffn"], width)}
        layer = nn.TransformerDecoderLayer(width, r["heads"], r["ffn"], 0.0, activation, batch_first=True, norm_first=True)
        self.activation = getattr(nn.functional, activation)
        self.net = nn.ModuleDict({**embed(self.history + self.chunk), "memory": nn.ModuleDict({**embed(self.history), **mlp})})
        self.net["decoder"], self.net["output"] = nn.TransformerDecoder(layer, r["layers"], nn.LayerNorm(width)), nn.Linear(width, self.actions)

    def load(self, path):
        self.net.load_state_dict(read(path))
        return self

    def forward(self, states, noisy, level):
        pad, net, c = torch.nn.functional.pad, self.net, self.chunk
        chunk = torch.cat([noisy, level[:, None].expand(-1, c, -1).to(noisy.dtype)], 2)
        x = net["input"](pad(chunk, (self.inputs, 0))) + net["position"].weight[self.history:]
        m = net["memory"]
        memory = m["input"](pad(states, (0, self.actions + EMBED))) + m["position"].weight
        memory = m["linear2"](self.activation(m["linear1"](memory)))
        return net["output"](net["decoder"](x, memory, torch.ones(c, c, dtype=torch.bool, device=x.device).triu(1)))


def network(config):
    return (Decoder if config["recipe"].get("condition") == "cross" else Policy)(config)


class Windows:
    """The windows of all ticks: states [N,H,D], chunks [N,C,A] with counts [N,C], normalised by the range of all episodes."""

    def __init__(self, episodes, config):
        history, chunk = config["recipe"]["history"], config["recipe"]["chunk"]
        rows = [np.concatenate([e["keypoint"], e["state"][:, :2]], 1) for e in episodes]
        self.scale = {}
        for name, values in (("inputs", np.concatenate(rows)), ("targets", np.concatenate([e["action"] for e in episodes]))):
            low, high = values.min(0).astype(float), values.max(0).astype(float)
            mean, std = (low + high) / 2, (high - low) / 2
            if not np.allclose([mean, std], [[c[k] for c in config[name]] for k in ("mean", "std")], 1e-6):
                raise SystemExit(f"other statistics of {name}")
            self.scale[name] = mean.astype(np.float32), (1 / std).astype(np.float32)
        of = lambda values, name: (values - self.scale[name][0]) * self.scale[name][1]
        states, chunks, counts, first = [], [], [], [0]
        for row, e in zip(rows, episodes):
            n = len(row)
            past, ahead = np.arange(n)[:, None] + np.arange(1 - history, 1), np.arange(n)[:, None] + np.arange(chunk)
            states.append(of(row, "inputs")[np.maximum(past, 0)] * (past >= 0)[:, :, None])
            chunks.append(of(e["action"], "targets")[np.minimum(ahead, n - 1)] * (ahead < n)[:, :, None])
            counts.append(ahead < n)
            first.append(first[-1] + n)
        self.states, self.chunks = (torch.from_numpy(np.concatenate(v)).float() for v in (states, chunks))
        self.counts, self.first = torch.from_numpy(np.concatenate(counts)).float()[:, :, None], first


def amp(device, on):
    return torch.autocast(device.split(":")[0], torch.bfloat16) if on else contextlib.nullcontext()


def train(policy, windows, config, device, half):
    """Return the losses, with our order and our noise."""
    r, seed, denoise = config["recipe"], config["seed"], Denoise(config["policy"], 10)
    policy = policy.to(device).train()
    opt = torch.optim.AdamW(policy.parameters(), lr=1, betas=(0.9, 0.95), weight_decay=r["weight_decay"])
    order, epoch, losses = torch.empty(0, dtype=torch.long), 0, []
    for step in range(1, r["steps"] + 1):
        if len(order) < r["batch"]:
            order, epoch = our_order(len(windows.states), epoch, seed), epoch + 1
        rows, order = order[: r["batch"]], order[r["batch"]:]
        noisy, target, level = denoise.noisy(windows.chunks[rows], step, seed)
        states, noisy, target, level, w = (t.to(device) for t in (windows.states[rows], noisy, target, denoise.embedding[level], windows.counts[rows]))
        rest = max(r["steps"] - r["warm_up"], 1)
        for group in opt.param_groups:
            group["lr"] = r["lr"] * (step / r["warm_up"] if step < r["warm_up"] else (1 + math.cos(math.pi * (step - r["warm_up"]) / rest)) / 2)
        with amp(device, half):
            y = policy(states, noisy, level)
        loss = ((y.float() - target) ** 2 * w).sum() / (w.sum() * target.shape[2])
        opt.zero_grad()
        loss.backward()
        opt.step()
        losses.append(loss.detach())
    return torch.stack(losses).double().cpu()


def first_noise(states, shape, seed):
    """Return our noise of samples [B,C,A]: random words by the FNV-1a hash of the states in bfloat16."""
    bits = states.bfloat16().view(torch.int16).numpy().view(np.uint16).reshape(len(states), -1)
    out = []
    for row in bits:
        h = 2166136261
        for v in row:
            h = (h ^ int(v)) * 16777619 & 0xFFFFFFFF
        out.append(normal(our_words(math.prod(shape), h, 0, seed)).reshape(shape))
    return torch.stack(out)


def sample(policy, denoise, states, x, device, half=False):
    policy, embedding, states, x = policy.to(device).eval(), denoise.embedding.to(device), states.to(device), x.to(device)
    with torch.no_grad(), amp(device, half):
        for k, (a, b, limit, c, d) in zip(denoise.levels, denoise.steps):
            v = policy(states, x, embedding[k].expand(len(x), -1)).float()
            x = x * c + (x * a + v * b).clamp(-limit, limit) * d
    return x.cpu()


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{done.stderr}")
    return done.stdout


def metadata(path):
    data = path.read_bytes()
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]


def in_a_graph(policy, denoise, states, half, calls=300):
    """Return the median milliseconds of sampling for an observation in pinned memory: a compiled step, and all steps in a CUDA graph."""
    torch._dynamo.reset()
    dtype = torch.bfloat16 if half else torch.float32
    policy = policy.to("cuda", dtype).eval()
    embedding, steps = (t.to("cuda", dtype) for t in (denoise.embedding, torch.tensor(denoise.steps)))
    host, on = states[:1].to(dtype).pin_memory(), states[:1].to("cuda", dtype)

    def step(states, x, level, s):
        y = (x * s[0] + policy(states, x, level) * s[1]).clamp(-1, 1)
        return x * s[3] + y * s[4]

    step = torch.compile(step, dynamic=False)

    def whole():
        x = torch.randn(1, policy.chunk, policy.actions, device="cuda", dtype=dtype)
        for i, k in enumerate(denoise.levels):
            x = step(on, x, embedding[k : k + 1], steps[i]).to(dtype)
        return x.float()

    with torch.no_grad(), torch.autocast("cuda", torch.bfloat16, enabled=not half, cache_enabled=False):
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(3):
                whole()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            out = whole()
    took = []
    for _ in range(calls):
        began = time.perf_counter()
        on.copy_(host, non_blocking=True)
        graph.replay()
        out.cpu()
        took.append(1e3 * (time.perf_counter() - began))
    return statistics.median(took[calls // 3 :])


def in_python(robocache, folder, episode, calls=30):
    """Return the median milliseconds of rc.Policy.act, which runs on the CPU."""
    os.environ["ROBOCACHE_BINARY"] = str(pathlib.Path(robocache).resolve())
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python"))
    import robocache as rc

    took = []
    with rc.Policy(folder) as policy:
        for t in range(2, 2 + calls):
            began = time.perf_counter()
            policy.act({"keypoint": episode["keypoint"][t - 1 : t + 1], "state": episode["state"][t - 1 : t + 1, :2]})
            took.append(1e3 * (time.perf_counter() - began))
    return statistics.median(took)


def compare(args, kind, episodes, folder):
    """Train and sample a kind of policy. Return what was not as close as wanted."""
    failed, rows, early = [], [], 0.0
    (folder / "plan.yaml").write_text(PLAN)
    for seed in range(args.seeds):
        begun, trained = folder / f"{kind}-{seed}-begun", folder / f"{kind}-{seed}"
        for out, options in ((begun, ["--steps", 1, "--lr", 1e-30]), (trained, ["--steps", args.steps])):
            batch = ["--batch", args.batch] if args.batch else []
            run(args.robocache, "train", args.dataset, "--plan", folder / "plan.yaml", "--policy", kind, "--size", args.size, "--condition", args.condition, "--ema", 0, "--seed", seed,
                "--backend", args.backend, "--out", out, *options, *batch)
        config = json.loads((trained / "config.json").read_text())
        windows = Windows(episodes, config)
        ours = torch.from_numpy(np.frombuffer(base64.b64decode(metadata(trained / "training.safetensors")["robocache.losses"]), "<f4").astype(float))
        exact, half = (train(network(config).load(begun / "model.safetensors"), windows, config, args.torch, h) for h in (False, True))
        rows.append((distance(ours, exact), distance(half, exact)))
        early = max(early, distance(ours[:20], exact[:20]))  # in float32 only rounding differs, but it grows
        print(f"{kind}, seed {seed}: losses {exact[0]:.5f} to {exact[-1]:.5f}, distance to float32's: ours {rows[-1][0]:.3g}, autocast's {rows[-1][1]:.3g}", flush=True)
    ours, theirs = (float(np.mean(np.square(rows), 0)[i]) ** 0.5 for i in (0, 1))
    print(f"{kind}: losses, ours {ours:.3g}, autocast's {theirs:.3g}, a ratio of {ours / theirs:.3f}")
    if ours > 1.2 * theirs or args.backend == "cpu" and early > 1e-5:  # 1.2: two ways of rounding that are as good differ by chance, as in train_parity.py
        failed.append(f"{kind}: losses {ours:.3g} from float32's, autocast's {theirs:.3g}")

    policy = network(config).load(trained / "model.safetensors")
    denoise = Denoise(kind, config["recipe"]["sample_steps"])
    states = windows.states[windows.first[EPISODE] + 1 : windows.first[EPISODE + 1]]  # the first tick has no action before it
    noise = first_noise(states, (policy.chunk, policy.actions), config["seed"])
    want, half = (sample(policy, denoise, states, noise, args.torch, h).double() for h in (False, True))
    mean, std = (np.array([c[k] for c in config["targets"]]) for k in ("mean", "std"))
    theirs = (half - want).abs()
    for backend in dict.fromkeys(("cpu", args.backend)):
        out = folder / f"{kind}-{backend.replace(':', '-')}.npz"
        report = json.loads(run(args.robocache, "policy", trained, args.dataset, "--episode", EPISODE, "--backend", backend, "-o", out, "--json"))
        far = (torch.from_numpy((np.load(out)["chunks"] - mean) / std) - want).abs()
        print(f"{kind}: {len(want)} chunks of {len(denoise.levels)} steps on {backend}, from float32's: {far.max():.3g} at most, {far.mean():.3g} in the mean;"
              f" autocast's {theirs.max():.3g} and {theirs.mean():.3g}; sampled for one observation in {report['latency']['median_ms']:.3f} ms", flush=True)
        if (far.max() > 1e-3) if backend == "cpu" else far.mean() > 1.2 * theirs.mean():  # of squares, few would decide
            failed.append(f"{kind}: actions on {backend} {far.max():.3g} from float32's")
    print(f"{kind}: rc.Policy.act in {in_python(args.robocache, trained, episodes[EPISODE]):.2f} ms, on the CPU")
    if args.torch.startswith("cuda"):
        for name, how in (("all bf16", True), ("autocast", False)):
            print(f"{kind}: PyTorch compiled, {name}, in a graph: {in_a_graph(policy, denoise, states, how):.3f} ms", flush=True)
            policy.load(trained / "model.safetensors")
    return failed


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("robocache")
    p.add_argument("dataset", help="diffusion_policy's pusht_cchi_v7_replay.zarr")
    p.add_argument("--backend", default="cuda", help="robocache's")
    p.add_argument("--torch", default="cuda", help="PyTorch's")
    p.add_argument("--size", default="base")
    p.add_argument("--condition", default="prefix", choices=("prefix", "cross"))
    p.add_argument("--batch", type=int, help="windows in a step")
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--only", choices=("flow", "diffusion"))
    args = p.parse_args()
    if hasattr(torch.backends, "mha"):  # so that layers compile
        torch.backends.mha.set_fastpath_enabled(False)
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name() if args.torch != 'cpu' else 'the CPU'}, robocache on {args.backend}")
    episodes, _ = read_rows(args.robocache, args.dataset, ("keypoint", "state", "action"))
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for kind in [args.only] if args.only else ("flow", "diffusion"):
            failed += compare(args, kind, episodes, pathlib.Path(folder))
    if failed:
        sys.exit("not as close as wanted:\n  " + "\n  ".join(failed))


if __name__ == "__main__":
    main()
