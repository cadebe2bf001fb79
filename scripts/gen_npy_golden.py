#!/usr/bin/env python3
"""Write small .npy and .npz files with the real numpy, and what they hold as JSON, into a folder.

    apt-get install python3-numpy
    /usr/bin/python3 scripts/gen_npy_golden.py dataset/npy/testdata dataset/npz/testdata

Numbers are given as the hexadecimal bits of what Go should read, in row-major order.
"""
import io
import json
import pathlib
import sys

import numpy as np


def write(path, array, version=(1, 0)):
    with open(path, "wb") as f:
        np.lib.format.write_array(f, array, version=version)


def bits(a):
    """The elements' bits, after the widening that the reader promises."""
    wide = {"i1": "<i4", "i2": "<i4", "u2": "<i4", "u4": "<i8", "u8": "<i8", "b1": "u1"}
    a = np.ascontiguousarray(a)
    a = a.astype(wide.get(a.dtype.str[1:], "<" + a.dtype.str[1:] if a.dtype.itemsize > 1 else a.dtype))
    raw, size = a.tobytes(), a.dtype.itemsize
    return [raw[i:i + size][::-1].hex() for i in range(0, len(raw), size)]


def columns(a, path=""):
    """The flattened fields of records, as numpy sees them: names and arrays."""
    for name in a.dtype.names:
        field = a.dtype.fields[name][0]
        base, shape = field.subdtype or (field, ())
        for at in np.ndindex(*shape):
            one = a[name][(slice(None),) * a.ndim + at]
            label = path + name + "".join("[%d]" % i for i in at)
            if base.names:
                yield from columns(one, label + ".")
            else:
                yield label, one


def main_times(npy):
    """datetime64 and timedelta64, with the nanoseconds that numpy makes of them."""
    cases = {}
    for unit in ("ns", "us", "10us", "ms", "s", "m", "h", "D", "W"):
        for kind, order in (("M8", "<"), ("m8", "<"), ("M8", ">")):
            a = np.array([0, 1, -3, 1900 if unit == "W" else 19000], dtype="i8").view("%s[%s]" % (kind, unit)).astype("%s%s[%s]" % (order, kind, unit))
            name = "%s_%s%s" % ({"M8": "datetime", "m8": "timedelta"}[kind], unit, "_big" if order == ">" else "")
            write(npy / (name + ".npy"), a)
            cases[name] = a.astype(kind + "[ns]").astype("<i8").tolist()
    write(npy / "bad_nat.npy", np.array(["2020-01-01", "NaT"], dtype="<M8[us]"))
    write(npy / "bad_far.npy", np.array([0, 10 ** 12], dtype="<M8[s]"))
    write(npy / "bad_unitless.npy", np.array([1, 2], dtype="i8").view("m8"))
    write(npy / "bad_months.npy", np.array(["2020-01"], dtype="<M8[M]"))
    write(npy / "bad_stamp.npy", np.array([0, 2 ** 62 + 1], dtype="<u8"))
    (npy / "times.json").write_text(json.dumps(cases) + "\n")


def main_records(npy):
    """Records of every layout that numpy saves, with their flattened fields."""
    rng, cases = np.random.default_rng(7), {}
    layouts = {
        "records_packed": [("t", "<i8"), ("x", "<f4"), ("mode", "u1"), ("ok", "?"), ("half", "<f2")],
        "records_exact": [("x", "<f4"), ("mode", "u1"), ("ok", "?"), ("half", "<f2"), ("n", "<i2")],
        "records_big": [("t", ">f8"), ("acc", ">f4", (3,)), ("n", ">i4"), ("big", ">u8")],
        "records_aligned": np.dtype([("a", "u1"), ("b", "<f8"), ("c", "<u2"), ("d", "<f4")], align=True),
        "records_nested": [("pose", [("p", [("x", "<f4"), ("y", "<f4")]), ("q", "<f4", (4,))]), ("m", "<f4", (2, 2)), ("feet", [("f", "<f4"), ("c", "i1")], (2,))],
        "records_titled": [(("the clock", "t"), "<M8[us]"), (("speed, m/s", "v"), "<f4")],
        "records_names": [("it's", "<f4"), ("a\"b'c\\d", "<f4"), ("\u00e9", "<f4"), ("x y", "<f4")],
        "records_unicode": [("\u03b1", "<f4"), ("\U0001f916", "<i4")],
        "records_other": [("t", "<f8"), ("name", "<U4"), ("raw", "S3"), ("z", "<c8"), ("blob", "V5"), ("when", "<M8[s]"), ("image", "u1", (80, 80)), ("v", "<f4")],
        "records_offsets": np.dtype({"names": ["x", "y", "z", "rgb", "ring"], "formats": ["<f4", "<f4", "<f4", "<f4", "<u2"], "offsets": [0, 4, 8, 16, 20], "itemsize": 32}),
    }
    for name, layout in layouts.items():
        dtype = np.dtype(layout)
        a = np.frombuffer(rng.integers(0, 64, 5 * dtype.itemsize, dtype="u1").tobytes(), dtype=dtype).copy()
        for f in ("ok",):
            if f in dtype.names:
                a[f] = [True, False, True, True, False]
        if "big" in dtype.names:
            a["big"] = [0, 1, 2 ** 53 + 1, 2 ** 60, 2 ** 64 - 1]
        if name == "records_titled":
            a["t"] = np.arange(5).astype("M8[us]")
        write(npy / (name + ".npy"), a, (3, 0) if name == "records_unicode" else (1, 0))
        numbers = [(n, c) for n, c in columns(a) if c.dtype.kind in "fiub" and not n.startswith("image[")]
        wide = any(c.dtype.itemsize > 2 and c.dtype != np.dtype("f4") and c.dtype != np.dtype(">f4") for _, c in numbers)
        cases[name] = {"columns": [n for n, _ in numbers], "types": [c.dtype.name for _, c in numbers], "wide": wide,
                       "values": np.stack([c.astype("f8") for _, c in numbers], 1).tolist(),
                       "inexact": sum(int(float(v)) != int(v) for _, c in numbers if c.dtype.kind in "iu" for v in c),
                       "left_out": {"records_other": ["name", "raw", "z", "blob", "when", "image"], "records_titled": ["t"]}.get(name, [])}
    (npy / "records.json").write_text("{\n" + ",\n".join("%s: %s" % (json.dumps(k), json.dumps(v)) for k, v in cases.items()) + "\n}\n")

    cloud = np.zeros((2, 3), dtype=layouts["records_offsets"])
    for i, f in enumerate(("x", "y", "z", "ring")):
        cloud[f] = np.arange(6).reshape(2, 3) + 10 * i
    cloud["rgb"] = np.full((2, 3), 0x00010203, dtype="<u4").view("<f4")
    write(npy / "cloud.npy", cloud)
    write(npy / "cloud_fortran.npy", np.asfortranarray(cloud))


def main_archives(npz):
    """Archives as people have them: names that are no file names, a stream that cannot be sought, records with a clock."""
    t = np.arange(3, dtype="<i8") * 10 ** 9
    np.savez(npz / "names.npz", **{"/observations/qpos.values": np.arange(6, dtype="<f4").reshape(3, 2), "/observations/qpos.times": t,
                                   "w:0": t, "a/../b": t, "back\\slash": t, "\u00e9": t})
    class Pipe(io.RawIOBase):
        def __init__(self): self.data = b""
        def writable(self): return True
        def write(self, b): self.data += bytes(b); return len(b)
    for name, save in (("piped", np.savez), ("piped_deflated", np.savez_compressed)):
        pipe = Pipe()
        save(pipe, a=t, values=np.arange(4, dtype="<f8"))
        (npz / (name + ".npz")).write_bytes(pipe.data)
    imu = np.zeros(3, dtype=[("stamp", "<M8[us]"), ("acc", "<f4", (3,)), ("mode", "u1"), ("label", "<U3")])
    imu["stamp"] = np.arange(3).astype("M8[s]")
    imu["acc"], imu["mode"] = np.arange(9).reshape(3, 3), [1, 1, 2]
    np.savez(npz / "streams.npz", imu=imu, **{
        "grip.values": np.array([0, 1, 2 ** 53 + 1], dtype="<i8"), "grip.times": t.astype("<u8"),
        "pose.values": np.array([(1, 2), (3, 4), (5, 6)], dtype=[("x", "<f4"), ("n", "<i4")]), "pose.times": t.astype("M8[ns]"),
        "image.values": np.zeros((3, 2, 2, 3), dtype="u1"), "image.times": t, "words": np.array(["a"]), "boxes": np.array([None], dtype=object),
        "two": np.zeros(3, dtype=[("t", "<f8"), ("time", "<f8"), ("v", "<f4")])})


def main(npy, npz):
    npy, npz = pathlib.Path(npy), pathlib.Path(npz)
    cases = {}

    def case(name, array, version=(1, 0)):
        write(npy / (name + ".npy"), array, version)
        cases[name] = {"shape": list(array.shape), "descr": array.dtype.str, "bits": bits(array), "version": version[0],
                       "fortran": bool(array.flags.f_contiguous and not array.flags.c_contiguous)}

    edge = {"f2": [0, -0.0, 1.5, 65504, 6e-8, np.inf, np.nan], "f4": [0, -0.0, 1.1, 3e38, 1e-45, -np.inf, np.nan],
            "f8": [0, -0.0, 1.1, 1e308, 5e-324, np.inf, np.nan]}
    for code in ("i1", "i2", "i4", "i8", "u1", "u2", "u4"):
        info = np.iinfo(code)
        edge[code] = [info.min, 0, 1, info.max]
    edge["u8"] = [0, 1, 2 ** 63 - 1]
    edge["b1"] = [True, False, True]
    for code, values in edge.items():
        for order, word in (("<", "little"), (">", "big")):
            if np.dtype(code).itemsize == 1 and word == "big":
                continue
            case("%s_%s" % (code, word), np.array(values, dtype=order + code))
    case("scalar", np.array(2.5, dtype="<f4"))
    case("empty", np.zeros((0, 3), dtype="<f8"))
    case("one", np.array([7], dtype="<i8"))
    grid = np.arange(24, dtype="<f4").reshape(2, 3, 4)
    case("rank3", grid)
    case("fortran3", np.asfortranarray(grid))
    case("fortran2", np.asfortranarray(np.arange(6, dtype=">i8").reshape(2, 3)))
    case("fortran_row", np.asfortranarray(np.arange(5, dtype="<i4").reshape(1, 5)))
    case("version2", grid, (2, 0))
    case("version3", grid, (3, 0))
    (npy / "numbers.json").write_text("{\n" + ",\n".join("%s: %s" % (json.dumps(k), json.dumps(v)) for k, v in cases.items()) + "\n}\n")

    strings = {"strings": ["q[0]", "", "roll", "\u03b1\U0001f916"], "strings_big": ["ab", "c"], "strings_none": []}
    write(npy / "strings.npy", np.array(strings["strings"], dtype="<U4"))
    write(npy / "strings_big.npy", np.array(strings["strings_big"], dtype=">U2"))
    write(npy / "strings_none.npy", np.array([], dtype="<U1"))
    write(npy / "bytes.npy", np.array([b"ab", b"c"], dtype="S2"))
    strings["bytes"] = ["ab", "c"]
    (npy / "strings.json").write_text(json.dumps(strings) + "\n")

    # What has no place in a tensor.
    write(npy / "bad_complex.npy", np.array([1j], dtype="<c16"))
    write(npy / "bad_struct.npy", np.zeros(2, dtype=[("x", "<f4"), ("y", "<i4")]))
    write(npy / "bad_time.npy", np.array(["2020-01-01"], dtype="<M8[ns]"))
    write(npy / "bad_u8.npy", np.array([1, 2 ** 63], dtype="<u8"))
    np.save(npy / "bad_object.npy", np.array([{}], dtype=object), allow_pickle=True)

    arrays = {"values": grid, "times": np.arange(3, dtype="<i8") * 10 ** 9, "deep/name": np.array([1, 2], dtype="u1"),
              "columns": np.array(["x", "y"]), "half": np.array([0x3F80, 0xC000], dtype="<u2")}
    np.savez(npz / "stored.npz", **arrays)
    np.savez_compressed(npz / "deflated.npz", **arrays)


main(*sys.argv[1:3])
main_times(pathlib.Path(sys.argv[1]))
main_records(pathlib.Path(sys.argv[1]))
main_archives(pathlib.Path(sys.argv[2]))
