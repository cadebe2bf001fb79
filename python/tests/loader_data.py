"""What the tests of Loader share: recordings, and the files that ``robocache batches`` writes."""

from __future__ import annotations

import json
import os
import struct
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import numpy as np
import pytest

from robocache._child import find_binary
from robocache._errors import ServerError

ROOT = Path(__file__).resolve().parents[2]
G1 = ROOT / "examples" / "data" / "g1"
SHARED = ROOT.parent / "shared" / "data"
LONG = os.environ.get("ROBOCACHE_LONG") == "1"  # all cases, of which tests take some by default
DTYPES = {"F32": "<f4", "F64": "<f8", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "U8": "|u1"}


def binary() -> str:
    try:
        return find_binary()
    except ServerError as e:
        if os.environ.get("ROBOCACHE_REQUIRE_BINARY"):
            raise
        pytest.skip(str(e))


def shared(name: str) -> Path:
    path = SHARED / name
    if not path.exists():
        pytest.skip("the shared recordings are not here: {}".format(name))
    return path


def safetensors(path: Path) -> Dict[str, np.ndarray]:
    data = path.read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + size])
    out = {}
    for name, t in header.items():
        if name != "__metadata__":
            lo, hi = t["data_offsets"]
            out[name] = np.frombuffer(data[8 + size + lo : 8 + size + hi], DTYPES[t["dtype"]]).reshape(t["shape"])
    return out


def written(out: Path, *args: str) -> List[Dict[str, np.ndarray]]:
    """Returns the batches that ``robocache batches`` writes."""
    command = [binary(), "batches", *args, "--backend", "cpu", "--out", str(out)]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return [safetensors(p) for p in sorted(out.rglob("batch-*.safetensors"))]


def same(batch: Dict[str, Any], file: Dict[str, np.ndarray]) -> None:
    """Checks that a NumPy batch is what a file has, to the bit."""
    seen = {"episode_index", "frame_index", "anchor"}
    assert_equal(batch["episode_index"], file["episodes"])
    assert_equal(batch["frame_index"], file["ticks"])
    assert_equal(batch["anchor"], file["anchors"])
    if "datasets" in file:
        assert_equal(batch["dataset_index"], file["datasets"])
        seen.add("dataset_index")
    for name, want in file.items():
        stem, _, part = name.rpartition(".")
        key = {"values": stem, "frames": stem, "pad": stem + "_is_pad", "valid": stem + "_valid"}.get(part)
        if key is not None and stem:
            assert_equal(batch[key].view("u1") if batch[key].dtype == bool else batch[key], want)
            seen.add(key)
    assert seen == set(batch)


def assert_equal(got: np.ndarray, want: np.ndarray) -> None:
    assert got.shape == want.shape and got.dtype == want.dtype, (got.shape, got.dtype, want.shape, want.dtype)
    assert got.tobytes() == want.tobytes()


def rows(batch: Dict[str, Any]) -> List[bytes]:
    """Returns the windows of a batch, each as one text."""
    n = len(batch["episode_index"])
    return [b"".join(np.ascontiguousarray(batch[k][i]).tobytes() for k in sorted(batch)) for i in range(n)]
