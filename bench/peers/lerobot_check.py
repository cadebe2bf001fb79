#!/usr/bin/env python3
"""Checks a LeRobot v3.0 dataset with pyarrow, as LeRobot itself would load it:

    bench/peers/lerobot_check.py FOLDER...

It holds every table against what info.json declares, every row against its place, and the statistics against numpy's. Where lerobot is installed, it
also loads the dataset with it. It needs pyarrow and numpy. The first fault ends it with exit code 1.
"""
import glob
import json
import math
import os
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TYPES = {"float32": pa.float32(), "float64": pa.float64(), "int64": pa.int64(), "bool": pa.bool_()}
QUANTILES = {"q01": 0.01, "q10": 0.10, "q50": 0.50, "q90": 0.90, "q99": 0.99}
BINS = 5000


def need(truth, *what):
    if not truth:
        raise AssertionError(" ".join(str(w) for w in what))


def read(paths):
    need(paths, "no files")
    return pa.concat_tables([pq.read_table(p) for p in paths])


def arrow_type(feature):
    if feature["dtype"] == "image":
        return pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    t = TYPES[feature["dtype"]]
    if feature["shape"] != [1]:
        t = pa.list_(pa.field("element", t))
    return t


def numbers(table, name, feature):
    """A column as [rows, width]."""
    column = table.column(name).combine_chunks()
    need(column.null_count == 0, name, "has nulls")
    if pa.types.is_list(column.type):
        lengths = np.diff(column.offsets.to_numpy())
        need((lengths == feature["shape"][0]).all(), name, "has lists of other lengths than", feature["shape"])
        column = column.flatten()
        need(column.null_count == 0, name, "has null elements")
    return column.to_numpy(zero_copy_only=False).reshape(len(table), -1)


def quantiles(column):
    """numpy 2's arithmetic, whatever numpy this is: the edges are in the column's own precision."""
    t = column.dtype.type
    low, high = t(column.min() - t(1e-10)), t(column.max() + t(1e-10))
    step = t(t(high - low) / t(BINS))
    k = np.arange(BINS + 1, dtype=column.dtype)
    edges = k * step + low if step != 0 else (k / t(BINS)) * t(high - low) + low
    edges[-1] = high
    hist, _ = np.histogram(column, bins=edges)
    cumulative = np.cumsum(hist.astype(np.float64))
    out = {}
    for name, q in QUANTILES.items():
        i = int(np.searchsorted(cumulative, q * len(column)))
        if i == 0:
            out[name] = float(edges[0])
            continue
        share = (q * len(column) - cumulative[i - 1]) / (cumulative[i] - cumulative[i - 1])
        out[name] = float(np.float64(edges[i]) + share * np.float64(edges[i + 1] - edges[i]))
    return out


def episode_stats(x):
    x = x.astype(np.result_type(x.dtype, np.float32), copy=False)
    mean = np.mean(x, axis=0)
    out = {"min": x.min(axis=0), "max": x.max(axis=0), "mean": mean, "count": [len(x)]}
    if len(x) == 1:
        out["std"] = np.zeros(x.shape[1])
        return {**out, **{q: mean for q in QUANTILES}}
    out["std"] = np.sqrt(np.maximum(0, np.mean(x**2, axis=0) - mean**2))
    by_column = [quantiles(np.ascontiguousarray(x[:, c])) for c in range(x.shape[1])]
    return {**out, **{q: [c[q] for c in by_column] for q in QUANTILES}}


def check(root):
    with open(os.path.join(root, "meta/info.json")) as f:
        info = json.load(f)
    need(info["codebase_version"] == "v3.0", "version", info["codebase_version"])
    need(info["fps"] > 0, "fps", info["fps"])
    features = info["features"]
    for name in ("timestamp", "frame_index", "episode_index", "index", "task_index"):
        need(name in features, "no feature", name)
    videos = [n for n, f in features.items() if f["dtype"] == "video"]
    tables = {n: f for n, f in features.items() if f["dtype"] != "video"}

    tasks = pq.read_table(os.path.join(root, "meta/tasks.parquet"))
    pandas = json.loads(tasks.schema.metadata[b"pandas"])
    need(pandas["index_columns"] == ["task"], "the index of tasks is", pandas["index_columns"])
    need(tasks.schema.field("task").type == pa.string(), "task is", tasks.schema.field("task").type)
    need(tasks.column("task_index").to_pylist() == list(range(len(tasks))), "task_index is not the row")
    need(len(tasks) == info["total_tasks"] > 0, "total_tasks is", info["total_tasks"])
    task_names = tasks.column("task").to_pylist()

    episode_files = sorted(glob.glob(os.path.join(root, "meta/episodes/*/*.parquet")))
    episodes = read(episode_files)
    n = info["total_episodes"]
    need(len(episodes) == n > 0, "episodes", len(episodes), "of", n)
    need(episodes.column("episode_index").to_pylist() == list(range(n)), "episode i is not in row i")
    at = 0
    for path in episode_files:
        part = pq.read_table(path, columns=["meta/episodes/chunk_index", "meta/episodes/file_index"])
        for chunk, number in zip(*(c.to_pylist() for c in part.columns)):
            need(path.endswith("chunk-%03d/file-%03d.parquet" % (chunk, number)), "meta/episodes of a row in", path, "says", chunk, number)
    rows = episodes.to_pylist()
    for i, e in enumerate(rows):
        need(e["dataset_from_index"] == at and e["dataset_to_index"] == at + e["length"], "episode", i, "is not where the last ended")
        at = e["dataset_to_index"]
    need(at == info["total_frames"], "total_frames is", info["total_frames"], "and the episodes have", at)

    data_files = sorted(glob.glob(os.path.join(root, "data/*/*.parquet")))
    data = read(data_files)
    need(len(data) == at, "rows", len(data), "of", at)
    need(sorted(data.column_names) == sorted(tables), "columns", sorted(data.column_names), "and features", sorted(tables))
    hf = json.loads(data.schema.metadata[b"huggingface"])["info"]["features"]
    need(list(hf) == data.column_names, "huggingface has", list(hf))
    for name, f in tables.items():
        need(data.schema.field(name).type == arrow_type(f), name, "is", data.schema.field(name).type, "want", arrow_type(f))
    groups = 0
    for path in data_files:
        file = pq.ParquetFile(path)
        for g in range(file.num_row_groups):
            inside = file.read_row_group(g, columns=["episode_index"]).column(0).to_pylist()
            need(len(set(inside)) == 1 and len(inside) == rows[inside[0]]["length"], "row group", g, "of", path, "is no episode")
            e = rows[inside[0]]
            need(path.endswith("chunk-%03d/file-%03d.parquet" % (e["data/chunk_index"], e["data/file_index"])), "episode", inside[0], "is in", path)
            groups += 1
    need(groups == n, "row groups", groups, "for episodes", n)

    values = {name: numbers(data, name, f) for name, f in tables.items() if f["dtype"] in TYPES}
    need((values["index"][:, 0] == np.arange(at)).all(), "row r has not index r")
    frame = np.concatenate([np.arange(e["length"]) for e in rows])
    need((values["frame_index"][:, 0] == frame).all(), "frame_index")
    need((values["episode_index"][:, 0] == np.repeat(np.arange(n), [e["length"] for e in rows])).all(), "episode_index")
    need((values["timestamp"][:, 0] == (frame / info["fps"]).astype(np.float32)).all(), "timestamp is not frame_index / fps")
    for e in rows:
        used = {task_names[i] for i in values["task_index"][e["dataset_from_index"]:e["dataset_to_index"], 0]}
        need(used == set(e["tasks"]), "episode", e["episode_index"], "has the tasks", e["tasks"], "and its rows", used)

    apart = 0
    for e in rows:
        for name, x in values.items():
            part = x[e["dataset_from_index"]:e["dataset_to_index"]]
            for stat, want in episode_stats(part).items():
                got = np.array(e["stats/%s/%s" % (name, stat)], dtype=np.float64)
                apart += int((got != np.array(want, dtype=np.float64)).sum())
    need(apart == 0, "statistics of episodes that are not numpy's:", apart)
    with open(os.path.join(root, "meta/stats.json")) as f:
        stats = json.load(f)
    need(sorted(stats) == sorted(n for n in features if n not in videos or n in stats), "stats.json has", sorted(stats))
    for name, x in values.items():
        x = x.astype(np.float64)
        for c in range(x.shape[1]):
            mean = math.fsum(x[:, c]) / at
            std = math.sqrt(math.fsum((x[:, c] - mean) ** 2) / at)
            s = {k: v[c] for k, v in stats[name].items() if k != "count"}
            scale = max(abs(s["min"]), abs(s["max"]))
            need(s["min"] == x[:, c].min() and s["max"] == x[:, c].max(), name, c, "minimum or maximum")
            need(abs(s["mean"] - mean) <= scale * 2**-50, name, c, "mean", s["mean"], "want", mean)
            need(abs(s["std"] - std) <= std * 1e-12 + scale * 2**-48, name, c, "std", s["std"], "want", std)
            width = (s["max"] - s["min"]) / BINS + 1e-9 * scale + 1e-9
            for q, share in QUANTILES.items():
                exact = np.sort(x[:, c])[max(0, math.ceil(share * at) - 1)]
                need(abs(s[q] - exact) <= width, name, c, q, s[q], "want", exact)
        need(stats[name]["count"] == [at], name, "count", stats[name]["count"])

    for name, f in tables.items():
        if f["dtype"] == "image":
            need(data.column(name).null_count == 0, name, "has nulls")
            for cell in data.column(name).to_pylist():
                need(cell["bytes"][:4] in (b"\x89PNG",) or cell["bytes"][:2] == b"\xff\xd8", name, "holds no image")
            need(np.array(stats[name]["mean"]).shape == (f["shape"][2], 1, 1), name, "statistics", stats[name]["mean"])
    for name in videos:
        for e in rows:
            path = info["video_path"].format(video_key=name, chunk_index=e["videos/%s/chunk_index" % name], file_index=e["videos/%s/file_index" % name])
            need(os.path.exists(os.path.join(root, path)), "no file", path)
            length = e["videos/%s/to_timestamp" % name] - e["videos/%s/from_timestamp" % name]
            need(abs(length - e["length"] / info["fps"]) < 1e-4, "episode", e["episode_index"], "has a video of", length, "s")
    print(root, "is right:", n, "episodes,", at, "rows,", len(data_files), "data files,", len(values), "columns of numbers, statistics to the bit")
    return info, data


def load(root, info, data):
    try:
        from lerobot.datasets.lerobot_dataset import LeRobotDataset
    except ImportError as e:
        print("lerobot is not here:", e)
        return
    d = LeRobotDataset("local/" + os.path.basename(os.path.normpath(root)), root=root)
    need(len(d) == info["total_frames"], "lerobot counts", len(d))
    for i in sorted({0, len(d) // 2, len(d) - 1}):
        item = d[i]
        row = data.slice(i, 1).to_pylist()[0]
        for name, f in info["features"].items():
            if f["dtype"] in TYPES:
                need(np.array_equal(np.array(item[name]).reshape(-1), np.array(row[name]).reshape(-1).astype(f["dtype"])), "row", i, name, item[name])
            else:
                need(tuple(item[name].shape) == (f["shape"][2], f["shape"][0], f["shape"][1]), "row", i, name, item[name].shape)
    print(root, "loads in lerobot")


for folder in sys.argv[1:]:
    try:
        load(folder, *check(folder))
    except AssertionError as fault:
        print(folder, "is wrong:", fault)
        sys.exit(1)
