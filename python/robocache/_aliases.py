"""The names and argument orders of the first RoboCache, for code that was written for it.

Results differ where the first RoboCache was wrong: targets outside the samples get the end sample on both sides, points
outside the grid and NaN points are left out, and grids have the layout of their shape.
"""

from __future__ import annotations

from typing import Any, Sequence

from . import _ops, _voxelize
from ._options import Stream, mistake


def _backend(name: str) -> str:
    """Returns the current name for a backend. "pytorch" was the first RoboCache's name for the CPU."""
    return {"pytorch": "cpu", "torch": "cpu"}.get(name, name)


def resample_trajectories(src: Any, src_times: Any, tgt_times: Any, backend: str = "auto") -> Any:
    """Samples src [B,S,D], recorded at src_times [B,S], at tgt_times [B,T], linearly, and returns [B,T,D].

    It calls `resample`; backend is the same, and "pytorch" is the CPU.

    Example:
        >>> import robocache as rc
        >>> rc.resample_trajectories([[[0.0], [1.0]]], [[0.0, 1.0]], [[0.5]]).tolist()
        [[[0.5]]]
    """
    return _ops.resample(src, src_times, tgt_times, backend=_backend(backend))


def fuse_multimodal(*data_and_times: Any, backend: str = "auto") -> Any:
    """Samples streams at common targets, linearly and side by side, and returns [B,T,sum D].

    data_and_times are the data and times of each stream in turn, then the target times. Without target times, the targets
    are the times of the first stream. It calls `fuse`; backend is the same, and "pytorch" is the CPU.

    Example:
        >>> import robocache as rc
        >>> rc.fuse_multimodal([[[0.0], [1.0]]], [[0.0, 1.0]], [[[5.0], [7.0]]], [[0.0, 1.0]], [[0.5]]).tolist()
        [[[0.5, 6.0]]]
    """
    if len(data_and_times) < 2:
        raise mistake(
            "fuse",
            "streams",
            "{} arrays".format(len(data_and_times)),
            "data and times of each stream, then the targets",
        )
    pairs = list(zip(data_and_times[::2], data_and_times[1::2]))
    targets = data_and_times[-1] if len(data_and_times) % 2 else data_and_times[1]
    return _ops.fuse([Stream(data, times) for data, times in pairs], targets, backend=_backend(backend))


def voxelize_point_cloud(
    points: Any,
    grid_size: Sequence[int],
    voxel_size: float,
    origin: Sequence[float] = (0.0, 0.0, 0.0),
    backend: str = "auto",
) -> Any:
    """Returns the occupancy grid, uint8 [X,Y,Z] for points [N,3], or [B,X,Y,Z] for points [B,N,3].

    The grid has grid_size cells with edge length voxel_size, from origin on, in the points' unit. It calls `voxelize` with
    size=voxel_size and order="xyz"; backend is the same, and "pytorch" is the CPU.

    Example:
        >>> import robocache as rc
        >>> rc.voxelize_point_cloud([[0.5, 0.5, 0.5]], (2, 1, 1), 1.0).ravel().tolist()
        [1, 0]
    """
    low = [float(x) for x in origin]
    high = [x + n * voxel_size for x, n in zip(low, grid_size)]
    offsets = None
    shape: Sequence[int] = getattr(points, "shape", ())
    if len(shape) == 3:
        offsets = [i * shape[1] for i in range(shape[0] + 1)]
        points = points.reshape(-1, shape[2])
    return _voxelize.voxelize(
        points, size=voxel_size, min=low, max=high, order="xyz", offsets=offsets, backend=_backend(backend)
    ).grid
