"""Times what BenchmarkSpatial in ops/cuda times, in torch on a GPU: spatial_peer.py. Each is a CUDA graph; times are medians in microseconds."""

import statistics
import time

import torch

H, W, K = 720, 1280, 1024
DEV = "cuda"


def deproject(depth, fx, fy, cx, cy, u, v):
    valid = (depth > 0) & torch.isfinite(depth)
    return torch.stack([(u - cx) * depth / fx, (v - cy) * depth / fy, depth], -1), valid


def farthest(points, k):
    """The loop that policies with farthest points have, without a transfer to the host."""
    chosen = torch.zeros(k, dtype=torch.int64, device=DEV)
    nearest = torch.full((len(points),), float("inf"), device=DEV)
    last = torch.zeros(1, dtype=torch.int64, device=DEV)
    for i in range(k):
        chosen[i : i + 1] = last
        nearest = torch.minimum(nearest, ((points - points[last]) ** 2).sum(-1))
        last = nearest.argmax(0, keepdim=True)
    return chosen


def peract(points, features, low, size):
    """PerAct's rule: cells of size with a border of one, and means by addition with atomics."""
    cell = ((points - (low - size)) / (size + 1e-12)).floor().long().clamp(0, 101)
    at = (cell[:, 0] * 102 + cell[:, 1]) * 102 + cell[:, 2]
    rows = torch.cat([features, torch.ones_like(features[:, :1])], 1)
    total = torch.zeros(102**3, rows.shape[1], device=DEV).index_add_(0, at, rows)
    mean = total[:, :-1] / total[:, -1:].clamp(min=1)
    return mean.view(102, 102, 102, -1)[1:-1, 1:-1, 1:-1]


def timed(name, run, times):
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    list_us = []
    for _ in range(times):
        begin = time.perf_counter()
        graph.replay()
        torch.cuda.synchronize()
        list_us.append((time.perf_counter() - begin) * 1e6)
    print(f"torch {name}: {statistics.median(list_us):.0f} us", flush=True)


def main():
    torch.manual_seed(0)
    points = torch.rand(H * W, 3, device=DEV) * 2 - 1
    features = torch.rand(H * W, 7, device=DEV)
    depth = torch.rand(H, W, device=DEV) * 2.7 + 0.3
    u, v = torch.arange(W, device=DEV)[None, :].float(), torch.arange(H, device=DEV)[:, None].float()
    timed("deproject", lambda: deproject(depth, 900.0, 900.0, W / 2, H / 2, u, v), 200)
    timed("peract", lambda: peract(points, features, -1.0, 0.02), 200)
    timed("farthest", lambda: farthest(points, K), 5)


if __name__ == "__main__":
    main()
