#!/usr/bin/env python3
"""Times reading ROS 1 bags: ROS's own rosbag package for Python beside robocache, in turn, in one run:

    apt-get install python3-rosbag
    /usr/bin/python3 bench/peers/rosbag_peer.py --make /tmp/bags --megabytes 300    # imu-none.bag, imu-bz2.bag, imu-lz4.bag
    /usr/bin/python3 bench/peers/rosbag_peer.py --robocache ./robocache /tmp/bags/*.bag

The bags have sensor_msgs/Imu at 200 Hz and sensor_msgs/JointState of seven joints at 100 Hz. `messages` is rosbag's read_messages, which gives Python
objects, and nothing done with them; `arrays` also puts their numbers into numpy arrays, as what robocache reads are arrays. Robocache is the program,
from its start to its end, `inspect --json`, which reads all numbers and the clocks' statistics. Pages are cached. Times are the least of the rounds: by
the wall, and of all processors. MB are those of the messages.
"""
import argparse
import json
import os
import resource
import subprocess
import time

import genpy.dynamic
import numpy as np
import rosbag
from rospy import Time

LINE = "=" * 80 + "\n"
HEADER = LINE + "MSG: std_msgs/Header\nuint32 seq\ntime stamp\nstring frame_id\n"
VECTOR = LINE + "MSG: geometry_msgs/Vector3\nfloat64 x\nfloat64 y\nfloat64 z\n"
QUATERNION = LINE + "MSG: geometry_msgs/Quaternion\nfloat64 x\nfloat64 y\nfloat64 z\nfloat64 w\n"
JOINTS = "Header header\nstring[] name\nfloat64[] position\nfloat64[] velocity\nfloat64[] effort\n" + HEADER
IMU = """Header header
geometry_msgs/Quaternion orientation
float64[9] orientation_covariance
geometry_msgs/Vector3 angular_velocity
float64[9] angular_velocity_covariance
geometry_msgs/Vector3 linear_acceleration
float64[9] linear_acceleration_covariance
""" + HEADER + QUATERNION + VECTOR


def make(folder, megabytes):
    os.makedirs(folder, exist_ok=True)
    imus = genpy.dynamic.generate_dynamic("sensor_msgs/Imu", IMU)["sensor_msgs/Imu"]
    joints = genpy.dynamic.generate_dynamic("sensor_msgs/JointState", JOINTS)["sensor_msgs/JointState"]
    rng = np.random.default_rng(1)
    for compression in ("none", "bz2", "lz4"):
        with rosbag.Bag(os.path.join(folder, f"imu-{compression}.bag"), "w", compression=compression) as bag:
            i, size = 0, 0
            while size < megabytes * 1e6:
                t = Time(1700000000 + i // 200, i % 200 * 5000000)
                m = imus()
                m.header.seq, m.header.stamp, m.header.frame_id = i, t, "imu_link"
                noise = rng.standard_normal(10)
                m.orientation.x, m.orientation.y, m.orientation.z, m.orientation.w = noise[:4]
                m.angular_velocity.x, m.angular_velocity.y, m.angular_velocity.z = noise[4:7]
                m.linear_acceleration.x, m.linear_acceleration.y, m.linear_acceleration.z = noise[7:]
                bag.write("/imu", m, t)
                size += 328
                if i % 2 == 0:
                    m = joints()
                    m.header.seq, m.header.stamp = i, t
                    m.name = ["joint_%d" % k for k in range(7)]
                    m.position, m.velocity, m.effort = rng.standard_normal((3, 7))
                    bag.write("/joint_states", m, t)
                    size += 281
                i += 1


def messages(path):
    counts = {}
    with rosbag.Bag(path) as bag:
        for topic, _, _ in bag.read_messages():
            counts[topic] = counts.get(topic, 0) + 1
    return counts


def numbers(m):
    """The numbers of a message but its header, in order."""
    for name in m.__slots__:
        v = getattr(m, name)
        if isinstance(v, (int, float)):
            yield v
        elif hasattr(v, "__slots__"):
            if name != "header":
                yield from numbers(v)
        elif not isinstance(v, (str, bytes)):
            yield from (x for x in v if not isinstance(x, str))


def arrays(path):
    times, rows = {}, {}
    with rosbag.Bag(path) as bag:
        for topic, m, t in bag.read_messages():
            times.setdefault(topic, []).append(t.to_nsec())
            rows.setdefault(topic, []).append(list(numbers(m)))
    times, rows = ({k: np.array(v) for k, v in of.items()} for of in (times, rows))
    assert all(len(times[k]) == len(rows[k]) for k in rows)
    return {k: len(v) for k, v in rows.items()}


def raw_bytes(path):
    with rosbag.Bag(path) as bag:
        return sum(len(raw[1]) for _, raw, _ in bag.read_messages(raw=True))


def timed(job):
    who = lambda: sum(resource.getrusage(w).ru_utime + resource.getrusage(w).ru_stime for w in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    wall, cpu = time.perf_counter(), who()
    result = job()
    return result, time.perf_counter() - wall, who() - cpu


def main():
    p = argparse.ArgumentParser(description="ROS 1 bags, by rosbag and robocache")
    p.add_argument("bags", nargs="*")
    p.add_argument("--make", metavar="DIR")
    p.add_argument("--megabytes", type=float, default=300)
    p.add_argument("--robocache", default="robocache", help="the program")
    p.add_argument("--rounds", type=int, default=3)
    a = p.parse_args()
    if a.make:
        make(a.make, a.megabytes)
    for path in a.bags:
        size = raw_bytes(path)

        def robocache(path):
            out = json.loads(subprocess.run([a.robocache, "inspect", "--json", path], check=True, stdout=subprocess.PIPE).stdout)
            return {s["name"]: s["samples"] for s in out["streams"]}

        best, counts = {}, {}
        for _ in range(a.rounds):
            for job in (robocache, messages, arrays):
                counts[job], wall, cpu = timed(lambda: job(path))
                before = best.get(job, (wall, cpu))
                best[job] = min(wall, before[0]), min(cpu, before[1])
        assert counts[messages] == counts[arrays]
        for topic, n in counts[messages].items():
            assert any(n == m for name, m in counts[robocache].items() if name == topic or name.startswith(topic + ".")), topic
        for job, (wall, cpu) in best.items():
            times = "" if job is robocache else f", {wall / best[robocache][0]:.1f} times as long, {cpu / best[robocache][1]:.1f} times the processors' time"
            print(f"{os.path.basename(path)} {job.__name__}: {size / wall / 1e6:.0f} MB/s, {size / cpu / 1e6:.0f} MB/s of processors{times}", flush=True)


if __name__ == "__main__":
    main()
