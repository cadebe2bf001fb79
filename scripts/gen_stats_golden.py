#!/usr/bin/env python3
"""Writes stats/testdata/numpy.json: statistics of small columns by numpy and by Python's fractions, which package stats has to equal to the bit.

Quantiles, minimum and maximum are numpy's, of the values as float64; mean and deviation are of the numbers themselves, rounded once. Numbers are
written as hexadecimal floats.

    scripts/gen_stats_golden.py        # numpy 1.24.2
"""
import decimal
import json
from fractions import Fraction

import numpy as np

QUANTILES = [0.0, 0.001, 0.01, 0.1, 0.25, 1 / 3, 0.5, 0.9, 0.99, 0.999, 1.0]


def root(x):
    """The square root of a fraction, rounded once."""
    if x == 0:
        return 0.0
    with decimal.localcontext(decimal.Context(prec=120, Emin=-9999, Emax=9999)):
        return float((decimal.Decimal(x.numerator) / decimal.Decimal(x.denominator)).sqrt())


def column(name, values):
    wide = values.astype(np.float64)
    numbers = [Fraction(float(v)) for v in wide]
    mean = sum(numbers) / len(numbers)
    variance = sum((v - mean) ** 2 for v in numbers) / len(numbers)
    return {
        "name": name,
        "dtype": str(values.dtype),
        "values": [float(v).hex() for v in wide],
        "mean": (mean.numerator / mean.denominator).hex(),
        "std": root(variance).hex(),
        "min": float(wide.min()).hex(),
        "max": float(wide.max()).hex(),
        "quantiles": [float(v).hex() for v in np.quantile(wide, QUANTILES)],
    }


def main():
    rng = np.random.default_rng(7)
    columns = []
    for dtype in (np.float32, np.float64):
        for n in (1, 2, 3, 10, 101, 300):
            columns.append(column(f"normal {n}", rng.standard_normal(n).astype(dtype)))
        columns.append(column("joint", (np.sin(np.arange(200) / 40) * 1.7 - 0.2).astype(dtype)))
        columns.append(column("gripper", (np.arange(80) // 13 % 2).astype(dtype)))
        columns.append(column("constant", np.full(50, 0.1, dtype)))
        columns.append(column("far from zero", (1e6 + rng.random(120)).astype(dtype)))
        columns.append(column("of all sizes", np.ldexp(rng.standard_normal(150), rng.integers(-100, 100, 150)).astype(dtype)))
        columns.append(column("subnormal", (rng.random(60) * float(np.finfo(dtype).tiny)).astype(dtype)))
        columns.append(column("below zero", (-rng.exponential(size=90)).astype(dtype)))
    out = {"numpy": np.__version__, "shares": QUANTILES, "columns": columns}
    with open("stats/testdata/numpy.json", "w", encoding="utf-8") as f:
        json.dump(out, f, indent=0)
        f.write("\n")


if __name__ == "__main__":
    main()
