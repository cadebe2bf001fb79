#!/usr/bin/env python3
"""Compute statistics of columns with numpy and print them as JSON.

    scripts/gen_summary_golden.py > internal/summary/testdata/numpy.json

The inputs follow from the formula in draw(), which the test repeats. "block" is in numpy's arithmetic of the column's own type: sums along the first axis,
and a histogram between edges as numpy 2's linspace gives them, in float32 for float32 columns (numpy 1 would take float64 there, so that it is spelled
out). "frames" is which of n frames are sampled.
"""
import json
import math

import numpy as np

QUANTILES = [0.01, 0.10, 0.50, 0.90, 0.99]
BINS = 5000


def draw(count, seed):
    """count numbers in [0,1) of 24 bits, by Knuth's generator."""
    out, x = [], seed
    for _ in range(count):
        x = (x * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append((x >> 40) / 2**24)
    return np.array(out)


def values(case):
    x = draw(case["rows"] * case["width"], case["seed"]) * case["scale"] + case["offset"]
    return x.astype(case["dtype"]).reshape(case["rows"], case["width"])


def edges_of(low, high):
    t = low.dtype.type
    start, stop = t(low - t(1e-10)), t(high + t(1e-10))
    step = t(t(stop - start) / t(BINS))
    k = np.arange(BINS + 1, dtype=low.dtype)
    edges = k * step + start if step != 0 else (k / t(BINS)) * t(stop - start) + start
    assert edges.dtype == low.dtype
    edges[-1] = stop
    if low.dtype == np.float64:
        assert np.array_equal(edges, np.linspace(low - 1e-10, high + 1e-10, BINS + 1))
    return edges


def quantiles_of(column):
    edges = edges_of(column.min(), column.max())
    hist, _ = np.histogram(column, bins=edges)
    cumulative = np.cumsum(hist.astype(np.float64))
    out = []
    for q in QUANTILES:
        target = q * len(column)
        i = int(np.searchsorted(cumulative, target))
        if i == 0:
            out.append(float(edges[0]))
            continue
        share = (target - cumulative[i - 1]) / (cumulative[i] - cumulative[i - 1])
        width = edges[i + 1] - edges[i]
        out.append(float(np.float64(edges[i]) + share * np.float64(width)))
    return out


def listed(low, high, mean, std, quantiles):
    return {"min": [float(v) for v in low], "max": [float(v) for v in high], "mean": [float(v) for v in mean], "std": [float(v) for v in std],
            "quantiles": quantiles}


def block(x):
    if x.dtype == np.int64:
        x = x.astype(np.float64)
    mean = np.mean(x, axis=0)
    if len(x) == 1:
        return listed(x[0], x[0], mean, np.std(x, axis=0), [[float(m)] * len(QUANTILES) for m in mean])
    squares = np.mean(x**2, axis=0)
    std = np.sqrt(np.maximum(0, squares - mean**2))
    assert std.dtype == x.dtype
    return listed(x.min(axis=0), x.max(axis=0), mean, std, [quantiles_of(np.ascontiguousarray(x[:, c])) for c in range(x.shape[1])])


def levels(pixels):
    low, high = pixels.min(), pixels.max()
    x = [int(v) for v in pixels]
    mean = math.fsum(x) / len(x)
    std = math.sqrt(math.fsum((v - mean) ** 2 for v in x) / len(x))
    quantiles = [[q / 255 for q in quantiles_of(pixels.astype(np.float32))]]
    return listed([np.float32(low) / np.float32(255)], [np.float32(high) / np.float32(255)], [mean / 255], [std / 255], quantiles)


def sampled(n):
    least = min(100, n)
    count = max(least, min(int(n**0.75), 10_000))
    frames = np.round(np.linspace(0, n - 1, count)).astype(int)
    return {"frames": n, "sampled": len(frames), "sum": int(frames.sum()), "head": frames[:40].tolist(), "last": int(frames[-1])}


cases = []
seed = 1
for dtype, scale, offset in (("float32", 2, -1), ("float32", 1e-6, 0), ("float32", 1, 1000), ("float32", 1e-5, 300), ("float64", 2, -1), ("float64", 1e-3, 1e6),
                             ("float64", 1e-12, 0), ("int64", 1000, -500), ("int64", 3, 0)):
    for width in (1, 3):
        for rows in (1, 2, 7, 8, 9, 127, 128, 129, 1000) + ((10_000,) if width == 1 else (3000,)):
            cases.append({"dtype": dtype, "scale": scale, "offset": offset, "width": width, "rows": rows, "seed": seed})
            seed += 1
for dtype in ("float32", "float64", "int64"):
    for constant in (0, 5):
        cases.append({"dtype": dtype, "scale": 0, "offset": constant, "width": 2, "rows": 50, "seed": seed})
for c in cases:
    x = values(c)
    c["block"] = block(x)

images = []
for scale, offset, count in ((256, 0, 5000), (20, 100, 5000), (0, 77, 300), (256, 0, 1), (2, 0, 1000)):
    pixels = (draw(count, seed) * scale + offset).astype(np.uint8)
    images.append({"scale": scale, "offset": offset, "rows": count, "seed": seed, "levels": levels(pixels)})
    seed += 1

print(json.dumps({"cases": cases, "images": images, "frames": [sampled(n) for n in (1, 2, 3, 99, 100, 101, 464, 465, 500, 1000, 2000, 10_000, 250_000)]}))
