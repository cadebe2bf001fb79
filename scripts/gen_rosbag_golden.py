#!/usr/bin/env python3
"""What ROS 1 bags hold, as ROS's own rosbag package for Python reads them, and the small bags of dataset/rosbag/testdata, which it writes.

    apt-get install python3-rosbag
    /usr/bin/python3 scripts/gen_rosbag_golden.py FOLDER     # of shared recordings: FOLDER/ros1_bag

Writes dataset/rosbag/testdata/{small-none,small-bz2,small-lz4}.bag, small.json (of all three) and shared.json (of the shared bags). A topic and type
of them has its messages, first and last log time, ns, and sums over its messages: of each number, by its flattened name; of arrays of any length over
all their elements, "position[]". Of TF there are frames: each child's transforms, as if they were messages of a topic of their own.
"""
import json
import math
import pathlib
import sys

import genpy.dynamic
import rosbag
from rospy import Time

OUT = pathlib.Path(__file__).resolve().parent.parent / "dataset/rosbag/testdata"
LINE = "=" * 80 + "\n"
HEADER = LINE + "MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"
JOINTS = "Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n" + HEADER
KINDS = """bool yes
int8 i8
uint8 u8
int16 i16
uint16 u16
int32 i32
uint32 u32
int64 i64
uint64 u64
float32 f32
float64 f64
time at
duration took
byte b
char c
string text
int16[3] fixed
Inner inner
Inner[] several
uint8 CONSTANT=3
""" + LINE + "MSG: robocache_msgs/Inner\nfloat32 x\nfloat64[2] pair\n"


def leaves(prefix, value, kind):
    """The numbers of a message by their flattened names; what has a length of its own in every message ends in []."""
    base, bracket, length = kind.partition("[")
    if bracket:
        if base in ("uint8", "char") and isinstance(value, bytes):
            value = list(value)
        for i, v in enumerate(value):
            yield from leaves(prefix + ("[]" if length == "]" else "[%d]" % i), v, base)
    elif base in ("time", "duration"):
        yield prefix + ".sec", value.secs
        yield prefix + ".nsec", value.nsecs
    elif hasattr(value, "__slots__") and hasattr(value, "_slot_types"):
        for name, typ in zip(value.__slots__, value._slot_types):
            if (prefix, typ) in (("", "std_msgs/Header"), ("", "Header")):
                continue
            yield from leaves(prefix + "." + name if prefix else name, getattr(value, name), typ)
    elif isinstance(value, (bool, int, float)):
        yield prefix, value


def add(g, msg, t):
    g["messages"] += 1
    g["last"] = t.to_nsec()
    for name, v in leaves("", msg, msg._type) if msg else ():
        g["sums"].setdefault(name, []).append(v)


def golden(path):
    topics, frames = {}, {}
    with rosbag.Bag(path) as bag:
        for topic, msg, t, header in bag.read_messages(return_connection_header=True):
            kind = header["type"] if isinstance(header["type"], str) else header["type"].decode()
            g = topics.setdefault(topic + " " + kind, {"messages": 0, "first": t.to_nsec(), "sums": {}})
            if kind in ("tf/tfMessage", "tf2_msgs/TFMessage"):
                for e in msg.transforms:
                    add(frames.setdefault(topic + "." + e.child_frame_id, {"messages": 0, "first": t.to_nsec(), "sums": {}}), e.transform, t)
                msg = None
            add(g, msg, t)
    total = sum(g["messages"] for g in topics.values())
    for g in [*topics.values(), *frames.values()]:
        g["sums"] = {name: math.fsum(list_) for name, list_ in g["sums"].items()}
    return {"messages": total, "topics": topics, "frames": frames}


def small(compression):
    path = OUT / f"small-{compression}.bag"
    joints = genpy.dynamic.generate_dynamic("sensor_msgs/JointState", JOINTS)["sensor_msgs/JointState"]
    made = genpy.dynamic.generate_dynamic("robocache_msgs/Kinds", KINDS)
    kinds, inner = made["robocache_msgs/Kinds"], made["robocache_msgs/Inner"]
    with rosbag.Bag(str(path), "w", compression=compression, chunk_threshold=1500) as bag:
        for i in range(60):
            t = Time(1700000000 + i // 10, i % 10 * 100000000)
            m = joints()
            m.header.seq, m.header.stamp, m.header.frame_id = i, Time(1700000000 + i // 10, i % 10 * 100000000 + 7), "base"
            m.name, m.position, m.velocity = ["shoulder", "elbow"], [i * 0.25, -i], [0.5, i]
            bag.write("/joint_states", m, t)
            if i % 3 == 0:
                k = kinds()
                k.yes, k.i8, k.u8, k.i16, k.u16 = i % 2 == 0, -i, i, -300 * i, 600 * i
                k.i32, k.u32, k.i64, k.u64 = -70000 * i, 70000 * i, -5000000000 * i, 5000000000 * i
                k.f32, k.f64, k.at, k.took.secs, k.took.nsecs = i / 8, i / 3, t, -i, i
                k.b, k.c, k.text, k.fixed = -1, 65, "tick %d" % i, [i, -i, 2 * i]
                k.inner = inner(i, [i, 2 * i])
                k.several = [inner(i, [1, 2]), inner(0, [3, i])]
                bag.write("/kinds", k, t)
    return golden(path)


def main(folder):
    OUT.mkdir(parents=True, exist_ok=True)
    none, bz2, lz4 = (small(c) for c in ("none", "bz2", "lz4"))
    assert none == bz2 == lz4
    shared = {p.name: golden(p) for p in sorted((pathlib.Path(folder) / "ros1_bag").glob("*.bag"))}
    for name, what in (("small", none), ("shared", shared)):
        (OUT / f"{name}.json").write_text(json.dumps(what, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
