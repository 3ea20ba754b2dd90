"""The smallest symmetric join: rows of both sides are kept until punctuation of the other side rules out partners.

The hosts have no join yet; this one is by the definition, row by row, and shows what the contracts promise.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from millstream.core.pattern import Pattern
from millstream.core.punctuation import Punctuation

Row = Mapping[str, Any]


class SymmetricJoin:
    """Pairs of rows that are equal in some columns."""

    def __init__(self, keys: Sequence[tuple[str, str]]) -> None:
        """`keys` are the columns that must be equal, left and right."""
        self.keys = tuple(keys)
        self.kept: tuple[list[Row], list[Row]] = ([], [])
        self.promised: tuple[list[Pattern], list[Pattern]] = ([], [])

    def row(self, side: int, row: Row) -> list[tuple[Row, Row]]:
        """The pairs that a row makes with those that are kept; it is kept if a partner may still come."""
        partners = [one for one in self.kept[1 - side] if self._key(side, row) == self._key(1 - side, one)]
        if not any(self._rules_out(pattern, 1 - side, row) for pattern in self.promised[1 - side]):
            self.kept[side].append(row)
        return [(row, one) if side == 0 else (one, row) for one in partners]

    def punctuation(self, side: int, punctuation: Punctuation) -> None:
        """No later row of a side matches: rows of the other side that wait for such a row go."""
        self.promised[side].append(punctuation.pattern)
        other = self.kept[1 - side]
        other[:] = [row for row in other if not self._rules_out(punctuation.pattern, side, row)]

    def _rules_out(self, pattern: Pattern, side: int, row: Row) -> bool:
        """Does a pattern of one side speak of every partner that a row of the other could have?"""
        there = {pair[side]: row[pair[1 - side]] for pair in self.keys}
        return pattern.attributes.keys() <= there.keys() and pattern.matches(there)

    def _key(self, side: int, row: Row) -> tuple[Any, ...]:
        return tuple(row[pair[side]] for pair in self.keys)
