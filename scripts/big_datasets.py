#!/usr/bin/env python3
"""Makes datasets of some gigabytes, to see what reading them takes in memory. Nothing of them is kept in the repository.

    scripts/big_datasets.py DIR [BYTES [NAME ...]]

Each is about BYTES (5e9 if it is not said) in DIR/NAME: robomimic, robomimic_gzip, aloha, calvin, lerobot2, npz, ulog, csv, tum, safetensors; all that are
not named if there are none. Where a folder of files is the dataset, the files are one under many names. It needs h5py (Debian's python3-h5py); flights,
CALVIN's frames and LeRobot v2.1 are the shared recordings beside the project, repeated. The tests make these one after the other, and LeRobot v3.0 and
RLDS by themselves: ROBOCACHE_BIG=5e9 go test -timeout 2h -v -run ABig ./dataset/all ./dataset/rlds
"""
import glob
import json
import os
import struct
import sys
import zlib

import numpy as np

SHARED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../shared/data")
rng = np.random.default_rng(1)


def copies(size, path, name):
    """Gives a file so many other names, name(i), that all together have size bytes. Returns how many there are."""
    count = max(1, round(size / os.path.getsize(path)))
    for i in range(1, count):
        os.link(path, name(i))
    return count


def fill(group, name, data, gzip):
    """Writes an array: as it is, or in chunks of 50 rows in gzip, each chunk packed once however often the array is written."""
    if not gzip:
        group[name] = data
        return
    rows = 50
    if id(data) not in fill.packed:
        blocks = [np.ascontiguousarray(data[at:at + rows]) for at in range(0, len(data), rows)]
        fill.packed[id(data)] = [zlib.compress(b.tobytes(), 1) for b in blocks]
    d = group.create_dataset(name, data.shape, data.dtype, chunks=(rows,) + data.shape[1:], compression="gzip")
    for i, block in enumerate(fill.packed[id(data)]):
        d.id.write_direct_chunk((i * rows,) + (0,) * (data.ndim - 1), block)


fill.packed = {}


def robomimic(folder, size, gzip=False):
    """Demonstrations of 500 steps: two fifths of the bytes low-dimensional, the others with two cameras as well."""
    import h5py
    low = {"actions": (500, 7), "states": (500, 45), "obs/robot0_joint_pos": (500, 7), "obs/robot0_eef_pos": (500, 3), "obs/object": (500, 14)}
    low = {name: np.round(rng.standard_normal(shape), 3) for name, shape in low.items()}
    y, x = np.mgrid[0:84, 0:84]
    views = [np.stack([np.stack([x + t, y + 2 * t, x ^ y], -1) & 255 for t in range(500)]).astype(np.uint8) for _ in range(2)]
    for view in views:
        view[:, ::2] += rng.integers(0, 4, view[:, ::2].shape, np.uint8)
    with h5py.File(os.path.join(folder, "demos.hdf5"), "w") as f:
        data, number, ended = f.create_group("data"), 0, {}
        data.attrs["env_args"] = json.dumps({"env_name": "Lift", "env_kwargs": {"control_freq": 20}})
        for kind, until in (("low", 0.4 * size), ("images", size)):
            while number % 20 or os.path.getsize(f.filename) < until:
                demo = data.create_group(f"demo_{number}")
                demo.attrs["num_samples"] = 500
                for name, values in low.items():
                    fill(demo, name, values, gzip)
                for i, view in enumerate(views if kind == "images" else []):
                    fill(demo, f"obs/view{i}_image", view, gzip)
                number += 1
                if number % 20 == 0:
                    f.flush()


def aloha(folder, size):
    """Episodes of 400 steps with three cameras of 640x480."""
    import h5py
    path = os.path.join(folder, "episode_0.hdf5")
    frame = rng.integers(0, 256, (480, 640, 3), np.uint8)
    with h5py.File(path, "w") as f:
        for name in ("action", "observations/qpos", "observations/qvel"):
            f[name] = rng.standard_normal((400, 14)).astype(np.float32)
        for camera in ("cam_high", "cam_left_wrist", "cam_right_wrist"):
            view = f.create_dataset("observations/images/" + camera, (400,) + frame.shape, np.uint8, chunks=(1,) + frame.shape)
            for t in range(400):
                view[t] = np.roll(frame, t, 0)
    copies(size, path, lambda i: os.path.join(folder, f"episode_{i}.hdf5"))


def calvin(folder, size):
    """The shared frames again and again, 2000 to an episode."""
    split = os.path.join(folder, "training")
    os.mkdir(split)
    frames = []
    for i, path in enumerate(sorted(glob.glob(SHARED + "/calvin_layout/training/episode_*.npz"))):
        frames.append(os.path.join(split, f"episode_{i:07d}.npz"))
        with open(path, "rb") as f, open(frames[-1], "wb") as out:
            out.write(f.read())
    count = max(2000, int(size / os.path.getsize(frames[0]))) // 2000 * 2000
    for i in range(len(frames), count):
        os.link(frames[i % len(frames)], os.path.join(split, f"episode_{i:07d}.npz"))
    np.save(os.path.join(split, "ep_start_end_ids.npy"), np.array([[i, i + 1999] for i in range(0, count, 2000)]))


def lerobot2(folder, size):
    """The shared episodes of v2.1 again and again."""
    shared = SHARED + "/lerobot_v21_g1/"
    with open(shared + "meta/info.json") as f:
        info = json.load(f)
    with open(shared + "meta/episodes.jsonl") as f:
        episodes = [json.loads(line) for line in f]
    files = sorted(glob.glob(shared + "data/chunk-000/*.parquet"))
    each = sum(map(os.path.getsize, files)) / len(files)
    count = int(size / each)
    os.mkdir(os.path.join(folder, "meta"))
    total = 0
    with open(os.path.join(folder, "meta/episodes.jsonl"), "w") as f:
        for i in range(count):
            e = dict(episodes[i % len(files)], episode_index=i)
            total += e["length"]
            f.write(json.dumps(e) + "\n")
            path = os.path.join(folder, f"data/chunk-{i // 1000:03d}/episode_{i:06d}.parquet")
            if i % 1000 == 0:
                os.makedirs(os.path.dirname(path))
            if i < len(files):
                with open(files[i], "rb") as a, open(path, "wb") as b:
                    b.write(a.read())
                files[i] = path
            else:
                os.link(files[i % len(files)], path)
    info.update(total_episodes=count, total_frames=total, total_chunks=(count + 999) // 1000, splits={"train": f"0:{count}"})
    with open(os.path.join(folder, "meta/info.json"), "w") as f:
        json.dump(info, f)
    with open(shared + "meta/tasks.jsonl") as a, open(os.path.join(folder, "meta/tasks.jsonl"), "w") as b:
        b.write(a.read())


def npz(folder, size):
    """Archives of 25 MB, of three streams."""
    path = os.path.join(folder, "run_0.npz")
    arrays = {}
    for name, rows, width in (("imu", 150000, 12), ("joints", 100000, 28), ("force", 100000, 6)):
        arrays[name + ".values"] = rng.standard_normal((rows, width)).astype(np.float32)
        arrays[name + ".times"] = np.arange(rows, dtype=np.int64) * 2_500_000
    np.savez(path, **arrays)
    copies(size, path, lambda i: os.path.join(folder, f"run_{i}.npz"))


def safetensors(folder, size):
    """The same in safetensors."""
    path = os.path.join(folder, "run_0.safetensors")
    head, body = {}, []
    for name, rows, width in (("imu", 150000, 12), ("joints", 100000, 28), ("force", 100000, 6)):
        for key, kind, a in ((name + ".values", "F32", rng.standard_normal((rows, width)).astype(np.float32)),
                             (name + ".times", "I64", np.arange(rows, dtype=np.int64) * 2_500_000)):
            at = sum(map(len, body))
            head[key] = {"dtype": kind, "shape": a.shape, "data_offsets": [at, at + a.nbytes]}
            body.append(a.tobytes())
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(body))
    copies(size, path, lambda i: os.path.join(folder, f"run_{i}.safetensors"))


def ulog(folder, size):
    """Flights of 86 MB: the shared one with its data 94 times over, each later than the last."""
    with open(SHARED + "/px4_ulog/sample_log_small.ulg", "rb") as f:
        log = f.read()
    at, begin, times, spans = 16, 0, [], []
    while at + 3 <= len(log):
        n, kind = struct.unpack_from("<HB", log, at)
        if kind == ord("D"):
            begin = begin or at
            times.append(struct.unpack_from("<Q", log, at + 5)[0])
            spans.append((at, at + 3 + n))
        at += 3 + n
    data = np.frombuffer(b"".join(log[a:b] for a, b in spans), np.uint8).copy()
    ends = np.cumsum([b - a for a, b in spans])
    place = (ends - [b - a for a, b in spans] + 5)[:, None] + np.arange(8)
    span = np.uint64(max(times) - min(times) + 10_000)
    path = os.path.join(folder, "flight_0.ulg")
    with open(path, "wb") as f:
        f.write(log)
        for i in range(1, 94):
            data[place] = (np.array(times, np.uint64) + np.uint64(i) * span)[:, None].view(np.uint8)
            f.write(data.tobytes())
    copies(size, path, lambda i: os.path.join(folder, f"flight_{i}.ulg"))


def csv(folder, size):
    """Tables of 50 MB, of 26 columns."""
    path = os.path.join(folder, "run_0.csv")
    with open(path, "w") as f:
        f.write("timestamp," + ",".join(f"joint_{i}" for i in range(25)) + "\n")
        block, at = [",".join(f"{v:.5f}" for v in row) for row in rng.standard_normal((1000, 25))], 0
        while f.tell() < 50e6:
            for row in block:
                f.write(f"{at / 500:.3f},{row}\n")
                at += 1
    copies(size, path, lambda i: os.path.join(folder, f"run_{i}.csv"))


def tum(folder, size):
    """Trajectories of 20 MB."""
    path = os.path.join(folder, "walk_0.txt")
    with open(path, "w") as f:
        f.write("# ground truth trajectory\n# timestamp tx ty tz qx qy qz qw\n")
        for i in range(300000):
            f.write(f"{1.3e9 + i / 100:.4f} {i * 1e-5:.4f} {i % 97 / 97:.4f} 1.2500 0.0000 0.6000 0.0000 0.8000\n")
    copies(size, path, lambda i: os.path.join(folder, f"walk_{i}.txt"))


def robomimic_gzip(folder, size):
    robomimic(folder, size, gzip=True)


MAKERS = [robomimic, robomimic_gzip, aloha, calvin, lerobot2, npz, safetensors, ulog, csv, tum]


def main():
    folder, size = sys.argv[1], float((sys.argv[2:] or ["5e9"])[0])
    names = sys.argv[3:]
    for make in MAKERS:
        if names and make.__name__ not in names:
            continue
        out = os.path.join(folder, make.__name__)
        os.makedirs(out)
        make(out, size)
        print(out)


if __name__ == "__main__":
    main()
