#!/usr/bin/env python3
"""Writes dataset/testdata/jpeg_golden.json.gz: JPEG files and the pixels that Pillow, whose decoder is libjpeg-turbo, makes of them.

    python3 scripts/gen_jpeg_golden.py [NUMBER [FILE]]

Files differ in size, chroma subsampling, quality and coding. The pixels are [H,W,3]. It needs Pillow, numpy, and cjpeg of libjpeg-turbo.
"""
import base64
import gzip
import io
import json
import os
import subprocess
import sys

import numpy as np
from PIL import Image

SAMPLING = {"444": "1x1", "422": "2x1", "420": "2x2", "440": "1x2", "411": "4x1", "410": "4x2"}
SIZES = [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 48]


def picture(rng, h, w):
    """Slopes, patches of full colours with hard edges, and noise."""
    y, x = np.mgrid[:h, :w]
    out = np.stack([rng.uniform(0, 255) + rng.normal(0, 4) * x + rng.normal(0, 4) * y for _ in range(3)], -1)
    for _ in range(rng.integers(4)):
        top, left = rng.integers(h), rng.integers(w)
        out[top : top + rng.integers(1, 20), left : left + rng.integers(1, 20)] = rng.choice([0, 255], 3)
    return (out + rng.normal(0, rng.choice([0, 3, 20]), out.shape)).clip(0, 255).astype(np.uint8)


def main():
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 48
    path = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "../dataset/testdata/jpeg_golden.json.gz")
    rng, cases = np.random.default_rng(1), []
    for i in range(number):
        h, w = (int(n) for n in rng.choice(SIZES, 2))
        name = list(SAMPLING)[i % len(SAMPLING)]
        ppm = io.BytesIO()
        Image.fromarray(picture(rng, h, w)).save(ppm, "PPM")
        coding = [[], ["-progressive"], ["-optimize"], ["-restart", "1"]][rng.integers(4)]
        quality = str(rng.choice([20, 50, 75, 90, 95, 100]))
        command = ["cjpeg", "-sample", SAMPLING[name], "-quality", quality] + coding
        file = subprocess.run(command, input=ppm.getvalue(), stdout=subprocess.PIPE, check=True).stdout
        pixels = np.asarray(Image.open(io.BytesIO(file)).convert("RGB"))
        texts = [base64.b64encode(b).decode() for b in (file, pixels.tobytes())]
        cases.append({"sampling": name, "height": h, "width": w, "file": texts[0], "pixels": texts[1]})
    with open(path, "wb") as f, gzip.GzipFile("", "wb", 9, f, 0) as z:
        z.write(("[" + ",\n".join(json.dumps(c) for c in cases) + "]\n").encode())


if __name__ == "__main__":
    main()
