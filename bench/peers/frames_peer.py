#!/usr/bin/env python3
"""Measures other programs that decode videos and make batches of images, for the jobs of robocache bench frames, and prints their
figures next to RoboCache's:

    bench/peers/frames_peer.py --robocache ./robocache --videos /tmp/videos

Videos: NVIDIA's own parser and decoder from C threads (nvdec_peer.c, if there is a C compiler), dav1d's program, ffmpeg, and OpenCV in
--processes processes. Images: torchvision and torch on the GPU, eager and compiled. Batches: torch's DataLoader with OpenCV in --processes workers,
and for resident frames torchvision and torch with a stack on the GPU. With --dataset and --camera, also steps of training, alone and with
batches of the Python module robocache. Programs that are not installed are left out. A
figure is microseconds a frame for videos and batches, and microseconds a batch for images. A random frame of a video needs (g+1)/2 decoded frames
in the mean. The C program and dav1d get a file with the packets for the random frames, and decode them all.
"""
from __future__ import annotations

import argparse
import bisect
import json
import multiprocessing
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median


def path_of(videos, j):
    v = j["video"]
    return Path(videos) / f"{v['codec']}-{v['gop']}-{v['bytes']}-{j['height']}x{j['width']}.mp4"


def boxes(b):
    """The boxes of an mp4 file, by kind."""
    at = 0
    while at + 8 <= len(b):
        size, kind = struct.unpack_from(">I4s", b, at)
        size, head = (struct.unpack_from(">Q", b, at + 8)[0], 16) if size == 1 else (size or len(b) - at, 8)
        yield kind, b[at + head:at + size]
        at += size


def inside(b, *kinds):
    for kind in kinds:
        b = next(body for k, body in boxes(b) if k == kind)
    return b


def packets(path):
    """The parameter sets of a video, and its packets, in Annex B. AV1 packets stay as they are."""
    whole = path.read_bytes()
    table = inside(whole, b"moov", b"trak", b"mdia", b"minf", b"stbl")
    numbers = lambda kind, skip: struct.unpack(f">{(len(inside(table, kind)) - skip) // 4}I", inside(table, kind)[skip:])
    sizes, chunks, runs = numbers(b"stsz", 12), numbers(b"stco", 8), numbers(b"stsc", 8)
    entry = inside(table, b"stsd")[8:]
    entry = next(body for _, body in boxes(entry))[78:]
    start, sets = b"\0\0\0\1", []
    for kind, body in boxes(entry):
        if kind == b"avcC":
            at = 5
            for mask in 31, 255:
                count, at = body[at] & mask, at + 1
                for _ in range(count):
                    n = struct.unpack_from(">H", body, at)[0]
                    sets.append(body[at + 2:at + 2 + n])
                    at += 2 + n
        if kind == b"hvcC":
            at = 23
            for _ in range(body[22]):
                count, at = struct.unpack_from(">H", body, at + 1)[0], at + 3
                for _ in range(count):
                    n = struct.unpack_from(">H", body, at)[0]
                    sets.append(body[at + 2:at + 2 + n])
                    at += 2 + n
    out, k = [], 0
    for c, at in enumerate(chunks):
        for _ in range(runs[3 * bisect.bisect_right(runs[::3], c + 1) - 2]):
            p, end = b"", at + sizes[k]
            if not sets:
                p, at = whole[at:end], end
            while at < end:
                n = struct.unpack_from(">I", whole, at)[0]
                p += start + whole[at + 4:at + 4 + n]
                at += 4 + n
            out.append(p)
            k += 1
    return b"".join(start + s for s in sets), out


def written(folder, path, j):
    """A file with a job's packets, in order or for random frames, the number of wanted frames, and the number of decoded frames."""
    v = j["video"]
    sets, all = packets(path)
    wanted = order = range(len(all))
    if v.get("random"):
        wanted = random.Random(1).sample(range(len(all)), min(len(all), 4000 // v["gop"]))
        order = [i for to in wanted for i in range(to // v["gop"] * v["gop"], to + 1)]
    file = Path(folder) / ("packets.obu" if v["codec"] == "av1" else "packets")
    with file.open("wb") as out:
        for n, i in enumerate(order):
            p = all[i] if n else sets + all[i]
            out.write(b"\x12\0" + p if v["codec"] == "av1" else struct.pack("<I", len(p)) + p)
    return file, len(wanted), len(order)


def compiled(folder):
    """The C program, or None."""
    program = Path(folder) / "nvdec_peer"
    try:
        subprocess.run([shutil.which("cc") or "cc", "-O2", "-o", program, Path(__file__).with_name("nvdec_peer.c"), "-ldl", "-lpthread"], check=True)
    except (OSError, subprocess.CalledProcessError) as e:
        print(f"not measured: the driver's own parser in C: {e}", file=sys.stderr)
        return None
    return program


def in_c(program, folder, path, j):
    file, wanted, decoded = written(folder, path, j)
    loops = str(max(720 // decoded, 1))
    command = [program, j["video"]["codec"], file, str(j["video"]["streams"]), loops]
    run = lambda: float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return median(run() for _ in range(3)) * wanted / decoded


def by_dav1d(folder, path, j):
    file, wanted, _ = written(folder, path, j)

    def run():
        began = time.perf_counter()
        subprocess.run(["dav1d", "-q", "-i", file, "-o", "/dev/null", "--muxer", "null", "--threads", "1"], check=True)
        return wanted / (time.perf_counter() - began)
    return median(run() for _ in range(3))


def by_ffmpeg(path, count):
    def run():
        began = time.perf_counter()
        subprocess.run([os.environ.get("ROBOCACHE_FFMPEG", "ffmpeg"), "-v", "error", "-i", path, "-f", "null", "-"], check=True)
        return count / (time.perf_counter() - began)
    return median(run() for _ in range(3))


def opencv(job):
    """The seconds that one process takes for some frames of a video, in order or at random."""
    import cv2
    path, frames, seed = job
    cv2.setNumThreads(1)
    video = cv2.VideoCapture(str(path), cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
    count = int(video.get(cv2.CAP_PROP_FRAME_COUNT))
    video.read()
    began = time.perf_counter()
    for i in range(frames):
        if seed is not None:
            video.set(cv2.CAP_PROP_POS_FRAMES, (i * 7919 + seed * 31) % count)
        elif i % count == 0:
            video.set(cv2.CAP_PROP_POS_FRAMES, 0)
        if not video.read()[0]:
            raise RuntimeError(f"{path}: no frame {i}")
    return time.perf_counter() - began


def by_opencv(path, at_random, processes):
    frames = 100 if at_random else 480
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        took = pool.map(opencv, [(path, frames, i if at_random else None) for i in range(processes)], chunksize=1)
    return processes * frames / max(took)


MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
STORED = 240, 320  # the size of kept frames, as in internal/benchmark/batches.go


class Windows:
    """Random frames of a video for torch's DataLoader: decoded, resized, cropped and normalised in its workers, f32 [3,to,to]."""

    def __init__(self, path, to):
        self.path, self.to, self.video = str(path), to, None

    def __len__(self):
        return 1 << 30

    def __getitem__(self, i):
        import cv2
        import numpy
        if self.video is None:
            cv2.setNumThreads(1)
            self.video = cv2.VideoCapture(self.path, cv2.CAP_FFMPEG, [cv2.CAP_PROP_N_THREADS, 1])
            self.count = int(self.video.get(cv2.CAP_PROP_FRAME_COUNT))
        self.video.set(cv2.CAP_PROP_POS_FRAMES, i * 7919 % self.count)
        read, frame = self.video.read()
        if not read:
            raise RuntimeError(f"{self.path}: no frame {i * 7919 % self.count}")
        frame = cv2.resize(frame, STORED[::-1], interpolation=cv2.INTER_AREA)
        y, x = (random.randrange(n - self.to + 1) for n in STORED)
        frame = frame[y:y + self.to, x:x + self.to, ::-1].transpose(2, 0, 1).astype(numpy.float32)
        return (frame / 255 - numpy.float32(MEAN).reshape(3, 1, 1)) / numpy.float32(STD).reshape(3, 1, 1)


def by_data_loader(path, j, device, processes):
    """Frames a second. Each worker makes whole batches, so whole rounds of them count, after the first one."""
    import torch
    batches = iter(torch.utils.data.DataLoader(Windows(path, j["to"]), j["frames"], num_workers=processes, pin_memory=device == "cuda"))
    for rounds in 1, 2:
        began = time.perf_counter()
        for _ in range(rounds * processes):
            batch = next(batches).to(device, torch.bfloat16)
        if device == "cuda":
            torch.cuda.synchronize()
    return rounds * processes * len(batch) / (time.perf_counter() - began)


def resident(j, device):
    """Functions that make a batch from a stack of frames on the GPU, a random crop for each, by name."""
    import torch
    from torchvision.transforms.v2 import functional as F
    stack = torch.randint(0, 256, (720, 3, *STORED), dtype=torch.uint8, device=device)
    mean, std = (torch.tensor(x, device=device).view(1, 3, 1, 1) for x in (MEAN, STD))
    n, to = j["frames"], j["to"]
    steps, channels = torch.arange(to, device=device), torch.arange(3, device=device).view(1, 3, 1, 1)
    pick = lambda top: torch.randint(0, top, (n, 1, 1, 1), device=device)

    def each(stack):
        places = [(random.randrange(len(stack)), *(random.randrange(s - to + 1) for s in STORED)) for _ in range(n)]
        x = torch.stack([F.crop(stack[i], y, x, to, to) for i, y, x in places])
        return F.normalize(F.to_dtype(x, torch.float32, scale=True), MEAN, STD).to(torch.bfloat16)

    def gather(stack):
        y, x = (pick(s - to + 1) for s in STORED)
        frames = stack[pick(len(stack)), channels, y + steps.view(1, 1, to, 1), x + steps.view(1, 1, 1, to)]
        return ((frames.float() / 255 - mean) / std).to(torch.bfloat16)

    yield "torchvision, a crop a frame", each, stack
    yield "torch, one gather, eager", gather, stack
    yield "torch, one gather, compiled", torch.compile(gather, dynamic=False), stack


def matmuls(ms, device, n=8192):
    """A step of about so many milliseconds."""
    import torch
    a = torch.randn(n, n, dtype=torch.bfloat16, device=device)
    out = torch.empty_like(a)
    once = timed(lambda: torch.mm(a, a, out=out), device, 20)

    def step():
        for _ in range(max(1, round(ms / once))):
            torch.mm(a, a, out=out)
    return step


def timed(do, device, count):
    """Milliseconds a call, in the median of five rounds, after one."""
    import torch
    times = []
    for _ in range(6):
        began = time.perf_counter()
        for _ in range(count):
            do()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append((time.perf_counter() - began) / count * 1e3)
    return median(times[1:])


def training(args):
    """Prints the time of training steps, alone and with batches of the Python module."""
    import robocache as rc
    import torch
    size = dict(size=(224, 224), stored=STORED, crop="random", dtype=torch.bfloat16, normalise="imagenet", layout="CHW")
    for ms in 5, 30:
        step = matmuls(ms, args.device)
        count = max(1, 600 // ms)
        alone = timed(step, args.device, count)
        print(f"a step of {alone:.2f} ms")
        for level in "device", "pinned", "streaming":
            with rc.Loader(args.dataset, batch=256, cameras={args.camera: rc.Camera(**size)}, frame_level=level, framework="torch", device=args.device) as batches:
                for _ in batches:  # decodes all frames, if they are kept
                    pass

                def endless():
                    while True:
                        yield from batches
                source = endless()

                def both():
                    next(source)
                    step()
                took = timed(both, args.device, count)
            print(f"    with batches, level {level}: {took:.2f} ms, {took / alone - 1:+.1%}")


def images(j, device):
    """Functions that make a batch of images in torch and torchvision from RGB pictures, by name."""
    import torch
    from torchvision.transforms.v2 import functional as F
    picture = torch.randint(0, 256, (j["frames"], 3, j["height"], j["width"]), dtype=torch.uint8, device=device)
    mean = torch.tensor([0.485, 0.456, 0.406], device=device).view(1, 3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225], device=device).view(1, 3, 1, 1)
    dtype = {"u8": torch.uint8, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}[j["out"]]
    to = j["to"]

    def make(x):
        if j.get("crop"):
            x = x[:, :, 4:4 + to, 8:8 + to] if x.shape[2] > to else x
        elif x.shape[2:] != (to, to):
            how = j.get("resize", "antialias")
            mode = F.InterpolationMode.NEAREST_EXACT if how == "nearest" else F.InterpolationMode.BILINEAR
            x = F.resize(x.float() if j.get("float") else x, [to, to], interpolation=mode, antialias=how == "antialias")
        if dtype is torch.uint8:
            return x.contiguous()
        return ((x.float() / 255 - mean) / std).to(dtype)

    yield "torchvision, eager", make, picture
    yield "torchvision, compiled", torch.compile(make, dynamic=False), picture


def on_the_gpu(make, picture, samples):
    import torch
    for _ in range(3):
        make(picture)
    times = []
    for _ in range(samples):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record()
        for _ in range(10):
            make(picture)
        b.record()
        b.synchronize()
        times.append(a.elapsed_time(b) * 100)
    return median(times)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--robocache", required=True, help="the program: its own jobs are measured first")
    p.add_argument("--videos", help="the folder for the videos; missing ones are encoded (default: a temporary folder)")
    p.add_argument("--only", default="", help="the jobs whose name matches a regular expression")
    p.add_argument("--device", default="cuda", help="cuda (default) or cpu")
    p.add_argument("--processes", type=int, default=16, help="of OpenCV")
    p.add_argument("--dataset", help="a dataset with a camera, for steps of training with the Python module")
    p.add_argument("--camera", help="its camera")
    p.add_argument("--samples", default="11", help="the samples of a job")
    args = p.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        videos = args.videos or folder
        ours = ["bench", "frames", "--json", "--only", args.only, "--videos", videos]

        def run(*more):
            result = json.loads(subprocess.run([args.robocache, *ours, *more], stdout=subprocess.PIPE, text=True).stdout)
            if "error" in result:
                sys.exit(f"robocache: {result['error']['message']}")
            return result

        jobs, report = run("--list")["jobs"], run("--backend", args.device, "--samples", args.samples)
        program = compiled(folder) if args.device == "cuda" else None
        print(f"{report['program']} on {report['device']['product']}")
        mine = {r["job"]: r for r in report["rows"]}
        for j in jobs:
            if j["name"] not in mine:
                continue
            row = mine[j["name"]]
            us = row["time"]["median_us"]
            peers = {}
            if j.get("video"):
                path, at_random = path_of(videos, j), bool(j["video"].get("random"))
                print(f"{j['name']}: {us:.1f} us a frame, {1e6 / us:,.0f} frames/s")
                tries = {f"OpenCV, {args.processes} processes": lambda: by_opencv(path, at_random, args.processes)}
                if j["video"]["codec"] == "av1":
                    tries["dav1d, one thread"] = lambda: by_dav1d(folder, path, j)
                elif program:
                    tries["the driver's own parser in C"] = lambda: in_c(program, folder, path, j)
                if not at_random:
                    tries["ffmpeg"] = lambda: by_ffmpeg(path, max(240, j["video"]["gop"]))
                if j["to"]:
                    tries = {}
                if j.get("batches"):
                    tries[f"OpenCV and a DataLoader, {args.processes} workers"] = lambda: by_data_loader(path, j, args.device, args.processes)
                if j.get("batches") == "resident":
                    for name, make, stack in resident(j, args.device):
                        tries[name] = lambda make=make, stack=stack: j["frames"] * 1e6 / on_the_gpu(make, stack, int(args.samples))
            else:
                print(f"{j['name']}: {us:.1f} us")
                tries = {}
                if args.device == "cuda":
                    for name, make, picture in images(j, args.device) if not j.get("jitter") else ():
                        tries[name] = lambda make=make, picture=picture: 1e6 / on_the_gpu(make, picture, int(args.samples))
            if "limit" in row:
                print(f"    {row['limit_how'] or 'a copy of the bytes'}: {row['limit']['median_us']:.1f} us, {row['limit']['median_us'] / us:.0%}")
            for name, rate in tries.items():
                try:
                    peers[name] = 1e6 / rate()
                except Exception as e:  # a peer that is not installed leaves the others
                    print(f"    not measured: {name}: {type(e).__name__}: {e}", file=sys.stderr)
                    continue
                print(f"    {name}: {peers[name]:.1f} us, {peers[name] / us:.2f} of ours")
        if args.dataset:
            training(args)


if __name__ == "__main__":
    main()
