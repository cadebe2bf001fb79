#!/usr/bin/env python3
"""Batches of windows by a PyTorch DataLoader over numpy, to compare with package loader on the same store, in the same run:

    bench/peers/batches_peer.py make STORE.safetensors                                     # 2000 episodes of 500 frames, as below
    bench/peers/batches_peer.py run STORE.safetensors [--batch 32] [--workers 0,4,16]
    ROBOCACHE_STORE=STORE.safetensors go test -run NONE -bench 'Batches|Training' ./loader # RoboCache's side

The store holds state and action, 26 numbers each, at a jittered 30 Hz, in float32, as robocache pack writes it: NAME.values [N,26], NAME.times [N] and
NAME.offsets [E+1]. A window is 50 ticks of 50 Hz of the state up to its anchor and 50 of the action from it on, linear between the samples, clamped at the
episode's ends; a batch ends in bfloat16 on the card. Order: a permutation of all windows by numpy. The numpy side checks nothing and makes no masks.

Reported, as JSON: windows a second of the loader alone (the median of the rounds); and beside a training step, matrix products of about 1.5 ms on the
card, the share of the time that the card is busy with them: the step alone divided by the step with its batch. Without a card only the first.
"""
import argparse
import json
import struct
import sys
import time

import numpy as np

FRAMES, WIDTH, RATE, HZ, TICKS = 500, 26, 30, 50, 50


def make(path, episodes):
    rng = np.random.default_rng(7)
    times = np.floor((np.arange(FRAMES) + 0.2 * rng.random((episodes, FRAMES))) / RATE * 1e9).astype("<i8").reshape(-1)
    offsets = (np.arange(episodes + 1) * FRAMES).astype("<i8")
    tensors, header, at = [], {}, 0
    columns = [{"Name": str(i)} for i in range(WIDTH)]
    for name in ("state", "action"):
        values = (rng.integers(0, 1 << 16, (episodes * FRAMES, WIDTH), np.uint16).astype(np.float32) - 32768) / 32768
        for part, dtype, t in (("times", "I64", times), ("offsets", "I64", offsets), ("values", "F32", values)):
            header[f"{name}.{part}"] = {"dtype": dtype, "shape": list(t.shape), "data_offsets": [at, at + t.nbytes]}
            tensors.append(t)
            at += t.nbytes
    index = {"version": 1, "name": "made", "format": "npz", "streams": [{"name": n, "columns": columns} for n in ("state", "action")],
             "episodes": [{"name": str(e), "number": e, "frames": FRAMES} for e in range(episodes)]}
    header["__metadata__"] = {"robocache.store": json.dumps(index)}
    text = json.dumps(header).encode()
    text += b" " * (-(len(text) + 8) % 64)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for t in tensors:
            t.tofile(f)


def tensors(path):
    """The store's arrays, by name, memory-mapped."""
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(size))
    data = np.memmap(path, np.uint8, "r", 8 + size)
    kinds = {"F32": "<f4", "I64": "<i8"}
    out = {}
    for name, t in header.items():
        if name != "__metadata__":
            lo, hi = t["data_offsets"]
            out[name] = data[lo:hi].view(kinds[t["dtype"]]).reshape(t["shape"])
    return out


class Windows:
    """A dataset as PyTorch's DataLoader takes it: window i, as two arrays [50, 26]."""

    def __init__(self, path):
        self.path = path
        self.open()
        s = self.streams["state"]
        first, last = s["times"][s["offsets"][:-1]], s["times"][s["offsets"][1:] - 1]
        self.begins = first
        self.counts = (last - first) * HZ // 10**9 + 1
        self.ends = np.cumsum(self.counts)

    def open(self):
        t = tensors(self.path)
        self.streams = {n: {p: t[f"{n}.{p}"] for p in ("values", "times", "offsets")} for n in ("state", "action")}

    def __getstate__(self):
        return {**self.__dict__, "streams": None}

    def __setstate__(self, d):
        self.__dict__.update(d)
        self.open()

    def __len__(self):
        return int(self.ends[-1])

    def __getitem__(self, i):
        e = int(np.searchsorted(self.ends, i, "right"))
        anchor = self.begins[e] + (i - (self.ends[e] - self.counts[e])) * 10**9 // HZ
        return tuple(self.window(n, e, anchor + ticks * (10**9 // HZ)) for n, ticks in (("state", np.arange(1 - TICKS, 1)), ("action", np.arange(TICKS))))

    def window(self, name, e, at):
        s = self.streams[name]
        lo, hi = s["offsets"][e], s["offsets"][e + 1]
        times, values = s["times"][lo:hi], s["values"][lo:hi]
        right = np.clip(np.searchsorted(times, at, "right"), 1, len(times) - 1)
        left = right - 1
        share = np.clip((at - times[left]) / (times[right] - times[left]), 0, 1).astype(np.float32)[:, None]
        return values[left] * (1 - share) + values[right] * share


def run(args):
    import torch
    cuda = torch.cuda.is_available()
    device = "cuda" if cuda else "cpu"
    windows = Windows(args.store)
    report = {"torch": torch.__version__, "device": torch.cuda.get_device_name() if cuda else "cpu", "windows": len(windows), "batch": args.batch, "runs": []}

    if cuda:
        a = torch.randn(4096, 4096, device=device, dtype=torch.bfloat16)
        one = median_time(lambda: a @ a, torch, 20)
        products = max(1, round(args.step * 1e-3 / one))

        def step():
            for _ in range(products):
                a @ a

        alone = median_time(step, torch, 50)
        report["step_ms"] = alone * 1e3

    def batches(workers):
        loader = torch.utils.data.DataLoader(windows, args.batch, shuffle=True, num_workers=workers, pin_memory=cuda, drop_last=True,
                                             persistent_workers=False, prefetch_factor=4 if workers else None)
        for parts in loader:
            yield [p.to(device, non_blocking=True).to(torch.bfloat16) for p in parts]

    for workers in [int(w) for w in args.workers.split(",")]:
        it = batches(workers)
        for _ in range(20):
            next(it)
        rates = []
        for _ in range(args.rounds):
            begin, n = time.perf_counter(), 0
            while time.perf_counter() - begin < args.seconds:
                next(it)
                n += args.batch
            if cuda:
                torch.cuda.synchronize()
            rates.append(n / (time.perf_counter() - begin))
        one = {"workers": workers, "windows_per_second": round(float(np.median(rates)))}
        if cuda:
            begin, n = time.perf_counter(), 0
            while time.perf_counter() - begin < args.seconds:
                next(it)
                step()
                n += 1
            torch.cuda.synchronize()
            one["busy"] = round(alone * n / (time.perf_counter() - begin), 4)
        report["runs"].append(one)
        del it
    json.dump(report, sys.stdout, indent=1)
    print()


def median_time(call, torch, samples):
    """Seconds that a call takes on the card."""
    for _ in range(5):
        call()
    out = []
    for _ in range(samples):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        call()
        end.record()
        end.synchronize()
        out.append(begin.elapsed_time(end) / 1e3)
    return float(np.median(out))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("what", choices=["make", "run"])
    p.add_argument("store")
    p.add_argument("--episodes", type=int, default=2000)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--workers", default="0,4,16", help="numbers of worker processes, with commas")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--seconds", type=float, default=1.0, help="of each round")
    p.add_argument("--step", type=float, default=1.5, help="milliseconds of a training step")
    args = p.parse_args()
    if args.what == "make":
        make(args.store, args.episodes)
    else:
        run(args)


if __name__ == "__main__":
    main()
