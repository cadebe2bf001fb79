#!/usr/bin/env python3
"""Writes internal/test/opstest/testdata/frames_golden.json: images resized, jittered and normalised by Pillow and torch.

    apt-get install python3-numpy python3-pil python3-torch
    /usr/bin/python3 scripts/gen_frames_golden.py

Sample p (of H*W*C, counted on) of an image is the upper byte of (p+1) * 2654435761 modulo 2^32. Whole results are CRC-32
sums of their bytes (zlib's), floats the bit patterns of torch's float32 from a computation in float64 (resizing) or float32 (normalising). The jitter has
torchvision's formulas (transforms/_functional_tensor.py), with torch's operations.
"""
import json
import os
import zlib

import numpy as np
import PIL
import torch
from PIL import Image

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SIZES = [(1, 1), (2, 3), (5, 4), (64, 48), (97, 131), (240, 320)]


def picture(h, w, c):
    p = np.arange(1, h * w * c + 1, dtype=np.uint64) * 2654435761 % 2**32 >> 24
    return p.astype(np.uint8).reshape(h, w, c)


def crc(a):
    return zlib.crc32(np.ascontiguousarray(a).tobytes())


def bits(t):
    return t.contiguous().view({2: torch.int16, 4: torch.int32}[t.element_size()]).flatten().tolist()


def edges(size, n):
    """Whether a pixel's centre lies between two source pixels. There Pillow's sums of steps are a little less than the centre, or not."""
    return size != n and any((2 * i + 1) * size % (2 * n) == 0 for i in range(n))


def pillow():
    for rule, code in (("antialias", Image.BILINEAR), ("nearest", Image.NEAREST)):
        for h, w in SIZES:
            for h2, w2 in SIZES:
                if rule == "nearest" and (edges(h, h2) or edges(w, w2)):
                    continue
                image = Image.fromarray(picture(h, w, 3))
                yield {"resize": rule, "from": [h, w], "to": [h2, w2], "crc": crc(np.asarray(image.resize((w2, h2), code)))}
    image = Image.fromarray(picture(97, 131, 3)).crop((7, 5, 107, 91))
    yield {"resize": "antialias", "from": [97, 131], "to": [32, 48], "crop": [7, 5, 107, 91], "crc": crc(np.asarray(image.resize((48, 32), Image.BILINEAR)))}


def interpolated():
    for antialias in (True, False):
        for (h, w), (h2, w2) in (((97, 131), (20, 30)), ((12, 9), (20, 30)), ((240, 320), (11, 17)), ((64, 48), (64, 20))):
            x = torch.from_numpy(picture(h, w, 3)).permute(2, 0, 1)[None].double() / 255
            y = torch.nn.functional.interpolate(x, (h2, w2), mode="bilinear", antialias=antialias)
            yield {"resize": "antialias" if antialias else "bilinear", "from": [h, w], "to": [h2, w2], "float": bits(y.float())}


def blend(a, b, ratio):
    return (ratio * a + (1.0 - ratio) * b).clamp(0, 255).to(a.dtype)


def gray(x):
    r, g, b = x.unbind(dim=-3)
    return (0.2989 * r + 0.587 * g + 0.114 * b).to(x.dtype).unsqueeze(dim=-3)


def jittered():
    x = torch.from_numpy(picture(24, 40, 3)).permute(2, 0, 1)
    for factors in ((0.5, 1, 1), (1.75, 1, 1), (1, 0.25, 1), (1, 1.5, 1), (1, 1, 0), (1, 1, 1.5), (1.25, 0.75, 0.5)):
        b, c, s = factors
        y = x
        if b != 1:
            y = blend(y, torch.zeros_like(y), b)
        if c != 1:
            y = blend(y, torch.mean(gray(y).to(torch.float32), dim=(-3, -2, -1), keepdim=True), c)
        if s != 1:
            y = blend(y, gray(y), s)
        yield {"factors": factors, "crc": crc(y.permute(1, 2, 0).numpy())}


def normalised():
    x = torch.arange(256, dtype=torch.uint8).repeat(3, 1)[:, None, :]
    for preset, mean, std in (("imagenet", [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]), ("lerobot", None, None), ("symmetric", [0.5] * 3, [0.5] * 3)):
        y = x.to(torch.float32).div(255)
        if mean:
            y = y.sub(torch.tensor(mean)[:, None, None]).div(torch.tensor(std)[:, None, None])
        yield {"preset": preset, "f32": bits(y), "bf16": bits(y.to(torch.bfloat16)), "f16": bits(y.to(torch.float16))}


def main():
    file = {"versions": {"pillow": PIL.__version__, "torch": torch.__version__}, "sizes": list(pillow()), "floats": list(interpolated()),
            "jitters": list(jittered()), "presets": list(normalised())}
    with open(os.path.join(ROOT, "internal/test/opstest/testdata/frames_golden.json"), "w") as f:
        json.dump(file, f, separators=(",", ":"))
        f.write("\n")


main()
