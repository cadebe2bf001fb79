#!/usr/bin/env python3
"""Read a ULog file with struct alone and print what is in it as JSON.

    scripts/gen_ulog_golden.py dataset/ulog/testdata/sample_log_small.ulg > dataset/ulog/testdata/sample_log_small.json

Each stream: name, samples, first and last time (ns), columns, and the SHA-256 of its times (int64) and of its values
(float64, row by row, every NaN as 7ff8000000000000), little-endian.
"""
import hashlib
import json
import struct
import sys

CODES = {"int8_t": "b", "uint8_t": "B", "int16_t": "h", "uint16_t": "H", "int32_t": "i", "uint32_t": "I",
         "int64_t": "q", "uint64_t": "Q", "float": "f", "double": "d", "bool": "B", "char": "B"}
NAN = struct.pack("<Q", 0x7FF8000000000000)


def messages(data):
    at = 16
    while at < len(data):
        size, kind = struct.unpack_from("<HB", data, at)
        assert at + 3 + size <= len(data), "cut at byte %d" % at
        yield chr(kind), data[at + 3:at + 3 + size]
        at += 3 + size


def expand(formats, name, prefix=""):
    """The struct code of a type and the names of its values; a padding byte is an x."""
    code, names = "", []
    for typ, field in formats[name]:
        count, array = 1, "[" in typ
        if array:
            typ, _, rest = typ.partition("[")
            count = int(rest.rstrip("]"))
        if field.startswith("_padding"):
            code += "x" * (count * struct.calcsize("<" + CODES[typ]))
            continue
        for k in range(count):
            full = prefix + field + ("[%d]" % k if array else "")
            if typ in CODES:
                code += CODES[typ]
                names.append(full)
            else:
                c, n = expand(formats, typ, full + ".")
                code += c
                names += n
    return code, names


def main(path):
    data = open(path, "rb").read()
    assert data[:7] == b"ULog\x01\x12\x35"
    formats, topics, ids, last = {}, {}, {}, struct.unpack_from("<Q", data, 8)[0]
    info, initial, changes, dropouts, texts, multi, syncs = {}, {}, 0, [], [], 0, 0
    for kind, body in messages(data):
        if kind == "F":
            name, _, fields = body.decode("ascii").partition(":")
            formats[name] = [tuple(f.split(" ", 1)) for f in fields.split(";") if f]
        elif kind == "A":
            name = body[3:].decode("ascii") + ("_%d" % body[0] if body[0] else "")
            code, names = expand(formats, body[3:].decode("ascii"))
            code = code.rstrip("x")
            topic = topics.setdefault(name, {"unpack": struct.Struct("<" + code), "names": names, "times": [], "rows": []})
            ids[struct.unpack_from("<H", body, 1)[0]] = topic
        elif kind == "D":
            topic = ids[struct.unpack_from("<H", body)[0]]
            row = list(topic["unpack"].unpack_from(body, 2))
            timestamp = row.pop(topic["names"].index("timestamp"))
            topic["times"].append(timestamp * 1000)
            topic["rows"].append(row)
            last = max(last, timestamp)
        elif kind == "I":
            key = body[1:1 + body[0]].decode("ascii")
            if key.startswith("char["):
                info[key.split(" ")[1]] = body[1 + body[0]:].decode("utf-8")
        elif kind == "P":
            typ, name = body[1:1 + body[0]].decode("ascii").split(" ")
            value = struct.unpack("<" + CODES[typ], body[1 + body[0]:])[0]
            changes += name in initial
            initial.setdefault(name, float(value))
        elif kind == "O":
            dropouts.append([last * 1000, struct.unpack("<H", body)[0] * 1000000])
        elif kind == "L":
            texts.append([chr(body[0]), struct.unpack_from("<Q", body, 1)[0] * 1000, body[9:].decode("utf-8")])
        elif kind == "M":
            multi += body[0] == 0
        elif kind == "S":
            syncs += 1
    streams = []
    for name, t in topics.items():
        if not t["times"]:
            continue
        names = [n for n in t["names"] if n != "timestamp"]
        values = hashlib.sha256()
        for row in t["rows"]:
            values.update(b"".join(NAN if v != v else struct.pack("<d", v) for v in row))
        streams.append({
            "name": name, "samples": len(t["times"]), "first": t["times"][0], "last": t["times"][-1], "columns": names,
            "times": hashlib.sha256(struct.pack("<%dq" % len(t["times"]), *t["times"])).hexdigest(),
            "values": values.hexdigest()})
    json.dump({"version": data[7], "start": struct.unpack_from("<Q", data, 8)[0] * 1000, "info": info,
               "parameters": initial, "parameter_changes": changes, "dropouts": dropouts, "texts": texts,
               "multi_values": multi, "syncs": syncs, "streams": streams,
               "empty": [n for n, t in topics.items() if not t["times"]]}, sys.stdout, indent=None, separators=(",", ":"))
    print()


main(sys.argv[1])
