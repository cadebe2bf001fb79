"""RoboCache: robot recordings on one clock, for training.

`resample` puts one stream on a clock, `fuse` several, side by side, and `voxelize` sorts point clouds into cells; on
NumPy, torch, JAX or CuPy arrays, on the CPU or a GPU, with equal bits. `Recording` opens a recording of any format as
arrays. Importing this package imports no framework and starts nothing.
"""

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
    RecordingError,
    ServerError,
    UnsupportedError,
    VersionError,
)
from ._info import info, synchronize
from ._ops import fuse, resample
from ._options import Anchored, Channel, Stream, Uniform
from ._recording import Episode, Recording
from ._streams import Aligned, AlignedStream, Fused, Media, RecordedStream, Report
from ._version import __version__
from ._voxelize import Box, VoxelCounts, Voxels, voxelize

__all__ = [
    "Aligned",
    "AlignedStream",
    "Anchored",
    "ArgumentError",
    "Box",
    "Channel",
    "DataError",
    "DeviceError",
    "Episode",
    "Error",
    "ForkError",
    "Fused",
    "LoaderError",
    "Media",
    "OutOfMemoryError",
    "PlanError",
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
    "fuse",
    "fuse_multimodal",
    "info",
    "resample",
    "resample_trajectories",
    "synchronize",
    "voxelize",
    "voxelize_point_cloud",
]
