#!/usr/bin/env python3
"""Measures a step of training on several GPUs in PyTorch, by DistributedDataParallel over NCCL, a process a GPU and the
same batch on each, for the jobs of robocache bench train, and prints ours beside it if it is told the program:

    bench/peers/train_group_peer.py --robocache ./robocache --gpus 2

A step is that of train_peer.py, under autocast, eager and, with --compiled, compiled too. ratio is how many times the
batches of one GPU alone are done in a second. Beside it is what NCCL takes to add up the gradients, float32, alone.
"""
from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time

import torch
import torch.distributed as dist

import common
from train_peer import Step

CALLS, SAMPLES = 50, 7


def median_us(step):
    """The median time of a call, by the clock on the wall."""
    for _ in range(20):
        step()
    samples = []
    for _ in range(SAMPLES):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(CALLS):
            step()
        torch.cuda.synchronize()
        samples.append((time.perf_counter() - begin) / CALLS * 1e6)
    return statistics.median(samples)


def rank_main(rank, gpus, job, compiled, to):
    """Measures as one of so many processes, of which the first gives the figures to a queue."""
    torch.cuda.set_device(rank)
    device = f"cuda:{rank}"
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    dist.init_process_group("nccl", rank=rank, world_size=gpus)
    step = Step(job, device, amp=True, compiled=compiled)
    count = sum(p.numel() for p in step.net.parameters())
    if gpus > 1:
        step.net = torch.nn.parallel.DistributedDataParallel(step.net, device_ids=[rank], gradient_as_bucket_view=True)
    figures = [median_us(step)]
    gradients = torch.zeros(count, device=device)
    figures.append(median_us(lambda: dist.all_reduce(gradients)))
    if rank == 0:
        to.put(figures)
    dist.destroy_process_group()


def measured(gpus, job, compiled):
    """The times of a step and of the sum alone, us."""
    context = torch.multiprocessing.get_context("spawn")
    to = context.SimpleQueue()
    torch.multiprocessing.spawn(rank_main, (gpus, job, compiled, to), nprocs=gpus)
    return to.get()


def main():
    p = common.arguments(__doc__.split("\n")[0])
    p.add_argument("--gpus", type=int, default=2, help="how many GPUs")
    p.add_argument("--robocache", required=True, help="the program: its jobs are measured, on one GPU and on all")
    p.add_argument("--only", default="256, 4 layers", help="of these, those whose name matches a regular expression")
    p.add_argument("--compiled", action="store_true", help="measure torch.compile too")
    args = p.parse_args()
    if torch.cuda.device_count() < args.gpus:
        sys.exit(f"torch finds {torch.cuda.device_count()} GPUs, want {args.gpus}")
    run = lambda *more: json.loads(subprocess.run([args.robocache, "bench", "train", "--json", "--only", args.only, *more], check=True, capture_output=True, text=True).stdout)
    names = ",".join(f"cuda:{i}" for i in range(args.gpus))
    print(f"{'job':60} {'':22} {'1 GPU us':>9} {args.gpus:>3} GPUs us  ratio  NCCL's sum us")
    line = lambda job, who, one, all_, total="": print(f"{job:60} {who:22} {one:9.0f} {all_:11.0f}  {args.gpus * one / all_:5.2f}  {total}", flush=True)
    both = [run("--backend", b)["rows"] for b in ("cuda:0", names)]
    for one, all_ in zip(*both):
        line(one["job"], "robocache", one["time"]["median_us"], all_["time"]["median_us"])
    for job in run("--list")["jobs"]:
        for compiled in (False, True) if args.compiled else (False,):
            alone, together = measured(1, job, compiled), measured(args.gpus, job, compiled)
            line(job["name"], "torch, compiled" if compiled else "torch, eager", alone[0], together[0], f"{together[1]:.0f}")


if __name__ == "__main__":
    main()
