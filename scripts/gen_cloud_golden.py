#!/usr/bin/env python3
"""Read PCD and PLY files with nothing but the standard library, as an oracle for dataset/pcd and dataset/ply.

    scripts/gen_cloud_golden.py dataset/pcd/testdata dataset/ply/testdata            # write golden.json beside the files
    scripts/gen_cloud_golden.py --cut PCL_DATA LIDAR.ply dataset/pcd/testdata dataset/ply/testdata

The second form makes the small files from the whole ones. A golden has the hash of the points and of the features, as
little-endian float32 with one bit pattern for every NaN, in file order.
"""
import hashlib
import json
import pathlib
import struct
import sys


def unlzf(src):
    """LZF as its author's lzf_d.c has it: control byte, then literals or a reference."""
    out, it = bytearray(), iter(src)
    for ctrl in it:
        if ctrl < 0x20:
            out += bytes(next(it) for _ in range(ctrl + 1))
            continue
        length, back = ctrl >> 5, (ctrl & 0x1F) << 8
        if length == 7:
            length += next(it)
        start = len(out) - back - next(it) - 1
        for k in range(length + 2):
            out.append(out[start + k])
    return bytes(out)


CODES = {("F", 4): "f", ("F", 8): "d", ("U", 1): "B", ("U", 2): "H", ("U", 4): "I", ("I", 1): "b", ("I", 2): "h", ("I", 4): "i"}


def read_pcd(path):
    raw = path.read_bytes()
    head, at = {}, 0
    while "DATA" not in head:
        end = raw.index(b"\n", at)
        line = raw[at:end].decode().split()
        at = end + 1
        if line and not line[0].startswith("#"):
            head[line[0]] = line[1:]
    n = int(head["WIDTH"][0]) * int(head["HEIGHT"][0])
    codes = [CODES[t, int(s)] for t, s in zip(head["TYPE"], head["SIZE"])]
    assert set(head["COUNT"]) == {"1"}
    kind = head["DATA"][0]
    if kind == "ascii":
        rows = [[float(w) if c in "fd" else int(w) for w, c in zip(line.split(), codes)] for line in raw[at:].decode().splitlines()[:n]]
    elif kind == "binary":
        step = struct.Struct("<" + "".join(codes))
        rows = list(step.iter_unpack(raw[at:at + n * step.size]))
    else:
        packed, plain = struct.unpack_from("<II", raw, at)
        body, columns, at = unlzf(raw[at + 8:at + 8 + packed]), [], 0
        assert len(body) == plain
        for c in codes:
            columns.append(struct.unpack_from("<%d%s" % (n, c), body, at))
            at += n * struct.calcsize(c)
        rows = list(zip(*columns))
    names = head["FIELDS"]
    for colour in ("rgb", "rgba"):
        if colour in names:
            k = names.index(colour)
            shifts = (16, 8, 0, 24)[:len(colour)]

            def split(v):
                bits = struct.unpack("<I", struct.pack("<f", v))[0] if codes[k] == "f" else v
                return [bits >> s & 255 for s in shifts]

            rows = [list(r[:k]) + split(r[k]) + list(r[k + 1:]) for r in rows]
            names = names[:k] + ["red", "green", "blue", "alpha"][:len(colour)] + names[k + 1:]
    shape = [int(head["WIDTH"][0]), int(head["HEIGHT"][0])]
    return names, rows, shape, [float(v) for v in head.get("VIEWPOINT", "0 0 0 1 0 0 0".split())]


def read_ply(path):
    raw = path.read_bytes()
    head, body = raw.split(b"end_header\n", 1)
    words = [line.split() for line in head.decode().splitlines()]
    n = int(next(w[2] for w in words if w[0] == "element"))
    names = [w[2] for w in words if w[0] == "property"]
    assert all(w[1] == "float" for w in words if w[0] == "property") and "binary_little_endian" in words[1]
    rows = list(struct.iter_unpack("<%df" % len(names), body))[:n]
    return names, rows, [n, 1], [0, 0, 0, 1, 0, 0, 0]


def digest(rows, columns):
    h = hashlib.sha256()
    for r in rows:
        for k in columns:
            h.update(struct.pack("<f", r[k]) if r[k] == r[k] else b"\x00\x00\xc0\x7f")
    return h.hexdigest()


def golden(folder, read):
    out = {}
    for path in sorted(list(folder.glob("*.pcd")) + list(folder.glob("*.ply"))):
        names, rows, shape, view = read(path)
        xyz = [names.index(c) for c in "xyz"]
        rest = [k for k in range(len(names)) if k not in xyz]
        infinite = sum(any(r[k] - r[k] != 0 for k in xyz) for r in rows)
        out[path.name] = {"shape": shape, "viewpoint": view, "columns": [names[k] for k in rest], "not_finite": infinite,
                          "points": digest(rows, xyz), "features": digest(rows, rest)}
    text = ",\n".join("%s: %s" % (json.dumps(k), json.dumps(v)) for k, v in out.items())
    (folder / "golden.json").write_text("{\n" + text + "\n}\n")


def text_of(v):
    """The fewest digits that give the same float32."""
    if v != v:
        return "nan"
    return next(t for t in ("%.*g" % (d, v) for d in range(6, 10)) if struct.pack("<f", float(t)) == struct.pack("<f", v))


def cut(pcl, lidar, pcd, ply):
    (pcd / "milk.pcd").write_bytes((pcl / "milk.pcd").read_bytes())
    lines = (pcl / "sac_plane_test.pcd").read_text().splitlines()
    first = lines.index("DATA ascii") + 1
    head = [w.replace("3283", "400") for w in lines[:first]]
    (pcd / "plane.pcd").write_text("\n".join(head + lines[first:first + 400]) + "\n")
    for name, source, kind, step in (("people.pcd", "five_people.pcd", "binary", 8), ("office.pcd", "office1.pcd", "ascii", 20)):
        raw = (pcl / source).read_bytes()
        head = raw[:raw.index(b"DATA")].decode()
        at = raw.index(b"\n", raw.index(b"DATA")) + 1
        packed = struct.unpack_from("<I", raw, at)[0]
        body = unlzf(raw[at + 8:at + 8 + packed])
        code = "f" if "rgba" not in head else "I"
        columns = [struct.unpack_from("<307200" + c, body, 4 * 307200 * i) for i, c in enumerate("fff" + code)]
        keep = [y * 640 + x for y in range(0, 480, step) for x in range(0, 640, step)]
        for old, new in (("WIDTH 640", 640 // step), ("HEIGHT 480", 480 // step), ("POINTS 307200", len(keep))):
            head = head.replace(old, "%s %d" % (old.split()[0], new))
        head += "DATA %s\n" % kind
        rows = [[c[i] for c in columns] for i in keep]
        if kind == "binary":
            data = b"".join(struct.pack("<fff" + code, *r) for r in rows)
        else:
            data = "".join(" ".join(text_of(v) for v in r) + "\n" for r in rows).encode()
        (pcd / name).write_bytes(head.encode() + data)
    head, body = lidar.read_bytes().split(b"end_header\n", 1)
    keep = [body[i * 16:i * 16 + 16] for i in range(0, 69088, 17)]
    (ply / "lidar.ply").write_bytes(head.replace(b"69088", b"%d" % len(keep)) + b"end_header\n" + b"".join(keep))


if sys.argv[1] == "--cut":
    cut(*map(pathlib.Path, sys.argv[2:6]))
    del sys.argv[1:4]
golden(pathlib.Path(sys.argv[1]), read_pcd)
golden(pathlib.Path(sys.argv[2]), read_ply)
