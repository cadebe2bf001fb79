#!/usr/bin/env python3
"""Compares training by robocache with PyTorch's, from the same parameters and the same batch.

    bench/peers/train_parity.py --device cpu                        # float32, the CPU's fast way
    bench/peers/train_parity.py --device cuda --torch cuda          # bfloat16
    bench/peers/train_parity.py --device cpu:exact --small          # the bits of a GPU, on the CPU

PyTorch makes the parameters, as it initialises them, and trains three times: ours is held against float32, and so is
torch.autocast to bfloat16, so that what bfloat16 costs is known. It fails where a gradient of the first step has less
than 0.999 of cosine with that of float32, or where in bfloat16 ours is further from float32 than autocast is, over
all seeds: the first gradients, the losses, and the way of the parameters to the last step. Gradients that are 0 but
for rounding, those of the keys' biases, are left out.
"""
from __future__ import annotations

import argparse
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
import torch


def write(path, tensors):
    """A safetensors file of float32 tensors."""
    head, at = {}, 0
    for name, t in tensors.items():
        head[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + 4 * t.numel()]}
        at += 4 * t.numel()
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    data = [t.detach().to("cpu", torch.float32).contiguous().numpy().tobytes() for t in tensors.values()]
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data))


def read(path):
    raw = path.read_bytes()
    (n,) = struct.unpack_from("<Q", raw)
    head = json.loads(raw[8 : 8 + n])
    head.pop("__metadata__", None)
    of = lambda h: np.frombuffer(raw, "<f4", (h["data_offsets"][1] - h["data_offsets"][0]) // 4, 8 + n + h["data_offsets"][0])
    return {name: torch.from_numpy(of(h).copy()).reshape(h["shape"]) for name, h in head.items()}


class Net(torch.nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c, nn = c, torch.nn
        self.position = nn.Embedding(c["T"], c["Width"])
        layer = nn.TransformerEncoderLayer(c["Width"], c["Heads"], c["FFN"], 0.0, "gelu" if c["GELU"] else "relu", batch_first=True, norm_first=c["PreNorm"])
        norm = nn.LayerNorm(c["Width"]) if c["PreNorm"] else None
        self.encoder = nn.TransformerEncoder(layer, c["Layers"], norm)
        for copy in self.encoder.layers[1:]:  # which are copies of the first, and would all begin alike
            for module in copy.modules():
                if module is not copy and hasattr(module, "reset_parameters"):
                    module.reset_parameters()
            copy.self_attn._reset_parameters()
        # Named "in" and "out" as ours; "in" is a word of Python's.
        self.add_module("in", nn.Linear(c["In"], c["Width"]))
        self.add_module("out", nn.Linear(c["Width"], c["Out"]))

    def forward(self, x):
        t = x.shape[1]
        mask = torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1) if self.c["Causal"] else None
        x = getattr(self, "in")(x) + self.position.weight[:t]
        causal = {"is_causal": True} if self.c["Causal"] and torch.__version__ >= "2" else {}  # else the mask's values are read, which no graph can
        return self.out(self.encoder(x, mask, **causal))


def train(c, start, values, targets, device, amp):
    """The first gradients, the losses and the parameters after the last step."""
    net = Net(c).to(device)
    net.load_state_dict(start)
    net.train()
    opt = torch.optim.AdamW(net.parameters(), lr=c["Rate"], weight_decay=c["WeightDecay"])
    values, targets = values.to(device), targets.to(device)
    gradients, losses = {}, []
    for step in range(c["Steps"]):
        opt.zero_grad()
        with torch.autocast(device.split(":")[0], torch.bfloat16, enabled=amp):
            y = net(values)
        loss = torch.nn.functional.mse_loss(y.float(), targets)
        loss.backward()
        if step == 0:
            gradients = {n: p.grad.detach().float().cpu().clone() for n, p in net.named_parameters()}
        if c["MaxNorm"]:
            torch.nn.utils.clip_grad_norm_(net.parameters(), c["MaxNorm"])
        opt.step()
        losses.append(loss.item())
    return gradients, torch.tensor(losses), {n: p.detach().float().cpu() for n, p in net.named_parameters()}


def counted(name, g):
    """A gradient without the part of it that is 0 but for rounding: that of the biases of keys, which change no softmax."""
    n = len(g) // 3
    return torch.cat([g[:n], g[2 * n :]]) if name.endswith("in_proj_bias") else g


def flat(tensors):
    return torch.cat([counted(n, tensors[n]).double().reshape(-1) for n in sorted(tensors)])


def distance(a, b):
    return ((a - b).norm() / b.norm()).item()


def compare(args, c, seed):
    """Trains from one seed. Returns the least cosine of a gradient, and of each thing that is compared ours and autocast's distance to float32's."""
    torch.manual_seed(seed)
    start = {n: t.clone() for n, t in Net(c).state_dict().items()}
    # A batch that can be learned: sums of sines, and targets that follow from them; what bfloat16 holds, so that its rounding is no difference.
    time = torch.arange(c["T"]).view(1, -1, 1) / c["T"]
    waves = lambda n: (6.28 * (time * (1 + 4 * torch.rand(c["B"], 1, n)) + torch.rand(c["B"], 1, n))).sin()
    values = waves(c["In"]).bfloat16().float()
    targets = torch.tanh(values @ torch.randn(c["In"], c["Out"]) / c["In"] ** 0.5).roll(1, 1)
    with tempfile.TemporaryDirectory() as folder:
        d = pathlib.Path(folder)
        (d / "config.json").write_text(json.dumps(c))
        write(d / "model.safetensors", start)
        write(d / "batch.safetensors", {"values": values, "targets": targets})
        root = pathlib.Path(__file__).resolve().parents[2]
        program = [args.program] if args.program else ["go", "run", "./bench/train"]
        subprocess.run([*program, "-device", args.device, "-dir", folder], cwd=root, check=True)
        gradients, end = read(d / "gradients.safetensors"), read(d / "ours.safetensors")
    losses = gradients.pop("losses")
    exact = train(c, start, values, targets, args.torch, False)
    amp = train(c, start, values, targets, args.torch, True)
    cosine = lambda n: torch.nn.functional.cosine_similarity(counted(n, gradients[n]).double().reshape(-1), counted(n, exact[0][n]).double().reshape(-1), 0).item()
    worst = min(exact[0], key=cosine)
    print(f"seed {seed}: {sum(t.numel() for t in start.values())} parameters; the least cosine of a gradient with float32's: {cosine(worst):.6f}, of {worst}")
    way = lambda of: flat(of) - flat(start)
    rows = {}
    for what, ours, want, theirs in (("the first gradients", flat(gradients), flat(exact[0]), flat(amp[0])), ("the losses", losses.double(), exact[1].double(), amp[1].double()),
                                     ("the way of the parameters", way(end), way(exact[2]), way(amp[2]))):
        rows[what] = distance(ours, want), distance(theirs, want)
        print(f"  {what}, distance to float32's: ours {rows[what][0]:.3g}, autocast's {rows[what][1]:.3g}")
    print("  the first and the last loss: " + ", ".join(f"{n} {l[0]:.6f} {l[-1]:.6f}" for n, l in [("ours", losses), ("float32", exact[1]), ("autocast", amp[1])]))
    return cosine(worst), rows


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--device", default="cpu", help="robocache's")
    p.add_argument("--torch", default="cpu", help="PyTorch's")
    p.add_argument("--program", help="bench/train, built; else go run builds it")
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--small", action="store_true", help="a network that cpu:exact trains in seconds")
    p.add_argument("--seedstep", action="store_true", help="32 rows of 250 tokens, 4 layers of 256")
    p.add_argument("--pre-norm", action="store_true", help="norm_first and GELU, causal, with clipping")
    args = p.parse_args()
    c = {"B": 8, "T": 50, "In": 26, "Width": 128, "Heads": 4, "FFN": 512, "Layers": 3, "Out": 26, "Steps": args.steps}
    if args.small:
        c.update(B=4, T=16, Width=64, Heads=2, FFN=128, Layers=2)
    if args.seedstep:
        c.update(B=32, T=250, In=256, Width=256, Heads=8, FFN=1024, Layers=4)
    c.update(PreNorm=args.pre_norm, GELU=args.pre_norm, Causal=args.pre_norm, Rate=1e-4, WeightDecay=1e-2, MaxNorm=1.0 if args.pre_norm else 0.0)
    print(f"PyTorch {torch.__version__} on {args.torch}, robocache on {args.device}: {c}")
    runs = [compare(args, c, seed) for seed in range(args.seeds)]
    failed = [f"seed {i}: a gradient's cosine is {r[0]:.5f}" for i, r in enumerate(runs) if r[0] < 0.999]
    for what in runs[0][1]:
        ours, theirs = (sum(r[1][what][i] ** 2 for r in runs) ** 0.5 / len(runs) ** 0.5 for i in (0, 1))
        print(f"{what}: ours {ours:.3g}, autocast's {theirs:.3g}, a ratio of {ours / theirs:.3f}")
        # Two ways of rounding that are as good differ by chance, by a tenth over five seeds. In float32 the order of sums alone is another.
        if ours > 1.2 * theirs or args.device == "cpu" and ours > 0.1 * theirs:
            failed.append(f"{what}: {ours:.3g} from float32's, autocast's {theirs:.3g}")
    if failed:
        sys.exit("not as close as wanted:\n  " + "\n  ".join(failed))


if __name__ == "__main__":
    main()
