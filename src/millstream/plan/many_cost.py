"""What a join of many streams costs as one operator, and as a chain of joins of two: which one to take.

Nothing is known of the rows before they come, so that streams are taken to be alike: each keeps a thousand rows, of
which ten have the same key. One operator compares more, as it finds pairs again for rows of later streams; a chain
stores every pair, and a row stored costs as much as several compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

_ROWS, _KEYS, _STORED = 1000.0, 100.0, 3.0
_WORTH = 1.0
"""A row kept costs as much as a row compared, once for each row that comes."""
_FEW = 6


@dataclass(frozen=True, slots=True)
class Weighed:
    """The cost of a row that comes at each stream, all together, and the rows kept."""

    compared: float
    kept: float

    @property
    def total(self) -> float:
        """Both as one number."""
        return self.compared + _WORTH * self.kept

    def __str__(self) -> str:
        """In words."""
        return f"{self.compared:.3g} rows compared and {self.kept:.3g} kept"


def as_one(streams: int, ties: Sequence[frozenset[int]]) -> Weighed:
    """One operator: the best order for each stream, and each stream's rows kept once.

    >>> common = [frozenset({0, 1, 2})]
    >>> str(as_one(3, common)), str(as_chain(3, common))
    ('363 rows compared and 3e+03 kept', '404 rows compared and 1.3e+04 kept')
    """
    compared = 0.0
    for port in range(streams):
        others = [i for i in range(streams) if i != port]
        tried = permutations(others) if streams <= _FEW else [others]
        compared += min(_walk(port, order, ties) for order in tried)
    return Weighed(compared, streams * _ROWS)


def as_chain(streams: int, ties: Sequence[frozenset[int]]) -> Weighed:
    """A chain from the first stream to the last: every result of two is stored, and probed by the next stream."""
    sizes = [_ROWS]
    for i in range(1, streams):
        sizes.append(sizes[-1] * _fan(frozenset(range(i)), i, ties))
    compared = 0.0
    for port in range(streams):
        found = sizes[port - 1] / (_KEYS if _tied(frozenset(range(port)), port, ties) else 1.0) if port else 1.0
        compared += found if port else 0.0
        for i in range(max(1, port + 1), streams):
            fan = _fan(frozenset(range(i)), i, ties)
            compared += found * (1 + fan + _STORED)
            found *= fan
    return Weighed(compared, streams * _ROWS + sum(sizes[1:-1]))


def _walk(port: int, order: Sequence[int], ties: Sequence[frozenset[int]]) -> float:
    there, rows, total = frozenset((port,)), 1.0, 0.0
    for stream in order:
        fan = _fan(there, stream, ties)
        total += rows * (1 + fan)
        rows *= fan
        there |= {stream}
    return total


def _fan(there: frozenset[int], stream: int, ties: Sequence[frozenset[int]]) -> float:
    return _ROWS / _KEYS if _tied(there, stream, ties) else _ROWS


def _tied(there: frozenset[int], stream: int, ties: Sequence[frozenset[int]]) -> bool:
    return any(stream in tie and tie & there for tie in ties)
