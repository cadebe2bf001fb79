#!/usr/bin/env python3
"""Write small .safetensors files, byte by byte after the format's description, and what they hold as JSON, into a folder.

    apt-get install python3-numpy
    /usr/bin/python3 scripts/gen_safetensors_golden.py dataset/safetensors/testdata

Where the safetensors library is installed, it reads each file back. Numbers are given as the hexadecimal bits of what Go should read, in row-major order.
"""
import json
import pathlib
import struct
import sys

import numpy as np

# How the reader widens what has no dtype of its own.
WIDE = {"I8": "<i4", "I16": "<i4", "U16": "<i4", "U32": "<i8", "U64": "<i8", "BOOL": "u1"}
NAMES = {"<f8": "F64", "<f4": "F32", "<f2": "F16", "<i8": "I64", "<i4": "I32", "<i2": "I16", "|i1": "I8",
         "<u8": "U64", "<u4": "U32", "<u2": "U16", "|u1": "U8", "|b1": "BOOL"}


def write(path, tensors, metadata=None, align=True):
    """tensors are (name, array) or (name, dtype, shape, bytes). Returns what Go should read."""
    header, body, want = {}, b"", {}
    if metadata is not None:
        header["__metadata__"] = metadata
    for name, *rest in tensors:
        if len(rest) == 1:
            a = np.ascontiguousarray(rest[0])
            dtype, shape, raw = NAMES[a.dtype.str], list(rest[0].shape), a.tobytes()
            wide = a.astype(WIDE.get(dtype, a.dtype))
            size, bits = wide.dtype.itemsize, wide.tobytes()
        else:
            dtype, shape, raw = rest
            size, bits = 2, raw
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(raw)]}
        want[name] = {"dtype": dtype, "shape": shape, "bits": [bits[i:i + size][::-1].hex() for i in range(0, len(bits), size)]}
        body += raw
    text = json.dumps(header, separators=(",", ":")).encode()
    if align:
        text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)
    try:
        from safetensors import safe_open
    except ImportError:
        return want
    with safe_open(path, "np") as f:
        assert (f.metadata() or {}) == (metadata or {}), path
        assert set(f.keys()) == set(want), path
        for name, *rest in tensors:
            if len(rest) == 1:
                assert f.get_tensor(name).tobytes() == np.ascontiguousarray(rest[0]).tobytes(), (path, name)
    return want


def main(out):
    r = np.random.default_rng(7)
    want = {}
    kinds = [("f64", r.normal(size=(2, 3))), ("i64", np.array([-2**63, 2**63 - 1], "<i8")), ("u64", np.array([0, 2**63 - 1], "<u8")),
             ("f32", np.array([[1.5, np.nan], [-0.0, np.inf]], "<f4")), ("i32", np.array([-2**31, 2**31 - 1], "<i4")),
             ("u32", np.array([0, 2**32 - 1], "<u4")), ("f16", np.array([0.1, -65504], "<f2")), ("bf16", "BF16", [2, 1], struct.pack("<2H", 0x3f80, 0xc2f7)),
             ("i16", np.array([-2**15, 2**15 - 1], "<i2")), ("u16", np.array([0, 2**16 - 1], "<u2")), ("i8", np.array([-128, 127], "|i1")),
             ("u8", np.arange(6, dtype="|u1").reshape(1, 2, 3)), ("bool", np.array([True, False, True])), ("scalar", np.array(7, "|u1")),
             ("empty", np.zeros((0, 4), "<f4")), ("Prüfung \"a/b\"\\ 机", np.array([1.0], "<f4"))]
    want["kinds"] = write(out / "kinds.safetensors", kinds, {"format": "np", "note": "two\nlines, \"quoted\""})
    want["unaligned"] = write(out / "unaligned.safetensors", [("a", np.array([1], "|u1")), ("b", np.array([2.5], "<f8"))], align=False)
    want["nothing"] = write(out / "nothing.safetensors", [])
    foreign = [("f8", "F8_E4M3", [3], b"\x38\x40\xff"), ("c", "C64", [1], struct.pack("<2f", 1, 2)), ("f4", "F4", [2], b"\x12"),
               ("new", "X5", [9], b"abc"), ("known", np.array([3], "<i4"))]
    write(out / "foreign.safetensors", foreign)

    t = np.arange(6, dtype="<i8") * 20_000_000
    imu, grip = r.normal(size=(6, 3)).astype("<f4"), np.array([0, 0, 1, 1, 0, 1], "|u1")
    pose = r.normal(size=(4, 2))
    write(out / "streams.safetensors", [
        ("pose.values", pose), ("pose.times", np.array([0, 0.04, 0.08, 0.1])), ("imu.values", imu), ("imu.times", t),
        ("grip.values", grip), ("grip.times", t.astype("<u8")), ("net.weight", r.normal(size=(2, 2)).astype("<f4")),
    ], {"imu.columns": json.dumps(["x", "y", "z"]), "robot": "arm", "grip.columns": "no list"})
    sums = {"imu": float(imu.astype(float).sum()), "grip": float(grip.sum()), "pose": float(pose.sum())}
    (out / "want.json").write_text(json.dumps({"files": want, "sums": sums}, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
