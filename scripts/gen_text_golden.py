#!/usr/bin/env python3
"""What trajectories of text hold, as Python's decimal module and float read them: dataset/tum/testdata/golden.json, dataset/csv/testdata/golden.json.

    python3 scripts/gen_text_golden.py FOLDER

FOLDER holds tum_rgbd and tum_vi. Timestamps are hashed as int64 nanoseconds, values as float64, both little endian, row after row.
"""
import hashlib
import json
import math
import pathlib
import struct
import sys
from decimal import Decimal


def golden(path, separator, unit):
    times, rows = [], []
    for line in open(path):
        if line.startswith("#") or not line.strip():
            continue
        fields = line.split(separator)
        ns = Decimal(fields[0].strip()) * unit
        assert ns == int(ns)
        times.append(int(ns))
        rows.append([float(f) for f in fields[1:]])
    flips = sum(1 for a, b in zip(rows, rows[1:]) if sum(a[i] * b[i] for i in range(3, 7)) < 0)
    steps = [b - a for a, b in zip(times, times[1:])]
    return {
        "rows": len(rows),
        "first": times[0],
        "last": times[-1],
        "duplicates": sum(1 for s in steps if s == 0),
        "longest": max(steps),
        "over20ms": sum(1 for s in steps if s > 20_000_000),
        "flips": flips,
        "sums": [math.fsum(r[i] for r in rows) for i in range(7)],
        "times": hashlib.sha256(struct.pack("<%dq" % len(times), *times)).hexdigest(),
        "values": hashlib.sha256(b"".join(struct.pack("<7d", *r) for r in rows)).hexdigest(),
    }


def main():
    data = pathlib.Path(sys.argv[1])
    here = pathlib.Path(__file__).parent.parent / "dataset"
    tum = {p.name: golden(p, None, 10**9) for p in sorted((data / "tum_rgbd").glob("*.txt"))}
    csv = {p.name: golden(p, ",", 1) for p in sorted((data / "tum_vi").glob("*.csv"))}
    for name, found in [("tum", tum), ("csv", csv)]:
        out = here / name / "testdata" / "golden.json"
        out.parent.mkdir(exist_ok=True)
        out.write_text(json.dumps(found, indent=1) + "\n")


main()
