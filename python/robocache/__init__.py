"""RoboCache: robot recordings on one clock, for training.

`Recording` opens a recording in any supported format as arrays. `Loader` draws training batches from recordings. `Policy` runs a
policy that ``robocache train`` has written. `resample` samples one stream at a clock's times, `fuse` several streams side by side,
`voxelize` sorts point clouds into cells, `deproject` makes clouds of depth images, and `farthest_points` chooses points that are far
apart.
These take NumPy, torch, JAX or CuPy arrays on the CPU or a GPU, with equal bits on both.

Importing this package imports no framework and starts no process.

Example:
    >>> import robocache as rc
    >>> rc.resample([[0.0], [10.0]], [0.0, 1.0], [0.25, 0.5]).ravel().tolist()
    [2.5, 5.0]
"""

import typing as _typing

from ._aliases import fuse_multimodal, resample_trajectories, voxelize_point_cloud
from ._errors import (
    ArgumentError,
    DataError,
    DeviceError,
    Error,
    ForkError,
    LoaderError,
    OutOfMemoryError,
    PlanError,
    PolicyError,
    RecordingError,
    ServerError,
    UnsupportedError,
    VersionError,
)
from ._info import info, synchronize
from ._ops import fuse, resample
from ._options import Anchored, Channel, Stream, Uniform
from ._spatial import Deprojected, deproject, farthest_points
from ._version import __version__
from ._voxelize import Box, VoxelCounts, Voxels, voxelize

if _typing.TYPE_CHECKING:
    from ._camera import Camera
    from ._loader import Loader
    from ._policy import Policy
    from ._recording import Episode, Recording
    from ._clouds import Cloud, Clouds
    from ._streams import Aligned, AlignedStream, Fused, Media, RecordedStream, Report

__all__ = [
    "Aligned",
    "AlignedStream",
    "Anchored",
    "ArgumentError",
    "Box",
    "Camera",
    "Channel",
    "DataError",
    "Deprojected",
    "DeviceError",
    "Episode",
    "Error",
    "ForkError",
    "Fused",
    "Loader",
    "LoaderError",
    "Cloud",
    "Clouds",
    "Media",
    "OutOfMemoryError",
    "PlanError",
    "Policy",
    "PolicyError",
    "RecordedStream",
    "Recording",
    "RecordingError",
    "Report",
    "ServerError",
    "Stream",
    "Uniform",
    "UnsupportedError",
    "VersionError",
    "VoxelCounts",
    "Voxels",
    "__version__",
    "deproject",
    "farthest_points",
    "fuse",
    "fuse_multimodal",
    "info",
    "resample",
    "resample_trajectories",
    "synchronize",
    "voxelize",
    "voxelize_point_cloud",
]

# Names that the operations do not need: their modules are imported at first access.
_LATER = {
    "Aligned": "_streams",
    "AlignedStream": "_streams",
    "Camera": "_camera",
    "Episode": "_recording",
    "Fused": "_streams",
    "Loader": "_loader",
    "Cloud": "_clouds",
    "Clouds": "_clouds",
    "Media": "_streams",
    "Policy": "_policy",
    "RecordedStream": "_streams",
    "Recording": "_recording",
    "Report": "_streams",
}


def __getattr__(name: str) -> _typing.Any:
    if name not in _LATER:
        raise AttributeError("module {!r} has no attribute {!r}".format(__name__, name))
    import importlib

    value = globals()[name] = getattr(importlib.import_module("." + _LATER[name], __name__), name)
    return value


def __dir__() -> _typing.List[str]:
    return sorted(__all__ + [name for name in globals() if name.startswith("__") and name not in __all__])
