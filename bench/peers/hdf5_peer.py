#!/usr/bin/env python3
"""Reads HDF5 files with h5py, beside bench/hdf5, which reads the same ones:

    bench/peers/hdf5_peer.py --make DIR        # writes files of some 100 MB in all to read
    bench/peers/hdf5_peer.py FILE... > h5py.json
    go run ./bench/hdf5 -compare h5py.json FILE...

Two jobs: `read` opens a file and reads every dataset of numbers whole; `frames` opens it and reads each dataset of four dimensions a row at a time,
as a loader of frames does. Times are of the processor, user's and system's, which other programs disturb less than the wall's. Files are in the page
cache: each job runs once before it is timed. `crc` is over all bytes that are read, so that both are seen to read the same.
"""
import argparse
import json
import os
import resource
import sys
import time
import zlib

import h5py
import numpy as np

STEPS, HEIGHT, WIDTH = 256, 96, 128


def datasets(f):
    found = []
    f.visititems(lambda name, o: found.append(o) if isinstance(o, h5py.Dataset) and o.dtype.kind in "fiub" and o.shape else None)
    return sorted(found, key=lambda d: d.name)


def read(path, see):
    n = 0
    with h5py.File(path, "r") as f:
        for d in datasets(f):
            a = d[()]
            n += a.nbytes
            if see:
                see(a)
    return n


def frames(path, see):
    n = 0
    with h5py.File(path, "r") as f:
        for d in datasets(f):
            if d.ndim != 4:
                continue
            for i in range(len(d)):
                a = d[i]
                n += a.nbytes
                if see:
                    see(a)
    return n


def measure(job, path, samples):
    crc = 0

    def see(a):
        nonlocal crc
        crc = zlib.crc32(np.ascontiguousarray(a), crc)

    n = job(path, see)
    if n == 0:
        return None
    times, faults = [], []
    for _ in range(samples):
        began, before = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        job(path, None)
        times.append(time.process_time() - began)
        faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    times.sort()
    return {"program": f"h5py {h5py.__version__}, HDF5 {h5py.version.hdf5_version}", "job": job.__name__, "file": os.path.basename(path), "bytes": n, "crc": crc,
            "median_ms": 1e3 * times[len(times) // 2], "min_ms": 1e3 * times[0], "faults": sorted(faults)[len(faults) // 2]}


def noise(rng, scene):
    """As of a camera in the left quarter; the rest is as rendered."""
    n = np.zeros_like(scene)
    n[:, :WIDTH // 4] = rng.integers(-2, 3, n[:, :WIDTH // 4].shape)
    return n


def make(folder):
    os.makedirs(folder, exist_ok=True)
    rng = np.random.default_rng(1)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    scene = (np.stack([x + y, 2 * x, 255 - y], -1) + 20 * np.sin(np.stack([x // 4, y // 4, x // 8 * y // 8], -1) / 9)).astype(np.int16)
    view = np.stack([np.clip(np.roll(scene, t, 1) + noise(rng, scene), 0, 255) for t in range(STEPS)]).astype(np.uint8)
    table = np.cumsum(rng.integers(-20, 21, (200_000, 14)), 0).astype(np.float32) / 64

    def write(name, **how):
        with h5py.File(os.path.join(folder, name), "w") as f:
            for i in range(2):
                f.create_dataset(f"camera_{i}", data=view, **({"chunks": (1, HEIGHT, WIDTH, 3)} | how if how else {}))
            f.create_dataset("table", data=table, **({"chunks": (1000, 14)} | {k: v for k, v in how.items() if k != "chunks"} if how else {}))

    write("contiguous.hdf5")
    write("chunked.hdf5", chunks=(1, HEIGHT, WIDTH, 3))
    write("gzip.hdf5", compression="gzip", compression_opts=4)
    write("gzip_shuffle.hdf5", compression="gzip", shuffle=True)
    write("lzf.hdf5", compression="lzf")
    write("gzip_guessed.hdf5", chunks=True, compression="gzip")
    write("gzip_16_frames.hdf5", chunks=(16, HEIGHT, WIDTH, 3), compression="gzip")
    for libver in ("earliest", "latest"):
        with h5py.File(os.path.join(folder, f"demos_{libver}.hdf5"), "w", libver=libver) as f:
            for i in range(2000):
                demo = f.create_group(f"data/demo_{i}")
                demo.attrs["num_samples"] = 100
                demo["actions"] = rng.standard_normal((100, 7))
                for k in range(4):
                    demo[f"obs/key_{k}"] = rng.standard_normal((100, 3 + k))


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("files", nargs="*")
    p.add_argument("--make", metavar="DIR")
    p.add_argument("--samples", type=int, default=7)
    args = p.parse_args()
    if args.make:
        make(args.make)
    rows = [measure(job, path, args.samples) for path in args.files for job in (read, frames)]
    json.dump([r for r in rows if r], sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
