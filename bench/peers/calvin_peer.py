#!/usr/bin/env python3
"""Frames a second of a dataset in CALVIN's layout, the numbers only: package dataset/calvin, on one core and on all, and numpy.load in a loop, in turn.

    bench/peers/calvin_peer.py [--frames 20000] [--rounds 3]

It writes the frames into a temporary folder, about 100 kB each (four arrays of numbers, a camera 200x200, one 84x84 and two depths, as
numpy.savez_compressed makes them), and removes it. All are read once before anything is timed, so the files are in the system's cache. numpy reads a
tenth of them in each round. It needs numpy and go.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np

NUMBERS = ("actions", "rel_actions", "robot_obs", "scene_obs")
KINDS = 20  # different frames, which repeat


def frame(rng):
    def image(n):
        return (np.linspace(0, 180, n)[:, None, None] + rng.integers(0, 10, (n, n, 3))).astype(np.uint8)

    depth = lambda n: np.repeat(rng.uniform(1, 4, (n, 1)).astype(np.float32), n, 1)
    return {"actions": rng.uniform(-1, 1, 7), "rel_actions": rng.uniform(-1, 1, 7), "robot_obs": rng.uniform(-1, 1, 15), "scene_obs": rng.uniform(-1, 1, 24),
            "rgb_static": image(200), "rgb_gripper": image(84), "depth_static": depth(200), "depth_gripper": depth(84)}


def write(root, n):
    split = root / "training"
    split.mkdir()
    rng = np.random.default_rng(1)
    kinds = []
    for _ in range(KINDS):
        np.savez_compressed(root / "one.npz", **frame(rng))
        kinds.append((root / "one.npz").read_bytes())
    paths = [split / f"episode_{1000 + i:07d}.npz" for i in range(n)]
    for i, path in enumerate(paths):
        path.write_bytes(kinds[i % KINDS])
    np.save(split / "ep_start_end_ids.npy", np.array([[1000, 1000 + n - 1]]))
    return paths, len(kinds[0])


def numpy_rate(paths):
    began = time.perf_counter()
    rows = []
    for path in paths:
        with np.load(path) as z:
            rows.append(np.concatenate([z[k] for k in NUMBERS]))
    np.stack(rows)
    return len(paths) / (time.perf_counter() - began)


def go_rates(root, cores):
    """Frames a second by the number of cores."""
    out = subprocess.run(["go", "test", "-run", "-", "-bench", "Numbers", "-benchtime", "3x", "-cpu", ",".join(map(str, cores)), "./dataset/calvin"], check=True, text=True,
                         stdout=subprocess.PIPE, cwd=pathlib.Path(__file__).resolve().parents[2], env={**os.environ, "ROBOCACHE_CALVIN": str(root)}).stdout
    return {int(cpu or 1): float(rate) for cpu, rate in re.findall(r"^BenchmarkNumbers(?:-(\d+))?\s.*?([\d.e+]+) frames/s", out, re.M)}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--frames", type=int, default=20_000)
    p.add_argument("--rounds", type=int, default=3)
    args = p.parse_args()
    cores = sorted({1, os.cpu_count() or 1})
    found = {"numpy": [], **{c: [] for c in cores}}
    with tempfile.TemporaryDirectory(prefix="calvin_") as tmp:
        root = pathlib.Path(tmp)
        paths, size = write(root, args.frames)
        go_rates(root, cores)
        for r in range(args.rounds):
            found["numpy"].append(numpy_rate(paths[r % 10::10]))
            for c, rate in go_rates(root, cores).items():
                found[c].append(rate)
    rows = [{"reader": f"numpy {np.__version__}" if k == "numpy" else "robocache", "cores": 1 if k == "numpy" else k, "frames_per_s": round(statistics.median(v)),
             "all": [round(x) for x in v]} for k, v in found.items()]
    print(json.dumps({"frames": args.frames, "bytes_per_frame": size, "rows": rows}, indent=2))


if __name__ == "__main__":
    main()
