#!/usr/bin/env python3
"""Times pyarrow, one thread, on the tables of a LeRobot v3.0 dataset:

    ROBOCACHE_BENCH_DATA=/tmp/large go test -run '^$' -bench 'Read' -cpu 1 ./dataset/lerobot
    bench/peers/lerobot_peer.py /tmp/large

The first command writes the dataset, unless it is there, and measures RoboCache on it. Both read every column of every episode once: pyarrow each row
group of each file, as LeRobot writes an episode, and makes numpy arrays of the columns, lists as [rows,width]. Bytes a second are those of the values
of float32 lists, as Go's benchmark counts them. The median of the passes after the first is told, so the files are in the system's cache.
"""
import argparse
import glob
import json
import os
import platform
import statistics
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def read(folder, columns):
    """Reads everything; returns how many bytes of float32 there were in lists."""
    size = 0
    for path in sorted(glob.glob(os.path.join(folder, "data/*/*.parquet"))):
        with pq.ParquetFile(path) as f:
            for group in range(f.num_row_groups):
                table = f.read_row_group(group, columns=columns, use_threads=False)
                for column in table.columns:
                    for chunk in column.chunks:
                        if pa.types.is_list(chunk.type) or pa.types.is_large_list(chunk.type) or pa.types.is_fixed_size_list(chunk.type):
                            values = chunk.flatten().to_numpy(zero_copy_only=False).reshape(len(chunk), -1)
                            size += values.nbytes if values.dtype == np.float32 else 0
                        else:
                            chunk.to_numpy(zero_copy_only=False)
    return size


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folder")
    p.add_argument("--passes", type=int, default=7)
    args = p.parse_args()
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    with open(os.path.join(args.folder, "meta/info.json")) as f:
        info = json.load(f)
    columns = [k for k, v in info["features"].items() if v["dtype"] not in ("video", "image")]
    times, cpu = [], []
    for _ in range(args.passes + 1):
        begin, used = time.perf_counter(), time.process_time()
        size = read(args.folder, columns)
        times.append(time.perf_counter() - begin)
        cpu.append(time.process_time() - used)
    seconds, used = statistics.median(times[1:]), statistics.median(cpu[1:])
    json.dump({"peer": f"pyarrow {pa.__version__}", "python": platform.python_version(), "machine": platform.processor() or platform.machine(),
               "rows": info["total_frames"], "bytes": size, "seconds": seconds, "cpu_seconds": used, "mb_per_s": size / seconds / 1e6,
               "mb_per_cpu_s": size / used / 1e6}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
