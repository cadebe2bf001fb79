#!/usr/bin/env python3
"""Reads the tables of LeRobot datasets with a reader of Parquet of its own, and writes what is in them for dataset/lerobot's tests.

    scripts/gen_lerobot_golden.py DATA dataset/lerobot/testdata

DATA has the folders lerobot_v3_g1, lerobot_v21_g1, lerobot_v2_gr1_sim and lerobot_studio. Of each episode it notes, for each column of numbers, how
many values there are, the first, the last, the sum, and the sha256 of all as little-endian float64. It knows what these files use: pages of version
1 and 2, plain and dictionary encoding, snappy or nothing.
"""
import glob
import hashlib
import json
import os
import struct
import sys

import numpy as np


def uvarint(b, at):
    shift = value = 0
    while True:
        byte = b[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def thrift_value(b, at, kind):
    if kind in (1, 2):
        return kind == 1, at
    if kind == 3:
        return b[at], at + 1
    if kind in (4, 5, 6):
        v, at = uvarint(b, at)
        return (v >> 1) ^ -(v & 1), at
    if kind == 7:
        return struct.unpack("<d", b[at:at + 8])[0], at + 8
    if kind == 8:
        n, at = uvarint(b, at)
        return bytes(b[at:at + n]), at + n
    if kind in (9, 10):
        head = b[at]
        at += 1
        n = head >> 4
        if n == 15:
            n, at = uvarint(b, at)
        out = []
        for _ in range(n):
            v, at = thrift_value(b, at, head & 15)
            out.append(v)
        return out, at
    assert kind == 12, kind
    return thrift_struct(b, at)


def thrift_struct(b, at):
    out, field = {}, 0
    while b[at]:
        head = b[at]
        at += 1
        if head >> 4:
            field += head >> 4
        else:
            v, at = uvarint(b, at)
            field = (v >> 1) ^ -(v & 1)
        out[field], at = thrift_value(b, at, head & 15)
    return out, at + 1


def snappy(b):
    n, at = uvarint(b, 0)
    out = bytearray()
    while at < len(b):
        tag = b[at]
        at += 1
        kind = tag & 3
        if kind == 0:
            size = tag >> 2
            if size >= 60:
                width = size - 59
                size = int.from_bytes(b[at:at + width], "little")
                at += width
            out += b[at:at + size + 1]
            at += size + 1
            continue
        if kind == 1:
            size, back = (tag >> 2 & 7) + 4, (tag >> 5) << 8 | b[at]
            at += 1
        elif kind == 2:
            size, back = (tag >> 2) + 1, int.from_bytes(b[at:at + 2], "little")
            at += 2
        else:
            size, back = (tag >> 2) + 1, int.from_bytes(b[at:at + 4], "little")
            at += 4
        for _ in range(size):
            out.append(out[-back])
    assert len(out) == n
    return bytes(out)


def hybrid(b, width, count):
    """Runs and bit-packed groups."""
    out, at = [], 0
    while len(out) < count:
        head, at = uvarint(b, at)
        if head & 1:
            n = (head >> 1) * 8
            bits = int.from_bytes(b[at:at + n * width // 8], "little")
            at += n * width // 8
            out += [bits >> i * width & (1 << width) - 1 for i in range(n)]
        else:
            size = (width + 7) // 8
            out += [int.from_bytes(b[at:at + size], "little")] * (head >> 1)
            at += size
    return out[:count]


TYPES = {1: "<i4", 2: "<i8", 4: "<f4", 5: "<f8"}


def plain(b, kind, count):
    if kind == 0:
        return np.unpackbits(np.frombuffer(b, np.uint8), bitorder="little")[:count].astype(float)
    return np.frombuffer(b, TYPES[kind], count).astype(float)


def leaves(schema):
    """Path, kind, deepest definition and repetition of each leaf."""
    out = []

    def walk(at, path, definition, repetition):
        node = schema[at]
        if at:
            path = path + [node[4].decode()]
            definition += node.get(3, 0) > 0
            repetition += node.get(3, 0) == 2
        at += 1
        if not node.get(5):
            out.append((path, node[1], definition, repetition))
        for _ in range(node.get(5, 0)):
            at = walk(at, path, definition, repetition)
        return at

    walk(0, [], 0, 0)
    return out


def read(path):
    """The columns of numbers: name to values, whole rows one after the other; and the number of rows."""
    data = open(path, "rb").read()
    size = struct.unpack("<I", data[-8:-4])[0]
    meta, _ = thrift_struct(data, len(data) - 8 - size)
    out = {}
    for group in meta[4]:
        for (name, kind, definition, repetition), chunk in zip(leaves(meta[2]), group[1]):
            about = chunk[3]
            if kind not in (0, 1, 2, 4, 5) or name[0].startswith(("videos/", "stats/")):
                continue
            at, dictionary, seen = about.get(11) or about[9], None, 0
            while seen < about[5]:
                head, at = thrift_struct(data, at)
                body = data[at:at + head[3]]
                at += head[3]
                if head[1] == 3:
                    h, levels = head[8], head[8][5] + head[8][6]
                    rest = body[levels:]
                    if about[4] == 1 and h.get(7, True):
                        rest = snappy(rest)
                    nulls, count, encoding = h[2], h[1], h[4]
                else:
                    if about[4] == 1:
                        body = snappy(body)
                    if head[1] == 2:
                        dictionary = plain(body, kind, head[7][1])
                        continue
                    h = head[5]
                    count, encoding, rest, nulls = h[1], h[2], body, 0
                    if repetition:
                        rest = rest[4 + struct.unpack("<I", rest[:4])[0]:]
                    if definition:
                        n = struct.unpack("<I", rest[:4])[0]
                        nulls = sum(d != definition for d in hybrid(rest[4:4 + n], definition.bit_length(), count))
                        rest = rest[4 + n:]
                assert nulls == 0, (path, name)
                if encoding in (2, 8):
                    values = dictionary[hybrid(rest[1:], rest[0], count)] if rest[0] else np.repeat(dictionary[:1], count)
                else:
                    assert encoding == 0, encoding
                    values = plain(rest, kind, count)
                out.setdefault(name[0], []).append(values)
                seen += count
    return {k: np.concatenate(v) for k, v in out.items()}, meta[3]


def golden(folder):
    files = [read(f) for f in sorted(glob.glob(os.path.join(folder, "data/*/*.parquet")))]
    rows = sum(n for _, n in files)
    table = {k: np.concatenate([f[k].reshape(n, -1) for f, n in files]) for k in files[0][0]}
    episodes = []
    for e in range(int(table["episode_index"].max()) + 1):
        mine = table["episode_index"][:, 0] == e
        columns = {}
        for name, values in table.items():
            v = np.ascontiguousarray(values[mine]).ravel()
            digest = hashlib.sha256(v.astype("<f8").tobytes()).hexdigest()
            columns[name] = {"count": v.size, "first": v[0], "last": v[-1], "sum": float(v.sum()), "sha256": digest}
        episodes.append({"frames": int(mine.sum()), "columns": columns})
    assert sum(e["frames"] for e in episodes) == rows
    return episodes


def main(data, to):
    os.makedirs(to, exist_ok=True)
    studio = ["lerobot_studio/lerobotv2", "lerobot_studio/lerobotv2-image", "lerobot_studio/lerobotv3"]
    for name in ["lerobot_v3_g1", "lerobot_v21_g1", "lerobot_v2_gr1_sim", *studio]:
        with open(os.path.join(to, name.replace("/", "_") + ".json"), "w") as f:
            json.dump(golden(os.path.join(data, name)), f, indent=1)
            f.write("\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
