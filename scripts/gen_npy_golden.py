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
