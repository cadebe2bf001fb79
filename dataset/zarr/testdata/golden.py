# Writes kinds2.zarr.zip with zarr 2.13, and kinds3.zarr.zip with chunks by numcodecs 0.11, for golden_test.go.
# Run with Debian's python3-zarr. Number j of row i in array k is (5*i + 3*j + k) % 100, divided by 4 in floats, and odd in booleans.
import io, json, os, zipfile, zlib
import numpy as np, numcodecs, zarr
from numcodecs import Blosc, GZip, LZ4, Zlib, Zstd

N, ENDS = 10, [3, 3, 10]

def values(k, dtype, shape):
    d = int(np.prod(shape))
    v = (5 * np.arange(N)[:, None] + 3 * np.arange(d)[None, :] + k) % 100
    if np.dtype(dtype).kind == "f": v = v / 4
    if np.dtype(dtype).kind == "b": v = v % 2
    return v.astype(dtype).reshape((N,) + shape)

def zipped(name, tree):
    z = zipfile.ZipFile(name, "w", zipfile.ZIP_DEFLATED)
    for path in sorted(tree):
        z.writestr(zipfile.ZipInfo(path, (2024, 1, 1, 0, 0, 0)), bytes(tree[path]), zipfile.ZIP_DEFLATED if len(path) % 2 else zipfile.ZIP_STORED)
    z.close()

def blosc(cname, shuffle): return Blosc(cname=cname, clevel=5, shuffle=shuffle)

store = {}
root = zarr.group(store=store)
root.attrs["fps"] = 5
arrays = [
    ("i1", "i1", (), (4,), None, {}), ("i2", "<i2", (2,), (4, 2), Zlib(), {}), ("i4", "<i4", (3,), (4, 2), GZip(), {}), ("i8", "<i8", (2,), (3, 1), Zstd(), {}),
    ("u2", ">u2", (2,), (4, 2), LZ4(), {}), ("u4", "<u4", (1,), (40, 1), blosc("lz4", 1), {}), ("u8", ">u8", (2,), (5, 2), blosc("zlib", 2), {}),
    ("f2", "<f2", (5,), (4, 5), blosc("zstd", 1), {}), ("f4", "<f4", (16,), (8, 16), blosc("zstd", 2), {}), ("f8", ">f8", (3,), (4, 2), blosc("lz4hc", 1), {}),
    ("b1", "?", (), (3,), blosc("zstd", 2), {}), ("fortran", "<f4", (3, 2), (4, 2, 2), Zlib(), {"order": "F"}), ("slash", "<i4", (2, 2), (4, 1, 2), None, {"dimension_separator": "/"}),
    ("camera", "u1", (8, 9, 3), (1, 8, 9, 3), blosc("lz4", 0), {}), ("wide_camera", "<f4", (8, 8, 3), (4, 8, 8, 3), blosc("zstd", 1), {}), ("depth", "<u2", (8, 9, 1), (4, 8, 9, 1), Zstd(), {}),
    ("missing", "<f4", (2,), (4, 2), Zlib(), {"fill_value": np.nan}), ("missing_i8", ">i8", (2,), (4, 2), None, {"fill_value": -7}),
    ("delta", "<i4", (2,), (4, 2), None, {"filters": [numcodecs.Delta("<i4")]}), ("text", "<U3", (), (4,), None, {}), ("complex", "<c8", (), (4,), None, {}),
]
for k, (name, dtype, shape, chunks, compressor, more) in enumerate(arrays):
    v = values(k, dtype, shape) if np.dtype(dtype).kind in "iufb" else np.zeros(N, dtype)
    if name == "wide_camera": v = np.floor(v)
    a = root.create_dataset("data/" + name, shape=v.shape, dtype=dtype, chunks=chunks, compressor=compressor, **more)
    a[:] = v
    if name == "i4": a.attrs["columns"] = ["x", "y", "z"]
for name in ["missing", "missing_i8"]: del store["data/%s/1.0" % name]
root.create_dataset("meta/episode_ends", data=np.array(ENDS), chunks=(2,), compressor=blosc("zstd", 1))
store["data/jpeg/.zarray"] = json.dumps({"zarr_format": 2, "shape": [N, 96, 96, 3], "chunks": [1, 96, 96, 3], "dtype": "|u1", "fill_value": 0, "order": "C", "filters": None, "compressor": {"id": "imagecodecs_jpeg2k", "level": 50}}).encode()
zipped("kinds2.zarr.zip", dict(store))

tree = {"zarr.json": json.dumps({"zarr_format": 3, "node_type": "group", "attributes": {"fps": 5}}).encode()}
def array3(path, name, v, chunks, codecs, key=None, fill=0, skip=()):
    big = any(c["name"] == "bytes" and c.get("configuration", {}).get("endian") == "big" for c in codecs)
    key = key or {"name": "default", "configuration": {"separator": "/"}}
    tree[path + "/zarr.json"] = json.dumps({"zarr_format": 3, "node_type": "array", "shape": v.shape, "data_type": name, "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
        "chunk_key_encoding": key, "fill_value": fill, "codecs": codecs, "attributes": {}, "dimension_names": None}).encode()
    for at in np.ndindex(*[-(-n // c) for n, c in zip(v.shape, chunks)]):
        if at in skip: continue
        box = np.zeros(chunks, v.dtype)
        part = v[tuple(slice(i * c, (i + 1) * c) for i, c in zip(at, chunks))]
        box[tuple(slice(0, n) for n in part.shape)] = part
        for c in codecs:
            if c["name"] == "transpose": box = box.transpose(c["configuration"]["order"])
            elif c["name"] == "bytes": data = np.ascontiguousarray(box).astype(box.dtype.newbyteorder(">" if big else "<"))
            elif c["name"] == "crc32c": data = bytes(data) + crc32c(bytes(data)).to_bytes(4, "little")
            else: data = {"gzip": GZip(), "zstd": Zstd(), "blosc": blosc("zstd", 2), "numcodecs.zlib": Zlib()}[c["name"]].encode(data)
        sep = key.get("configuration", {}).get("separator", "/")
        tree[path + "/" + ("c" + sep if key["name"] == "default" else "") + sep.join(map(str, at))] = bytes(data.tobytes() if hasattr(data, "tobytes") else data)

def crc32c(data):
    crc = 0xffffffff
    for b in data:
        crc ^= b
        for _ in range(8): crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff

little, big = {"name": "bytes", "configuration": {"endian": "little"}}, {"name": "bytes", "configuration": {"endian": "big"}}
def c(name, **config): return {"name": name, "configuration": config}
array3("meta/episode_ends", "int64", np.array(ENDS), (3,), [little])
array3("data/f4", "float32", values(0, "f4", (3,)), (4, 3), [little, c("blosc", cname="zstd"), c("crc32c")])
array3("data/i2", "int16", values(1, "i2", (2,)), (4, 1), [big, c("gzip", level=5)], {"name": "v2", "configuration": {"separator": "."}})
array3("data/transposed", "int32", values(2, "i4", (2, 3)), (4, 2, 2), [c("transpose", order=[2, 0, 1]), little, c("zstd", level=1, checksum=False)])
array3("data/missing", "float64", values(3, "f8", (2,)), (4, 2), [little, c("crc32c"), c("numcodecs.zlib")], fill="NaN", skip=[(1, 0)])
array3("data/camera", "uint8", values(4, "u1", (8, 8, 1)), (4, 8, 8, 1), [{"name": "bytes"}, c("blosc", cname="zstd")])
array3("data/sharded", "uint8", values(5, "u1", (2,)), (10, 2), [c("bytes")])
tree["data/sharded/zarr.json"] = tree["data/sharded/zarr.json"].replace(b'"name": "bytes"', b'"name": "sharding_indexed"')
zipped("kinds3.zarr.zip", tree)
