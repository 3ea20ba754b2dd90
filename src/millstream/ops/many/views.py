"""Views: the rows of a stream in several runs, each row with one number."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from millstream.ops.many.keyed_runs import KeyedRun


class View:
    """Runs of one stream, one after another."""

    def __init__(self, runs: Sequence[KeyedRun]) -> None:
        """`runs` stay as they are."""
        self.runs = runs
        self.starts = np.cumsum([0, *(len(one.at) for one in runs)])
        self._hashes: dict[int, np.ndarray] = {}
        self._columns: dict[str, pa.Array | pa.ChunkedArray] = {}

    def __len__(self) -> int:
        """How many rows."""
        return int(self.starts[-1])

    @cached_property
    def at(self) -> np.ndarray:
        """The coordinates of all rows."""
        return _joined([one.at for one in self.runs], "int64")

    def hashes(self, link: int) -> np.ndarray:
        """Of the keys of a link of the stream."""
        if link not in self._hashes:
            self._hashes[link] = _joined([one.hashes[link] for one in self.runs], "uint64")
        return self._hashes[link]

    def column(self, name: str) -> pa.Array | pa.ChunkedArray:
        """A column of all rows."""
        if name not in self._columns:
            chunks = [chunk for one in self.runs for chunk in one.rows[name].chunks]
            self._columns[name] = pa.chunked_array(chunks, self.runs[0].rows[name].type).combine_chunks()
        return self._columns[name]


def _joined(arrays: Sequence[np.ndarray], kind: str) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate([*arrays, np.zeros(0, dtype=kind)])
