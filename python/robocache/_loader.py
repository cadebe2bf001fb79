"""Loader: training batches of windows."""

from __future__ import annotations

import difflib
import functools
import json
import os
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, TypeVar, Union, cast

from . import _asked, _slots
from ._ahead import Ahead, Staged
from ._asked import Path, whole, wrong
from ._errors import ForkError, LoaderError, OutOfMemoryError
from ._resident import Resident

_VERSION = 1  # of state_dict


_Init = TypeVar("_Init", bound=Callable[..., None])
_OTHERS = {"batch_size": "batch", "drop_last": "last", "num_workers": "workers", "world_size": "world"}  # of torch's


def _known(init: _Init) -> _Init:
    """Says of a keyword argument that is not known which one may be meant."""
    names = init.__code__.co_varnames[1 : init.__code__.co_argcount + init.__code__.co_kwonlyargcount]

    @functools.wraps(init)
    def checked(self: Any, *args: Any, **given: Any) -> None:
        for name in given:
            if name not in names:
                near = [_OTHERS[name]] if name in _OTHERS else difflib.get_close_matches(name, names, 1)
                hint = ": did you mean {}?".format(near[0]) if near else ""
                raise TypeError("Loader() got an unexpected keyword argument {!r}{}".format(name, hint))
        init(self, *args, **given)

    return cast(_Init, checked)


class Loader:
    """Batches of windows of recorded robot data, on one clock, normalised, in an order that the seed decides.

    Each tick of the clock in each episode is an *anchor* with one window: of every stream the targets that ``windows``
    says around the anchor, or the anchor alone. An epoch draws every window once. A helper process reads and decodes.

    Args:
        paths: a dataset or several, which are drawn from as one: LeRobot, RLDS, robomimic, robosuite, Isaac Lab, ALOHA,
            CALVIN, ULog, TUM, CSV, .npz, .safetensors, or a store that ``robocache pack`` wrote; recognised by content.
        batch: B, windows of a batch of this rank.
        hz: rate of the windows' clock; the dataset's own unless given.
        seed: of the order.
        windows: ``{stream: (from, to)}``, seconds from the anchor: the ticks after ``from`` up to it where ``to`` is at
            most 0, else those from ``from`` to before ``to``. Streams called action or actions have ``(0, 1)`` unless
            given.
        streams: names to take, or ``{name: columns}``, of names, ranges such as "0:7" and indices; all unless given.
        normalise: a rule for all streams ("mean-std", "min-max", "q01-q99", "q10-q90", "lerobot", "openpi", "octo",
            "gr00t", "robomimic"), or ``{stream: rule}``; `statistics` has what was used.
        plan: a plan file, or a dict of the same form, instead of hz, windows, streams, normalise, max_gap,
            shuffle and unordered.
        dtype: of the values: float32, float64, float16 or bfloat16; float32 unless given. NumPy has bfloat16 as its
            bits, uint16.
        shuffle: "windows" (True), all of an epoch's; "shards", some at a time; or "none" (False).
        last: "drop" leaves out the windows that fill no batch of all ranks, "short" gives them, with rows that hold no
            window.
        rank, world: which of how many ranks share each epoch; told by torchrun, srun or Open MPI unless given.
        weights: how often windows of each dataset are drawn relative to the others'. epoch_windows: of an epoch then.
        cameras: ``{name: (height, width)}``, whose frames are decoded and resized.
        frame_cache: bytes of decoded frames that are kept: a gigabyte, or an eighth of the memory, unless given; -1 for
            none.
        age: gives ``name_age`` too.
        streaming: reads meanwhile what does not fit memory, in the order "shards"; "auto" where it does not fit.
        workers: threads that read and decode; as many as there are processors unless given.
        unordered: what becomes of a stream if its timestamps step back or are no times: "drop" (the episode lacks it),
            "sort" or "error"; "drop" unless given.
        shard_windows, mix_shards: windows of a shard, and shards that are mixed at a time, of the order "shards".
        episodes, leave_out: numbers of episodes to draw from, as ``episode_index`` has them, and of episodes to leave
            out; of several datasets a list, or None, for each.
        max_gap: seconds or a timedelta, or ``{stream: seconds}``: values between samples further apart are not valid.
            "auto" is three usual steps of a stream that has a rate, 20 ms at least. Without one no gap is too long.
            No gap is too long unless given.
        statistics: another loader's `statistics`: streams are normalised with their shift and scale, as they are, as
            held-out episodes must be. Or those of a file that has no shift and scale, such as LeRobot's
            ``meta/stats.json``: by the rules that normalise says.
        strict: a broken episode, and one that has no samples of a stream, is an error; else the one is left out, the
            other's windows have a fill value that is not valid, and `report` says so.
        rate: steps a second of recordings that have no times; where they have, an error.
        clock: where times come from, of formats that have several clocks.
        stretch: of a log whose clock was set back while it was recorded, the stretch from 1; -1 mixes all.
        task_from: the topic of text, or column of texts, with the task: that of a window is the text last said at its anchor.
        definitions: folders or files of message definitions (.msg, .idl), of logs that lack those of their own types.
        framework: "torch", "numpy" or "jax"; torch if it is imported, else numpy.
        device: of torch's tensors, "cpu", "cuda" or "cuda:N"; the GPU of LOCAL_RANK, or torch's current one, where
            there is one, else the CPU. JAX's arrays are on its default device.
        prefetch: batches that are drawn ahead.
        restart: starts another helper process where one was killed, and goes on behind the last batch that was
            returned.
        max_memory: bytes that the helper process of this loader may take, also such as "2GiB"; ROBOCACHE_MAX_MEMORY,
            and the limits of the system, unless given.

    A batch is a dict, with the names that LeRobot uses where it has them:
        ``name``: values [B,T,D]. ``name_is_pad`` [B,T] bool: beyond what the episode has; the end sample is repeated
        there. ``name_valid`` [B,T] bool: whether the value counts: it is not padded, and not in a gap. ``name_age``
        [B,T] int64, ns: how much older a value is than its target.
        A camera's ``name``: uint8 [B,T,H,W,3], red, green, blue; black where there is no frame.
        ``episode_index`` [B] int64: its number in the dataset (``dataset_index`` says of which, of several); -1 in a
        row without a window, where nothing is valid. ``frame_index`` [B] int64: the anchor's tick in the episode, so
        frame_index / hz is its time there. ``anchor`` [B] int64: its recorded time, ns.

    ``for batch in loader`` is an epoch, and the next loop the next one, even if this one is left early; only behind a
    state that was loaded the first loop has what its epoch still had. Arrays are yours as long as you keep them:
    memory is used again when the last view of it is gone, and where you keep more batches than there are slots, further
    ones are copies. Methods may be called from any thread; each batch goes to one of them.

    On a GPU, with torch, the recordings lie there, and a batch is two kernels or three on the current stream, ordered
    as any work of torch's; no process is asked. Streams with the same window lie side by side in memory, so their
    tensors are strided. `next` may be captured in a CUDA graph: each replay draws the next batch, into the same
    tensors. With cameras or streaming the helper process draws, and batches are copied to the GPU while others are
    used.

    Example:
        >>> import robocache as rc
        >>> with rc.Loader("g1/", batch=32, hz=50, windows={"action": (0.0, 1.0)}, framework="numpy") as loader:
        ...     batch = next(iter(loader))
        >>> batch["action"].shape, batch["action_valid"].shape
        ((32, 50, 26), (32, 50))
    """

    @_known
    def __init__(
        self,
        paths: Union[Path, Sequence[Path]],
        batch: int = 32,
        hz: Optional[float] = None,
        seed: int = 0,
        *,
        windows: Optional[_asked.Windows] = None,
        streams: Optional[_asked.Streams] = None,
        normalise: Union[None, str, Mapping[str, str]] = None,
        plan: Union[None, Path, Mapping[str, Any]] = None,
        dtype: Any = None,
        shuffle: Union[None, bool, str] = None,
        unordered: str = "",
        last: str = "drop",
        rank: Optional[int] = None,
        world: Optional[int] = None,
        weights: Optional[Sequence[float]] = None,
        epoch_windows: int = 0,
        cameras: Optional[Mapping[str, Tuple[int, int]]] = None,
        frame_cache: int = 0,
        age: bool = False,
        streaming: Union[bool, str] = False,
        workers: int = 0,
        shard_windows: int = 0,
        mix_shards: int = 0,
        strict: bool = False,
        rate: Optional[float] = None,
        clock: str = "",
        stretch: int = 0,
        task_from: str = "",
        definitions: Union[Path, Sequence[Path]] = (),
        max_gap: Union[None, str, _asked.Seconds, Mapping[str, Union[str, _asked.Seconds]]] = None,
        episodes: Optional[_asked.Episodes] = None,
        leave_out: Optional[_asked.Episodes] = None,
        statistics: Optional[Mapping[str, Mapping[str, Any]]] = None,
        framework: Optional[str] = None,
        device: Any = None,
        prefetch: int = 2,
        restart: bool = False,
        max_memory: Union[None, int, str] = None,
    ) -> None:
        given = dict(locals())  # all arguments but those of Python alone are the helper process's
        for name in ("self", "shuffle", "streaming", "framework", "device", "prefetch", "restart", "max_memory"):
            del given[name]
        _refuse_workers()
        if streaming not in (True, False, "auto"):
            raise wrong("streaming", streaming, 'True, False or "auto"')
        if streaming == "auto" and shuffle is None and plan is None:
            shuffle = "shards"  # the same order, whether it fits or not
        prefetch = whole("prefetch", prefetch, 1, 1000)
        self._max_memory = _asked.memory("max_memory", max_memory)
        request = _asked.request(**given, shuffle=shuffle)
        self.framework = framework or _slots.default_framework()
        self._tasks: Optional[Dict[Tuple[int, int], List[Tuple[int, str]]]] = None
        if self.framework not in ("torch", "numpy", "jax"):
            raise wrong("framework", self.framework, "torch, numpy or jax")
        self.device = _device(self.framework, device)
        self._lock = threading.RLock()
        self._closed = False
        self._goes_on = False  # behind a state that was loaded, and nothing is drawn since
        self._iterations = 0  # that have begun
        self._way = self._begin(request, streaming, prefetch, restart)

    def _begin(
        self, request: Dict[str, Any], streaming: Union[bool, str], prefetch: int, restart: bool
    ) -> Union[Ahead, Resident]:
        def ahead(streaming: bool) -> Ahead:
            asked = dict(request, streaming=streaming)
            if self.device is None or self.device.type == "cpu":
                return Ahead(asked, self.framework, prefetch, restart, self._max_memory)
            return Staged(asked, self.device, prefetch, restart, self._max_memory)

        if streaming is True:
            return ahead(True)
        try:
            if self.device is None or self.device.type == "cpu" or "cameras" in request:
                return ahead(False)
            return Resident(request, self.device, self._max_memory)
        except OutOfMemoryError as e:
            if streaming != "auto" or len(request["paths"]) > 1 or "weights" in request:  # which cannot be streamed
                raise
            why = e
        try:
            return ahead(True)
        except OutOfMemoryError as e:
            raise e from why

    def _check(self) -> None:
        if self._closed:
            raise LoaderError("loader: got one that is closed, want one that is open", op="loader")

    def _alone(self) -> Any:
        """Returns the lock. On the other side of a fork, where a thread that is not there may hold it, it raises
        `ForkError`."""
        _refuse_workers()
        self._way.check()
        return self._lock

    def next(self) -> Dict[str, Any]:
        """Returns the next batch; epoch follows epoch. It waits until there is one."""
        way, before, after = self._way, None, None
        try:
            with self._alone():
                self._check()
                before = way.mark
                try:
                    batch = way.next()
                    self._goes_on = False
                    after = way.mark
                except BaseException:
                    way.undo(before)
                    raise
            return batch
        except BaseException:  # such as Ctrl-C behind the lock: nobody gets the batch
            if after is not None:
                with self._alone():
                    if way.mark is after:
                        way.undo(before)
            raise

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        """Yields the batches of an epoch from its beginning: of the next one, where some of this one are drawn already.
        What a state that was loaded left of its epoch comes first. Threads may share the iterator; another one ends
        it."""
        with self._alone():
            self._check()
            return _Epoch(self)

    def _begin_epoch(self) -> int:
        """Goes to the beginning of an epoch, and returns its number. Behind a state it stays."""
        place = self._way.refresh()
        if not self._goes_on and place.state["epoch"] == place.epoch and place.state["taken"] > 0:
            self._way.seek(dict(place.state, epoch=place.epoch + 1, taken=0))
        return self._way.place.epoch

    def batches(self) -> Iterator[Dict[str, Any]]:
        """Yields batches without end: epoch follows epoch."""
        while True:
            yield self.next()

    def __len__(self) -> int:
        """The batches of an epoch, of this rank."""
        return int(self._way.reply["report"]["batches"])

    @property
    def epoch(self) -> int:
        """The epoch, from 0, of the batch that comes next."""
        with self._alone():
            return self._way.refresh().epoch

    @property
    def rank(self) -> int:
        """This rank's number among `world`."""
        return int(self._way.reply["rank"])

    @property
    def world(self) -> int:
        """How many ranks share each epoch."""
        return int(self._way.reply["world"])

    @property
    def hz(self) -> float:
        """The rate of the windows' clock."""
        return float(self._way.reply["hz"])

    @property
    def columns(self) -> Dict[str, List[str]]:
        """The names of the columns of each stream."""
        return {s["name"]: list(s["columns"]) for s in self._way.reply["streams"]}

    @property
    def statistics(self) -> Dict[str, Dict[str, Any]]:
        """What each stream was normalised with: y = (x - shift) * scale, then clipped. Lists have one a column."""
        return {n["name"]: {k: v for k, v in n.items() if k != "name"} for n in self._way.reply["normalised"]}

    def tasks(self, batch: Mapping[str, Any]) -> List[str]:
        """Returns the task of each window of a batch, in words, at its anchor: "" where there is none.

        They are those of LeRobot's ``task``, of the recording's attribute, or of `task_from`. A batch on a GPU is waited for.
        """
        if self._tasks is None:
            reply = self._way.reply
            self._tasks = {}
            for t in reply["tasks"]:
                self._tasks.setdefault((t["dataset"], t["episode"]), []).append((t["from"], reply["texts"][t["text"]]))
        episodes, anchors = batch["episode_index"].tolist(), batch["anchor"].tolist()
        datasets = batch["dataset_index"].tolist() if "dataset_index" in batch else [0] * len(episodes)
        said = [self._tasks.get(key, []) for key in zip(datasets, episodes)]
        return [([""] + [text for at, text in one if at <= anchor])[-1] for one, anchor in zip(said, anchors)]

    def report(self) -> Dict[str, Any]:
        """Returns what is drawn from, what was left out and why, and what was waited for.

        The names are those of ``robocache batches --json``.
        """
        with self._alone():
            self._check()
            now, first = self._way.report(), self._way.reply
        more = {name: first[name] for name in ("skipped", "rounded", "problems")}
        return dict(now["report"], waits=now["waits"], **more)

    def state_dict(self) -> Dict[str, Any]:
        """Returns where the loader is, behind the last batch that was returned: a dict that JSON can hold.

        It is that of all ranks together: whoever goes on from it may have another world size and another batch. After a
        capture it is read from the device, behind what the current stream has queued.
        """
        with self._alone():
            place = self._way.refresh()
            return {"version": _VERSION, "epoch": place.epoch, "state": dict(place.state)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Goes on from a state. One of another order is a `LoaderError`, and the loader stays where it was."""
        if (
            not isinstance(state, Mapping)
            or state.get("version") != _VERSION
            or not isinstance(state.get("state"), Mapping)
        ):
            raise LoaderError(
                "loader: state: got {!r}, want what state_dict returned, of version {}".format(state, _VERSION),
                op="loader",
            )
        with self._alone():
            self._check()
            self._way.seek(json.loads(json.dumps(dict(state["state"]), default=_asked.scalar)))
            self._goes_on = True

    def set_epoch(self, epoch: int) -> None:
        """Goes to the beginning of an epoch. In that of a state that was just loaded it stays behind the state."""
        epoch = whole("epoch", epoch, 0, 1 << 62)
        with self._alone():
            self._check()
            place = self._way.refresh()
            if self._goes_on and epoch == place.epoch:
                return
            self._goes_on = False
            if epoch != place.epoch or place.state["epoch"] == epoch and place.state["taken"] > 0:
                self._way.seek(dict(place.state, epoch=epoch, taken=0))

    def as_dataset(self) -> Any:
        """Returns an IterableDataset of the batches, for trainers that want one: DataLoader(it, batch_size=None).

        The batches are this rank's already, so nobody may share them out again: Lightning with
        use_distributed_sampler=False, and with Accelerate the DataLoader is left out of prepare.
        """
        import torch.utils.data

        loader = self

        class Batches(torch.utils.data.IterableDataset):  # type: ignore[type-arg]
            """Batches of a Loader, an epoch each time."""

            def __iter__(self) -> Iterator[Dict[str, Any]]:
                return iter(loader)

            def __len__(self) -> int:
                return len(loader)

            def __reduce__(self) -> Any:
                raise LoaderError(
                    "loader: got a DataLoader whose workers are processes of their own, want num_workers=0: the helper "
                    "process reads ahead already",
                    op="loader",
                )

        return Batches()

    def close(self) -> None:
        """Ends the helper process, and gives memory on a GPU up. Batches that were returned stay. Twice is fine."""
        try:
            lock = self._alone()
        except (ForkError, LoaderError):
            return  # it is the other process's
        with lock:
            self._closed = True
            self._way.close()

    def __repr__(self) -> str:
        if not hasattr(self, "_way"):
            return "<Loader that was not opened>"
        report = self._way.reply["report"]
        streams = ["{} [{},{}]".format(s["name"], s["targets"], s["columns"]) for s in report["streams"]]
        for c in report["cameras"]:
            streams.append("{} [{},{},{},3]".format(c["name"], c["targets"], c["height"], c["width"]))
        ranks = ", rank {} of {}".format(self.rank, self.world) if self.world > 1 else ""
        return "<Loader of {} batches of {} at {:g} Hz{}: {}; {} windows of {} episodes, {}{}>".format(
            report["batches"],
            self._way.reply["batch"],
            self.hz,
            ranks,
            ", ".join(streams),
            report["windows"],
            report["episodes"],
            self.framework if self.device is None else "torch on {}".format(self.device),
            ", closed" if self._closed else "",
        )

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise LoaderError("loader: got a copy to be made or sent to another process, want one made there", op="loader")


class _Epoch:
    """The iterator of an epoch, which begins with its first batch. Threads may share it."""

    def __init__(self, loader: Loader) -> None:
        self._loader: Optional[Loader] = loader
        self._epoch = self._number = -1  # not begun

    def __iter__(self) -> "_Epoch":
        return self

    def __next__(self) -> Dict[str, Any]:
        loader = self._loader
        if loader is None:
            raise StopIteration
        with loader._alone():
            loader._check()
            if self._epoch < 0:
                self._epoch = loader._begin_epoch()
                loader._iterations += 1
                self._number = loader._iterations
            elif loader._iterations != self._number:
                raise LoaderError(
                    "loader: got an iterator after another one began, want one at a time", op="loader"
                )
            elif loader._way.place.epoch != self._epoch:
                self._loader = None
                raise StopIteration
            return loader.next()


def _refuse_workers() -> None:
    data = sys.modules.get("torch.utils.data")
    if data is not None and data.get_worker_info() is not None:
        raise LoaderError(
            "loader: got a worker of torch's DataLoader, want num_workers=0: the helper process reads ahead already",
            op="loader",
        )


def _device(framework: str, given: Any) -> Any:
    """Returns torch's device; None of other frameworks."""
    if framework != "torch":
        if given not in (None, "cpu") or given == "cpu" and framework == "jax":
            raise wrong("device", given, "None: NumPy's arrays are on the CPU, and JAX's on its default device")
        return None
    import torch

    if given is None:
        given = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        device = torch.device(given)
    except (RuntimeError, TypeError):
        raise wrong("device", given, "cpu, cuda or cuda:N") from None
    if device.type == "cpu":
        return device
    if device.type != "cuda" or not torch.cuda.is_available():
        raise wrong("device", given, "cpu, or cuda where torch has a GPU")
    if device.index is None:
        local, count = os.environ.get("LOCAL_RANK", ""), torch.cuda.device_count()
        index = int(local) if local.isdigit() and int(local) < count else torch.cuda.current_device()
        device = torch.device("cuda", index)
    return device
