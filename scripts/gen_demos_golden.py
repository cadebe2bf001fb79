#!/usr/bin/env python3
"""Writes small files in the HDF5 layouts of Isaac Lab and ALOHA and in layouts of nobody, and what h5py reads in them.

    scripts/gen_demos_golden.py dataset

It needs h5py (Debian's python3-h5py), and ffmpeg for JPEG and PNG. Beside each file FILE.hdf5 lies FILE.json: of each dataset of numbers the shape, the
sum and the last value, of each row of a camera the length and the SHA-256 of the frame's bytes.
"""
import hashlib
import json
import os
import subprocess
import sys

import h5py
import numpy as np

T = 6


def numbers(seed, *shape):
    """Values that float32 holds exactly, so that sums do not depend on how they are added."""
    return (np.random.default_rng(seed).integers(-512, 512, shape) / 64).astype(np.float32)


def pictures(seed, count, height, width):
    y, x = np.mgrid[0:height, 0:width]
    return np.stack([np.stack([x * 9 + 20 * t + seed, y * 11 + 7 * t, (x + y) * 5 + seed], -1) % 251 for t in range(count)]).astype(np.uint8)


def encode(frame, codec):
    h, w, _ = frame.shape
    command = ["ffmpeg", "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{w}x{h}", "-i", "-", "-f", "image2pipe", "-c:v", codec, "-bitexact", "-"]
    return subprocess.run(command, input=frame.tobytes(), stdout=subprocess.PIPE, check=True).stdout


def padded(frames):
    rows = np.zeros((len(frames), max(map(len, frames))), np.uint8)
    for row, frame in zip(rows, frames):
        row[:len(frame)] = np.frombuffer(frame, np.uint8)
    return rows


def describe(path, cameras):
    """Reads a file again, and says what it holds. Cameras are the frames that were written, by the dataset's name."""
    about = {"datasets": {}, "cameras": {}}

    def visit(name, d):
        if not isinstance(d, h5py.Dataset) or d.dtype.kind not in "fiubV" or name in cameras:
            return
        a = d[()]
        if d.dtype.names:  # the fields that are numbers, as columns
            a = np.concatenate([a[k].astype(np.float64).reshape(len(a), -1) for k in d.dtype.names if d.dtype[k].base.kind in "fiub"], 1)
        about["datasets"][name] = {"shape": np.shape(a), "sum": float(np.sum(a, dtype=np.float64)), "last": float(np.ravel(a)[-1]) if np.size(a) else 0.0}

    with h5py.File(path) as f:
        f.visititems(visit)
        for name, frames in cameras.items():
            assert len(f[name]) == len(frames)
            about["cameras"][name] = [[len(b), hashlib.sha256(b).hexdigest()] for b in frames]
    with open(path.replace(".hdf5", ".json"), "w") as f:
        json.dump(about, f, indent=1)
        f.write("\n")


def isaaclab(path):
    cameras = {}
    with h5py.File(path, "w") as f:
        data = f.create_group("data")
        args = {"env_name": "Isaac-Stack-Cube-Franka-IK-Rel-v0", "type": 2}
        args["sim_args"] = {"dt": 0.01, "decimation": 5, "render_interval": 5, "num_envs": 1}
        data.attrs["env_args"] = json.dumps(args)
        total = 0
        for k, (steps, success) in enumerate([(T, True), (T - 2, False), (1, None)]):
            demo = data.create_group(f"demo_{k}")
            demo.attrs["num_samples"] = steps
            demo.attrs["seed"] = 40 + k
            if success is not None:
                demo.attrs["success"] = success
            total += steps
            put = lambda name, a: demo.create_dataset(name, data=a, compression="gzip")
            put("actions", numbers(k, steps, 7))
            put("processed_actions", numbers(k + 10, steps, 8))
            put("obs/eef_pos", numbers(k + 20, steps, 3))
            put("obs/gripper_pos", numbers(k + 30, steps, 2))
            view = pictures(k, steps, 12, 16)
            put("obs/table_cam", view)
            cameras[f"data/demo_{k}/obs/table_cam"] = [v.tobytes() for v in view]
            for state, count in (("states", steps), ("initial_state", 1)):
                put(state + "/articulation/robot/joint_position", numbers(k + 40, count, 9))
                put(state + "/articulation/robot/root_pose", numbers(k + 50, count, 7))
                put(state + "/rigid_object/cube_1/root_velocity", numbers(k + 60, count, 6))
        data.attrs["total"] = total
    describe(path, cameras)


def aloha(path, codec, seed, steps=T):
    cameras = {}
    with h5py.File(path, "w", rdcc_nbytes=1024**2 * 2) as f:
        f.attrs["sim"] = codec is None
        if codec:
            f.attrs["compress"] = True
        f["action"] = numbers(seed, steps, 14)
        f["base_action"] = numbers(seed + 1, steps + 1, 2)
        for i, name in enumerate(("qpos", "qvel", "effort")):
            f["observations/" + name] = numbers(seed + 2 + i, steps, 14)
        lengths = []
        for i, name in enumerate(("cam_high", "cam_left_wrist")):
            key = "observations/images/" + name
            view = pictures(seed + i, steps, 12, 16)
            if codec is None:
                f.create_dataset(key, data=view, chunks=(1, 12, 16, 3))
                cameras[key] = [v.tobytes() for v in view]
                continue
            cameras[key] = [encode(v, codec) for v in view]
            rows = padded(cameras[key])
            f.create_dataset(key, data=rows, chunks=(1, rows.shape[1]))
            lengths.append([len(b) for b in cameras[key]])
        if codec:
            f["compress_len"] = np.array(lengths, np.float32)
    describe(path, cameras)


def small(path):
    """Few bytes, of which every one counts: for tests that cut the file at each."""
    frames = [encode(v, "mjpeg") for v in pictures(9, 2, 4, 4)]
    with h5py.File(path, "w", libver="latest") as f:
        f["action"] = numbers(1, 2, 3)
        f["observations/qpos"] = numbers(2, 2, 3)
        f["observations/images/cam"] = padded(frames)
        f["observations/images/other"] = np.arange(40, dtype=np.uint8).reshape(2, 20)
    describe(path, {"observations/images/cam": frames})


def plain(folder):
    path = os.path.join(folder, "one.hdf5")
    view = pictures(3, T, 8, 10)
    jpeg, png = [encode(v, "mjpeg") for v in view], [encode(v, "png") for v in view]
    with h5py.File(path, "w", libver="latest") as f:
        f.attrs["robot"] = "arm"
        f.attrs["gains"] = np.array([1.5, 2, 3])
        f["joints/position"] = numbers(1, T, 4)
        f["joints/position"].attrs["joint_names"] = ["base", "shoulder", "elbow", "wrist"]
        f["a"] = h5py.SoftLink("/force")
        f["joints/same"] = f["joints/position"]
        f["joints/mode"] = np.arange(T, dtype=np.int16)
        f["joints/valid"] = np.arange(T) % 2 == 0
        f["force"] = numbers(2, T).astype(np.float64)
        f["calibration"] = numbers(3, 3, 3)
        f["serial"] = "A-17"
        f["inertia"] = numbers(4, T, 3, 3)
        f["notes"] = np.array([b"x"] * T)
        records = np.zeros(T, [("a", "f4"), ("b", "<i4"), ("c", "u1"), ("d", "S3"), ("e", "f4", (2,))])
        records["a"], records["b"], records["c"] = numbers(5, T), 2**30 + np.arange(T), np.arange(T)
        f["records"] = records
        f["view/strings"] = np.array(jpeg, dtype=f"S{max(map(len, jpeg))}")
        sequences = f.create_dataset("view/sequences", (T,), h5py.vlen_dtype(np.uint8))
        for i, b in enumerate(png):
            sequences[i] = np.frombuffer(b, np.uint8)
        f["view/pixels"] = view
        f["elsewhere"] = h5py.ExternalLink("other.hdf5", "/a")
    describe(path, {"view/strings": jpeg, "view/sequences": png, "view/pixels": [v.tobytes() for v in view]})
    path = os.path.join(folder, "several.hdf5")
    with h5py.File(path, "w") as f:
        for k in (0, 2, 10):
            f[f"traj_{k}/actions"] = numbers(k, T + k, 3)
            f[f"traj_{k}/obs/agent/qpos"] = numbers(k + 1, T + k + 1, 9)
            f[f"traj_{k}/success"] = np.arange(T + k) == T + k - 1
    describe(path, {})


def main():
    folder = sys.argv[1]
    for name in ("isaaclab", "aloha", "hdf5/plain"):
        os.makedirs(os.path.join(folder, name, "testdata"), exist_ok=True)
    isaaclab(os.path.join(folder, "isaaclab/testdata/demos.hdf5"))
    aloha(os.path.join(folder, "aloha/testdata/raw.hdf5"), None, 100)
    aloha(os.path.join(folder, "aloha/testdata/jpeg.hdf5"), "mjpeg", 200, 4)
    small(os.path.join(folder, "aloha/testdata/small.hdf5"))
    plain(os.path.join(folder, "hdf5/plain/testdata"))


if __name__ == "__main__":
    main()
