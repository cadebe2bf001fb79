#!/usr/bin/env python3
"""Writes the archives that cmd/robocache is tested with, by the real numpy: scripts/gen_cli_golden.py FOLDER."""
import sys
import numpy as np

out = (sys.argv[1] if len(sys.argv) > 1 else "cmd/robocache/testdata") + "/"

# The cases "ramp", "uneven" and "duplicate" of one feature each, on float64 seconds; numpy.interp's own answer beside them.
def case(name, times, values, targets, dtype=np.float32, **more):
    values = np.asarray(values, dtype)
    np.savez(out + name, times=np.asarray(times), values=values, targets=np.asarray(targets), **more)

case("ramp", [0.0, 0.5, 1.0], [[0], [1], [2]], [0, 0.25, 0.5, 0.75, 1.0])
case("uneven", [0.0, 0.1, 1.0], [[1], [5], [3]], [0.05, 0.5])
case("ends", np.arange(1.0, 11), np.arange(1.0, 11)[:, None], [0.5, 11])
case("one_sample", [3.0], [[7, 8]], [0.0, 3.0, 9.0])
case("duplicate", [0.0, 0.5, 0.5, 1.0], [[0], [1], [5], [6]], [0.5])

# A batch of two episodes of int64 nanoseconds, the second of three samples only: its tail is padding, times going backwards.
ms = 1_000_000
times = np.array([[0, 20, 40, 60, 80], [10, 30, 50, 0, 0]]) * ms
values = np.stack([np.stack([np.arange(5.0), -np.arange(5.0)], 1), np.stack([np.arange(5.0) * 10, np.full(5, 1e9)], 1)])
values[1, 3:] = 1e9
case("padded", times, values, np.array([[0, 10, 50], [10, 20, 50]]) * ms, lengths=np.array([5, 3]), note=np.array("not used"))
# The same first row for both, with a clock that both share.
case("shared", times[0], values, np.array([0, 10, 80]) * ms, np.float64)
# bfloat16, stored as uint16: 0, 1, 2.
case("bf16", np.array([0, 10, 20]) * ms, [[0], [0x3F80], [0x4000]], np.array([5, 15]) * ms, np.uint16)
case("half", np.float32([0, 0.5, 1]), [[0], [1], [2]], np.float32([0.25, 0.75]), np.float16)
case("unsorted", [0.0, 1.0, 0.5], [[0], [1], [2]], [0.5])
