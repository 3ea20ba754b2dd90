"""A join and what is above it, driven by hand: rows and bounds of either side, and what leaves at each step."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pyarrow as pa

import millstream as ms
from millstream.core.progress import Progress
from millstream.core.punctuation import Punctuation
from millstream.ops.join.join import Join
from millstream.runtime.compile import compile_node
from support.joins import SCHEMA, Row, table


class TwoSides:
    """The operator of a join of `a` and `b` (whose columns end with a 2), without a host."""

    def __init__(self, ask: Callable[[ms.Stream, ms.Stream], ms.Query]) -> None:
        engine = ms.Engine(host="local")
        a = engine.stream("a", [], schema=SCHEMA, progress=ms.supplied("ts"))
        b = engine.stream("b", [], schema=table([], second=True).schema, progress=ms.supplied("ts2"))
        operator = compile_node(ask(a, b).node, lambda _: None)
        assert isinstance(operator, Join)
        self.operator = operator
        self.left: list[Row] = []
        self.known = [Progress(), Progress()]

    def rows(self, side: int, *given: Row | int) -> list[tuple[Any, Any]]:
        """Rows come (a number is the time of one with key "a"); the pairs (ts, ts2) that leave."""
        full = [{"ts": one, "k": "a", "j": 0, "v": one, "id": one} if isinstance(one, int) else one for one in given]
        return self._left(self.operator.take(side, table(full, second=bool(side))))

    def table(self, side: int, rows: pa.Table) -> list[tuple[Any, Any]]:
        """Rows come, as a table."""
        return self._left(self.operator.take(side, rows))

    def bound(self, side: int, value: int, **group: Any) -> list[tuple[Any, Any]]:
        """A side promises that nothing below comes (of a group); the pairs that leave."""
        name = ("ts", "ts2")[side]
        made = Punctuation.group_wise(name, value, group) if group else Punctuation.linear(name, value)
        return self.promise(side, made)

    def promise(self, side: int, punctuation: Punctuation) -> list[tuple[Any, Any]]:
        """A side promises something."""
        now = self.known[side].copy()
        now.accept(punctuation)
        self.known[side] = now
        return self._left(self.operator.advance(side, now))

    def end(self, side: int) -> list[tuple[Any, Any]]:
        """A side is over."""
        return self.promise(side, Punctuation.end_of_stream())

    def _left(self, tables: Iterable[pa.Table]) -> list[tuple[Any, Any]]:
        rows = [row for one in tables for row in one.to_pylist()]
        promised = self.operator_promised
        for row in rows:
            assert promised.rules_out(row) is None, f"{row} was ruled out by {promised}"
        self.left += rows
        self.operator_promised = self.operator.promises()
        return sorted(
            ((row.get("ts"), row.get("ts2")) for row in rows), key=lambda pair: [(one is None, one) for one in pair]
        )

    operator_promised = Progress()

    def kept(self, side: int) -> list[int]:
        """The times of the rows that a side keeps."""
        name, column = ("left", "right")[side], ("ts", "ts2")[side]
        tables = [one.tables[name] for one in self.operator.store.segments if name in one.tables]
        return sorted(value for one in tables for value in one[column].to_pylist())

    @property
    def promises(self) -> set[str]:
        """What is promised of the output, as text."""
        return {str(one) for one in self.operator.promises().punctuations()}
