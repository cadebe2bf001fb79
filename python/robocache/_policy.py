"""Policies: a trained policy gives actions for the last samples of a robot, on the CPU."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping, Tuple, Union

from ._errors import ArgumentError, PolicyError
from ._memory import Maker
from ._recording import _Handle


class Policy:
    """A policy that ``robocache train`` has written. It runs on the CPU, in the helper process, and keeps no samples between calls.

    Args:
        path: the folder. framework: "numpy" or "torch", for the actions.

    Attributes:
        states: the columns of each state by its stream. action: the action's stream. columns: the action's columns.
        history: the number of ticks that the policy reads. chunk: the number of actions that it predicts. hz: ticks per second.
        execute: the number of these actions to execute before the next prediction.

    Raises:
        PolicyError: the folder has no policy.

    Example:
        >>> import robocache as rc
        >>> with rc.Policy("trained") as policy:  # doctest: +SKIP
        ...     actions = policy.act({"observation.state": states[t - 4 : t + 1], "action": actions[t - 5 : t]})

    A Policy can be pickled: another process opens it again. Methods may be called from any thread.
    """

    def __init__(self, path: Union[str, "os.PathLike[str]"], *, framework: str = "numpy") -> None:
        self.path = os.path.abspath(os.fspath(path))
        self._maker = Maker(framework)
        self._handle = _Handle({"path": self.path}, "policy", PolicyError)
        about = self._handle.opened
        self.states: Dict[str, List[str]] = {s["name"]: s["columns"] for s in about["states"]}
        self.action = str(about["action"]["name"])
        self.columns: List[str] = about["action"]["columns"]
        self.history = int(about["history"])
        self.chunk = int(about["chunk"])
        self.execute = int(about["execute"])
        self.hz = float(about["hz"])

    def act(self, streams: Mapping[str, Any]) -> Any:
        """Returns the next actions [C,A], float64, in the action's unit.

        streams maps the name of each stream, the action's too, to an array [T,D] with the oldest row first: the states of the last T
        ticks, and the actions of the ticks before them. Absent rows and streams, and rows of NaN, count as not recorded. Of more than
        `history` rows, the last are used. Arrays are NumPy's, torch's on any device, or lists.

        Raises:
            PolicyError: an unknown stream, a wrong shape, a value that is not finite, or no action in the tick before.
            ArgumentError: an array without real numbers.
        """
        import numpy as np

        blob = bytearray()
        shapes = []
        for name, x in streams.items():
            if hasattr(x, "detach"):  # torch
                x = x.detach().cpu().numpy()
            try:
                array = np.asarray(x)
                if array.dtype.kind not in "biuf":
                    raise TypeError
            except (TypeError, ValueError):
                got = str(getattr(x, "dtype", type(x).__name__))
                message = "act: {}: got {}, want an array of real numbers".format(name, got)
                raise ArgumentError(message, op="act", arg=str(name), got=got, want="real numbers") from None
            shapes.append({"name": str(name), "shape": array.shape})
            blob += array.astype("<f8").tobytes()
        reply, data = self._handle.request("act", blob, streams=shapes)
        return self._maker.array(data, reply["actions"])

    def close(self) -> None:
        """Closes the policy. A second call does nothing."""
        self._handle.close()

    def __enter__(self) -> "Policy":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Any, ...]:
        return _reopen, (self.path, self._maker.name)

    def __repr__(self) -> str:
        return "<Policy {}: {} to {} of {}>".format(self.path, ", ".join(self.states), self.chunk, self.action)


def _reopen(path: str, framework: str) -> Policy:
    return Policy(path, framework=framework)
