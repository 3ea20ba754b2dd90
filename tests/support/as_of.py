"""As-of joins by the definition, row by row, over all rows at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import millstream as ms

Row = dict[str, Any]


@dataclass(frozen=True)
class Question:
    """An as-of join of the streams of `support.joins`, as it is asked and as it is defined."""

    keys: tuple[str, ...] = ("k",)
    how: str = "inner"
    within: int | None = None
    strict: bool = False

    def query(self, left: ms.Stream, right: ms.Stream) -> ms.Query:
        """On Millstream; `right` has a 2 at the end of its columns."""
        on = [(key, key + "2") for key in self.keys]
        times = ("ts", "ts2")
        return left.join_as_of(right, on=on, how=self.how, time=times, within=self.within, strict=self.strict)

    def chooses(self, at: int, rows: Iterable[Row]) -> Row | None:
        """Of right rows of one key, the partner of a left row at this time."""
        near = [one for one in rows if self._near(at, one["ts"])]
        return max(near, key=self._order, default=None)

    def answer(self, left: Sequence[Row], right: Sequence[Row]) -> Counter[tuple[Any, ...]]:
        """Ids and times of all pairs."""
        out: Counter[tuple[Any, ...]] = Counter()
        for row in left:
            found = self.chooses(row["ts"], [one for one in right if self.same(row, one)])
            if found is not None or self.how == "left":
                pair = (None, None) if found is None else (found["id"], found["ts"])
                out[row["id"], row["ts"], *pair] += 1
        return out

    def same(self, left: Row, right: Row) -> bool:
        """Have both rows the same keys? A null is equal to nothing."""
        return all(left[key] is not None and left[key] == right[key] for key in self.keys)

    def _near(self, left: int, right: int) -> bool:
        if right > left or (self.strict and right == left):
            return False
        return self.within is None or left - right <= self.within

    def _order(self, row: Row) -> tuple[Any, ...]:
        others = [row[name] for name in ("k", "j", "v", "id") if name not in self.keys]
        return row["ts"], [(value is not None, value if value is not None else 0) for value in others]


def got(table: Any) -> Counter[tuple[Any, ...]]:
    """What left, in the same shape."""
    return Counter(zip(*(table[name].to_pylist() for name in ("id", "ts", "id2", "ts2")), strict=True))
