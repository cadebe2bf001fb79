#!/usr/bin/env python3
"""Writes loader/testdata/diffusion_policy.json: which samples the sequences of the diffusion policy project's sampler hold.

Its rule, as published in 2023: of an episode of `length` steps each sequence of `horizon` steps is taken that begins from `before` steps ahead of the
episode to where it ends `after` steps behind it, both at most horizon - 1; a step outside of the episode is its first or last one. Its configurations have
before = n_obs_steps - 1 and after = n_action_steps - 1, and the step that a policy acts at is the last one observed, the n_obs_steps-th of a sequence.
"""
import json
import pathlib


def sequences(length, horizon, before, after):
    before, after = (min(max(k, 0), horizon - 1) for k in (before, after))
    for begin in range(-before, length - horizon + after + 1):
        yield begin, [min(max(begin + i, 0), length - 1) for i in range(horizon)]


cases = []
for horizon, observed, acted in [(16, 2, 8), (16, 1, 1), (4, 2, 3), (5, 5, 1), (8, 3, 6), (1, 1, 1), (12, 4, 9)]:
    for length in [1, 2, 3, 7, 8, 15, 16, 17, 40]:
        rows = [{"anchor": begin + observed - 1, "steps": steps} for begin, steps in sequences(length, horizon, observed - 1, acted - 1)]
        cases.append({"length": length, "horizon": horizon, "observed": observed, "acted": acted, "sequences": rows})
path = pathlib.Path(__file__).parent.parent / "loader" / "testdata" / "diffusion_policy.json"
path.write_text("[\n" + ",\n".join(json.dumps(c, separators=(",", ":")) for c in cases) + "\n]\n")
