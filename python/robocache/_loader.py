"""Loader: training batches of windows, drawn by a helper process of its own."""

from __future__ import annotations

import json
import os
import sys
import threading
from datetime import timedelta
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _slots
from ._arrays import FLOATS, dtype_name
from ._child import Child
from ._errors import ArgumentError, Error, LoaderError, PlanError, ServerError

Path = Union[str, "os.PathLike[str]"]
Seconds = Union[int, float, timedelta]

_VERSION = 1  # of state_dict
_ATTEMPTS = 3  # to start another helper process, without a batch in between
_SPARE = 3  # slots beside those drawn ahead: the batch in use, the one before it, and one that is on its way back


class _Place(NamedTuple):
    """Where a loader is: behind the last batch that was returned. epoch is that of the batch that comes next."""

    state: Dict[str, Any]
    epoch: int
    steps: int


class Loader:
    """Batches of windows of recorded robot data, on one clock, normalised, in an order that the seed decides.

    Each tick of the clock in each episode is an *anchor* with one window: of every stream the targets that ``windows`` says around
    the anchor, or the anchor alone. An epoch draws every window once. A helper process reads, decodes and draws ahead.

    Args:
        paths: a dataset or several, which are drawn from as one: LeRobot, RLDS, MCAP, HDF5, ULog, a store that ``robocache pack``
            wrote; recognised by content.
        batch: B, windows of a batch of this rank.
        hz: rate of the windows' clock; the dataset's own unless given.
        seed: of the order.
        windows: ``{stream: (from, to)}``, seconds from the anchor: the ticks after ``from`` up to it where ``to`` is at most 0, else
            those from ``from`` to before ``to``. Streams called action or actions have ``(0, 1)`` unless given.
        streams: names to take, or ``{name: columns}``; all unless given.
        normalise: a rule for all streams ("mean-std", "min-max", "q01-q99", "lerobot", "openpi", "octo", "gr00t", "robomimic"), or
            ``{stream: rule}``; `statistics` has what was used.
        plan: a plan file, or a dict of the same form, instead of hz, windows, streams, normalise and shuffle.
        dtype: of the values: float32 (the default), float64, float16 or bfloat16. NumPy has bfloat16 as its bits, uint16.
        shuffle: "windows" (True), all of an epoch's; "shards", some at a time; or "none" (False).
        last: "drop" leaves out the windows that fill no batch of all ranks, "short" gives them with rows that hold none.
        rank, world: which of how many ranks share each epoch; told by torchrun, srun or Open MPI unless given.
        weights: how often windows of each dataset are drawn relative to the others'. epoch_windows: of an epoch then.
        cameras: ``{name: (height, width)}``, whose frames are decoded and resized.
        age: gives ``name_age`` too.
        streaming: reads meanwhile what does not fit memory, in the order "shards". workers: goroutines that read and decode.
            shard_windows, mix_shards: windows of a shard, and shards that are mixed at a time.
        strict: a broken episode is an error; else it is left out and counted in `report`.
        rate: steps a second of recordings that have no times. clock: where times come from, of formats that have several.
        framework: "torch", "numpy" or "jax"; torch if it is imported, else numpy.
        device: "cpu", "cuda" or "cuda:N"; the current GPU of torch (of LOCAL_RANK, if set), if there is one, else the CPU.
        prefetch: batches that are drawn ahead.
        restart: starts another helper process where one was killed, and goes on behind the last batch that was returned.

    A batch is a dict, with the names that LeRobot uses where it has them:
        ``name``: values [B,T,D]. ``name_is_pad`` [B,T] bool: beyond what the episode has; the end sample is repeated there.
        ``name_valid`` [B,T] bool: whether the value counts: it is not in a gap, not padded. ``name_age`` [B,T] int64, ns.
        a camera's ``name``: uint8 [B,T,H,W,3], red, green, blue.
        ``episode_index`` [B] int64: its number in the dataset (``dataset_index`` says of which, of several); -1 in a row without a
        window, which is not valid either. ``frame_index`` [B] int64: the anchor's tick in the episode, at ``hz``.
        ``timestamp`` [B] float32: seconds of the anchor after the first tick. ``anchor`` [B] int64: its recorded time, ns.
    A recorded stream of one of the last names keeps it, and that array is left out.

    ``for batch in loader`` gives what the epoch still has; the next loop is the next epoch. Arrays are yours for as long as you keep
    them: memory is used again when the last view of it is gone, and where you keep more batches than there are slots, further ones
    are copies. Methods may be called from any thread; each batch goes to one of them.

    Example:
        >>> loader = rc.Loader("g1/", batch=32, hz=50, windows={"action": (0.0, 1.0)})
        >>> for batch in loader: loss(batch["action"], mask=batch["action_valid"])
    """

    def __init__(
        self,
        paths: Union[Path, Sequence[Path]],
        batch: int = 32,
        hz: Optional[float] = None,
        seed: int = 0,
        *,
        windows: Optional[Mapping[str, Tuple[Seconds, Seconds]]] = None,
        streams: Union[None, Sequence[str], Mapping[str, Optional[Sequence[str]]]] = None,
        normalise: Union[None, str, Mapping[str, str]] = None,
        plan: Union[None, Path, Mapping[str, Any]] = None,
        dtype: Any = None,
        shuffle: Union[None, bool, str] = None,
        last: str = "drop",
        rank: Optional[int] = None,
        world: Optional[int] = None,
        weights: Optional[Sequence[float]] = None,
        epoch_windows: int = 0,
        cameras: Optional[Mapping[str, Tuple[int, int]]] = None,
        age: bool = False,
        streaming: bool = False,
        workers: int = 0,
        shard_windows: int = 0,
        mix_shards: int = 0,
        strict: bool = False,
        rate: Optional[float] = None,
        clock: str = "",
        framework: Optional[str] = None,
        device: Any = None,
        prefetch: int = 2,
        restart: bool = False,
    ) -> None:
        _refuse_workers()
        whole("batch", batch, 1)
        whole("prefetch", prefetch, 1, 1000)
        for name, number in (("epoch_windows", epoch_windows), ("workers", workers), ("shard_windows", shard_windows), ("mix_shards", mix_shards)):
            whole(name, number, 0)
        whole("seed", seed, 0, (1 << 64) - 1)
        if isinstance(paths, (str, os.PathLike)):
            paths = [paths]
        request: Dict[str, Any] = {
            "paths": [os.path.abspath(os.fspath(p)) for p in paths], "batch": batch, "seed": seed, "last": last, "age": age, "hz": hz or 0.0,
            "rate": rate or 0.0, "clock": clock, "strict": strict, "streaming": streaming, "workers": workers,
            "shard_windows": shard_windows, "mix_shards": mix_shards, "epoch_windows": epoch_windows, "slots": prefetch + _SPARE,
        }  # fmt: skip
        if rank is not None:
            request["rank"] = whole("rank", rank, 0)
        if world is not None:
            request["world"] = whole("world", world, 1)
        if weights is not None:
            request["weights"] = [float(w) for w in weights]
        if dtype is not None:
            request["dtype"] = dtype_name(dtype, "dtype", "loader")
            if request["dtype"] not in FLOATS:
                raise _wrong("dtype", dtype, ", ".join(FLOATS))
        if shuffle is not None:
            request["shuffle"] = shuffle if isinstance(shuffle, str) else "windows" if shuffle else "none"
        if windows is not None:
            request["windows"] = {name: _span(name, w) for name, w in windows.items()}
        if isinstance(streams, Mapping):
            request["streams"] = [{"name": name, "columns": list(c or [])} for name, c in streams.items()]
        elif streams is not None:
            if isinstance(streams, str):
                raise _wrong("streams", streams, "a list of names")
            request["streams"] = [{"name": name} for name in streams]
        if isinstance(normalise, str):
            request["normalise"] = normalise
        elif normalise is not None:
            request["normalise_streams"] = dict(normalise)
        if cameras is not None:
            request["cameras"] = [{"name": n, "height": int(size[0]), "width": int(size[1])} for n, size in cameras.items()]
        if plan is not None:
            request.update(_plan(plan))
        self.framework = framework or _slots.default_framework()
        if self.framework not in ("torch", "numpy", "jax"):
            raise _wrong("framework", self.framework, "torch, numpy or jax")
        self.prefetch = prefetch
        self.restart = restart
        self._request = request
        self._lock = threading.RLock()
        self._closed = False
        self._torn = False
        self._place: Optional[_Place] = None
        self._pool: Optional[_slots.Pool] = None
        self._start()

    def _start(self) -> None:
        """Starts a helper process, and has it draw from where this loader is."""
        child = Child()
        try:
            reply, _, fd = child.request("loader", **self._request)
            try:
                pool = _slots.Pool(fd, reply["slots"], reply["slot_bytes"], _slots.arrays_of(reply["arrays"]))
            finally:
                os.close(fd)
            if self._place is not None:
                child.request("resume", state=self._place.state)
        except BaseException:
            child.close()
            raise
        self._child, self._pool, self._reply = child, pool, reply
        if self._place is None:
            self._place = _Place(reply["state"], 0, 0)
        self._convert = _slots.converter(self.framework, pool.arrays)

    @property
    def _at(self) -> _Place:
        assert self._place is not None
        return self._place

    def _again(self, error: ServerError, attempt: int) -> None:
        """Goes on with another helper process, or raises the error that the last one ended with."""
        if not self.restart or attempt > _ATTEMPTS:
            raise error
        self._child.close()
        self._start()

    def _check(self) -> None:
        _refuse_workers()
        if self._closed:
            raise LoaderError("loader: got one that is closed, want one that is open", op="loader")
        self._child.check_fork()

    def next(self) -> Dict[str, Any]:
        """Returns the next batch; epoch follows epoch. It waits until there is one."""
        with self._lock:
            return self._next()

    def _next(self) -> Dict[str, Any]:
        self._check()
        if self._torn:  # nobody knows whether a batch was handed out
            self._child.close()
            self._start()
            self._torn = False
        for attempt in range(1, _ATTEMPTS + 2):
            try:
                return self._draw()
            except ServerError as e:
                self._again(e, attempt)
            except Error:
                raise
            except BaseException:  # Ctrl-C
                self._torn = True
                raise
        raise AssertionError("unreachable")

    def _draw(self) -> Dict[str, Any]:
        pool = self._pool
        assert pool is not None
        back = pool.take_back()
        try:
            reply = self._child.request("next", release=back)[0]
        except BaseException:
            pool.returned.extend(back)
            raise
        slot = reply["slot"]
        full = pool.held >= pool.slots - self.prefetch
        batch = self._convert(pool.copy_out(slot) if full else pool.hand_out(slot))
        self._place = _Place(reply["state"], reply["epoch"] + (1 if reply["last"] else 0), self.steps + 1)
        return batch

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        """Yields the batches that the epoch still has."""
        with self._lock:
            self._check()
            epoch = self.epoch
        while True:
            with self._lock:
                if self.epoch != epoch:
                    return
                batch = [self._next()]
            yield batch.pop()  # of which nothing stays here

    def batches(self) -> Iterator[Dict[str, Any]]:
        """Yields batches without end: epoch follows epoch."""
        while True:
            yield self.next()

    def __len__(self) -> int:
        """The batches of an epoch, of this rank."""
        return int(self._reply["report"]["batches"])

    @property
    def epoch(self) -> int:
        """The epoch, from 0, of the batch that comes next."""
        return self._at.epoch

    @property
    def steps(self) -> int:
        """How many batches were returned, those before `load_state_dict` included."""
        return self._at.steps

    @property
    def rank(self) -> int:
        """This rank's number among `world`."""
        return int(self._reply["rank"])

    @property
    def world(self) -> int:
        """How many ranks share each epoch."""
        return int(self._reply["world"])

    @property
    def hz(self) -> float:
        """The rate of the windows' clock."""
        return float(self._reply["hz"])

    @property
    def columns(self) -> Dict[str, List[str]]:
        """The names of the columns of each stream."""
        return {s["name"]: list(s["columns"]) for s in self._reply["streams"]}

    @property
    def statistics(self) -> Dict[str, Dict[str, Any]]:
        """What each stream was normalised with, by its name: y = (x - shift) * scale, then clipped. Lists have a number a column."""
        return {n["name"]: {k: v for k, v in n.items() if k != "name"} for n in self._reply["normalised"]}

    def report(self) -> Dict[str, Any]:
        """Returns what is drawn from, what was left out and why, and what was waited for, as ``robocache batches --json`` has it."""
        with self._lock:
            self._check()
            try:
                reply = self._child.request("report")[0]
            except ServerError as e:
                self._again(e, 1)
                reply = self._child.request("report")[0]
        first = self._reply
        return dict(
            reply["report"], skipped=first["skipped"], rounded=first["rounded"], remarks=first["remarks"], waits=reply["waits"]
        )

    def state_dict(self) -> Dict[str, Any]:
        """Returns where the loader is, behind the last batch that was returned: a dict that JSON can hold.

        It is that of all ranks together: whoever goes on from it may have another world size and another batch.
        """
        with self._lock:
            at = self._at
            return {"version": _VERSION, "steps": at.steps, "epoch": at.epoch, "state": dict(at.state)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state. One of another seed, or of other windows, is a `LoaderError`, and the loader stays where it was."""
        if not isinstance(state, Mapping) or state.get("version") != _VERSION or not isinstance(state.get("state"), Mapping):
            raise LoaderError("loader: state: got {!r}, want what state_dict returned, of version {}".format(state, _VERSION), op="loader")
        self._seek(dict(state["state"]), int(state["steps"]))

    def set_epoch(self, epoch: int) -> None:
        """Goes to the beginning of an epoch, unless the next batch is of it already."""
        whole("epoch", epoch, 0, 1 << 62)
        with self._lock:
            if epoch != self.epoch:
                self._seek(dict(self._at.state, epoch=epoch, taken=0), self.steps)

    def _seek(self, state: Dict[str, Any], steps: int) -> None:
        with self._lock:
            self._check()
            try:
                reply = self._child.request("resume", state=state)[0]
            except ServerError as e:
                self._again(e, 1)
                reply = self._child.request("resume", state=state)[0]
            self._place = _Place(state, reply["epoch"], steps)

    def as_dataset(self) -> Any:
        """Returns an IterableDataset of this loader's batches, for Lightning and Accelerate: DataLoader(it, batch_size=None)."""
        import torch.utils.data

        loader = self

        class Batches(torch.utils.data.IterableDataset):  # type: ignore[type-arg]
            """Batches of a Loader, an epoch each time."""

            def __iter__(self) -> Iterator[Dict[str, Any]]:
                return iter(loader)

            def __len__(self) -> int:
                return len(loader)

        return Batches()

    def close(self) -> None:
        """Ends the helper process. Batches that were returned stay. Closing twice is fine."""
        self._closed = True
        self._child.close()
        self._pool = None

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise LoaderError("loader: got a copy to be made or sent to another process, want one made there", op="loader")


def _refuse_workers() -> None:
    data = sys.modules.get("torch.utils.data")
    if data is not None and data.get_worker_info() is not None:
        raise LoaderError(
            "loader: got a worker of torch's DataLoader, want num_workers=0: the helper process reads ahead already", op="loader"
        )


def whole(name: str, value: Any, least: int, most: int = (1 << 63) - 1) -> int:
    """Returns an argument that must be a whole number within limits."""
    if isinstance(value, bool) or not hasattr(value, "__index__") or not least <= int(value) <= most:
        raise _wrong(name, value, "a whole number from {} to {}".format(least, most) if most < 1 << 62 else "a whole number, {} or more".format(least))
    return int(value)


def _wrong(name: str, got: Any, want: str) -> ArgumentError:
    return ArgumentError("loader: {}: got {!r}, want {}".format(name, got, want), op="loader", arg=name, got=repr(got), want=want)


def _span(name: str, window: Tuple[Seconds, Seconds]) -> List[float]:
    try:
        a, b = (x.total_seconds() if isinstance(x, timedelta) else float(x) for x in window)
    except (TypeError, ValueError):
        raise _wrong("windows[{!r}]".format(name), window, "(from, to) in seconds") from None
    return [a, b]


def _plan(plan: Union[Path, Mapping[str, Any]]) -> Dict[str, str]:
    """Returns a plan's text and its name. JSON is YAML."""
    if isinstance(plan, Mapping):
        return {"plan": json.dumps(dict({"version": 1}, **plan), allow_nan=False), "plan_name": "plan"}
    name = os.fspath(plan)
    try:
        with open(name, encoding="utf-8") as f:
            return {"plan": f.read(), "plan_name": name}
    except (OSError, UnicodeDecodeError) as e:
        raise PlanError("plan: {}: cannot be read: {}".format(name, e), path=name) from e
