#!/usr/bin/env python3
"""Statistics of rows of float32 by numpy, beside bench/stats, in one run and on the same rows:

    bench/peers/stats_peer.py --rows 4000000 -- go run ./bench/stats

The program behind -- writes so many rows to a file and computes their statistics; numpy reads the file and computes mean, deviation, minimum, maximum
and five quantiles, the sums in float64 and a column at a time, as memory asks of it. Times are of the processor, user's and system's, without reading
or making rows. What both found is compared: minimum, maximum and quantiles must be equal, mean and deviation within 1e-12 of their size.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

QUANTILES = [0.01, 0.10, 0.50, 0.90, 0.99]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=4_000_000)
    parser.add_argument("program", nargs="+")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "rows.npy")
        run = subprocess.run(args.program + ["-rows", str(args.rows), "-write", path], stdout=subprocess.PIPE, check=True)
        ours = json.loads(run.stdout)
        rows = np.load(path)
        began = time.process_time()
        theirs = []
        for c in range(rows.shape[1]):
            column = rows[:, c].astype(np.float64)
            theirs.append([column.mean(), column.std(), column.min(), column.max(), *np.quantile(column, QUANTILES)])
        seconds = time.process_time() - began
        began = time.process_time()
        plain = [rows.mean(0, dtype=np.float64), rows.std(0, dtype=np.float64), rows.min(0), rows.max(0)]
        one_pass = time.process_time() - began
        del plain
    worst = 0.0
    for got, want in zip(ours["statistics"]["streams"][0]["columns"], theirs):
        exact = [got["min"], got["max"], *got["quantiles"]]
        if exact != want[2:]:
            sys.exit(f"column {got['name']}: got {exact}, numpy has {want[2:]}")
        for a, b in zip([got["mean"], got["std"]], want[:2]):
            worst = max(worst, abs(a - b) / max(abs(b), 1e-300))
    if worst > 1e-12:
        sys.exit(f"mean or deviation: {worst} apart")
    values = rows.shape[0] * rows.shape[1]
    print(json.dumps({
        "rows": rows.shape[0], "columns": rows.shape[1], "numpy": np.__version__,
        "ours_processor_s": ours["processor_s"], "ours_ns_per_value": ours["processor_s"] / values * 1e9,
        "numpy_processor_s": seconds, "numpy_ns_per_value": seconds / values * 1e9,
        "numpy_without_quantiles_processor_s": one_pass, "mean_and_std_apart": worst,
    }, indent=2))


if __name__ == "__main__":
    main()
