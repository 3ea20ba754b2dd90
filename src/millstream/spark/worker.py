"""Python workers that live from epoch to epoch."""

from __future__ import annotations

import gc

_settled: list[bool] = []


def freeze_worker() -> None:
    """Take what a worker has loaded out of the garbage collector's sight, the first time.

    Spark collects garbage after every task. With Arrow, NumPy and this package loaded that takes longer than the
    task of a small epoch, though none of it is ever garbage.

    >>> freeze_worker()
    >>> gc.get_freeze_count() > 0
    True
    """
    if not _settled:
        gc.collect()
        gc.freeze()
        _settled.append(True)
