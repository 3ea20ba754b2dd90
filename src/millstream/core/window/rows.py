"""Windows over row numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from millstream.core.contract import form
from millstream.core.domain import Domain
from millstream.core.progress import Progress
from millstream.core.window.base import Window, positive
from millstream.core.window.sliding import Sliding


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows(Window):
    """Sliding over row numbers, 1-based by arrival, or by rank of an attribute once punctuation fixes it.

    With `partition_by`, rows are numbered within their partition, and each partition has its own windows.

    >>> list(Rows(size=2, slide=1).by_number.wids(1)), list(Rows(size=2, slide=1).by_number.wids(2))
    ([0, 1], [1, 2])
    """

    kind: ClassVar = 'a window by="rows"'

    size: int
    slide: int
    partition_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no window can be."""
        positive("range", self.size)
        positive("slide", self.slide)

    @property
    def by_number(self) -> Sliding:
        """The same windows, over the number of the row in its partition."""
        return Sliding(size=self.size, slide=self.slide, start=1)

    @property
    def keeps(self) -> str:
        """The rows of a window."""
        return f"partials of the last {self.size} rows"

    @property
    def by_rows(self) -> bool:
        """That is what it does."""
        return True

    def words(self, attribute: str, domain: Domain) -> str:
        """The windows in words."""
        per = f" per {', '.join(self.partition_by)}" if self.partition_by else ""
        return f"range {self.size} rows slide {self.slide} rows{per}"

    def meets_on(self, groups: tuple[str, ...]) -> tuple[str, ...]:
        """Rows are numbered within a partition, whatever their groups."""
        return self.partition_by

    def form(self, attribute: str, groups: tuple[str, ...], *, forgets: bool) -> form.Form:
        """Numbers need no promise; partitions must end."""
        return form.Numbered(self.partition_by)

    def bounds(self, bound: int) -> dict[str, int]:
        """Those of the windows over numbers."""
        return self.by_number.bounds(bound)

    def promised(self, attribute: str, groups: tuple[str, ...], now: Progress, rows: int) -> Progress:
        """Windows of an unpartitioned stream close in order; those of partitions only when a partition is over."""
        if now.ended:
            return Progress(ended=True)
        if self.partition_by:
            return Progress(over={k: set(v) for k, v in now.over.items() if set(k) <= set(self.partition_by)})
        return Progress(self.bounds(rows + 1))
