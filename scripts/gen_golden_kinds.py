#!/usr/bin/env python3
"""Writes internal/test/opstest/testdata/golden_kinds.json: windows, cubics and rotations by the libraries that people compare with.

    apt-get install python3-numpy python3-scipy python3-pandas
    /usr/bin/python3 scripts/gen_golden_kinds.py

pandas' rolling windows over time, (x-w, x] at the samples' own timestamps; scipy's CubicHermiteSpline, with recorded slopes and
with those of numpy.gradient(edge_order=2), which are the parabolas' of Catmull-Rom; scipy's Rotation and Slerp for rotation
vectors and columns of matrices. The form is gen_golden.py's.
"""
import json
import os
import platform

import numpy as np
import pandas as pd
import scipy
from scipy.interpolate import CubicHermiteSpline
from scipy.spatial.transform import Rotation, Slerp

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
VERSIONS = {"python": platform.python_version(), "numpy": np.__version__, "scipy": scipy.__version__, "pandas": pd.__version__}
rng = np.random.default_rng(20251121)


def bits(a):
    return np.ascontiguousarray(a, dtype=np.float64).view(np.int64).ravel().tolist()


def timestamps(n, duplicates=False):
    """n int64 nanoseconds from an epoch, 0.1 to 20 ms apart."""
    steps = rng.integers(100_000, 20_000_000, n)
    if duplicates:
        steps[rng.random(n) < 0.1] = 0
    return 1_762_550_000_000_000_000 + np.cumsum(steps)


def case(oracle, kind, rule, t, v, x, want, **more):
    return {"oracle": oracle, "kind": kind, "rule": rule, "dtype": "f64", "samples": len(t), "targets": len(x), "features": v.shape[1],
            "times": [int(i) for i in t], "at": [int(i) for i in x], "values": bits(v), "want": bits(want), **more}


def windows():
    for duplicates in (False, True):
        t = timestamps(60, duplicates)
        v = np.round(rng.normal(size=(60, 2)) * 4) / 4 + 0.0  # pandas does not order -0 and +0
        last = len(t) - 1 - np.unique(t[::-1], return_index=True)[1]  # of samples with one timestamp the later sees both
        for ms in (1, 15, 100):
            rolled = pd.DataFrame(v, index=pd.to_datetime(t)).rolling(f"{ms}ms")
            for kind, got in (("mean", rolled.mean()), ("min", rolled.min()), ("max", rolled.max()), ("last", rolled.apply(lambda s: s[-1], raw=True))):
                yield case("pandas.rolling", "window-" + kind, "near" if kind == "mean" else "bits", t, v, t[last], got.to_numpy()[last], window=ms * 1_000_000)


def cubics():
    for n in (3, 33, 128):
        t = timestamps(n)
        x = rng.integers(t[0], t[-1] + 1, 50)
        # Whole nanoseconds from the first timestamp are exact in float64.
        rt, rx = (t - t[0]).astype(np.float64), (x - t[0]).astype(np.float64)
        v = rng.normal(size=(n, 2))
        spline = CubicHermiteSpline(rt, v, np.gradient(v, rt, axis=0, edge_order=2), axis=0)
        yield case("scipy.interpolate.CubicHermiteSpline", "catmull-rom", "cubic", t, v, x, spline(rx))
        velocity = rng.normal(size=(n, 2)) * 100
        spline = CubicHermiteSpline(rt, v, velocity / 1e9, axis=0)
        both = np.concatenate([spline(rx), spline(rx, 1) * 1e9], axis=1)
        yield case("scipy.interpolate.CubicHermiteSpline", "hermite", "cubic", t, np.concatenate([v, velocity], axis=1), x, both)


def rotations():
    for n, small in ((2, False), (33, False), (128, True)):
        t = timestamps(n)
        x = rng.integers(t[0] + 1, t[-1], 50)
        x = x[~np.isin(x, t)]
        rt, rx = (t - t[0]).astype(np.float64), (x - t[0]).astype(np.float64)
        r = Rotation.from_rotvec(np.cumsum(rng.normal(size=(n, 3)) * 0.005, 0)) if small else Rotation.random(n, random_state=n)
        got = Slerp(rt, r)(rx)
        vec = r.as_rotvec()
        length = np.linalg.norm(vec, axis=1, keepdims=True)
        vec = vec + vec / length * 2 * np.pi * rng.integers(-2, 3, (n, 1))  # the same rotation, with whole turns
        rule = "small-turn" if small else "turn"
        yield case("scipy.spatial.transform.Slerp", "rotvec", rule, t, vec, x, got.as_rotvec())
        m = r.as_matrix()
        a, b = m[:, :, 0], m[:, :, 1]
        six = np.concatenate([a * rng.uniform(0.1, 3, (n, 1)), b * rng.uniform(0.1, 3, (n, 1)) + a * rng.normal(size=(n, 1))], axis=1)
        m = got.as_matrix()
        yield case("scipy.spatial.transform.Slerp", "rot6d", rule, t, six, x, np.concatenate([m[:, :, 0], m[:, :, 1]], axis=1))


if __name__ == "__main__":
    path = os.path.join(ROOT, "internal/test/opstest/testdata/golden_kinds.json")
    with open(path, "w", encoding="ascii") as f:
        json.dump({"versions": VERSIONS, "cases": [*windows(), *cubics(), *rotations()]}, f, separators=(",", ":"))
        f.write("\n")
