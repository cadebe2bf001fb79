"""What the peers share: jobs, inputs, statistics and the report, as robocache bench makes and writes them.

Jobs come from `robocache bench SUITE... --list --json`. Inputs: values uniform in [-1,1); over 5 s, source timestamps evenly
spaced, in resample and forms jobs each but the ends moved by up to a fifth of a step, or with four gaps; targets evenly spaced over the
same 5 s, in order or shuffled. Points: uniform in the cube from -10 to 10, or like a LiDAR's.
"""
import argparse
import json
import math
import sys
import time

import numpy as np

SPAN, JITTER = 5.0, 0.2
WARM_UPS = 5
MAX_SETS = 10_000


def arguments(about):
    p = argparse.ArgumentParser(description=about)
    p.add_argument("shapes", nargs="?", type=argparse.FileType(), default=sys.stdin, help="what robocache bench --list --json wrote (default: standard input)")
    p.add_argument("--samples", type=int, default=31, help="the least number of samples (at least 5)")
    p.add_argument("--batch", type=float, default=0.01, help="seconds that a sample takes, about")
    p.add_argument("--rotate", type=float, default=None, help="megabytes of input sets that the calls take in turn (300 on a GPU, 64 on the CPU)")
    return p


def jobs(args, suites):
    """The jobs of these suites; the names of others are told."""
    if args.samples < 5:
        sys.exit("--samples is at least 5")
    every = json.load(args.shapes)["jobs"]
    for j in every:
        if j["suite"] not in suites:
            print(f"not measured: {j['suite']} {j['name']}", file=sys.stderr)
    return [j for j in every if j["suite"] in suites]


def timestamps(rng, b, s, clock):
    """[b, s] seconds of a clock: even, jittered, or gapped, which is jittered between four gaps that are a fifth of the span."""
    gaps = 4 if clock == "gapped" else 0
    step = (SPAN - gaps * SPAN / 20) / max(s - 1, 1)
    t = np.tile(np.arange(s) * step, (b, 1))
    for g in range(gaps):
        t[:, max(s * (g + 1) // (gaps + 1), 1):] += SPAN / 20
    if clock != "even" and s > 2:
        t[:, 1:-1] += rng.uniform(-1, 1, (b, s - 2)) * JITTER * step
    return t


def clock(j):
    """The clock of a job's sources."""
    return j.get("clock", "even" if j["suite"] == "fuse" else "jittered")


def targets(rng, j):
    """[B, T] seconds."""
    t = timestamps(rng, j["B"], j["T"], "even")
    return rng.permuted(t, axis=1) if j.get("shuffle") else t


def lacking(j, *fields):
    """Whether a job has a kind that is not linear, or one of these fields."""
    return j.get("kind", "linear") != "linear" or any(j.get(f) for f in ("channels", "max_gap_ms", *fields))


def values(rng, *shape):
    return rng.uniform(-1, 1, shape).astype(np.float32)


def cloud(rng, n, kind):
    """[n, 3] points."""
    if kind == "uniform":
        return np.minimum(rng.uniform(-10, 10, (n, 3)).astype(np.float32), np.nextafter(np.float32(10), np.float32(0)))
    angle, radius = rng.uniform(-10, 10, n), 3 * np.abs(rng.standard_normal(n))
    return np.stack([radius * np.cos(angle), radius * np.sin(angle), 0.05 * rng.standard_normal(n)], 1).astype(np.float32)


def count_sets(each, rotate):
    """How many sets of so many bytes exceed the rotation."""
    return int(min(max(math.ceil(rotate / max(each, 1)), 1), MAX_SETS))


def stats(samples, calls):
    """Of seconds a batch: microseconds a call."""
    us = np.sort(np.asarray(samples)) / calls * 1e6
    q = lambda p: float(np.quantile(us, p))
    return {"median_us": q(0.5), "p10_us": q(0.1), "p90_us": q(0.9), "min_us": float(us[0]), "samples": len(us), "calls_per_sample": calls}


def on_the_wall(run, sets, args):
    """Times batches of run(set) by the clock on the wall."""
    began = time.perf_counter()
    run(0)
    one = time.perf_counter() - began
    calls = max(min(int(args.batch / max(one, 1e-9)), 2000), 1)
    samples, k = [], 0
    for i in range(args.samples + WARM_UPS):
        began = time.perf_counter()
        for _ in range(calls):
            run(k)
            k = (k + 1) % sets
        if i >= WARM_UPS:
            samples.append(time.perf_counter() - began)
    return stats(samples, calls)


def row(job, variant, time, clock, sets):
    return {"suite": job["suite"], "job": job["name"], "variant": variant, "time": time, "clock": clock, "sets": sets,
            "read_bytes": 0, "written_bytes": 0}


def write(program, device, rows):
    json.dump({"program": program, "device": device, "rows": rows}, sys.stdout, indent=2)
    print()


def tell(job, variant):
    if sys.stderr.isatty():
        print(f"\r\x1b[K{job['suite']} {job['name']}, {variant}", end="", file=sys.stderr, flush=True)
