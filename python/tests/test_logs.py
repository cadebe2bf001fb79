"""Recordings that are robots' logs: clouds, and messages whose definitions the log lacks."""

from __future__ import annotations

import base64
import json
import pickle
import struct
from pathlib import Path
from typing import Any, List, Tuple

import numpy as np
import pytest

from robocache import ArgumentError, Cloud, Clouds, Loader, Recording, RecordingError

Message = Tuple[int, bytes]  # its time and its bytes


def text(s: str) -> bytes:
    return struct.pack("<I", len(s)) + s.encode()


def mcap(path: Path, *topics: Tuple[str, str, str, str, List[Message]]) -> Path:
    """Writes an MCAP file without an index: of each topic its name, its messages' encoding, the schema's name and encoding, and the messages."""

    def record(op: int, body: bytes) -> bytes:
        return struct.pack("<BQ", op, len(body)) + body

    magic = b"\x89MCAP0\r\n"
    out = magic + record(1, text("") + text("test"))
    for i, (topic, encoding, name, schema, messages) in enumerate(topics, 1):
        out += record(3, struct.pack("<H", i) + text(name) + text(schema) + struct.pack("<I", 0))
        out += record(4, struct.pack("<HH", i, i) + text(topic) + text(encoding) + struct.pack("<I", 0))
        for n, (time, data) in enumerate(messages):
            out += record(5, struct.pack("<HIQQ", i, n, time, time) + data)
    out += record(15, struct.pack("<I", 0)) + record(2, struct.pack("<QQI", 0, 0, 0)) + magic
    path.write_bytes(out)
    return path


def scan(points: Any) -> bytes:
    """Returns a foxglove.PointCloud in JSON: x, y, z and how bright each is."""
    fields = [{"name": name, "offset": 4 * i, "type": 7} for i, name in enumerate(("x", "y", "z", "bright"))]
    data = base64.b64encode(np.asarray(points, "<f4").tobytes()).decode()
    at = {"sec": 0, "nsec": 0}
    return json.dumps({"timestamp": at, "frame_id": "lidar", "point_stride": 16, "fields": fields, "data": data}).encode()


def test_clouds_of_a_log_are_read_one_by_one(tmp_path: Path) -> None:
    scans = [np.arange(4 * n, dtype=np.float32).reshape(n, 4) + n for n in (3, 0, 5)]
    messages = [(100 * (i + 1), scan(s)) for i, s in enumerate(scans)]
    path = mcap(tmp_path / "a.mcap", ("/points", "json", "foxglove.PointCloud", "jsonschema", messages))
    with Recording(path) as rec:
        clouds = rec["/points"]
        assert isinstance(clouds, Clouds) and list(rec.clouds) == ["/points"] and list(rec[0]) == ["/points"]
        assert clouds.times.tolist() == [100, 200, 300] and len(clouds) == 3
        for cloud, want in zip(clouds, scans):
            assert isinstance(cloud, Cloud) and cloud.names == ["bright"] and len(cloud) == len(want)
            assert np.array_equal(cloud.points, want[:, :3]) and np.array_equal(cloud["bright"], want[:, 3])
            assert (cloud.height, cloud.width, cloud.not_finite) == (1, len(want), 0)
        assert np.array_equal(clouds[2].features, scans[2][:, 3:])
        for bad in (3, -4):
            with pytest.raises(IndexError):
                clouds[bad]
        with pytest.raises(KeyError, match="bright"):
            clouds[0]["dark"]
        with pytest.raises(TypeError):
            pickle.dumps(clouds)
        with pytest.raises(KeyError, match="no stream '/point' .*/points"):
            rec["/point"]


def test_a_cloud_that_is_broken_is_an_error_of_its_own(tmp_path: Path) -> None:
    good = scan(np.ones((2, 4)))
    path = mcap(tmp_path / "a.mcap", ("/points", "json", "foxglove.PointCloud", "jsonschema", [(1, good), (2, good.replace(b"16", b"17"))]))
    with Recording(path) as rec:
        assert len(rec["/points"][0]) == 2
        with pytest.raises(RecordingError, match="point_stride"):
            rec["/points"][1]


def test_definitions_that_a_log_lacks_may_be_given(tmp_path: Path) -> None:
    messages = [(n * 10**8, b"\0\1\0\0" + struct.pack("<d", n / 2)) for n in range(20)]
    path = mcap(tmp_path / "a.mcap", ("/thing", "cdr", "my_msgs/msg/Thing", "ros2msg", messages))
    folder = tmp_path / "my_msgs" / "msg"
    folder.mkdir(parents=True)
    (folder / "Thing.msg").write_text("float64 grip\n")
    with Recording(path) as rec:
        assert "/thing" not in rec[0] and "definition" in rec[0].left_out[0].reason
    given: Any
    for given in (tmp_path / "my_msgs", [str(tmp_path / "my_msgs")]):
        with Recording(path, definitions=given) as rec:
            assert rec["/thing"]["grip"].ravel().tolist() == [n / 2 for n in range(20)]
            again = pickle.loads(pickle.dumps(rec))
            assert len(again["/thing"]) == 20
        with Loader(path, hz=10, batch=4, definitions=given, framework="numpy", shuffle="none") as loader:
            batch = next(iter(loader))
            assert batch["/thing"].ravel().tolist() == [0, 0.5, 1, 1.5]
    with pytest.raises(ArgumentError, match="none, which is not there"):
        Recording(path, definitions=tmp_path / "none")[0]
