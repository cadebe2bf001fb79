#!/usr/bin/env python3
"""Read an RLDS dataset with struct alone and print what is in it as JSON.

    scripts/gen_rlds_golden.py FOLDER > dataset/rlds/testdata/NAME.json

Each episode: steps; of each key of numbers below steps its values' count, first, last, exact sum (math.fsum, of whole numbers as floats) and the SHA-256
of all as little-endian float64; of each key of bytes count, total bytes and the SHA-256 of the items one after the other; the rest as it is. Only
tensors that are compressed are told apart by features.json: each is inflated to float32.
"""
import glob
import hashlib
import json
import math
import os
import struct
import sys
import zlib


def varint(b, i):
    value = shift = 0
    while True:
        c = b[i]
        i += 1
        value |= (c & 127) << shift
        shift += 7
        if c < 128:
            return value, i


def fields(b):
    i = 0
    while i < len(b):
        tag, i = varint(b, i)
        if tag & 7 == 0:
            value, i = varint(b, i)
        elif tag & 7 == 2:
            size, i = varint(b, i)
            value, i = b[i:i + size], i + size
        else:
            value, i = b[i:i + 4], i + 4
        yield tag >> 3, tag & 7, value


def values(feature):
    """The kind of a feature (1 bytes, 2 floats, 3 whole numbers) and its values."""
    for kind, _, body in fields(feature):
        out = []
        for _, wire, v in fields(body):
            if kind == 1:
                out.append(bytes(v))
            elif kind == 2:
                out += struct.unpack("<%df" % (len(v) // 4), v)
            elif wire == 0:
                out.append(v)
            else:
                i = 0
                while i < len(v):
                    n, i = varint(v, i)
                    out.append(n - (1 << 64) if n >> 63 else n)
        return kind, out
    return 0, []


def compressed(node, key=""):
    """The keys of tensors that are compressed."""
    if "featuresDict" in node:
        for name, child in node["featuresDict"]["features"].items():
            yield from compressed(child, key + "/" + name if key else name)
    elif "sequence" in node:
        yield from compressed(node["sequence"]["feature"], key)
    elif node.get("tensor", {}).get("encoding") == "zlib":
        yield key


def main(folder):
    packed = set(compressed(json.load(open(os.path.join(folder, "features.json")))))
    episodes = []
    for path in sorted(glob.glob(os.path.join(folder, "*.tfrecord*"))):
        data, at = open(path, "rb").read(), 0
        while at < len(data):
            size, = struct.unpack_from("<Q", data, at)
            example, features = data[at + 12:at + 12 + size], {}
            at += 16 + size
            for _, _, body in fields(example):
                for _, _, entry in fields(body):
                    both = {n: v for n, _, v in fields(entry)}
                    features[both[1].decode()] = values(both.get(2, b""))
            e = {"steps": len(features["steps/is_first"][1]), "numbers": {}, "bytes": {}, "rest": {}}
            for key, (kind, list_) in sorted(features.items()):
                if key in packed:
                    kind, list_ = 2, [x for v in list_ for x in struct.unpack("<%df" % (len(zlib.decompress(v)) // 4), zlib.decompress(v))]
                if not key.startswith("steps/"):
                    e["rest"][key] = [v.decode() if kind == 1 else v for v in list_]
                elif kind == 1:
                    e["bytes"][key] = {"count": len(list_), "total": sum(map(len, list_)), "sha256": hashlib.sha256(b"".join(list_)).hexdigest()}
                else:
                    f = [float(v) for v in list_]
                    e["numbers"][key] = {"count": len(f), "first": f[0] if f else 0, "last": f[-1] if f else 0, "sum": math.fsum(f),
                                         "sha256": hashlib.sha256(struct.pack("<%dd" % len(f), *f)).hexdigest()}
            episodes.append(e)
    json.dump(episodes, sys.stdout, indent=None, separators=(",", ":"), sort_keys=True)
    print()


if __name__ == "__main__":
    main(sys.argv[1])
