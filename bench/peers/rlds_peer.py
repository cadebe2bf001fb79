#!/usr/bin/env python3
"""Reads an RLDS dataset with what Python has, one thread, to compare with the package dataset/rlds:

    ROBOCACHE_RLDS_DIR=/tmp/rlds go test -run NONE -bench Episode -cpu 1 ./dataset/rlds   # writes the datasets that it reads below the folder
    bench/peers/rlds_peer.py /tmp/rlds/*

A pass reads every record of every shard into arrays [T, D] of the numbers below steps; images and texts stay bytes. It takes TensorFlow's
TFRecordDataset and parse_single_example on one thread if TensorFlow can be imported, else a reader of its own: struct for the records, a few lines of
protobuf, numpy for packed values. That one does not check checksums, which TensorFlow and RoboCache do; both copy images, which RoboCache leaves in the
file until they are asked for. --reader chooses. The report is JSON: which reader, and the best and the median pass, in MB/s of the files.
"""
import argparse
import glob
import json
import os
import struct
import sys
import time

import numpy as np

WHOLE = {"bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"}


def leaves(node, key="", steps=False):
    """Each feature of features.json that the peers read: its key, whether it has a row a step, dtype and shape. Inner sequences are left out."""
    if "featuresDict" in node:
        for name, child in node["featuresDict"]["features"].items():
            yield from leaves(child, key + "/" + name if key else name, steps)
    elif "sequence" in node:
        if not steps:
            yield from leaves(node["sequence"]["feature"], key, True)
    else:
        tensor = node.get("tensor")
        if tensor and tensor.get("encoding", "none").lower() == "none":
            yield key, steps, tensor["dtype"], [int(d) for d in tensor.get("shape", {}).get("dimensions", [])]
        elif "classLabel" in node:
            yield key, steps, "int64", []
        else:
            yield key, steps, "string", []


def varint(b, i):
    value = shift = 0
    while True:
        c = b[i]
        i += 1
        value |= (c & 127) << shift
        if c < 128:
            return value, i
        shift += 7


def fields(b):
    """The fields of a message that are bytes, and single numbers."""
    i, end = 0, len(b)
    while i < end:
        tag, i = varint(b, i)
        kind = tag & 7
        if kind == 2:
            size, i = varint(b, i)
            yield tag >> 3, b[i:i + size]
            i += size
        elif kind == 0:
            value, i = varint(b, i)
            yield tag >> 3, value
        else:
            size = {5: 4, 1: 8}[kind]
            yield tag >> 3, b[i:i + size]
            i += size


def whole(b):
    """int64 of packed varints."""
    raw = np.frombuffer(b, np.uint8)
    ends = np.flatnonzero(raw < 128)
    if len(ends) == len(raw):
        return raw.astype(np.int64)
    starts = np.concatenate([[0], ends[:-1] + 1])
    out = np.zeros(len(ends), np.uint64)
    for k in range(int((ends - starts).max()) + 1):
        more = starts + k <= ends
        out[more] |= (raw[starts[more] + k].astype(np.uint64) & np.uint64(127)) << np.uint64(7 * k)
    return out.view(np.int64)


def values(feature, item):
    for kind, body in fields(feature):
        parts = [v for _, v in fields(body)]
        if kind == 1:
            return [item(p) for p in parts]
        if kind == 2:
            return np.frombuffer(b"".join(parts), "<f4").copy()
        if parts and isinstance(parts[0], int):
            return np.array(parts, np.uint64).view(np.int64)
        return np.concatenate([whole(p) for p in parts]) if parts else np.zeros(0, np.int64)
    return []


def own_reader(folder, item=bytes):
    """Item makes of the bytes of an image or a text, which are a view of the record, what an episode has."""
    shapes = {key: (steps, shape) for key, steps, _, shape in leaves(json.load(open(os.path.join(folder, "features.json"))))}

    def episodes():
        for path in shards(folder):
            with open(path, "rb") as f:
                while head := f.read(12):
                    data = memoryview(f.read(struct.unpack("<Q", head[:8])[0]))
                    f.read(4)
                    e = {}
                    for _, features in fields(data):
                        for _, entry in fields(features):
                            both = dict(fields(entry))
                            key = str(both[1], "utf-8")
                            v = values(both.get(2, b""), item)
                            steps, shape = shapes.get(key, (False, []))
                            if isinstance(v, np.ndarray) and steps:
                                v = v.reshape(-1, *[d for d in shape])
                            e[key] = v
                    yield e

    return episodes


def tensorflow_reader(folder):
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    spec = {}
    for key, steps, dtype, shape in leaves(json.load(open(os.path.join(folder, "features.json")))):
        stored = tf.string if dtype in ("string", "object") else tf.int64 if dtype in WHOLE else tf.float32
        spec[key] = tf.io.FixedLenSequenceFeature(shape, stored, allow_missing=True) if steps else tf.io.FixedLenFeature(shape, stored)

    def episodes():
        one = tf.data.Options()
        one.threading.private_threadpool_size = 1
        records = tf.data.TFRecordDataset(shards(folder), num_parallel_reads=1).with_options(one)
        return records.map(lambda r: tf.io.parse_single_example(r, spec), num_parallel_calls=1).as_numpy_iterator()

    return episodes


def shards(folder):
    return sorted(glob.glob(os.path.join(folder, "*.tfrecord*")))


def measure(name, read, folder, passes):
    size = sum(os.path.getsize(p) for p in shards(folder))
    took = []
    while len(took) < passes or sum(took) < 1:
        began = time.perf_counter()
        count = steps = 0
        for e in read():
            count += 1
            steps += len(e.get("steps/action", ()))
        took.append(time.perf_counter() - began)
    return {"reader": name, "folder": folder, "bytes": size, "episodes": count, "steps": steps, "passes": len(took),
            "best_MB_per_s": round(size / min(took) / 1e6, 1), "median_MB_per_s": round(size / float(np.median(took)) / 1e6, 1)}


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("folders", nargs="+", help="folders of versions, with features.json")
    p.add_argument("--passes", type=int, default=5, help="the least number of passes")
    p.add_argument("--reader", choices=["tensorflow", "own"], help="default: tensorflow where it can be imported")
    args = p.parse_args()
    make, name = own_reader, f"struct and numpy {np.__version__}"
    if args.reader != "own":
        try:
            import tensorflow as tf

            make, name = tensorflow_reader, f"tensorflow {tf.__version__}"
        except ImportError as e:
            if args.reader:
                sys.exit(str(e))
    json.dump([measure(name, make(folder), folder, args.passes) for folder in args.folders], sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
