"""The join that takes arrival for time: each row is stamped with the newest time that either input has shown.

Windows are then cut by the stamps, and rows purged by the newest row of either side. While both inputs keep step the
stamps are the times and the answer is right. As soon as one input lags, its rows get stamps that are too late: pairs
are found that do not exist, and pairs that exist are missed. It is here to be wrong.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from comparators.band_join import BandJoin
from comparators.comparator import END, values
from comparators.pairs import Band, paired, pairs

STAMP = "stamp"


class GlobalOrderJoin(BandJoin):
    """Windows by arrival, whatever the times say."""

    def __init__(self, key: tuple[str, str], attribute: str, band: Band, schemas: tuple[pa.Schema, pa.Schema]) -> None:
        """No row has come, so there is no newest."""
        stamped = [schema.append(pa.field(STAMP, pa.int64())) for schema in schemas]
        super().__init__(key, attribute, band, (stamped[0], stamped[1]))
        self._newest = -END

    def _take(self, port: int, rows: pa.Table) -> pa.Table:
        stamps = np.maximum.accumulate(np.maximum(self.times(rows), self._newest))
        self._newest = int(stamps[-1]) if len(stamps) else self._newest
        stamped = rows.append_column(STAMP, pa.array(stamps, pa.int64()))
        sides = (stamped, self.kept[1]) if port == 0 else (self.kept[0], stamped)
        left, right = ((values(one, name), values(one, STAMP)) for one, name in zip(sides, self.key, strict=True))
        out = paired(*sides, pairs(left, right, self.band)).drop_columns([f"left_{STAMP}", f"right_{STAMP}"])
        self.kept[port] = pa.concat_tables([self.kept[port], stamped])
        for side, reach in enumerate(self.reach):
            alive = values(self.kept[side], STAMP) >= self._newest - reach
            self.kept[side] = self.kept[side].filter(pa.array(alive)).combine_chunks()
        return out

    def _advance(self, port: int, bound: int) -> pa.Table:
        """Punctuation means nothing to it."""
        return self._take(port, self.kept[port].slice(0, 0).drop_columns([STAMP]))
