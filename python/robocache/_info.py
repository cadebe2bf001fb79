"""Information about the installation, and synchronize."""

from __future__ import annotations

import sys
from typing import Any, Dict

from . import _child
from ._version import __version__


def info() -> Dict[str, Any]:
    """Returns the versions, paths and devices that the package uses, as a dict of plain values.

    Keys:
        version: the package's version. binary: the path of the robocache binary.
        binary_version, platform: the binary's version and platform. images: a hash of its GPU kernels.
        cuda: a dict with the driver and the used devices, or None. no_cuda: the reason why no GPU can be used, or None.

    Example:
        >>> import robocache as rc
        >>> sorted(rc.info())
        ['binary', 'binary_version', 'cuda', 'images', 'no_cuda', 'platform', 'version']
    """
    hello = _child.shared().hello
    cuda, reason = _cuda()
    return {
        "version": __version__,
        "binary": _child.find_binary(),
        "binary_version": hello.get("version"),
        "platform": hello.get("platform"),
        "images": hello.get("images"),
        "cuda": cuda,
        "no_cuda": reason,
    }


def _cuda() -> Any:
    try:
        from . import _cuda as cuda
    except ImportError as e:
        return None, str(e)
    reason = cuda.reason()
    if reason is not None:
        return None, reason
    from . import _replay

    return _replay.info(), None


def synchronize() -> None:
    """Waits until the GPU has finished all work, and raises a DataError if a call had wrong values.

    Work on the CPU has finished when its call returns.

    Example:
        >>> import robocache as rc
        >>> rc.synchronize()
    """
    replay = sys.modules.get(__package__ + "._replay")
    if replay is not None:
        replay.synchronize()
