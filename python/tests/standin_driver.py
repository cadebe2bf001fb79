"""The stand-in for NVIDIA's driver (standin/libcuda.c) and one for the helper process, for tests of the GPU side
without a GPU."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
from typing import Any, Dict, List, NamedTuple, Tuple

import pytest

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "standin", "libcuda.c")


@functools.lru_cache(maxsize=None)
def built() -> str:
    """Returns the path of the stand-in, which gcc makes once for each state of its source; the module skips without
    one."""
    if shutil.which("gcc") is None:
        pytest.skip("no gcc, which makes the stand-in driver", allow_module_level=True)
    with open(SOURCE, "rb") as f:
        source = f.read()
    folder = os.path.join(tempfile.gettempdir(), "robocache-standin-{}".format(os.getuid()))
    os.makedirs(folder, mode=0o700, exist_ok=True)
    path = os.path.join(folder, hashlib.sha256(source).hexdigest()[:16] + ".so")
    if not os.path.exists(path):
        made = "{}.{}".format(path, os.getpid())
        subprocess.run(["gcc", "-O1", "-g", "-shared", "-fPIC", "-o", made, SOURCE, "-lpthread"], check=True)
        os.replace(made, path)
    return path


class Launch(NamedTuple):
    entry: str
    grid: Tuple[int, ...]
    block: Tuple[int, ...]
    shared: int
    stream: int
    attributes: Dict[int, int]
    parameters: bytes


class Standin:
    """The library's own functions for tests. There is one in a process, as there is one driver."""

    def __init__(self) -> None:
        self.library = ctypes.CDLL(built())
        self.library.standin_log.restype = ctypes.c_size_t
        self.library.standin_log.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
        self.library.standin_count.restype = ctypes.c_uint64
        self.library.standin_capture.argtypes = [ctypes.c_void_p, ctypes.c_int]

    def log(self) -> List[str]:
        """Returns the lines since the last call."""
        room = self.library.standin_log(None, 0) + 1
        text = ctypes.create_string_buffer(room)
        self.library.standin_log(text, room)
        return text.value.decode().splitlines()

    def launches(self) -> List[Launch]:
        """Returns the launches since the last look at the log."""
        found = []
        for line in self.log():
            assert not line.startswith("violation"), line
            m = re.match(r"launch (\S+) grid=(\S+) block=(\S+) shared=(\d+) stream=(\S+) attributes=(\S*) parameters=(\S*)", line)
            if m is not None:
                numbers = [tuple(map(int, m.group(i).split(","))) for i in (2, 3)]
                attributes = dict(tuple(map(int, a.split(":"))) for a in m.group(6).split(";") if a)
                found.append(
                    Launch(m.group(1), *numbers, int(m.group(4)), int(m.group(5), 16), attributes, bytes.fromhex(m.group(7)))
                )
        return found

    def count(self, what: str) -> int:
        return int(self.library.standin_count(what.encode()))

    def fail(self, name: str, code: int, after: int = 0) -> None:
        self.library.standin_fail(name.encode(), code, after)

    def capture(self, stream: int, on: bool) -> None:
        self.library.standin_capture(stream, int(on))

    def logging(self, on: bool) -> None:
        self.library.standin_logging(int(on))


class Process:
    """Stands in for the helper process: every plan is a launch of `main` with the addresses of the request's tensors,
    and what the request asks for beside: {"memory": bytes, "launches": n, "shared": bytes, "table": true}."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.memo: Dict[Any, Any] = {}
        self.closed = False
        self.asked: List[Tuple[str, Dict[str, Any]]] = []
        self.kinds: Dict[int, str] = {}
        self.explains: Any = None

    def image(self, kind: str) -> bytes:
        head = b"\x7fELF" + bytes(36) + (64).to_bytes(8, "little") + bytes(10) + (0).to_bytes(2, "little") * 3
        body = b"main second"
        if kind == "cubin":
            return head[:40] + (64 + len(body)).to_bytes(8, "little") + bytes(16) + body
        return ".version 8.0\n.target {}\n.entry main second\n".format(kind.split(".")[0]).encode()

    def request(self, do: str, blob: Any = None, **fields: Any) -> Tuple[Dict[str, Any], bytes, int]:
        self.asked.append((do, fields))
        answer: Tuple[Dict[str, Any], bytes] = getattr(self, "_" + do)(blob, **fields)
        return answer[0], answer[1], -1

    def count(self, do: str) -> int:
        return sum(d == do for d, _ in self.asked)

    def _target(self, blob: Any, target: Dict[str, Any]) -> Tuple[Dict[str, Any], bytes]:
        assert target["attributes"]["75"] == 9 and target["name"].startswith("NVIDIA")
        number = len(self.kinds) + 1
        self.kinds[number] = target["kernels"] or "cubin"
        return {"target": number, "reason": self.kinds[number]}, b""

    def _image(self, blob: Any, hash: str) -> Tuple[Dict[str, Any], bytes]:
        return {}, self.image(hash)

    def _plan(self, blob: Any, target: int, request: Dict[str, Any]) -> Tuple[Dict[str, Any], bytes]:
        names = list(request["tensors"])[::-1]  # not the request's order
        kind = self.kinds[target]
        first = len(names)
        buffers: List[Dict[str, Any]] = [{"kind": "fault", "bytes": 8}, {"kind": "flag", "bytes": 4}]
        words = len(names) + 2
        relocations = [[0, 8 * i, i, 8 * i if i < first else 0] for i in range(words)]
        payload = b"".join(i.to_bytes(8, "little") for i in range(words))
        payload += (7).to_bytes(4, "little")
        if request.get("memory"):
            buffers.append({"kind": "memory", "bytes": request["memory"], "fill": [3, request["memory"]]})
        if request.get("table"):
            buffers.append(
                {"kind": "memory", "bytes": 24, "init": [len(payload), 24], "relocations": [[8, first + len(buffers), 4]], "id": None}
            )
            payload += b"\x11" * 24
        launches = []
        for i in range(request.get("launches", 1)):
            launches.append(
                {
                    "image": 0, "entry": "second" if i else "main", "grid": [5, 1, 1], "block": [128, 1, 1],
                    "shared": request.get("shared", 0), "dependent": i > 0,
                    "params": [[0, 8 * words, 0], [8 * words, 4, 8 * words]],
                    "relocations": relocations + [],
                }
            )  # fmt: skip
        header = {
            "version": 1,
            "op": request["op"],
            "arguments": [
                {"name": n, "bytes": 8, "written": n == "Dst", "align": request["tensors"][n]["align"]} for n in names
            ],
            "images": [{"family": "f", "file": "f." + ("sm_90.cubin" if kind == "cubin" else kind), "hash": kind, "bytes": 1}],
            "buffers": buffers,
            "launches": launches,
        }
        if request.get("memory"):
            header["counts"] = {"buffer": first + 2, "offset": 8, "bytes": 16}
        return {"plan": header}, payload

    def _explain(self, blob: Any, **fields: Any) -> Tuple[Dict[str, Any], bytes]:
        self.explains(fields)
        return {}, b""

    def _counts(self, blob: bytes, **fields: Any) -> Tuple[Dict[str, Any], bytes]:
        return {"counts": {"points": blob[0]}}, b""
