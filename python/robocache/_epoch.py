"""The iterator over one epoch of a Loader."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Dict, Optional

from ._errors import LoaderError

if TYPE_CHECKING:
    from ._loader import Loader


class Epoch:
    """The iterator over one epoch, which begins with the first next(). Threads may share it."""

    def __init__(self, loader: Loader) -> None:
        self._loader: Optional[Loader] = loader
        self._epoch = self._number = -1  # before the first next()

    def __iter__(self) -> "Epoch":
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
                raise LoaderError("loader: got an iterator after another one began, want one at a time", op="loader")
            elif loader._way.place.epoch != self._epoch:
                self._loader = None
                raise StopIteration
            return loader.next()


def refuse_workers() -> None:
    """Raises LoaderError in a worker of torch's DataLoader."""
    data = sys.modules.get("torch.utils.data")
    if data is not None and data.get_worker_info() is not None:
        raise LoaderError(
            "loader: got a worker of torch's DataLoader, want num_workers=0: the helper process reads ahead already", op="loader"
        )
