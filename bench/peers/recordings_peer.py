#!/usr/bin/env python3
"""Times what is done with recordings before training, beside a loop in Python that does the same or less, in turn, in one run:

    python3 bench/peers/recordings_peer.py --make /tmp/v21 --episodes 200 --frames 2000     # a LeRobot v2.1 dataset, by pyarrow
    python3 bench/peers/recordings_peer.py --robocache ./robocache /tmp/v21 /tmp/bags/imu-none.bag

Of a LeRobot dataset, beside pyarrow and numpy: `convert` to v3.0, where the loop joins the tables and writes each episode's mean, deviation, least and
greatest; `stats`, where it holds all rows and takes the exact quantiles too; and `doctor`, where it looks for gaps, steps back, numbers that are none and
columns that never change. Of a ROS 1 bag, beside python3-rosbag: `convert` to LeRobot at 100 Hz, where the loop makes rows at 100 Hz and keeps them in
memory; it writes them if there is pyarrow. robocache is timed from its start to its end, the loops without their imports. Both have the same two
processors. Told are the medians of the rounds, by the wall and of all processors. A part whose peer is missing says so.
"""
import argparse
import glob
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError:
    pa = None

WIDTH, FPS = 26, 50
QUANTILES = [0.01, 0.10, 0.50, 0.90, 0.99]


def make(folder, episodes, frames):
    """Writes a dataset of state and action that wander."""
    if os.path.exists(folder):
        sys.exit(f"{folder} is there already")
    os.makedirs(os.path.join(folder, "data/chunk-000"))
    os.makedirs(os.path.join(folder, "meta"))
    rng = np.random.default_rng(1)
    names = [f"joint_{i}" for i in range(WIDTH)]
    feature = {"dtype": "float32", "shape": [WIDTH], "names": names}
    whole = lambda dtype: {"dtype": dtype, "shape": [1], "names": None}
    features = {"observation.state": feature, "action": feature, "timestamp": whole("float32"), "frame_index": whole("int64"),
                "episode_index": whole("int64"), "index": whole("int64"), "task_index": whole("int64")}
    with open(os.path.join(folder, "meta/episodes.jsonl"), "w") as told, open(os.path.join(folder, "meta/episodes_stats.jsonl"), "w") as said:
        for e in range(episodes):
            values = np.cumsum(rng.standard_normal((frames, 2 * WIDTH)) * 0.01, axis=0).astype(np.float32)
            i = np.arange(frames, dtype=np.int64)
            columns = {"observation.state": values[:, :WIDTH], "action": values[:, WIDTH:], "timestamp": (i / FPS).astype(np.float32), "frame_index": i,
                       "episode_index": np.full(frames, e), "index": e * frames + i, "task_index": np.zeros(frames, np.int64)}
            table = {k: pa.FixedSizeListArray.from_arrays(pa.array(v.ravel()), WIDTH) if v.ndim == 2 else pa.array(v) for k, v in columns.items()}
            pq.write_table(pa.table(table), os.path.join(folder, f"data/chunk-000/episode_{e:06d}.parquet"))
            told.write(json.dumps({"episode_index": e, "tasks": ["wander"], "length": frames}) + "\n")
            stats = {k: summary(v.reshape(frames, -1)) for k, v in columns.items()}
            said.write(json.dumps({"episode_index": e, "stats": stats}) + "\n")
    with open(os.path.join(folder, "meta/tasks.jsonl"), "w") as f:
        f.write(json.dumps({"task_index": 0, "task": "wander"}) + "\n")
    info = {"codebase_version": "v2.1", "robot_type": "none", "total_episodes": episodes, "total_frames": episodes * frames, "total_tasks": 1, "total_videos": 0,
            "total_chunks": 1, "chunks_size": 1000, "fps": FPS, "splits": {"train": f"0:{episodes}"}, "features": features, "video_path": None,
            "data_path": "data/chunk-{episode_chunk:03d}/episode_{episode_index:06d}.parquet"}
    with open(os.path.join(folder, "meta/info.json"), "w") as f:
        json.dump(info, f)


def summary(rows):
    return {"min": rows.min(0).tolist(), "max": rows.max(0).tolist(), "mean": rows.mean(0, dtype=np.float64).tolist(),
            "std": rows.std(0, dtype=np.float64).tolist(), "count": [len(rows)]}


def columns_of(table):
    """The columns of a table as arrays, lists as [rows, width]."""
    for name, column in zip(table.column_names, table.columns):
        chunk = column.combine_chunks()
        if pa.types.is_list(chunk.type) or pa.types.is_fixed_size_list(chunk.type):
            yield name, chunk.flatten().to_numpy(zero_copy_only=False).reshape(len(chunk), -1)
        else:
            yield name, chunk.to_numpy(zero_copy_only=False).reshape(len(chunk), -1)


def tables(folder):
    for path in sorted(glob.glob(os.path.join(folder, "data/*/*.parquet"))):
        yield pq.read_table(path)


def convert_tables(folder, out):
    os.makedirs(out)
    writer, episodes = None, []
    for table in tables(folder):
        if writer is None:
            writer = pq.ParquetWriter(os.path.join(out, "file-000.parquet"), table.schema)
        writer.write_table(table)
        episodes.append({f"stats/{name}/{k}": v for name, values in columns_of(table) for k, v in summary(values).items()})
    writer.close()
    pq.write_table(pa.Table.from_pylist(episodes), os.path.join(out, "episodes.parquet"))


def statistics_of(folder, _):
    parts = {}
    for table in tables(folder):
        for name, values in columns_of(table):
            parts.setdefault(name, []).append(values)
    for name, values in parts.items():
        rows = np.concatenate(values)
        summary(rows)
        for c in range(rows.shape[1]):
            np.quantile(rows[:, c].astype(np.float64), QUANTILES)


def examine(folder, _):
    found = 0
    for table in tables(folder):
        for name, values in columns_of(table):
            if name == "timestamp":
                steps = np.diff(values[:, 0])
                found += int((steps <= 0).sum() + (steps > max(0.02, 3 * np.median(steps))).sum())
            elif values.dtype.kind == "f":
                found += int(np.isnan(values).sum()) + int((np.ptp(values, axis=0) == 0).sum())
    return found


def convert_bag(path, out):
    import rosbag
    times, rows = {}, {}
    with rosbag.Bag(path) as bag:
        for topic, m, t in bag.read_messages():
            times.setdefault(topic, []).append(t.to_nsec())
            if hasattr(m, "position"):
                row = (*m.position, *m.velocity, *m.effort)
            else:
                o, w, a = m.orientation, m.angular_velocity, m.linear_acceleration
                row = (o.x, o.y, o.z, o.w, w.x, w.y, w.z, a.x, a.y, a.z)
            rows.setdefault(topic, []).append(row)
    clock = np.arange(max(t[0] for t in times.values()), min(t[-1] for t in times.values()), 10_000_000)
    made = {}
    for topic, values in rows.items():
        values = np.array(values)
        made[topic] = np.stack([np.interp(clock, times[topic], values[:, c]) for c in range(values.shape[1])], 1).astype(np.float32)
    if pa:
        os.makedirs(out)
        pq.write_table(pa.table({k: pa.FixedSizeListArray.from_arrays(pa.array(v.ravel()), v.shape[1]) for k, v in made.items()}), os.path.join(out, "rows.parquet"))


def timed(run):
    """Seconds by the wall and of all processors."""
    used = lambda: sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    wall, processors = time.perf_counter(), used()
    run()
    return time.perf_counter() - wall, used() - processors


def beside(name, size, ours, theirs, peer, rounds, folder):
    seen = {"robocache": [], peer: []}
    for i in range(rounds + 1):
        for who, run in (("robocache", ours), (peer, theirs)):
            out = os.path.join(folder, "out")
            took = timed(lambda: run(out))
            shutil.rmtree(out, ignore_errors=True)
            if i > 0:  # the first fills caches
                seen[who].append(took)
    row = {"job": name, "MB": size / 1e6}
    for who, list in seen.items():
        row[who] = {"wall_s": statistics.median(t[0] for t in list), "processors_s": statistics.median(t[1] for t in list)}
    row["times"] = {k: row[peer][k] / row["robocache"][k] for k in ("wall_s", "processors_s")}
    print(json.dumps(row), flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("paths", nargs="*", help="LeRobot v2.1 datasets and ROS 1 bags")
    p.add_argument("--robocache", help="the program")
    p.add_argument("--make", metavar="FOLDER", help="write a dataset")
    p.add_argument("--episodes", type=int, default=200)
    p.add_argument("--frames", type=int, default=2000)
    p.add_argument("--rounds", type=int, default=5)
    args = p.parse_args()
    if args.make:
        if not pa:
            sys.exit("a dataset is made by pyarrow, which is not here")
        return make(args.make, args.episodes, args.frames)
    if not args.robocache:
        sys.exit("--robocache says where the program is")
    processors = sorted(os.sched_getaffinity(0))[:2]
    os.sched_setaffinity(0, processors)
    if pa:
        pa.set_cpu_count(len(processors))
    program = os.path.abspath(args.robocache)
    run = lambda *words: subprocess.run([program, *words], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with tempfile.TemporaryDirectory() as folder:
        for path in args.paths:
            bag = path.endswith(".bag")
            try:
                __import__("rosbag" if bag else "pyarrow")
            except ImportError as e:
                print(json.dumps({"job": path, "not measured": str(e)}))
                continue
            if bag:
                beside("convert " + os.path.basename(path), os.path.getsize(path),
                       lambda out: run("convert", path, "-o", out, "--to", "lerobot", "--hz", "100"), lambda out: convert_bag(path, out), "rosbag", args.rounds, folder)
                continue
            with open(os.path.join(path, "meta/info.json")) as f:
                size = json.load(f)["total_frames"] * 4 * 2 * WIDTH
            beside("convert", size, lambda out: run("convert", path, "-o", out, "--to", "lerobot"), lambda out: convert_tables(path, out), "pyarrow", args.rounds, folder)
            beside("stats", size, lambda out: run("stats", path, "--json"), lambda out: statistics_of(path, out), "pyarrow", args.rounds, folder)
            beside("doctor", size, lambda out: run("doctor", path, "--json"), lambda out: examine(path, out), "pyarrow", args.rounds, folder)


if __name__ == "__main__":
    main()
