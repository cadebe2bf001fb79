#!/usr/bin/env python3
"""Writes the golden files of the tests from the libraries that people compare with.

    apt-get install python3-numpy python3-scipy python3-pandas python3-torch
    /usr/bin/python3 scripts/gen_golden.py

internal/test/opstest/testdata/golden.json holds resampling by numpy.interp, scipy (interp1d, Slerp, PchipInterpolator),
pandas.merge_asof and torch (searchsorted, then a linear step in separate operations). tensor/testdata/halves.json holds
conversions to f16 and bf16 by numpy and torch. Numbers are bit patterns, so that nothing is lost in decimal. The
seed is fixed: the same versions write the same files.
"""
import json
import os
import platform
import warnings

import numpy as np
import pandas as pd
import scipy
import torch
from scipy.interpolate import PchipInterpolator, interp1d
from scipy.spatial.transform import Rotation, Slerp

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
VERSIONS = {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__,
            "pandas": pd.__version__, "torch": torch.__version__}
rng = np.random.default_rng(20240229)


def bits(a):
    """The bit patterns of an array, signed, which is what JSON readers of 64 bits agree on."""
    a = np.ascontiguousarray(a)
    return a.view({2: np.int16, 4: np.int32, 8: np.int64}[a.itemsize]).ravel().tolist()


def torch_bits(x):
    return x.contiguous().view({2: torch.int16, 4: torch.int32}[x.element_size()]).flatten().tolist()


def timestamps(n, duplicates=False):
    """n int64 nanoseconds from an epoch, 0.1 to 20 ms apart."""
    steps = rng.integers(100_000, 20_000_000, n)
    if duplicates:
        steps[rng.random(n) < 0.1] = 0
    return 1_762_550_000_000_000_000 + np.cumsum(steps)


def targets(t, n, inside=True):
    """n targets in order of drawing: most between timestamps, a third on them, some half way."""
    margin = 0 if inside else 30_000_000
    x = rng.integers(t[0] - margin, t[-1] + margin + 1, n)
    on = rng.random(n)
    x[on < 0.3] = rng.choice(t, n)[on < 0.3]
    k = rng.integers(0, len(t) - 1, n)
    x[on > 0.9] = ((t[k] - t[0] + t[k + 1] - t[0]) // 2 + t[0])[on > 0.9]
    return x


def case(cases, oracle, kind, rule, t, v, x, want, **more):
    cases.append({"oracle": oracle, "kind": kind, "rule": rule, "samples": len(t), "targets": len(x), "features": v.shape[1],
                  "times": [int(i) for i in t], "at": [int(i) for i in x], **more})
    cases[-1].setdefault("dtype", "f64")
    cases[-1].setdefault("values", bits(v) if isinstance(v, np.ndarray) else torch_bits(v))
    cases[-1]["want"] = want


def resample_cases():
    cases = []
    for n in (1, 2, 33, 128):
        # numpy and scipy take float64 times: seconds from the first timestamp would round, whole nanoseconds below 2^53 do not.
        t = timestamps(n)
        x = targets(t, 60, inside=False) if n > 1 else np.array([t[0] - 5, t[0], t[0] + 5])
        v = rng.normal(size=(n, 3))
        rt, rx = (t - t[0]).astype(np.float64), (x - t[0]).astype(np.float64)
        case(cases, "numpy.interp", "linear", "line", t, v, x, bits(np.stack([np.interp(rx, rt, v[:, d]) for d in range(3)], 1)))
        if n == 1:
            continue
        x = targets(t, 60)
        rx = (x - t[0]).astype(np.float64)
        for kind in ("previous", "next", "nearest"):
            case(cases, "scipy.interpolate.interp1d", kind, "bits", t, v, x, bits(interp1d(rt, v, kind=kind, axis=0)(rx)))
        case(cases, "scipy.interpolate.PchipInterpolator", "pchip", "near", t, v, x, bits(PchipInterpolator(rt, v, axis=0)(rx)))
        steps = np.round(v)  # plateaus and turning points
        case(cases, "scipy.interpolate.PchipInterpolator", "pchip", "near", t, steps, x, bits(PchipInterpolator(rt, steps, axis=0)(rx)))
        small = n == 128
        q = Rotation.random(n, random_state=n) if not small else Rotation.from_rotvec(np.cumsum(rng.normal(size=(n, 3)) * 0.01, 0))
        quat = q.as_quat() * rng.choice([-1.0, 1.0], (n, 1))
        case(cases, "scipy.spatial.transform.Slerp", "slerp", "small-rotation" if small else "rotation", t, quat, x, bits(Slerp(rt, q)(rx).as_quat()))
    for duplicates in (False, True):
        t = timestamps(100, duplicates)
        x = np.sort(targets(t, 150))
        v = rng.normal(size=(100, 1))
        left, right = pd.DataFrame({"t": x}), pd.DataFrame({"t": t, "v": v[:, 0]})
        for kind, direction in (("previous", "backward"), ("next", "forward"), ("nearest", "nearest")):
            if duplicates and kind != "previous":
                continue  # at a duplicate they take the first sample, and so differ by rule
            for tolerance in (None, 0, 3_000_000):
                got = pd.merge_asof(left, right, on="t", direction=direction, tolerance=tolerance)["v"].to_numpy()
                case(cases, "pandas.merge_asof", kind, "asof", t, v, x, bits(got), tolerance=-1 if tolerance is None else tolerance)
    for name, dtype in (("f32", torch.float32), ("f16", torch.float16), ("bf16", torch.bfloat16)):
        t = timestamps(80, duplicates=True)
        x = targets(t, 120)
        v = torch.from_numpy(rng.normal(size=(80, 5)).astype(np.float32)).to(dtype)
        tt, tx = torch.from_numpy(t), torch.from_numpy(x)
        k = torch.searchsorted(tt, tx, right=True) - 1
        nxt = torch.clamp(k + 1, max=len(t) - 1)
        h = (tt[nxt] - tt[k]).double()
        a = torch.where(tx == tt[k], torch.zeros(()).double(), (tx - tt[k]).double() / h).float()[:, None]
        v0, v1 = v[k].float(), v[nxt].float()
        # Separate operations, each rounded on its own; torch.lerp itself has another formula for weights above a half.
        want = v0 + a * (v1 - v0)
        assert torch.allclose(want, torch.lerp(v0, v1, a), atol=1e-5)
        case(cases, "torch.searchsorted", "linear", "bits", t, v, x, torch_bits(want.to(dtype)), dtype=name)
    return cases


def halves():
    """float32 and float64 numbers about the rounding boundaries of f16 and bf16, and what they become."""
    f32 = rng.integers(0, 1 << 32, 1500, dtype=np.uint32)
    f32[:500] = (rng.uniform(-70000, 70000, 500).astype(np.float32)).view(np.uint32)
    f32[500:700] = (rng.uniform(-1e-4, 1e-4, 200).astype(np.float32)).view(np.uint32)
    f32 = f32.view(np.float32)
    f32 = f32[~np.isnan(f32)]
    f64 = rng.uniform(-70000, 70000, 400)
    middle = np.arange(1, 200, dtype=np.uint16).view(np.float16).astype(np.float64) + 2.0**-25
    f64 = np.concatenate([f64, middle, np.nextafter(middle, 1), np.nextafter(middle, 0), 1 + 2.0**-11 + 2.0**-np.arange(20, 53.0)])
    wide = torch.from_numpy(f32.copy())
    return {"f32": bits(f32), "f32_to_f16_numpy": bits(f32.astype(np.float16)), "f32_to_f16_torch": torch_bits(wide.half()),
            "f32_to_bf16_torch": torch_bits(wide.bfloat16()), "f64": bits(f64), "f64_to_f16_numpy": bits(f64.astype(np.float16))}


def write(path, data):
    path = os.path.join(ROOT, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as f:
        json.dump({"versions": VERSIONS, **data}, f, separators=(",", ":"))
        f.write("\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore", RuntimeWarning)  # overflow to infinity is wanted
    write("internal/test/opstest/testdata/golden.json", {"cases": resample_cases()})
    write("tensor/testdata/halves.json", halves())
