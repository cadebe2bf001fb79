"""What there is, and waiting for it."""

from __future__ import annotations

import sys
from typing import Any, Dict

from . import _child
from ._version import __version__


def info() -> Dict[str, Any]:
    """Returns what the package works with, and why: a dictionary of plain values.

    version: of the package. binary: the path of the robocache binary. binary_version, platform, images: what it says of
    itself; images is a hash of its kernels. cuda: None, or what is used on the GPU; no_cuda: None, or why there is no
    GPU to use.

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
    """Waits until the GPU has done what it was given, and raises what was wrong with values on the way.

    Work on the CPU is done when its call returns.

    Example:
        >>> import robocache as rc
        >>> rc.synchronize()
    """
    replay = sys.modules.get(__package__ + "._replay")
    if replay is not None:
        replay.synchronize()
