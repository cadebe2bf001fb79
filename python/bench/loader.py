"""Batches of windows from Python, beside PyTorch's DataLoader over the same recordings in the same run.

    python3 python/bench/loader.py --out loader.json        (--quick for a look)

It needs torch. Recordings are made: state and action, 26 numbers each at a jittered 30 Hz in float32, as robocache
pack writes them. A window is 50 ticks of 50 Hz of the state up to its anchor and 50 of the action from it on. The
DataLoader's side is bench/peers/batches_peer.py: NumPy over the memory-mapped file, which checks nothing and makes no
masks. It prints a table, and writes every number as JSON:

  windows   windows a second of the loader alone, float32 on the CPU: the median of rounds that take turns
  next      on a GPU: host microseconds of a call of next, resident and streaming, when nothing else is done
  step      on a GPU: milliseconds of a training step, matrix products of about 1.5 ms, alone and with a batch in
            bfloat16 for each: resident, resident in one CUDA graph with the step, streaming, and of the DataLoader; and
            the share of the time that the GPU is busy with the step
"""

import argparse
import json
import os
import pathlib
import platform
import statistics
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "bench" / "peers")]

import batches_peer
import torch

from robocache._loader import Loader

GPU = torch.cuda.is_available()
WINDOWS = {"state": (-1.0, 0.0), "action": (0.0, 1.0)}


def loader(store, batch, **options):
    return Loader(store, batch=batch, hz=50, seed=1, windows=WINDOWS, **options)


def peer(windows, batch, workers):
    """Endless batches of the DataLoader, on the CPU."""
    more = {"prefetch_factor": 4} if workers else {}
    while True:
        yield from torch.utils.data.DataLoader(
            windows, batch, shuffle=True, num_workers=workers, pin_memory=GPU, drop_last=True, **more
        )


def rates(sources, batch, rounds, seconds):
    """Windows a second of each source, which take turns."""
    found = {name: [] for name in sources}
    for source in sources.values():
        for _ in range(20):
            next(source)
    for _ in range(rounds):
        for name, source in sources.items():
            begin, n = time.perf_counter(), 0
            while time.perf_counter() - begin < seconds:
                next(source)
                n += batch
            found[name].append(n / (time.perf_counter() - begin))
    return {
        name: {"median": round(statistics.median(r)), "least": round(min(r)), "most": round(max(r))}
        for name, r in found.items()
    }


def on_cpu(store, args):
    windows = batches_peer.Windows(str(store))
    made = {
        "robocache numpy": loader(store, args.batch, framework="numpy"),
        "robocache torch": loader(store, args.batch, framework="torch", device="cpu"),
        "robocache torch streaming": loader(store, args.batch, framework="torch", device="cpu", streaming=True),
    }
    sources = {name: one.batches() for name, one in made.items()}
    for workers in args.workers:
        sources["DataLoader, {} workers".format(workers)] = peer(windows, args.batch, workers)
    found = rates(sources, args.batch, args.rounds, args.seconds)
    for one in made.values():
        one.close()
    return found


def stepper(milliseconds):
    """A step of about so many milliseconds of matrix products."""
    a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    out = torch.empty_like(a)

    def products(n):
        for _ in range(n):
            torch.mm(a, a, out=out)

    products(3)
    products_time = timed(lambda: products(20)) / 20
    n = max(1, round(milliseconds * 1e-3 / products_time))
    return lambda: products(n)


def timed(run, times=1):
    torch.cuda.synchronize()
    begin = time.perf_counter()
    for _ in range(times):
        run()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / times


def on_gpu(store, args):
    step = stepper(args.step)
    windows = batches_peer.Windows(str(store))
    resident = loader(store, args.batch, framework="torch", device="cuda", dtype=torch.bfloat16)
    streaming = loader(store, args.batch, framework="torch", device="cuda", dtype=torch.bfloat16, streaming=True)
    host = {}
    for name, one in (("resident", resident), ("streaming", streaming)):
        for _ in range(50):
            one.next()
        host[name] = round(timed(one.next, 300) * 1e6, 1)
    graph, alone = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(alone):
        step()
    captured = loader(store, args.batch, framework="torch", device="cuda", dtype=torch.bfloat16)
    captured.next()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        captured.next()
        step()

    def moved(source):
        return lambda: ([p.to("cuda", non_blocking=True).to(torch.bfloat16) for p in next(source)], step())

    sources = {
        "none": step,
        "none, a graph": alone.replay,
        "resident": lambda: (resident.next(), step()),
        "resident, one graph": graph.replay,
        "streaming": lambda: (streaming.next(), step()),
    }
    for workers in args.workers:
        sources["DataLoader, {} workers".format(workers)] = moved(peer(windows, args.batch, workers))
    found = {name: [] for name in sources}
    for run in sources.values():
        for _ in range(20):
            run()
    for _ in range(args.rounds):
        for name, run in sources.items():
            n = max(20, int(args.seconds / (args.step * 1e-3)))
            found[name].append(timed(run, n if "DataLoader" not in name else max(20, n // 5)) * 1e3)
    medians = {name: statistics.median(r) for name, r in found.items()}
    out = {
        name: {"ms": round(m, 4), "busy": round(medians["none, a graph" if "graph" in name else "none"] / m, 4)}
        for name, m in medians.items()
    }
    assert captured.state_dict()["state"]["taken"] > 0
    for one in (resident, streaming, captured):
        one.close()
    return host, out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--episodes", type=int, default=2000 if GPU else 400, help="of 500 frames")
    parser.add_argument("--workers", default=[0, 2], type=lambda s: [int(n) for n in s.split(",")])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0, help="of a round")
    parser.add_argument("--step", type=float, default=1.5, help="milliseconds of a training step")
    parser.add_argument("--quick", action="store_true")
    args = parser.parse_args()
    if args.quick:
        args.rounds, args.seconds, args.episodes = 2, 0.3, 100
    report = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cpus": os.cpu_count(),
        "batch": args.batch,
        "episodes": args.episodes,
    }
    with tempfile.TemporaryDirectory() as folder:
        store = pathlib.Path(folder) / "store.safetensors"
        batches_peer.make(str(store), args.episodes)
        report["windows"] = on_cpu(store, args)
        print("windows a second on the CPU, batch {}".format(args.batch))
        for name, r in report["windows"].items():
            print("  {:28} {:>9}   ({} to {})".format(name, r["median"], r["least"], r["most"]))
        if GPU:
            report["gpu"] = torch.cuda.get_device_name()
            report["next"], report["step"] = on_gpu(store, args)
            print("host us of next: {}".format(report["next"]))
            print("a step with a batch for each, {}".format(report["gpu"]))
            for name, r in report["step"].items():
                print("  {:28} {:8.4f} ms   busy {:.2%}".format(name, r["ms"], r["busy"]))
    if args.out:
        with open(args.out, "w") as f:
            json.dump(report, f, indent=1)


if __name__ == "__main__":
    main()
