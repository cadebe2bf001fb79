#!/usr/bin/env python3
"""What rosbag2 recordings hold, as Python's sqlite3 and a decoder of its own find it: dataset/rosbag2/testdata/golden.json.

    python3 scripts/gen_rosbag2_golden.py FOLDER > dataset/rosbag2/testdata/golden.json

FOLDER holds rosbag2_sqlite and rosbag2_mcap. zstd must be installed. Of each folder and of each lone MCAP file: the messages, the first and last
log time, and by topic the messages, their bytes and their numbers' sums, in the order of the definition, of the types that are known here.
"""
from __future__ import annotations

import json
import pathlib
import sqlite3
import struct
import subprocess
import sys
import tempfile

ZSTD = b"\x28\xb5\x2f\xfd"
BASIC = "?BBfdbBhHiIqQ"  # of test_msgs/BasicTypes and Defaults


class CDR:
    """Little-endian CDR, whose alignment counts from behind the first four bytes."""

    def __init__(self, data):
        assert data[:2] == b"\x00\x01", data[:4]
        self.data, self.at = data[4:], 0

    def number(self, code):
        size = struct.calcsize(code)
        self.at += -self.at % size
        (value,) = struct.unpack_from("<" + code, self.data, self.at)
        self.at += size
        return float(value)

    def numbers(self, codes):
        return [self.number(c) for c in codes]

    def text(self):
        size = int(self.number("I"))
        self.at += size


def basic_types(d):
    return d.numbers(BASIC)


def arrays(d):
    values = []
    for code in BASIC:
        values += d.numbers(code * 3)
    for _ in range(3):
        d.text()
    for _ in range(3):
        values += d.numbers(BASIC)
    d.at += 3  # Constants have no fields, and take a byte each
    for _ in range(3):
        values += d.numbers(BASIC)
    for code in BASIC:
        values += d.numbers(code * 3)
    for _ in range(3):
        d.text()
    return values + d.numbers("i")


def log(d):
    values = d.numbers("iIB")
    for _ in range(4):
        d.text()
    return values + d.numbers("I")


KNOWN = {"test_msgs/msg/BasicTypes": basic_types, "test_msgs/msg/Arrays": arrays, "rcl_interfaces/msg/Log": log}


def unzstd(data):
    return subprocess.run(["zstd", "-dc"], input=data, capture_output=True, check=True).stdout


def from_sqlite(path):
    with tempfile.TemporaryDirectory() as folder:
        plain = pathlib.Path(folder) / "plain.db3"
        data = path.read_bytes()
        plain.write_bytes(unzstd(data) if data[:4] == ZSTD else data)
        db = sqlite3.connect(f"file:{plain}?immutable=1", uri=True)
        query = "SELECT t.name, t.type, m.timestamp, m.data FROM messages m JOIN topics t ON t.id = m.topic_id ORDER BY m.id"
        return db.execute(query).fetchall()


def records(data, at):
    while at + 9 <= len(data):
        op, size = struct.unpack_from("<BQ", data, at)
        yield op, data[at + 9:at + 9 + size]
        at += 9 + size


def string(data, at):
    (size,) = struct.unpack_from("<I", data, at)
    return data[at + 4:at + 4 + size].decode(), at + 4 + size


def from_mcap(path):
    schemas, channels, found = {}, {}, []

    def walk(data, at):
        for op, body in records(data, at):
            if op == 3:
                schemas[struct.unpack_from("<H", body)[0]] = string(body, 2)[0]
            elif op == 4:
                number, schema = struct.unpack_from("<HH", body)
                channels[number] = (string(body, 4)[0], schemas[schema])
            elif op == 5:
                number, _, time = struct.unpack_from("<HIQ", body)
                found.append((*channels[number], time, body[22:]))
            elif op == 6:
                compression, end = string(body, 28)
                assert compression in ("", "zstd"), compression
                inside = body[end + 8:]
                walk(unzstd(inside) if compression else inside, 0)
            elif op == 15:  # what follows only repeats
                return

    walk(path.read_bytes(), 8)
    return found


def golden(files):
    messages = []
    for path in files:
        messages += from_mcap(path) if path.suffix == ".mcap" else from_sqlite(path)
    topics = {}
    for topic, kind, time, data in messages:
        data = unzstd(data) if data[:4] == ZSTD else data
        t = topics.setdefault(topic, {"type": kind, "messages": 0, "first": time, "last": time, "bytes": 0})
        t["messages"] += 1
        t["first"], t["last"] = min(t["first"], time), max(t["last"], time)
        t["bytes"] += len(data)
        if kind in KNOWN:
            values = KNOWN[kind](CDR(data))
            t["sums"] = [a + b for a, b in zip(t.get("sums", [0.0] * len(values)), values)]
    times = [time for _, _, time, _ in messages]
    return {"messages": len(messages), "first": min(times), "last": max(times), "topics": topics}


def main():
    root, out = pathlib.Path(sys.argv[1]), {}
    for kind in ("rosbag2_sqlite", "rosbag2_mcap"):
        for path in sorted((root / kind).iterdir()):
            if (path / "metadata.yaml").exists():
                out[f"{kind}/{path.name}"] = golden(sorted(f for f in path.iterdir() if f.name != "metadata.yaml"))
            else:
                for file in sorted(path.iterdir()) if path.is_dir() else [path]:
                    if file.suffix == ".mcap":
                        out[str(file.relative_to(root))] = golden([file])
    json.dump(out, sys.stdout, indent=1)
    print()


main()
