"""Loader, which draws training batches from recordings."""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

from . import _asked, _slots
from ._ahead import Ahead, Staged
from ._asked import Path, whole, wrong
from ._camera import Camera
from ._lerobot import Deltas, Items, camera, extra_keys
from ._epoch import Epoch, refuse_workers
from ._errors import ForkError, LoaderError, OutOfMemoryError
from ._resident import Resident

_VERSION = 1  # the version of the dict that state_dict returns


class Loader:
    """Training batches from recorded robot data, on one clock, normalised, in an order that depends on the seed.

    Each clock tick in each episode is an *anchor* with one window: for each stream, the ticks that ``windows`` selects around
    the anchor, or the anchor alone. An epoch draws each window once. A helper process reads and decodes the recordings.

    Args:
        paths: one dataset, or a list that becomes one: LeRobot, RLDS, robomimic, robosuite, Isaac Lab, ALOHA, CALVIN, ULog, TUM,
            CSV, .npz, .safetensors, or a store from ``robocache pack``. The content determines the format.
        batch: B, the number of windows in each batch of this rank.
        hz: rate of the windows' clock, Hz. Default: the dataset's rate.
        seed: seed of the order.
        windows: ``{stream: (from, to)}``, seconds from the anchor. If ``to`` is at most 0, the ticks after ``from`` up to and
            including ``to``; else the ticks from ``from``, included, until before ``to``. Example at 50 Hz: ``(-1, 0)`` is 50 ticks,
            the last is the anchor. Default: ``(0, 1)`` for streams named action or actions, the anchor alone for others.
        delta_timestamps: ``{name: [seconds, ...]}`` instead of a window: times from the anchor, in any order, as LeRobot's.
        keys: "lerobot": a batch is what torch's DataLoader makes of LeRobotDataset's items: names without ``delta_timestamps`` or a window
            have no T, a stream with one column has no D, images of cameras that are given as (height, width) are float32 [B,3,H,W] from 0
            to 1, and there are timestamp, index, task and task_index. index and task_index are left out where the recordings do not tell.
            A list has more keys that batches keep, such as ``["lerobot", "anchor", "action_valid"]``. Default: the keys below.
        streams: names, or ``{name: columns}``; columns are names, ranges such as "0:7", or indices. Default: all.
        normalise: a rule for all streams, or ``{stream: rule}``: "mean-std", "min-max", "q01-q99", "q10-q90", "lerobot", "openpi",
            "octo", "gr00t" or "robomimic". `statistics` has the numbers. Default: values as recorded.
        plan: a plan file, or a dict with the same keys, instead of hz, windows, streams, normalise, max_gap, shuffle and unordered.
        dtype: dtype of the values: float32, float64, float16 or bfloat16. Default: float32, or a store's own. NumPy has no
            bfloat16: its arrays are uint16 with the same bits.
        shuffle: "windows" (or True) mixes all windows, "shards" some shards at a time, "none" (or False) keeps the dataset's order.
            Default: "windows", or "shards" with streaming, shard_windows or mix_shards.
        last: the windows that do not fill an epoch's last batch: "drop" leaves them out, "short" returns them with empty rows.
        rank, world: this process's number, from 0, and the number of ranks that share each epoch. Default: from the environment of
            torchrun, srun or Open MPI, else 0 and 1.
        weights: a number for each dataset: how often its windows are drawn relative to the others.
        epoch_windows: windows in an epoch with weights. Default: as many as the datasets have.
        drop_first, drop_last, episode_weights: ticks at an episode's ends that are no anchors; ``{episode: weight}``, 1 for others.
        cameras: ``{name: (height, width)}`` in pixels, or ``{name: Camera}``. Frames are decoded and resized to this size. Default: none.
        frame_level: where decoded frames are kept: "device", once for all epochs; "pinned", the same in host memory; "streaming", not at
            all. Default: the first with room for all frames that a window can have.
        frame_memory: room for the frames, bytes. Default: half of the free memory.
        decode: "cpu" uses no GPU to decode and resize frames. "auto" uses a GPU's video decoder while frames are decoded, for a loader with
            tensors there. `report` has the device, and the reason if it is the CPU. Default: "auto".
        age: also return ``name_age`` for each stream.
        streaming: True reads the dataset while batches are drawn, for data larger than the memory; the order is "shards" or "none".
            "auto" streams only if the data do not fit.
        workers: threads that read and decode. Default: one for each processor.
        unordered: if a stream's timestamps decrease or are not finite: "drop" the stream from that episode, "sort" its samples, or
            "error". Default: "drop".
        shard_windows, mix_shards: with shuffle="shards": windows in a shard, and shards mixed at a time. Default: 4096 and 16.
        episodes, leave_out: numbers of the episodes to draw from and to exclude, as in ``episode_index``. With several datasets, a
            list for each, or None for all its episodes.
        max_gap: seconds or a timedelta, or ``{stream: seconds}``. Values between samples further apart are not valid. "auto" is three
            median steps of a stream with a rate, at least 20 ms. Default: no gap is too long.
        statistics: `statistics` of another loader: the same shift and scale are used, for example for held-out episodes. Or
            statistics without shift and scale, such as LeRobot's ``meta/stats.json``; ``normalise`` then selects the rule.
        strict: raise an error for a damaged episode or a missing stream. Else the damaged episode is left out, windows without the
            stream have a fill value and are not valid, and `report` has a note.
        rate: steps per second of recordings that have neither times nor a rate. With others it is an error.
        clock: source of the times, for formats with several clocks. Default: the format's.
        stretch: for a log with a clock that was set back while recording: the part to read, from 1; -1 reads all, mixed.
        task_from: a topic with text, or a text column, with the task. A window's task is the last text at or before its anchor.
        video_backend, tolerance_s: "pyav" or "torchcodec": take the video frames that LeRobotDataset takes. Default: own rule, 1e-4.
        definitions: folders or files with message definitions (.msg, .idl), for logs without definitions of their types.
        framework: "torch", "numpy" or "jax". Default: torch if it is imported, else numpy.
        device: device of torch tensors: "cpu", "cuda" or "cuda:N". Default: the GPU that LOCAL_RANK names, or torch's current GPU; the
            CPU without a GPU. JAX arrays are on JAX's default device.
        prefetch: batches to draw in advance.
        restart: if the helper process is killed, start another, which continues after the last returned batch.
        max_memory: memory limit of this loader's helper process, bytes or text such as "2GiB". Default: ROBOCACHE_MAX_MEMORY and the
            system's limits.

    Batches: a batch is a dict with LeRobot's names. T and D are the ticks and columns of a stream.
        ``name``: values [B,T,D]; of a camera [B,T,H,W,3] or [B,T,3,H,W], red, green, blue, uint8 by default, and black without a frame.
            Of a plan's points it is [B,T,k,3].
        ``name_grid``: uint8 [B,T,100,100,100], order x, y, z, of points with ``grid: peract`` in the plan: 1 in cells with a point, else 0.
        ``name_is_pad``: bool [B,T], True outside the episode. The end sample is repeated there.
        ``name_valid``: bool [B,T], False if padded, in a gap, or without a sample. Multiply a loss by it.
        ``name_age``: int64 [B,T], ns: the tick's time minus the time of the sample at or before it.
        ``episode_index``: int64 [B], the dataset's own number; -1 in an empty row. ``dataset_index`` [B] if there are several datasets.
        ``frame_index``: int64 [B], the anchor's tick in the episode, after drop_first; frame_index / hz is its time, s.
        ``anchor``: int64 [B], the anchor's recorded time, ns.

    Epochs: ``for batch in loader`` is one epoch, and the next loop is the next epoch, even after a break. Only the first loop after
    `load_state_dict` finishes the epoch of the state.

    Ownership: a batch's arrays belong to you; memory is reused after the last view is gone. If you keep more batches than there are
    buffers, later batches are copies. Methods may be called from any thread, and each batch goes to one thread.

    GPU, with torch: recordings are copied to the GPU once. A batch is two or three kernels on the current stream, without the helper
    process. Streams with the same window share memory, so their tensors are strided. A CUDA graph may capture `next`: each replay
    draws the next batch into the same tensors. Cameras' frames are kept there too if they fit: the helper process decodes them ahead, each
    once, and then ends. A capture needs all of them: see `fill`. With frames elsewhere, or with streaming, the helper process draws, and
    batches are copied to the GPU in advance.

    Raises:
        ArgumentError, PlanError: an argument or the plan is wrong.
        RecordingError: a dataset cannot be read.
        OutOfMemoryError: the data do not fit the memory.
        LoaderError: the loader is closed, or a state has another order.
        ServerError: the helper process ended.

    Example:
        >>> import robocache as rc
        >>> with rc.Loader("g1/", batch=32, hz=50, windows={"action": (0.0, 1.0)}, framework="numpy") as loader:
        ...     batch = next(iter(loader))
        >>> batch["action"].shape, batch["action_valid"].shape
        ((32, 50, 26), (32, 50))
    """

    @_asked.known
    def __init__(
        self,
        paths: Union[Path, Sequence[Path]],
        batch: int = 32,
        hz: Optional[float] = None,
        seed: int = 0,
        *,
        windows: Optional[_asked.Windows] = None,
        delta_timestamps: Optional[Deltas] = None,
        keys: Union[None, str, Sequence[str]] = None,
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
        drop_first: int = 0,
        drop_last: int = 0,
        episode_weights: Optional[_asked.EpisodeWeights] = None,
        cameras: Optional[Mapping[str, Union[Tuple[int, int], Camera]]] = None,
        frame_level: str = "",
        frame_memory: int = 0,
        decode: str = "auto",
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
        video_backend: str = "",
        tolerance_s: float = 0,
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
        given = dict(locals())  # the helper process checks all arguments except the following
        for name in ("self", "shuffle", "streaming", "decode", "keys", "framework", "device", "prefetch", "restart", "max_memory"):
            del given[name]
        refuse_workers()
        if streaming not in (True, False, "auto"):
            raise wrong("streaming", streaming, 'True, False or "auto"')
        if streaming == "auto" and shuffle is None and plan is None:
            shuffle = "shards"  # so that the order does not depend on the memory
        if decode not in ("auto", "cpu"):
            raise wrong("decode", decode, '"auto" or "cpu"')
        prefetch = whole("prefetch", prefetch, 1, 1000)
        self._max_memory = _asked.memory("max_memory", max_memory)
        extra = extra_keys(keys)
        if extra is not None and cameras is not None:
            given["cameras"] = {n: camera(c) for n, c in _asked.mapping("cameras", cameras, "{name: (height, width)}").items()}
        request = _asked.request(**given, shuffle=shuffle)
        if extra is not None:
            request["anchor_alone"] = True
        self.framework = framework or _slots.default_framework()
        self._tasks: Optional[Dict[Tuple[int, int], List[Tuple[int, str]]]] = None
        if self.framework not in ("torch", "numpy", "jax"):
            raise wrong("framework", self.framework, "torch, numpy or jax")
        self.device = _asked.device(self.framework, device)
        if "cameras" in request:
            if decode == "cpu" or os.environ.get("ROBOCACHE_DEVICE") == "off":
                request["frames_on"] = "cpu"
            elif self.device is not None and self.device.type != "cpu":
                request["frames_on"] = str(self.device)
        self._lock = threading.RLock()
        self._closed = False
        self._goes_on = False  # True from load_state_dict until the next batch
        self._iterations = 0  # iterators that have begun
        self._way = self._begin(request, streaming, prefetch, restart)
        self._items = None if extra is None else Items(self._way.reply, list(request.get("windows", ())), extra, drop_first, self.tasks)

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
        level = request["frame_level"] if "cameras" in request else "device"
        try:
            if self.device is None or self.device.type == "cpu" or level not in ("", "device"):
                return ahead(False)
            try:
                return Resident(request, self.device, self._max_memory, restart)
            except OutOfMemoryError:
                if level:
                    raise
            return ahead(False)  # with the frames in host memory
        except OutOfMemoryError as e:
            if streaming != "auto" or len(request["paths"]) > 1 or "weights" in request:  # mixtures cannot be streamed
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
        """Returns the lock. In a forked process it raises `ForkError`, because a thread of the parent may hold the lock."""
        refuse_workers()
        self._way.check()
        return self._lock

    def next(self) -> Dict[str, Any]:
        """Returns the next batch, and waits for it. After the last batch of an epoch it returns the first of the next."""
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
            return batch if self._items is None else self._items.convert(batch, self._way.capturing)
        except BaseException:  # such as Ctrl-C after the lock: the caller does not get the batch
            if after is not None:
                with self._alone():
                    if way.mark is after:
                        way.undo(before)
            raise

    def __iter__(self) -> Iterator[Dict[str, Any]]:
        """Yields the batches of one epoch: the current one if no batch is drawn from it yet, else the next one.

        After `load_state_dict` it yields the rest of the state's epoch. Threads may share the iterator; a new iterator ends the old one,
        which then raises LoaderError.
        """
        with self._alone():
            self._check()
            return Epoch(self)

    def _begin_epoch(self) -> int:
        """Seeks to the beginning of an epoch and returns its number. After load_state_dict the position stays."""
        place = self._way.refresh()
        if not self._goes_on and place.state["epoch"] == place.epoch and place.state["taken"] > 0:
            self._way.seek(dict(place.state, epoch=place.epoch + 1, taken=0))
        return self._way.place.epoch

    def batches(self) -> Iterator[Dict[str, Any]]:
        """Yields batches without end, epoch after epoch."""
        while True:
            yield self.next()

    def __len__(self) -> int:
        """The number of batches in an epoch, for this rank."""
        return int(self._way.reply["report"]["batches"])

    @property
    def epoch(self) -> int:
        """The epoch of the next batch, from 0."""
        with self._alone():
            return self._way.refresh().epoch

    @property
    def rank(self) -> int:
        """This rank's number, from 0 to `world` - 1."""
        return int(self._way.reply["rank"])

    @property
    def world(self) -> int:
        """The number of ranks that share each epoch."""
        return int(self._way.reply["world"])

    @property
    def hz(self) -> float:
        """The rate of the windows' clock, Hz."""
        return float(self._way.reply["hz"])

    @property
    def columns(self) -> Dict[str, List[str]]:
        """The column names of each stream."""
        return {s["name"]: list(s["columns"]) for s in self._way.reply["streams"]}

    @property
    def statistics(self) -> Dict[str, Dict[str, Any]]:
        """The normalisation of each stream: y = (x - shift) * scale, then clipped. Its lists have one number for each column."""
        return {n["name"]: {k: v for k, v in n.items() if k != "name"} for n in self._way.reply["normalised"]}

    def tasks(self, batch: Mapping[str, Any]) -> List[str]:
        """Returns the task of each window in a batch as text, "" if there is none.

        The text is LeRobot's ``task``, the recording's attribute, or the last text of `task_from` at or before the anchor. It waits for a
        batch on a GPU.
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

    def fill(self) -> None:
        """Decodes all frames of a loader that keeps them on a GPU, and returns when they are there. Then a CUDA graph may capture `next`.

        Without it, frames are decoded in the order of the batches, and each batch waits for its own. Frames that are kept elsewhere are an
        UnsupportedError.
        """
        with self._alone():
            self._check()
            self._way.fill()

    def report(self) -> Dict[str, Any]:
        """Returns a dict with the datasets, the windows, data that was left out with reasons, and waiting times.

        The keys are those of ``robocache batches --json``.
        """
        with self._alone():
            self._check()
            now, first = self._way.report(), self._way.reply
        more = {name: first[name] for name in ("skipped", "rounded", "problems")}
        return dict(now["report"], waits=now["waits"], **more)

    def state_dict(self) -> Dict[str, Any]:
        """Returns the position after the last returned batch, as a dict that JSON can hold.

        The state is for all ranks together: a loader with another world size or batch can continue from it. If a CUDA graph captured
        `next`, the state is read from the device, after the work that the current stream has queued.
        """
        with self._alone():
            place = self._way.refresh()
            return {"version": _VERSION, "epoch": place.epoch, "state": dict(place.state)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues after a state. A state with another order raises LoaderError, and the loader stays at its position."""
        if not isinstance(state, Mapping) or state.get("version") != _VERSION or not isinstance(state.get("state"), Mapping):
            raise LoaderError(
                "loader: state: got {!r}, want what state_dict returned, of version {}".format(state, _VERSION),
                op="loader",
            )
        with self._alone():
            self._check()
            self._way.seek(json.loads(json.dumps(dict(state["state"]), default=_asked.scalar)))
            self._goes_on = True

    def set_epoch(self, epoch: int) -> None:
        """Seeks to the beginning of an epoch. If the epoch is that of a state just loaded, the position stays after the state."""
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
        """Returns a torch IterableDataset with the batches, for trainers that need one: DataLoader(dataset, batch_size=None).

        The batches belong to this rank already and must not be distributed again: use Lightning with use_distributed_sampler=False,
        and do not pass the DataLoader to Accelerate's prepare.
        """
        import torch.utils.data

        loader = self

        class Batches(torch.utils.data.IterableDataset):  # type: ignore[type-arg]
            """A Loader's batches; each iteration is one epoch."""

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
        """Ends the helper process and frees memory on the GPU. Returned batches stay valid. A second call does nothing."""
        try:
            lock = self._alone()
        except (ForkError, LoaderError):
            return  # the loader belongs to the parent process
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
            report["batches"], self._way.reply["batch"], self.hz, ranks, ", ".join(streams), report["windows"], report["episodes"],
            self.framework if self.device is None else "torch on {}".format(self.device), ", closed" if self._closed else "",
        )  # fmt: skip

    def __enter__(self) -> "Loader":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Any:
        raise LoaderError("loader: got a copy to be made or sent to another process, want one made there", op="loader")
