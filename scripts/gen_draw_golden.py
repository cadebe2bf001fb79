#!/usr/bin/env python3
"""Writes internal/test/opstest/testdata/draw_golden.json, windows at positions of an epoch.

    python3 scripts/gen_draw_golden.py

The rules are written here once more, from the documentation of DrawOptions.Window in package ops: another program that
draws the same windows can be tested against the same file. A case has the windows at the positions first, first + step and so on,
in an order of shards if it says how many windows a shard has and how many shards are mixed, of a mixture if it has sources.
"""
import json
import os
from fractions import Fraction

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
WORD = 2**32


def mix(x):
    x ^= x >> 16
    x = x * 0x85EBCA6B % WORD
    x ^= x >> 13
    x = x * 0xC2B2AE35 % WORD
    return x ^ x >> 16


def permutation(seed, epoch, lane, n, x):
    h = max(((n - 1).bit_length() + 1) // 2, 1)
    keys = []
    for i in range(8 if n <= 4096 else 4):
        k = mix((seed + (i % 4 + 1) * 0x9E3779B9) % WORD)
        for number in [seed >> 32, epoch % WORD, epoch >> 32] + ([lane % WORD, lane >> 32] if lane else []):
            k = mix(k ^ number)
        keys.append((k + i // 4 * 0x9E3779B9) % WORD)
    while True:
        left, right = x >> h, x % 2**h
        for k in keys:
            left, right = right, left ^ mix(right ^ k) % 2**h
        x = left << h | right
        if x < n:
            return x


def window(seed, epoch, n, position, w=0, k=0):
    if w == 0:
        return permutation(seed, epoch, 0, n, position)
    first, whole = permutation(seed, epoch, 0, n, 0), n // w
    g, x = divmod(position, k * w)
    y = permutation(seed, epoch, 2 + g, min(k * w, n - g * k * w), x)
    slot = g * k + y // w
    shard = permutation(seed, epoch, 1, whole, slot) if slot < whole else whole
    return (first + shard * w + y % w) % n


def shares(weights, n):
    exact = [Fraction(w) * n / sum(map(Fraction, weights)) for w in weights]
    whole = [int(x) for x in exact]
    for d in sorted(range(len(exact)), key=lambda d: whole[d] - exact[d])[: n - sum(whole)]:
        whole[d] += 1
    return whole


def mixed(seed, epoch, sources, n, shuffle, position):
    v = permutation(seed, epoch, 0, n, position) if shuffle else position
    first = 0
    for d, (windows, s) in enumerate(zip([w for w, _ in sources], shares([w for _, w in sources], n))):
        if v < s:
            own, x = divmod((epoch * s + v) % 2**64, windows)
            return first + (permutation(seed, own, 2**32 + d, windows, x) if shuffle else x)
        v -= s
        first += windows


def main():
    cases = []
    for seed, epoch in [(0, 0), (1, 0), (0, 1), (2**64 - 1, 12), (0x0123456789ABCDEF, 2**32 + 5)]:
        for n in [1, 2, 5, 16, 17, 1000, 4096, 4097, 10**6, 2**31 - 1, 10**12 + 1, 2**62]:
            count = min(n, 16)
            step = max(n // (count + 1), 1)
            first = min(epoch % 7, n - 1 - (count - 1) * step)
            at = range(first, first + count * step, step)
            cases.append({"seed": seed, "epoch": epoch, "count": n, "first": first, "step": step, "windows": [window(seed, epoch, n, x) for x in at]})
    whole = [window(42, 3, 100, x) for x in range(100)]
    assert sorted(whole) == list(range(100))
    cases.append({"seed": 42, "epoch": 3, "count": 100, "first": 0, "step": 1, "windows": whole})
    for seed, epoch in [(7, 0), (2**64 - 1, 12), (0x0123456789ABCDEF, 2**32 + 5)]:
        for n, w, k in [
            (1, 1, 1), (2, 5, 9), (5, 2, 1), (17, 4, 3), (17, 17, 2), (17, 18, 1), (100, 7, 15), (4097, 64, 1000), (20001, 1000, 5),
            (10**6, 1000, 8), (2**31 - 1, 5000, 16), (10**12 + 1, 10**4, 5), (2**62, 2**20 + 1, 2**20), (2**62 - 1, 2**62, 2**62), (2**62, 1, 3),
        ]:
            count = min(n, 16)
            step = max(n // (count + 1), 1)
            first = min(epoch % 7, n - 1 - (count - 1) * step)
            at = range(first, first + count * step, step)
            windows = [window(seed, epoch, n, x, w, k) for x in at]
            cases.append({"seed": seed, "epoch": epoch, "count": n, "shard": w, "mix": k, "first": first, "step": step, "windows": windows})
    whole = [window(42, 3, 100, x, 9, 4) for x in range(100)]
    assert sorted(whole) == list(range(100))
    cases.append({"seed": 42, "epoch": 3, "count": 100, "shard": 9, "mix": 4, "first": 0, "step": 1, "windows": whole})
    for seed, epoch in [(7, 0), (2**64 - 1, 12), (0x0123456789ABCDEF, 2**32 + 5), (5, 2**63 - 1)]:
        for n, sources in [
            (1, [(1, 1.0)]), (10, [(3, 1.0), (20, 0.0), (5, 2.0)]), (10, [(3, 1.0), (4, 1.0), (3, 1.0)]), (7, [(7, 0.1), (100, 0.2), (3, 0.3), (2, 0.4)]),
            (1000, [(1, 1e-300), (5000, 1 / 3), (17, 0.7)]), (10**6, [(10**6, 2.0), (999, 1.0)]), (10**6, [(50, 1.0), (2**30, 1e300)]),
            (2**62, [(2**61, 3.0), (2**61, 0.1)]), (64, [(d + 1, d * 1.5) for d in range(64)]),
        ]:
            for shuffle in [True, False]:
                count = min(n, 16)
                step = max(n // (count + 1), 1)
                first = min(epoch % 7, n - 1 - (count - 1) * step)
                windows = [mixed(seed, epoch, sources, n, shuffle, x) for x in range(first, first + count * step, step)]
                case = {"seed": seed, "epoch": epoch, "count": sum(w for w, _ in sources), "first": first, "step": step, "windows": windows}
                case |= {"positions": n, "in_order": not shuffle, "sources": [{"windows": w, "weight": x} for w, x in sources]}
                cases.append(case | {"shares": shares([x for _, x in sources], n)})
    lines = ",\n".join(json.dumps(c) for c in cases)
    with open(os.path.join(ROOT, "ops", "opstest", "testdata", "draw_golden.json"), "w") as f:
        f.write('{"cases": [\n' + lines + "\n]}\n")


main()
