#!/usr/bin/env python3
"""Measures how batches and training grow with the GPUs of one machine, 1, 2, 4 and 8 of them as far as they are there,
in one run, and writes a table of each:

    bench/peers/scaling.py --robocache ./robocache --tests DIR g1 > scaling.md

g1 is any recordings that batches and train take. DIR is tests/ of what scripts/gpu_bundle.sh packs, whose
benchmark of package loader draws batches; without it that part is left out. Each GPU has as much work as one has alone.
Beside our step is the same one in PyTorch by DistributedDataParallel, if this Python has it, unless --no-peers. Only what was measured is
written: a part that fails says why, and makes the exit code 1.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

JOB = "256, 4 layers"
failed = False


def part(title):
    """Makes a function a part of the report, which says why if it cannot be measured."""
    def wrap(measure):
        def run(*args):
            global failed
            print(f"\n## {title}\n", flush=True)
            try:
                measure(*args)
            except (subprocess.CalledProcessError, OSError, ValueError, RuntimeError) as e:
                failed = True
                print(f"not measured: {e} {(getattr(e, 'stderr', '') or '').strip()[-400:]}", flush=True)
        return run
    return wrap


def output(*args, **more):
    return subprocess.run(args, check=True, capture_output=True, text=True, **more).stdout


def gpus(n):
    return ",".join(f"cuda:{i}" for i in range(n))


def heads(counts):
    return [f"{n} GPU{'s' if n > 1 else ''}" for n in counts]


def table(head, rows):
    print("| " + " | ".join(head) + " |\n" + "|---" * len(head) + "|")
    for r in rows:
        print("| " + " | ".join(str(c) for c in r) + " |", flush=True)


@part("The order of the windows")
def order(args, counts):
    """The hashes of the windows of 8 steps are the same on any number of GPUs."""
    rows = []
    for more in ([], ["--streaming", "--shard-windows", "256", "--mix-shards", "2"]):
        seen = [output(args.robocache, "batches", *args.recordings, "--hz", "30", "--seed", "7", "--digest", "--steps", "8", "--batch", str(64 // n),
                       "--backend", gpus(n), *more) for n in counts]
        rows.append(["streaming" if more else "resident", *[hashlib.sha256(s.encode()).hexdigest()[:16] for s in seen], "the same" if len(set(seen)) == 1 else "NOT the same"])
    table(["loader", *heads(counts), "8 batches of 64"], rows)


@part("Batches of 4096 windows")
def batches(args, counts):
    """Windows a second that the GPUs draw together."""
    program = os.path.abspath(os.path.join(args.tests, "loader", "package.test"))
    text = output(program, "-test.run", "NONE", "-test.bench", "Group", "-test.benchtime", args.benchtime, cwd=os.path.dirname(program))
    found = {}
    for by, n, line in re.findall(r"by=(\w+)/devices=(\d+)\S*(.*)", text):
        found.setdefault(by, {})[int(n)] = {unit: float(v) for v, unit in re.findall(r"([\d.e+]+) (\S+)", line)}
    rows = []
    for by, of in found.items():
        one = of[1]["windows/s"]
        rows.append([by, *[f"{of[n]['windows/s'] / 1e6:.1f} M/s, {of[n]['windows/s'] / one:.2f}" +
                           (f", {of[n]['GB/s']:.1f} GB/s read, waited {100 * of[n]['shards-waited']:.0f} %" if "GB/s" in of[n] else "") for n in counts if n in of]])
    table(["by", *heads(counts)], rows)


def grown(name, counts, times):
    """A row: the time of a step, and how many times the windows a second of one GPU."""
    return [name, *[f"{t:.0f} us, {n * times[0] / t:.2f}" if t else "" for n, t in zip(counts, times)]]


@part("A step of training, the same batch on each GPU")
def training(args, counts):
    def step(n, *more):
        report = json.loads(output(args.robocache, "bench", "train", "--json", "--only", JOB, "--backend", gpus(n), *more))
        if not report["rows"]:
            raise ValueError(report["skipped"][0]["why"])
        return report["rows"][0]["time"]["median_us"]

    alone = step(1)
    rows = [grown("robocache, by itself", counts, [alone] + [step(n) for n in counts[1:]])]
    try:
        rows.append(grown("robocache, by NCCL", counts, [alone] + [step(n, "--nccl") for n in counts[1:]]))
    except (subprocess.CalledProcessError, ValueError) as e:
        rows.append(["robocache, by NCCL", f"not measured: {(getattr(e, 'stderr', '') or str(e)).strip()[-200:]}"])
    try:
        if args.no_peers:
            raise ValueError("it was not asked for")
        from train_group_peer import measured
        job = json.loads(output(args.robocache, "bench", "train", "--json", "--list", "--only", JOB))["jobs"][0]
        for compiled in (False,) if args.eager else (False, True):
            both = [measured(n, job, compiled) for n in counts]
            rows.append(grown("PyTorch, DistributedDataParallel, " + ("compiled" if compiled else "eager"), counts, [b[0] for b in both]))
        rows.append(["NCCL's sum of the gradients, alone", *[f"{b[1]:.0f} us" if n > 1 else "" for n, b in zip(counts, both)]])
    except Exception as e:  # PyTorch is not here, or its processes fail
        rows.append(["PyTorch", f"not measured: {str(e).strip().splitlines()[-1]}"])
    table(["", *heads(counts)], rows)


@part("The weights after 20 steps")
def bits(args, counts):
    """One process for all GPUs, and one for each."""
    rows = []
    with tempfile.TemporaryDirectory() as dir:
        def trained(name, n, start):
            out = os.path.join(dir, f"{name}{n}")
            start(n, [args.robocache, "train", *args.recordings, "--steps", "20", "--seed", "1", "--out", out])
            with open(os.path.join(out, "model.safetensors"), "rb") as f:
                return hashlib.sha256(f.read()).hexdigest()[:16]
        one = lambda n, command: output(*command, "--backend", gpus(n))
        for n in counts:
            sums = [trained("one", n, one)]
            if n > 1:
                sums.append(trained("many", n, processes))
            rows.append([n, *sums, "the same" if len(set(sums)) == 1 else "NOT the same"])
    table(["GPUs", "one process", "a process each", ""], rows)


def processes(n, command):
    """Starts a process for each GPU, as torchrun does."""
    running = []
    for rank in range(n):
        env = dict(os.environ, RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(n), LOCAL_WORLD_SIZE=str(n), MASTER_ADDR="127.0.0.1", MASTER_PORT="29533")
        running.append(subprocess.Popen([*command, "--backend", f"cuda:{rank}"], env=env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
    errors = [p.communicate()[1] for p in running]
    for p, e in zip(running, errors):
        if p.returncode:
            raise subprocess.CalledProcessError(p.returncode, command, stderr=e)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("recordings", nargs="+", help="what batches and train take")
    p.add_argument("--robocache", required=True, help="the program")
    p.add_argument("--tests", help="the folder of test binaries")
    p.add_argument("--eager", action="store_true", help="leave out PyTorch compiled, which takes minutes to compile")
    p.add_argument("--no-peers", action="store_true", help="leave out PyTorch")
    p.add_argument("--benchtime", default="1000x", help="how many batches of the loader")
    args = p.parse_args()
    args.robocache = os.path.abspath(args.robocache)
    there = sum(d["backend"] == "cuda" and "error" not in d for d in json.loads(output(args.robocache, "info", "--json"))["devices"])
    counts = [n for n in (1, 2, 4, 8) if n <= there]
    if not counts:
        sys.exit("robocache finds no GPU")
    print(f"# On {', '.join(map(str, counts))} of {there} GPUs\n\n{output(args.robocache, 'info').strip()}")
    order(args, counts)
    if args.tests:
        batches(args, counts)
    training(args, counts)
    bits(args, counts)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
