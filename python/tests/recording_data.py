"""What the tests of recordings share: files of every format, and what the command-line program says of them."""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any, Dict, List, Tuple

import numpy as np

from loader_data import G1, LONG, ROOT, binary
from loader_data import SHARED as ABOVE

FLIGHT = ROOT / "examples/data/flight.ulg"
SHARED = ABOVE.resolve()


def cli(*args: Any) -> Tuple[int, Dict[str, Any]]:
    done = subprocess.run([binary(), *map(str, args), "--json"], capture_output=True, check=False)
    said = json.loads(done.stdout)
    assert next(iter(said)) == "schema" and said.pop("schema")["version"] == 1
    return done.returncode, said


def archive(path: pathlib.Path) -> Dict[str, Any]:
    with np.load(str(path)) as f:
        return {name: f[name] for name in f.files}


def same(a: Any, b: Any) -> bool:
    """Whether arrays are the same, bit for bit."""
    return a.dtype == b.dtype and a.shape == b.shape and np.ascontiguousarray(a).tobytes() == np.ascontiguousarray(b).tobytes()


def paths() -> List[pathlib.Path]:
    own = [FLIGHT, G1, ROOT / "dataset/calvin/testdata/small"]
    own += sorted(p for p in (ROOT / "dataset").glob("*/testdata/*") if p.suffix in (".hdf5", ".npz", ".csv", ".txt", ".safetensors"))
    own += sorted((ROOT / "dataset/hdf5/plain/testdata").glob("*.hdf5"))
    shared = sorted(SHARED.iterdir()) if SHARED.is_dir() else []
    for folder in shared:
        if folder.is_dir():
            own.append(folder)
            own += sorted(p for p in folder.iterdir() if p.suffix not in (".zip", ".md", ".json") and "LICENSE" not in p.name)
    # One file unpacks to far more than the others, and is in the folder, which is read too.
    return [p for p in own if LONG or p.name != "isssue-523.hdf5"]


def name_of(path: pathlib.Path) -> str:
    return "/".join(path.parts[-3:])
