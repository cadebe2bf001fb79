#!/usr/bin/env python3
"""Writes dataset/testdata/resize_golden.json: hashes of what Pillow makes of images at other sizes.

    python3 scripts/gen_resize_golden.py

Pixel p (of H*W*C, counted on) of an image is the upper byte of (p+1) * 2654435761 modulo 2^32. The hash of a result is the CRC-32 of its bytes (zlib's).
It needs Pillow and numpy.
"""
import json
import os
import zlib

import numpy as np
from PIL import Image

SIZES = [(1, 1), (2, 3), (5, 4), (64, 48), (84, 84), (97, 131), (256, 320), (480, 640)]


def main():
    cases = []
    for h, w in SIZES:
        for c in (1, 3, 4):
            pixels = ((np.arange(1, h * w * c + 1, dtype=np.uint64) * 2654435761 % 2**32) >> 24).astype(np.uint8).reshape(h, w, c)
            image = Image.merge("RGBA"[:c] if c > 1 else "L", [Image.fromarray(pixels[..., i]) for i in range(c)]) if c != 4 else None
            for th, tw in [(1, 1), (h, w), (h, 7), (9, w), (17, 13), (84, 84), (224, 224), (300, 500)]:
                if c == 4:  # Pillow multiplies alpha in; a channel by itself is not changed
                    out = np.stack([np.asarray(Image.fromarray(pixels[..., i]).resize((tw, th), Image.BILINEAR)) for i in range(4)], -1)
                else:
                    out = np.asarray(image.resize((tw, th), Image.BILINEAR))
                cases.append([h, w, c, th, tw, zlib.crc32(np.ascontiguousarray(out).tobytes())])
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../dataset/testdata/resize_golden.json")
    with open(path, "w") as f:
        f.write("[" + ",\n".join(json.dumps(c) for c in cases) + "]\n")


if __name__ == "__main__":
    main()
