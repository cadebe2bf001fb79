# Writes golden.json.gz: chunks by numcodecs 0.11 (c-blosc), for blosc_test.go. Run with python3-numcodecs.
import base64, gzip, json
import numpy as np
from numcodecs.blosc import Blosc

def content(n):
    j = np.arange(n, dtype=np.int64)
    return ((j // 16) * (1 + j % 4) % 23).astype(np.uint8).tobytes()

list = []
for cname in ["lz4", "lz4hc", "zlib", "zstd"]:
    for shuffle in [0, 1, 2]:
        for size, n, block in [(1, 0, 0), (1, 100, 0), (2, 333, 0), (4, 1000, 0), (4, 1000, 512), (8, 640, 1024), (8, 3, 0), (12, 300, 0), (32, 100, 0)]:
            array = np.frombuffer(content(n * size), dtype="V%d" % size)
            chunk = Blosc(cname=cname, clevel=5, shuffle=shuffle, blocksize=block).encode(array)
            list.append({"Name": "%s-%d-%d-%d-%d" % (cname, shuffle, size, n, block), "Size": n * size, "Chunk": base64.b64encode(chunk).decode()})
with open("golden.json.gz", "wb") as f:
    f.write(gzip.compress(json.dumps(list).encode(), 9, mtime=0))
