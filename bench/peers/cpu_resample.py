#!/usr/bin/env python3
"""Time linear resampling by torch and numpy on the CPU: the peers that bench/cpu compares with.

Reads jobs from standard input, one JSON object a line, and answers each with one line:
    {"peer": "torch", "B": 64, "S": 4096, "T": 1024, "D": 32, "dtype": "bf16", "threads": 2, "runs": 5}
    {"seconds": [0.021, ...], "version": "torch 1.13.0"}
A job that is the same as the one before, but for its number of runs, uses the same inputs. "torch" is eager: searchsorted once for
all features, the rows gathered by index_select, lerp in float32. "numpy" is numpy.interp, once for each row and feature, on float64
series that are contiguous: what suits it best. Inputs are made as bench/README.md says; sets are rotated.
"""
import json
import sys
import time


def timestamps(np, rng, job):
    b, s, t = job["B"], job["S"], job["T"]
    step = 5 / (s - 1)
    times = np.tile(np.arange(s) * step, (b, 1))
    times[:, 1:-1] += (rng.random((b, s - 2)) * 0.4 - 0.2) * step
    return times, np.tile(np.arange(t) * 5 / (t - 1), (b, 1))


def sets(job, size):
    values = min(job["B"] * job["S"], 2 * job["B"] * job["T"]) + job["B"] * job["T"]
    return max(1, -(-300_000_000 // (values * job["D"] * size + 4 * job["B"] * (job["S"] + job["T"]))))


def torch_job(job):
    import numpy as np
    import torch

    torch.set_num_threads(job["threads"])
    dtype = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "f64": torch.float64}[job["dtype"]]
    b, s, t, d = (job[k] for k in "BSTD")
    times, targets = (torch.from_numpy(x).float() for x in timestamps(np, np.random.default_rng(1), job))
    first = (torch.arange(b) * s).unsqueeze(1)
    wide = torch.float64 if dtype == torch.float64 else torch.float32
    inputs = [torch.rand(b * s, d).mul_(2).sub_(1).to(dtype) for _ in range(sets(job, torch.finfo(dtype).bits // 8))]

    def run(i):
        values = inputs[i % len(inputs)]
        k = (torch.searchsorted(times, targets, right=True) - 1).clamp_(0, s - 2)
        t0 = times.gather(1, k)
        a = ((targets - t0) / (times.gather(1, k + 1) - t0)).clamp_(0, 1).to(wide).view(-1, 1)
        at = (k + first).view(-1)
        v0, v1 = values.index_select(0, at).to(wide), values.index_select(0, at + 1).to(wide)
        return torch.lerp(v0, v1, a).to(dtype).view(b, t, d)

    return run, "torch " + torch.__version__


def numpy_job(job):
    import numpy as np

    rng = np.random.default_rng(1)
    b, s, t, d = (job[k] for k in "BSTD")
    times, targets = timestamps(np, rng, job)
    inputs = [rng.random((b, d, s)) * 2 - 1 for _ in range(sets(job, 8))]
    out = np.empty((b, d, t))

    def run(i):
        values = inputs[i % len(inputs)]
        for row in range(b):
            for feature in range(d):
                out[row, feature] = np.interp(targets[row], times[row], values[row, feature])

    return run, "numpy " + np.__version__


def main():
    last, run, version = None, None, None
    for line in sys.stdin:
        job = json.loads(line)
        runs = job.pop("runs")
        if job != last:
            run = None  # the inputs before are released
            run, version = {"torch": torch_job, "numpy": numpy_job}[job["peer"]](job)
            last = job
            run(0)
        seconds = []
        for i in range(runs):
            begun = time.perf_counter()
            run(i + 1)
            seconds.append(time.perf_counter() - begun)
        print(json.dumps({"seconds": seconds, "version": version}), flush=True)


main()
