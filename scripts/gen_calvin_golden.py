#!/usr/bin/env python3
"""Writes small datasets in CALVIN's layout, annotations and pickles in each protocol, and what numpy and Python's pickle read of them.

    scripts/gen_calvin_golden.py                          dataset/calvin/testdata and dataset/internal/pickle/testdata
    scripts/gen_calvin_golden.py ../shared/data           only dataset/calvin/testdata/layout.json, of the recording calvin_layout

It needs numpy. Frame numbers do not start at 0, and there is a hole between the two episodes.
"""
import io
import json
import pathlib
import pickle
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent / "dataset"
OUT = ROOT / "calvin" / "testdata"


def golden(split):
    """What numpy reads of a split: of each array of numbers and each image, over the frames of a row."""
    out = {"episodes": []}
    for first, last in np.load(split / "ep_start_end_ids.npy"):
        frames = [dict(np.load(split / f"episode_{i:07d}.npz")) for i in range(first, last + 1)]
        arrays = {}
        for name in frames[0]:
            rows = np.stack([f[name] for f in frames])
            if rows.dtype.kind == "U":
                continue
            flat = rows.reshape(len(rows), -1).astype(np.float64)
            arrays[name] = {"dtype": str(rows.dtype), "shape": list(rows.shape), "sum": float(flat.sum()),
                            "first": flat[0, :8].tolist(), "last": flat[-1, -8:].tolist()}
        out["episodes"].append({"first": int(first), "last": int(last), "arrays": arrays})
    said = np.load(split / "lang_annotations" / "auto_lang_ann.npy", allow_pickle=True).item()
    out["language"] = [{"text": str(t), "task": str(k), "first": int(a), "last": int(b)}
                       for t, k, (a, b) in zip(said["language"]["ann"], said["language"]["task"], said["info"]["indx"])]
    return out


def frame(rng, i):
    f = {"actions": rng.uniform(-1, 1, 7), "rel_actions": rng.uniform(-1, 1, 7), "robot_obs": rng.uniform(-1, 1, 15),
         "scene_obs": rng.uniform(-1, 1, 24).astype(np.float32)}
    f["actions"][6] = f["rel_actions"][6] = 1 if i % 2 else -1
    f["rgb_static"] = rng.integers(0, 256, (4, 6, 3)).astype(np.uint8)
    f["rgb_tactile"] = np.asfortranarray(rng.integers(0, 256, (3, 2, 6)).astype(np.uint8))
    f["depth_static"] = rng.uniform(1, 4, (4, 6)).astype(">f4" if i == 51 else "<f4")
    f["matrix"] = np.arange(6, dtype=np.int16).reshape(2, 3) + i
    f["contact"] = np.array(i % 3 == 0)
    f["large"] = np.int64(2) ** 53 + i
    f["half"] = np.array([i / 4, -1], np.float16)
    f["note"] = np.array("frame %d" % i)
    return f


def said(numbers=int):
    texts = ["push the block left", "open the drawer", "push the block left", "lift the blöck"]
    tasks = ["push_block_left", "open_drawer", "push_block_left", "lift_block"]
    places = [(37, 40), (39, 42), (50, 53), (52, 53)]
    emb = np.arange(4 * 1 * 5, dtype=np.float32).reshape(4, 1, 5)
    return {"language": {"ann": texts, "task": tasks, "emb": emb}, "info": {"episodes": [], "indx": [(numbers(a), numbers(b)) for a, b in places]}}


def save_object(path, value, protocol):
    array = np.empty((), object)
    array[()] = value
    file = io.BytesIO()
    np.lib.format._write_array_header(file, np.lib.format.header_data_from_array_1_0(array), (1, 0))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(file.getvalue() + pickle.dumps(array, protocol=protocol))


def dataset(split, rows, protocol):
    rng = np.random.default_rng(7)
    split.mkdir(parents=True, exist_ok=True)
    np.save(split / "ep_start_end_ids.npy", np.array(rows))
    np.save(split / "ep_lens.npy", np.array([b - a + 1 for a, b in rows]))
    for a, b in rows:
        for i in range(a, b + 1):
            (np.savez if i == 38 else np.savez_compressed)(split / f"episode_{i:07d}.npz", **frame(rng, i))
    value = said()
    if len(rows) == 1:
        value["language"] = {k: v[:1] for k, v in value["language"].items()}
        value["info"]["indx"] = [(rows[0][0], rows[0][1])]
    save_object(split / "lang_annotations" / "auto_lang_ann.npy", value, protocol)
    save_object(split / "scene_info.npy", {"calvin_scene_B": [0, 45], "calvin_scene_C": [46, 60]}, protocol)


def variants():
    """The same annotations as other programs write them."""
    arrays = said()
    arrays["language"] = {k: np.array(v) for k, v in arrays["language"].items()}
    arrays["info"]["indx"] = np.array(arrays["info"]["indx"])
    objects = said(np.int64)
    objects["language"]["ann"] = np.array(objects["language"]["ann"], object)
    objects["language"]["task"] = tuple(np.str_(t) for t in objects["language"]["task"])
    objects["info"]["indx"] = tuple(np.array(p, np.uint16) for p in objects["info"]["indx"])
    return {"lists": said(), "scalars": said(np.int64), "arrays": arrays, "objects": objects}


def kinds():
    """One of each type that a pickle may hold."""
    shared = ["twice"]
    return {
        "none": None, "true": True, "false": False, "int": 7, "int2": 777, "int4": -70000, "long": -2**40, "least": -2**63, "float": -1.5,
        "text": "blöck", "long text": "x" * 300, "bytes": b"\x00\xff", "no bytes": b"", "long bytes": bytes(range(256)) * 2, "list": [1, [2, [3]]],
        "tuple": (1, 2, 3, 4), "none of them": [(), {}, []], "shared": [shared, shared],
        "f4": np.arange(6, dtype="<f4").reshape(2, 3), "f8 big": np.arange(3, dtype=">f8"), "fortran": np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
        "u1": np.arange(4, dtype=np.uint8), "bool": np.array([True, False]), "texts": np.array(["a", "blöck"]), "raw": np.array([b"ab", b"c"]),
        "empty": np.zeros((0, 3), np.float32), "strided": np.arange(10)[::3], "object": np.array([None, 5, "x"], object), "i8": np.int64(-12), "f2": np.float16(0.5), "str": np.str_("blöck"),
    }


def main():
    if len(sys.argv) > 1:
        (OUT / "layout.json").write_text(json.dumps(golden(pathlib.Path(sys.argv[1]) / "calvin_layout" / "training")) + "\n")
        return
    dataset(OUT / "small" / "training", [(37, 42), (50, 53)], 4)
    dataset(OUT / "small" / "validation", [(5, 7)], 2)
    (OUT / "small.json").write_text(json.dumps({s: golden(OUT / "small" / s) for s in ("training", "validation")}) + "\n")
    pickles = ROOT / "internal" / "pickle" / "testdata"
    pickles.mkdir(parents=True, exist_ok=True)
    for protocol in (2, 3, 4, 5):
        for name, value in variants().items():
            save_object(OUT / "annotations" / f"{name}_{protocol}.npy", value, protocol)
        (pickles / f"kinds_{protocol}.pickle").write_bytes(pickle.dumps(kinds(), protocol=protocol))


if __name__ == "__main__":
    main()
