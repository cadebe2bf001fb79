"""RoboCache: robot recordings on one clock, for training.

`resample` puts one stream on a clock, `fuse` several, side by side, and `voxelize` sorts point clouds into cells; on NumPy, torch,
JAX or CuPy arrays, on the CPU or a GPU, with equal bits. Importing this package imports no framework and starts nothing.
"""

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
from ._ops import fuse, resample
from ._options import Anchored, Channel, Stream, Uniform
from ._version import __version__

__all__ = [
    "Anchored",
    "ArgumentError",
    "Channel",
    "DataError",
    "DeviceError",
    "Error",
    "ForkError",
    "LoaderError",
    "OutOfMemoryError",
    "PlanError",
    "RecordingError",
    "ServerError",
    "Stream",
    "Uniform",
    "UnsupportedError",
    "VersionError",
    "__version__",
    "fuse",
    "resample",
]
