"""A policy of `robocache train --size small` in PyTorch: the same predictions, up to the rounding of float32.

    policy = Policy("trained")                      # a folder that robocache train has written
    chunk = policy.act(states, actions)             # the next actions, in their own unit

docs/train.md explains the columns and their normalisation.
"""

import json

import numpy as np
import torch
from safetensors.torch import load_file


class Policy(torch.nn.Module):
    def __init__(self, folder):
        super().__init__()
        self.config = json.load(open(folder + "/config.json"))
        r, inputs, targets = (self.config[name] for name in ("recipe", "inputs", "targets"))
        assert r["differences"] and not r["per_token"], "another size: docs/train.md has the differences"
        self.input = torch.nn.Linear(len(inputs), r["width"])
        self.position = torch.nn.Embedding(r["history"], r["width"])               # a row a token, the oldest first
        layer = torch.nn.TransformerEncoderLayer(r["width"], r["heads"], r["ffn"], r["dropout"], activation="relu",
                                                 batch_first=True, norm_first=r["pre_norm"])
        self.encoder = torch.nn.TransformerEncoder(layer, r["layers"])             # without a norm behind it, and no mask
        self.output = torch.nn.Linear(r["history"] * r["width"], r["chunk"] * len(targets))
        self.load_state_dict(load_file(folder + "/model.safetensors"), strict=True)
        self.eval()

    def forward(self, x):                                                          # [B,T,inputs] to [B,chunk,actions], both normalised
        y = self.encoder(self.input(x) + self.position.weight)
        return self.output(y.flatten(1)).unflatten(1, (self.config["recipe"]["chunk"], -1))

    def tokens(self, states, actions):
        """states [T,S]: those of the T ticks up to the anchor, the oldest first, the streams of config["states"] side by side. actions
        [T,A]: those of the tick before each of these, so that the last row is the action before the anchor. NaN: there is none."""
        states, actions = np.float32(states), np.float32(actions)
        last, itself = actions[-1], np.full_like(actions, np.nan)
        itself[-1] = last                                                          # as it is, in the last token alone
        x = np.concatenate([states, actions, itself], axis=1)
        for j, c in enumerate(self.config["inputs"]):                              # in the order of these columns
            x[:, j] = (x[:, j] - (last[c["relative"]] if c["relative"] >= 0 else 0) - np.float32(c["mean"])) * np.float32(1 / c["std"])
        return np.nan_to_num(x)                                                    # what is missing is 0 after normalising

    def act(self, states, actions):
        """Returns the chunk [C,A], in the action's own unit, from the anchor on."""
        with torch.no_grad():
            y = self(torch.from_numpy(self.tokens(states, actions))[None])[0].double().numpy()
        for j, c in enumerate(self.config["targets"]):
            y[:, j] = y[:, j] * c["std"] + c["mean"] + (actions[-1][c["relative"]] if c["relative"] >= 0 else 0)
        return y
