"""What a case asks: a query in the fluent form, perhaps in SQL, and perhaps its answer by the definition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import millstream as ms
from fuzz.values import Row

Streams = dict[str, ms.Stream]


@dataclass(frozen=True)
class Question:
    """A query over some of a case's streams."""

    what: str
    """In a word or two, for people who read a failure."""
    ask: Callable[[ms.Engine, Streams], ms.Query]
    reads: tuple[str, ...] = ("s",)
    sql: str | None = None
    """The same question as a statement."""
    others: tuple[Callable[[ms.Engine, Streams], ms.Query], ...] = ()
    """The same question in other words, or by another strategy."""
    answer: Callable[[dict[str, list[Row]]], list[Row]] | None = None
    """The answer, from the accepted rows of each stream in order of arrival."""
    columns: Sequence[str] | None = None
    """The columns that are compared; None for all."""
    near: frozenset[str] = field(default_factory=frozenset[str])
    """The columns that are floats computed in any order."""
    arrival: bool = False
    """May the answer depend on the order of arrival?"""
    filtered: bool = False
    """Are there conditions on results, which may come before or after one is rejected?"""
    parts: tuple[Callable[[ms.Engine, Streams], ms.Query], ...] = ()
    """Queries whose answers together are this one's (the three cases of a condition)."""
