#!/usr/bin/env python3
"""Compares gradients of Resample with torch's autograd, in float64:

    go run ./bench/backward -device cuda -out build/backward
    bench/peers/torch_backward.py build/backward

A sum of n float32 products is off by at most (n + 2) * 2^-24 of the sum of the gradients' magnitudes: the weight, the product and each addition round once.
"""
import pathlib
import sys

import numpy as np
import torch


def resample(src, times, targets, kind):
    """src [B,S,D] at times [B,S], at targets [B,T]; the ends are held."""
    last = times.shape[1] - 1
    at = torch.searchsorted(times, targets, right=True) - 1
    lo, hi = at.clamp(0, last), (at + 1).clamp(0, last)
    t0, t1 = times.gather(1, lo), times.gather(1, hi)
    w = torch.where(t1 > t0, (targets - t0) / (t1 - t0), torch.zeros_like(t0)).clamp(0, 1)
    if kind == "previous":
        w = torch.zeros_like(w)
    elif kind == "next":
        w = (w > 0).to(w)
    elif kind == "nearest":
        w = (targets - t0 > t1 - targets).to(w) * (t1 > t0)
    row = lambda i: src.gather(1, i.unsqueeze(2).expand(-1, -1, src.shape[2]))
    if kind == "both":
        return row(lo) + row(hi)
    w = w.unsqueeze(2)
    return (1 - w) * row(lo) + w * row(hi)


def gradient(grad, times, targets, kind):
    src = torch.zeros(times.shape + grad.shape[2:], dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad(resample(src, times, targets, kind), src, grad)[0]


def main():
    folder = pathlib.Path(sys.argv[1])
    worst = 0.0
    for ours in sorted(folder.glob("*.ours.npy")):
        name = ours.name.removesuffix(".ours.npy")
        load = lambda what: torch.from_numpy(np.load(folder / f"{name}.{what}.npy")).double()
        grad, times, targets, kind = load("grad"), load("times"), load("targets"), name.split("-")[1]
        want, size = gradient(grad, times, targets, kind), gradient(grad.abs(), times, targets, "both")
        most = gradient(torch.ones_like(grad[..., :1]), times, targets, "both").max().item()
        off = ((load("ours") - want).abs() - (most + 2) * 2**-24 * size).max().item()
        assert off <= 0, f"{name}: {off} more than rounding"
        worst = max(worst, ((load("ours") - want).abs() / size.clamp(min=1e-30)).max().item())
        print(f"{name}: as torch, {tuple(want.shape)}")
    assert worst > 0, "nothing was compared"
    print(f"at most {worst:.2e} of a sample's magnitudes off")


if __name__ == "__main__":
    main()
