#!/usr/bin/env python3
"""Recordings to tensors on the card, end to end: robocache batches, and plain Python loops over the same files, in turn, each in a process of its own.

    bench/peers/loading_peer.py [--bytes 2e9] [--robocache PATH] [--folder DIR] [NAME ...]

It makes three datasets of so many bytes in a temporary folder, from the shared recordings beside the project: bridge (RT-X: RLDS, with a camera), calvin (two
cameras and depths) and robomimic (HDF5, two fifths without cameras). All are read once before anything is timed. Both sides read every number of every
episode and put it on the card, and leave the cameras alone: Python copies no image, and no array that is float32 already. Python's loop is what people write: struct and a few lines of protobuf for TFRecord, numpy.load
a frame, h5py; then torch.from_numpy(...).cuda(). RoboCache's time is the read_seconds of one batch: from opening the dataset until it lies packed on the
card; on one core and on all. Neither counts starting the program. Processor time is Python's within its loop and all of RoboCache's program. Without torch or a card the arrays stay in memory on both sides. The report is JSON.
"""
import argparse
import glob
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../scripts")]
import big_datasets
import rlds_peer

try:
    import torch
    CARD = torch.cuda.is_available()
except ImportError:
    CARD = False
NUMBERS = ("actions", "rel_actions", "robot_obs", "scene_obs")  # of CALVIN


def bridge(folder, size):
    """The shared episodes of bridge again and again, in 16 shards."""
    shared = os.path.join(big_datasets.SHARED, "bridge_rlds")
    with open(glob.glob(shared + "/*.tfrecord-*")[0], "rb") as f:
        records = f.read()
    with open(os.path.join(shared, "dataset_info.json")) as f:
        info = json.load(f)
    n, shards = sum(int(k) for k in info["splits"][0]["shardLengths"]), 16
    each = max(1, round(size / shards / len(records)))
    for i in range(shards):
        with open(os.path.join(folder, f"bridge_dataset-train.tfrecord-{i:05d}-of-{shards:05d}"), "wb") as f:
            for _ in range(each):
                f.write(records)
    info["splits"][0]["shardLengths"] = [str(n * each)] * shards
    info["splits"][0].pop("numBytes", None)
    with open(os.path.join(folder, "dataset_info.json"), "w") as f:
        json.dump(info, f)
    shutil.copy(os.path.join(shared, "features.json"), folder)


def onto_card(arrays):
    return [torch.from_numpy(a).cuda() for a in arrays] if CARD else arrays


def load_bridge(folder):
    n, kept = 0, []
    for e in rlds_peer.own_reader(folder, memoryview)():
        arrays = [v for v in e.values() if isinstance(v, np.ndarray)]
        kept.append(onto_card([a.astype(np.float32, copy=False) for a in arrays]))
        n += 1
    return n


def load_calvin(folder):
    split = os.path.join(folder, "training")
    kept = []
    for first, last in np.load(os.path.join(split, "ep_start_end_ids.npy")):
        rows = {k: [] for k in NUMBERS}
        for i in range(first, last + 1):
            with np.load(os.path.join(split, f"episode_{i:07d}.npz")) as z:
                for k in NUMBERS:
                    rows[k].append(z[k])
        kept.append(onto_card([np.stack(v).astype(np.float32, copy=False) for v in rows.values()]))
    return len(kept)


def load_robomimic(folder):
    import h5py
    kept = []
    with h5py.File(os.path.join(folder, "demos.hdf5")) as f:
        for demo in f["data"].values():
            arrays = [demo["actions"][()], demo["states"][()]] + [d[()] for d in demo["obs"].values() if d.ndim == 2]
            kept.append(onto_card([a.astype(np.float32, copy=False) for a in arrays]))
    return len(kept)


JOBS = {"bridge": (bridge, load_bridge, ".", ["--rate", "5", "--hz", "5"]), "calvin": (big_datasets.calvin, load_calvin, ".", ["--rate", "30", "--hz", "30"]),
        "robomimic": (big_datasets.robomimic, load_robomimic, "demos.hdf5", ["--hz", "20"])}


def processor():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def one_loop(name, folder):
    """What a process of Python's does."""
    if CARD:
        torch.zeros(1).cuda()
    if name == "robomimic":
        import h5py  # before the clock runs
    begin, used = time.perf_counter(), time.process_time()
    n = JOBS[name][1](folder)
    if CARD:
        torch.cuda.synchronize()
    json.dump([time.perf_counter() - begin, time.process_time() - used, n], sys.stdout)


def python(name, folder):
    return json.loads(subprocess.run([sys.executable, __file__, "--loop", folder, name], check=True, capture_output=True).stdout)


def ours(robocache, path, flags, cores):
    env = dict(os.environ, **({"GOMAXPROCS": str(cores)} if cores else {}))
    used = processor()
    out = subprocess.run([robocache, "batches", path, *flags, "--steps", "1", "--last", "short", "--json"], check=True, capture_output=True, env=env)
    r = json.loads(out.stdout)
    return r["read_seconds"], processor() - used, r["episodes"], r["devices"][0]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("names", nargs="*", help="bridge, calvin, robomimic; all unless given")
    p.add_argument("--bytes", type=float, default=2e9)
    p.add_argument("--robocache", default="robocache")
    p.add_argument("--folder", help="where the datasets are made; a temporary folder unless given")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--loop", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.loop:
        one_loop(args.names[0], args.loop)
        return
    report = {"bytes": args.bytes, "card": torch.cuda.get_device_name() if CARD else None, "runs": []}
    with tempfile.TemporaryDirectory(dir=args.folder) as root:
        for name in args.names or JOBS:
            make, _, inside, flags = JOBS[name]
            folder = os.path.join(root, name)
            os.mkdir(folder)
            make(folder, args.bytes)
            ours(args.robocache, os.path.join(folder, inside), flags, 0)  # into the page cache
            times = {k: [] for k in ("python", "one core", "all cores", "python processor", "one core processor", "all cores processor")}
            for _ in range(args.rounds):
                took, used, n = python(name, folder)
                times["python"].append(took)
                times["python processor"].append(used)
                for key, cores in (("one core", 1), ("all cores", 0)):
                    took, used, episodes, device = ours(args.robocache, os.path.join(folder, inside), flags, cores)
                    times[key].append(took)
                    times[key + " processor"].append(used)
            m = {k: float(np.median(v)) for k, v in times.items()}
            report["runs"].append({"name": name, "episodes": n, "ours": episodes, "device": device["name"], **{k + " s": round(v, 3) for k, v in m.items()},
                                   "ratio one core": round(m["python"] / m["one core"], 2), "ratio all cores": round(m["python"] / m["all cores"], 2)})
            shutil.rmtree(folder)
    json.dump(report, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
