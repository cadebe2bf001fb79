"""Read an RLDS dataset with the standard library alone and print its episodes as JSON.

    python3 read_tfrecord.py FOLDER

It checks both checksums of each record, the counts and bytes in dataset_info.json, and each feature's kind and length against features.json. The
output has, by key, a list of the values, or the hexadecimal MD5 of each text and image.
"""
import hashlib, json, math, os, struct, sys

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)

def masked(data):
    c = 0xFFFFFFFF
    for byte in data:
        c = TABLE[(c ^ byte) & 255] ^ c >> 8
    c ^= 0xFFFFFFFF
    return (c >> 15 | c << 17) + 0xA282EAD8 & 0xFFFFFFFF

def varint(b, i):
    value = shift = 0
    while True:
        value, shift, i = value | (b[i] & 127) << shift, shift + 7, i + 1
        if b[i - 1] < 128:
            return value, i

def fields(b):
    i = 0
    while i < len(b):
        tag, i = varint(b, i)
        assert tag & 7 == 2, "this writer packs all numbers"
        size, i = varint(b, i)
        yield tag >> 3, b[i:i + size]
        i += size

def values(kind, body):
    if kind == 1:
        return [hashlib.md5(item).hexdigest() for _, item in fields(body)]
    (_, packed), = fields(body)
    if kind == 2:
        return list(struct.unpack("<%df" % (len(packed) // 4), packed))
    out, i = [], 0
    while i < len(packed):
        v, i = varint(packed, i)
        out.append(v - (1 << 64) if v >> 63 else v)
    return out

def leaves(node, key=""):
    """Each key with the kind of its list, and the numbers in one value."""
    if "featuresDict" in node:
        for name, child in node["featuresDict"]["features"].items():
            yield from leaves(child, key + "/" + name if key else name)
    elif "sequence" in node:
        assert node["pythonClassName"].endswith(".Dataset") and node["sequence"]["length"] == "-1"
        yield from leaves(node["sequence"]["feature"], key)
    elif "tensor" in node:
        size = math.prod(map(int, node["tensor"]["shape"].get("dimensions", [])))
        yield key, 2 if "float" in node["tensor"]["dtype"] else 3, size
    else:
        yield key, 1, 1

folder, episodes = sys.argv[1], []
want = {key: (kind, size) for key, kind, size in leaves(json.load(open(os.path.join(folder, "features.json"))))}
info = json.load(open(os.path.join(folder, "dataset_info.json")))
for split in info["splits"]:
    counts, total = [int(n) for n in split["shardLengths"]], 0
    for i, count in enumerate(counts):
        data = open(os.path.join(folder, "%s-%s.tfrecord-%05d-of-%05d" % (info["name"], split["name"], i, len(counts))), "rb").read()
        for _ in range(count):
            size, check = struct.unpack_from("<QI", data)
            record, (tail,) = data[12:12 + size], struct.unpack_from("<I", data, 12 + size)
            assert check == masked(data[:8]) and tail == masked(record), "checksum"
            data, total, found = data[16 + size:], total + size, {}
            (_, features), = fields(record)
            for _, entry in fields(features):
                (_, key), (_, feature) = fields(entry)
                (kind, body), = fields(feature)
                found[key.decode()] = values(kind, body)
                assert kind == want[key.decode()][0], key
            steps = len(found["steps/is_first"])
            for key, (_, size) in want.items():
                assert len(found[key]) == size * (steps if key.startswith("steps/") else 1), key
            assert len(found) == len(want)
            episodes.append(found)
        assert not data
    assert total == int(split["numBytes"])
json.dump(episodes, sys.stdout)
