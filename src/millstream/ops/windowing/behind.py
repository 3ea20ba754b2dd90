"""How far readers may count on windows whose results are held back.

Held rows of a window that ends at e are as good as punctuation that has only come to e − 1: that window is still to
come. So an operator promises what it would by a progress that stays behind, and readers never see a row that was
ruled out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.core.domain import BOTTOM
from millstream.core.progress import Progress
from millstream.core.punctuation import Punctuation
from millstream.kernels.group import tuples
from millstream.kernels.ticks import to_ticks


def behind(now: Progress, held: Sequence[pa.Table], attribute: str, groups: Sequence[str]) -> Progress:
    """The progress by which no held row is complete yet: of everybody, and of each group that has any.

    >>> held = pa.table({"window_end": [20, 30], "k": ["a", "b"]})
    >>> known = Progress({"ts": 32}, {("ts", ("k",)): {("a",): 40, ("b",): 40, ("c",): 40}}, {("k",): {("a",), ("d",)}})
    >>> told = behind(known, [held], "ts", ["k"])
    >>> told.linear, told.grouped, told.over
    ({'ts': 19}, {('ts', ('k',)): {('b',): 29, ('c',): 40}}, {('k',): {('d',)}})
    """
    rows = pa.concat_tables(held)
    ends = to_ticks(rows["window_end"])
    out = Progress()
    if now.bound(attribute) > BOTTOM:
        out.accept(Punctuation.linear(attribute, min(now.bound(attribute), int(ends.min()) - 1)))
    for (name, keys), bounds in now.grouped.items():
        if name == attribute and set(keys) <= set(groups):
            least = _least(rows, ends, keys)
            for key, bound in bounds.items():
                group = dict(zip(keys, key, strict=True))
                out.accept(Punctuation.group_wise(attribute, min(bound, least.get(key, bound + 1) - 1), group))
    for keys, over in now.over.items():
        if set(keys) <= set(groups):
            out.over[keys] = over - _least(rows, ends, keys).keys()
    return out


def _least(rows: pa.Table, ends: np.ndarray, keys: Sequence[str]) -> dict[tuple[Any, ...], int]:
    """By group: the least end of a window that it has rows of."""
    table = rows.select(list(keys)).append_column("__ms_end", pa.array(ends))
    least = table.group_by(list(keys)).aggregate([("__ms_end", "min")])
    return dict(zip(tuples(least, keys), least["__ms_end_min"].to_pylist(), strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Elsewhere:
    """An operator whose held rows are in other places: what is known of them before an epoch begins."""

    before: Progress
    """The progress it had learnt in the epoch before."""
    told: Progress
    """How far it had come for its readers."""
    least: int | None
    """The least end of a window among the rows held; None if there are none."""

    def sure(self, now: Progress, attribute: str, reach: int, *, drained: bool) -> Progress:
        """How far readers may count on when the epoch is over, whichever rows leave in it.

        What is held then was held before, or was closed by this epoch's progress; and none of it is `reach` behind.

        >>> one = Elsewhere(before=Progress({"ts": 30}), told=Progress({"ts": 10}), least=None)
        >>> [one.sure(Progress({"ts": 50}), "ts", reach, drained=False).linear["ts"] for reach in (40, 5)]
        [30, 45]
        >>> one.sure(Progress({"ts": 50}), "ts", 40, drained=True).linear["ts"]
        50
        """
        if drained or now.ended:
            return now
        if self.least is None:
            out = self.before.copy()
        else:
            out = self.told.copy()
            if self.before.bound(attribute) > BOTTOM:
                out.accept(Punctuation.linear(attribute, min(self.before.bound(attribute), self.least - 1)))
        for punctuation in _less(now, attribute, reach).punctuations():
            out.accept(punctuation)
        return out


def _less(now: Progress, attribute: str, reach: int) -> Progress:
    """The progress less `reach`; of a group that is over nothing is held, however late it was."""
    linear = {name: bound - reach for name, bound in now.linear.items() if name == attribute and bound > BOTTOM + reach}
    grouped = {
        (name, keys): {key: bound - reach for key, bound in bounds.items() if bound > BOTTOM + reach}
        for (name, keys), bounds in now.grouped.items()
        if name == attribute
    }
    return Progress(linear, grouped, {keys: set(over) for keys, over in now.over.items()})
