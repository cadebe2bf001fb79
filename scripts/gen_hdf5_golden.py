#!/usr/bin/env python3
"""Writes the HDF5 files of dataset/hdf5/testdata that h5py makes, and what h5py reads in them.

    scripts/gen_hdf5_golden.py dataset/hdf5/testdata

It needs h5py (Debian's python3-h5py). kinds_earliest.hdf5 and kinds_latest.hdf5 hold every kind of storage, type and link that the package reads, and
some that it names as not supported; kinds.h5py.json holds the shape, the type and the SHA-256 of each dataset's bytes, of a compound those of each field.
With a second argument, a folder, it writes larger files there as well, for a look that the repository does not need to carry.
"""
import ctypes
import hashlib
import json
import os
import sys

import h5py
import numpy as np


def digest(a):
    return hashlib.sha256(np.ascontiguousarray(a).tobytes()).hexdigest()


def text(v):
    return v.decode("utf-8") if isinstance(v, bytes) else str(v)


def describe(d):
    """Says what a dataset holds."""
    e = {"dtype": str(d.dtype), "shape": d.shape}
    if d.shape is None:
        return {"dtype": str(d.dtype), "shape": None, "empty": True}
    if d.chunks:
        e["chunks"] = d.chunks
    try:
        a = d[()]
    except Exception as err:
        return e | {"read_error": str(err)[:60]}
    if h5py.check_string_dtype(d.dtype):
        e["first"] = [text(s) for s in np.asarray(a).reshape(-1)[:6]]
    elif h5py.check_vlen_dtype(d.dtype):
        e["first"] = [[int(x) for x in s] for s in np.asarray(a, dtype=object).reshape(-1)[:6]]
    elif d.dtype.names:
        e["fields"] = {n: digest(a[n]) for n in d.dtype.names if not d.dtype[n].hasobject}
    elif not d.dtype.hasobject:
        # Shapes of arrays in elements are part of a's.
        e["shape"] = np.shape(a)
        little = np.asarray(a).astype(np.asarray(a).dtype.newbyteorder("<"))
        e["sha256"] = digest(little)
        if little.dtype.kind in "iufb":
            e["first"] = [x.item() if np.isfinite(x) else str(x) for x in little.reshape(-1)[:6]]
    return e


def attributes(o):
    out = {}
    for name in sorted(o.attrs):
        v = o.attrs[name]
        if isinstance(v, h5py.Empty):
            out[name] = {"empty": str(v.dtype)}
        elif isinstance(v, (str, bytes)):
            out[name] = text(v) if len(v) < 1000 else {"sha256": digest(np.bytes_(v))}
        else:
            flat = np.asarray(v).reshape(-1)[:6]
            out[name] = [text(x) if isinstance(x, (str, bytes)) else x.item() for x in flat]
    return out


def expected(path):
    with h5py.File(path, "r") as f:
        objects = {}

        def visit(name, o):
            e = describe(o) if isinstance(o, h5py.Dataset) else {"group": True}
            if o.attrs:
                e["attrs"] = attributes(o)
            objects["/" + name] = e

        f.visititems(visit)
        return {"file": os.path.basename(path), "count": len(objects), "objects": objects}


def numbers(f):
    g = f.create_group("numbers")
    for kind in ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8"):
        for order in "<>":
            a = (np.arange(6).reshape(2, 3) * 41 - (60 if kind[0] != "u" else 0)).astype(order + kind)
            g[kind + ("_big" if order == ">" else "")] = a
    g["bool"] = np.array([True, False, True])
    g["enum"] = np.array([2, 1], dtype=h5py.enum_dtype({"LEFT": 1, "RIGHT": 2}, basetype="<i2"))
    g["scalar"] = np.float32(2.5)
    g["none"] = np.zeros((3, 0), "f8")
    g["arrays"] = np.arange(24, dtype="i4").reshape(2, 3, 4)
    d = g.create_dataset("elements", (2,), dtype=np.dtype(("<f4", (2, 3))))
    d[...] = np.arange(12, dtype="<f4").reshape(2, 2, 3)


def records(f):
    t = np.dtype([("t", "<f8"), ("id", ">u2"), ("pose", [("x", "<f4"), ("q", "<f4", (4,))]), ("name", "S5"), ("note", h5py.string_dtype())])
    a = np.zeros(5, t)
    a["t"], a["id"] = np.arange(5) / 4, np.arange(5) * 300
    a["pose"]["x"], a["pose"]["q"] = np.arange(5) + 0.5, np.arange(20).reshape(5, 4)
    a["name"], a["note"] = [b"a", b"bb", b"ccc", b"dddd", b"eeeee"], ["", "n1", "zwölf", "n3", "n4"]
    f.create_dataset("records", data=a, chunks=(2,))
    f["complex"] = np.array([1 + 2j, 3 - 4j], "c8")


def texts(f):
    g = f.create_group("texts")
    g["fixed"] = np.array([b"demo_0", b"demo_1", b"x"], "S7")
    g["variable"] = ["", "a", "Grüße", "x" * 300]
    g.create_dataset("chunked", data=["r%d" % i for i in range(10)], chunks=(3,), maxshape=(None,), compression="gzip")
    s = g.create_dataset("sequences", (3,), dtype=h5py.vlen_dtype("<i2"))
    for i, v in enumerate(([], [1], [2, 3, 4])):
        s[i] = np.array(v, "<i2")


def chunks(f, latest, deep):
    g = f.create_group("chunks")
    a = np.arange(70 * 3, dtype="<i4").reshape(70, 3)
    common = {"shuffle": True, "compression": "gzip", "fletcher32": True}
    g.create_dataset("grows", data=a, chunks=(1, 3), maxshape=(None, 3))
    g.create_dataset("grows_filtered", data=a, chunks=(2, 2), maxshape=(None, 3), **common)
    g.create_dataset("grows_second", data=a[:8].reshape(4, 6), chunks=(3, 2), maxshape=(9, None))
    far = 150000
    for name, more in (("far", {}), ("far_filtered", common)):
        d = g.create_dataset(name, (far + 10,), "<i2", chunks=(1,), maxshape=(None,), fillvalue=-7, **more)
        d[:3] = [1, 2, 3]
        d[100:103] = [4, 5, 6]
        d[2000:2002] = [7, 8]
        d[far:far + 3] = [9, 10, 11]
    n = 75 if deep else 20
    for name, more in (("both", {}), ("both_filtered", common)):
        d = np.arange(n * n).reshape(n, n).astype("u1")
        g.create_dataset(name, data=d, chunks=(1, 1), maxshape=(None, None), **more)
    g.create_dataset("single", data=a, chunks=(70, 3))
    g.create_dataset("single_filtered", data=a, chunks=(70, 3), **common)
    g.create_dataset("wider", data=a[:5], chunks=(4, 2), maxshape=(20, 9))
    g.create_dataset("lzf", data=a, chunks=(16, 3), compression="lzf", shuffle=True)
    noise = np.frombuffer(hashlib.sha512(b"noise").digest(), "u1").reshape(8, 8)
    g.create_dataset("lzf_noise", data=noise, chunks=(4, 4), compression="lzf", fletcher32=True)
    d = g.create_dataset("holes", (7, 5), "<f8", chunks=(2, 2), fillvalue=1.5)
    d[2:4, 2:4] = 3
    shrunk = g.create_dataset("shrunk", data=a, chunks=(4, 2), maxshape=(None, 3))
    shrunk.resize((9, 2))
    g.create_dataset("unwritten", (3, 2), "<i8", fillvalue=-1)
    g.create_dataset("unwritten_text", (2,), "S3", fillvalue=b"ab")
    g.create_dataset("images", data=(np.arange(5 * 6 * 7 * 3) % 251).astype("u1").reshape(5, 6, 7, 3), chunks=(2, 3, 7, 3), compression="gzip")
    for kind in ("u1", "<i2", "<f4", "<f8", "S3"):  # a run of a chunk is one element, or two; rows of chunks are whole, or not
        d = g.create_dataset("narrow_" + kind.strip("<"), data=(np.arange(7 * 5 * 3) % 120).reshape(7, 5, 3).astype(kind), chunks=(3, 2, 1), compression="gzip")
        g.create_dataset("narrow_raw_" + kind.strip("<"), data=d[()], chunks=(3, 2, 2))
    d = g.create_dataset("narrow_holes", (9, 4, 3), "<i4", chunks=(2, 2, 1), fillvalue=-3)
    d[:2] = 5
    d[4:6, 2:] = 7
    if latest:
        # Chunks at the end without filters, which h5py has no call for.
        edges = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        edges.set_chunk((3, 2))
        edges.set_deflate(6)
        assert ctypes.CDLL("libhdf5_serial.so.103").H5Pset_chunk_opts(ctypes.c_int64(edges.id), ctypes.c_uint(2)) == 0
        for name, most in ((b"edges", (10, 5)), (b"edges_grow", (h5py.h5s.UNLIMITED, 5))):
            d = h5py.Dataset(h5py.h5d.create(g.id, name, h5py.h5t.STD_I32LE, h5py.h5s.create_simple((10, 5), most), edges))
            d[...] = np.arange(50).reshape(10, 5)
    space = h5py.h5s.create_simple((10, 5))
    early = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    early.set_chunk((3, 2))
    early.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    d = h5py.Dataset(h5py.h5d.create(g.id, b"early", h5py.h5t.STD_I32LE, space, early))
    d[...] = np.arange(50).reshape(10, 5)
    compact = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    compact.set_layout(h5py.h5d.COMPACT)
    d = h5py.Dataset(h5py.h5d.create(g.id, b"compact", h5py.h5t.IEEE_F32BE, space, compact))
    d[...] = np.arange(50).reshape(10, 5) / 8


def names(f, latest):
    g = f.create_group("names")
    g["target"] = np.arange(3, dtype="u1")
    g["hard"] = g["target"]
    g["soft"] = h5py.SoftLink("target")
    g["absolute"] = h5py.SoftLink("/names/target")
    g["dangling"] = h5py.SoftLink("/nowhere")
    g["loop"] = h5py.SoftLink("loop")
    g["other_file"] = h5py.ExternalLink("other.hdf5", "/x")
    g["itself"] = g
    ordered = f.create_group("ordered", track_order=True)
    for n in ("z", "demo_10", "demo_2", "a"):
        ordered.create_group(n)
    many = f.create_group("many", track_order=True)
    for i in range(40):
        many["demo_%d" % i] = np.uint8(i)
    f["point"] = np.dtype("<f4")
    d = f.create_dataset("typed", data=np.arange(4, dtype="<f4"), dtype=f["point"])
    d.attrs.create("typed", np.arange(2, dtype="<f4"), dtype=f["point"])
    a = f.create_group("attributes").attrs
    a["text"], a["number"], a["flag"], a["list"] = '{"env_name": "Lift"}', np.int64(7), True, np.arange(3.0)
    a["bytes"], a["texts"] = np.bytes_(b"fixed"), ["a", "b"]
    a["empty"] = h5py.Empty("f4")
    many = f.create_group("many_attributes", track_order=True).attrs
    for i in range(20):
        many["a%d" % i] = i
    if latest:
        f.create_group("large_attribute").attrs["model_file"] = np.bytes_(b"<mujoco>" * 9000)


def refused(f):
    g = f.create_group("refused")
    g["wide"] = np.array([1, 2**64 - 1], "u8")
    g["references"] = np.array([f["names"].ref], dtype=h5py.ref_dtype)
    g["opaque"] = np.array([b"abc", b"def"], "V3")
    g.create_dataset("scaleoffset", data=np.arange(20, dtype="i4"), chunks=(10,), scaleoffset=0)
    g.create_dataset("elsewhere", (3,), "u1", external=[("elsewhere.bin", 0, 3)])
    v = h5py.VirtualLayout((3,), "u1")
    v[:] = h5py.VirtualSource(".", "names/target", (3,))
    g.create_virtual_dataset("virtual", v)


def write(path, libver, userblock=0, deep=False):
    if os.path.exists(path):
        os.remove(path)
    with h5py.File(path, "w", libver=libver, userblock_size=userblock) as f:
        numbers(f)
        records(f)
        texts(f)
        chunks(f, libver == "latest", deep)
        names(f, libver == "latest")
        refused(f)
    return expected(path)


def main():
    out = sys.argv[1]
    files = [write(os.path.join(out, "kinds_earliest.hdf5"), "earliest", 1024), write(os.path.join(out, "kinds_latest.hdf5"), "latest")]
    with open(os.path.join(out, "kinds.h5py.json"), "w") as f:
        f.write("[" + ",\n".join(json.dumps(e, sort_keys=True) for e in files) + "]\n")
    if len(sys.argv) > 2:
        out = sys.argv[2]
        with open(os.path.join(out, "expected.h5py.json"), "w") as f:
            json.dump([write(os.path.join(out, "deep.hdf5"), "latest", 512, True)], f)


main()
