#!/usr/bin/env python3
"""Time a training step of a transformer: RoboCache's on the CPU, in turn with PyTorch's on as many threads.

    go build -o /tmp/step ./bench/step && python3 bench/peers/step_peer.py /tmp/step

A step is the forward pass, the mean squared error, the backward pass and AdamW, of a network of post-norm ReLU layers on a batch that stays
the same. Each sample is some steps of one, then as many of the other; the times are medians of all samples, in milliseconds. Beside them is the
median of the ratios of neighbouring samples: what else the machine does counts for both. "CPU" is the processor's time, of all threads, which is
what counts on a machine that others use as well; Linux tells it in hundredths of a second, so give samples some.
"""
import argparse
import os
import statistics
import subprocess
import time

import torch

# Name, rows, tokens, width, layers, heads, FFN, columns in and out, what the prediction is made from (each token, the last one, or all of a row side
# by side), pre-norm, dropout.
CASES = [
    ("recipe", 16, 5, 64, 1, 2, 128, 78, 780, "flat", True, 0.3),
    ("tiny", 16, 5, 64, 2, 2, 256, 54, 780, "last", False, 0),
    ("small", 32, 20, 64, 2, 2, 256, 54, 780, "last", False, 0),
    ("wide", 64, 35, 128, 2, 4, 256, 54, 780, "last", False, 0),
    ("per token", 64, 35, 128, 2, 4, 256, 54, 780, "token", False, 0),
    ("dropout", 64, 35, 128, 2, 4, 256, 54, 780, "last", False, 0.1),
    ("seed", 32, 250, 256, 4, 8, 1024, 26, 26, "token", False, 0),
]


class Peer(torch.nn.Module):
    def __init__(self, tokens, width, layers, heads, ffn, columns, out, form, first, dropout):
        super().__init__()
        self.input = torch.nn.Linear(columns, width)
        self.position = torch.nn.Parameter(torch.randn(tokens, width) * 0.02)
        layer = torch.nn.TransformerEncoderLayer(width, heads, ffn, dropout, batch_first=True, norm_first=first)
        self.encoder = torch.nn.TransformerEncoder(layer, layers)
        self.output = torch.nn.Linear(width * tokens if form == "flat" else width, out)
        self.form = form

    def forward(self, x):
        x = self.encoder(self.input(x) + self.position)
        return self.output({"token": lambda: x, "last": lambda: x[:, -1], "flat": lambda: x.flatten(1)}[self.form]())


def torch_steps(case):
    _, b, t, d, layers, heads, ffn, columns, out, form, first, dropout = case
    model = Peer(t, d, layers, heads, ffn, columns, out, form, first, dropout)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-4, weight_decay=0.01)
    x = torch.zeros(b, t, columns)
    target = torch.zeros((b, t, out) if form == "token" else (b, out))

    def steps(n):
        begin, cpu = time.perf_counter(), time.process_time()
        for _ in range(n):
            optimiser.zero_grad(set_to_none=True)
            torch.nn.functional.mse_loss(model(x), target).backward()
            optimiser.step()
        return time.perf_counter() - begin, time.process_time() - cpu

    return steps


def robocache_steps(program, case, threads):
    _, b, t, d, layers, heads, ffn, columns, out, form, first, dropout = case
    flags = dict(b=b, t=t, d=d, layers=layers, heads=heads, ffn=ffn, out=out, threads=threads, dropout=dropout)
    flags["in"] = columns
    command = [program] + [f"-{k}={v}" for k, v in flags.items()] + ["-" + form] * (form != "token") + ["-prenorm"] * first
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def cpu():
        with open(f"/proc/{process.pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def steps(n):
        before = cpu()
        process.stdin.write(f"{n}\n")
        process.stdin.flush()
        return float(process.stdout.readline()), cpu() - before

    return process, steps


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("program", help="what go build ./bench/train made")
    p.add_argument("--threads", type=int, nargs="*", default=[1, 2])
    p.add_argument("--samples", type=int, default=15)
    p.add_argument("--seconds", type=float, default=0.1, help="what a sample takes, about")
    p.add_argument("--only", nargs="*", help="names of cases")
    args = p.parse_args()
    print(f"{'case':<12}{'threads':>8}{'RoboCache ms':>14}{'PyTorch ms':>12}{'ratio':>8}{'CPU ms':>10}{'theirs':>10}{'ratio':>8}   (PyTorch {torch.__version__})")
    for case in CASES:
        if args.only and case[0] not in args.only:
            continue
        for threads in args.threads:
            torch.set_num_threads(threads)
            theirs = torch_steps(case)
            process, ours = robocache_steps(args.program, case, threads)
            theirs(2), ours(2)
            n = [max(1, round(args.seconds / max(side(2)[1] / 2, 1e-4))) for side in (ours, theirs)]
            samples = [(*ours(n[0]), *theirs(n[1])) for _ in range(args.samples)]
            process.stdin.close()
            if process.wait():
                raise SystemExit(f"{case[0]}: {args.program} failed")
            wall, cpu, their_wall, their_cpu = (statistics.median(s) / n[i // 2] * 1e3 for i, s in enumerate(zip(*samples)))
            line = f"{case[0]:<12}{threads:>8}"
            for at, (a, b), (width, other) in ((0, (wall, their_wall), (14, 12)), (1, (cpu, their_cpu), (10, 10))):
                ratio = statistics.median(s[at] / n[0] / (s[at + 2] / n[1]) for s in samples)
                line += f"{a:>{width}.3f}{b:>{other}.3f}{ratio:>8.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
