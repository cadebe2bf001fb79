#!/usr/bin/env python3
"""Measures a step of training in PyTorch, for the jobs of robocache bench train, and prints ours beside it if it is told
the program:

    bench/peers/train_peer.py --robocache ./robocache                 # both sides, one after the other, on the GPU
    bench/peers/train_peer.py --robocache ./robocache --device cpu
    robocache bench train --list --json | bench/peers/train_peer.py - > torch.json && robocache bench train --compare torch.json

A step is the resampling of the batch, the forward pass, MSE, the backward pass and AdamW (fused). On a GPU it is
measured three ways: eager under autocast to bfloat16, by the clock on the wall; compiled, under autocast, the whole
step in a CUDA graph; and so with all parameters in bfloat16, which is faster and learns less. On the CPU it is eager,
in float32 and under autocast. Ours keeps float32 parameters, as autocast does.
"""
from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys

import numpy as np
import torch

import common
from torch_peer import in_a_graph, resample
from train_parity import Net


class Step:
    """A step of a job: call it to train once."""

    def __init__(self, j, device, amp=False, half=False, compiled=False):
        rng = np.random.default_rng(1)
        put = lambda a, dtype=torch.float32: torch.from_numpy(a).to(device, dtype)
        c = {"T": j["T"], "In": j["D"], "Width": j["D"], "Heads": j["heads"], "FFN": j["ffn"], "Layers": j["layers"], "Out": j["out"],
             "PreNorm": False, "GELU": False, "Causal": False}
        self.source = put(common.values(rng, j["B"], j["S"], j["D"]), torch.bfloat16)
        self.times = put(common.timestamps(rng, j["B"], j["S"], "jittered"))
        self.at = put(common.timestamps(rng, j["B"], j["T"], "even"))
        self.targets = put(common.values(rng, j["B"], j["T"], j["out"]))
        self.net = Net(c).to(device)
        self.net.train()
        if half:
            self.net.bfloat16()
        gpu = device.startswith("cuda")
        self.opt = torch.optim.AdamW(self.net.parameters(), lr=1e-4, weight_decay=1e-2, **({"fused": True, "capturable": True} if gpu else {}))
        self.amp = (lambda: torch.autocast(device.split(":")[0], torch.bfloat16)) if amp else contextlib.nullcontext
        self.dtype = torch.bfloat16 if amp or half else torch.float32
        self.loss = torch.compile(self.forward, dynamic=False) if compiled else self.forward

    def forward(self, source, times, at, targets):
        with self.amp():
            x = resample(source, times, at)[0].to(self.dtype)
            return torch.nn.functional.mse_loss(self.net(x).float(), targets)

    def __call__(self):
        self.opt.zero_grad(set_to_none=True)
        self.loss(self.source, self.times, self.at, self.targets).backward()
        self.opt.step()


def main():
    p = common.arguments(__doc__.split("\n")[0])
    p.add_argument("--device", default="cuda", help="cuda (default), cuda:N or cpu")
    p.add_argument("--robocache", help="the program: its own jobs are measured first, and all is printed as a table")
    p.add_argument("--only", default="", help="of these, those whose name matches a regular expression")
    args = p.parse_args()
    gpu, ours = args.device.startswith("cuda"), []
    if gpu and not torch.cuda.is_available():
        sys.exit("torch finds no GPU: --device cpu measures on the CPU")
    if args.robocache:
        run = lambda *more: json.loads(subprocess.run([args.robocache, "bench", "train", "--json", "--only", args.only, *more], check=True, capture_output=True, text=True).stdout)
        jobs, ours = run("--list")["jobs"], run("--backend", args.device)["rows"]
    else:
        jobs = common.jobs(args, ("train",))
    jobs = [j for j in jobs if re.search(args.only, j["name"])]
    forms = [("eager, autocast", dict(amp=True), False), ("compiled, autocast, in a graph", dict(amp=True, compiled=True), True),
             ("compiled, all bf16, in a graph", dict(half=True, compiled=True), True)]
    if not gpu:
        forms = [("eager", {}, False), ("eager, autocast", dict(amp=True), False)]
    rows = []
    for j in jobs:
        for name, how, graph in forms:
            common.tell(j, name)
            if how.get("compiled"):
                torch._dynamo.reset()
            try:
                step = Step(j, args.device, **how)

                def wall(_):
                    step()
                    if gpu:
                        torch.cuda.synchronize()

                for _ in range(3):
                    wall(0)
                time = in_a_graph(lambda: step(), [()], args) if graph else common.on_the_wall(wall, 1, args)
                rows.append(common.row(j, name, time, "events" if graph else "wall", 1))
            except Exception as e:  # one way that this PyTorch cannot go leaves the others
                print(f"not measured: {j['name']}, {name}: {type(e).__name__}: {e}", file=sys.stderr)
    product = torch.cuda.get_device_name() if gpu else f"CPU, {torch.get_num_threads()} threads"
    if not args.robocache:
        common.write(f"PyTorch {torch.__version__}", {"backend": args.device, "name": args.device, "product": product}, rows)
        return
    print(f"PyTorch {torch.__version__} on {product}; microseconds a step, medians")
    for j in jobs:
        print(j["name"])
        mine = [r["time"]["median_us"] for r in ours if r["job"] == j["name"]]
        for name, us in [("robocache", mine[0])] * bool(mine) + [(r["variant"], r["time"]["median_us"]) for r in rows if r["job"] == j["name"]]:
            print(f"  {name:32} {us:12.1f}" + (f"  {us / mine[0]:6.2f}" if mine else ""))


if __name__ == "__main__":
    main()
