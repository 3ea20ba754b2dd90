"""A stream to order: rows, their disorder, their cut into epochs, what is promised, and which rows that makes late."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import millstream as ms
from fuzz.clock import CLOCKS, Clock
from fuzz.compare import key_of
from fuzz.values import Column, Row, column, names

TICK = "__tick"
"""Where the oracle's rows keep their time as an integer."""


@dataclass
class Feed:
    """One stream, as it is declared and as the oracle knows it. Column `id` tells rows apart."""

    name: str
    clock: Clock
    ts: str
    columns: tuple[Column, ...]
    epochs: list[list[Row]]
    promise: str
    """none, ordered, bounded, rows, step, group, or supplied."""
    span: int = 0
    per: str | None = None
    supplied: list[list[int]] = field(default_factory=list[list[int]])
    """For each epoch the bounds that the caller hands over."""
    bounds: dict[Any, int] = field(default_factory=dict[Any, int])
    """What is promised in the end, by group, once the rows have been judged."""

    @property
    def schema(self) -> pa.Schema:
        """The columns, the time first and the id last."""
        return pa.schema([
            (self.ts, self.clock.type), *((one.name, one.type) for one in self.columns), ("id", pa.int64())
        ])  # fmt: skip

    @property
    def progress(self) -> Any:
        """What is declared."""
        span = self.clock.span(self.span)
        match self.promise:
            case "none":
                return None
            case "ordered":
                return ms.ordered(self.ts)
            case "bounded":
                return ms.bounded_disorder(self.ts, span)
            case "rows":
                return ms.bounded_disorder(self.ts, rows=self.span)
            case "step":
                return ms.step(self.ts, self.clock.span(max(1, self.span)))
            case "group":
                assert self.per is not None
                return ms.per_group(self.per, ms.bounded_disorder(self.ts, span))
            case _:
                return ms.supplied(self.ts)

    def source(self, upto: int | None = None, order: Callable[[list[Row]], list[Row]] = list) -> list[ms.Epoch]:
        """The epochs as they are handed to an engine; `order` may move the rows of each."""
        out: list[ms.Epoch] = []
        for i, rows in enumerate(self.epochs[:upto]):
            given = [ms.punctuation(self.ts, before=self.clock.value(bound)) for bound in self._given(i)]
            out.append(ms.Epoch(self.table(order(rows)), given))
        return out

    def table(self, rows: list[Row]) -> pa.Table:
        """Rows as a table."""
        plain = [{**row, self.ts: self.clock.value(row[TICK])} for row in rows]
        return pa.Table.from_pylist(plain, schema=self.schema)

    def _given(self, epoch: int) -> list[int]:
        return self.supplied[epoch] if epoch < len(self.supplied) else []

    def judged(self) -> tuple[list[Row], list[Row], list[Row]]:
        """Accepted, late and rejected rows by the definition: a bound holds from the next epoch on."""
        accepted, late, rejected = [], [], []
        bounds: dict[Any, int] = {}
        state: dict[str, Any] = {"high": None, "seen": [], "last": None}
        for i, rows in enumerate(self.epochs):
            here: list[Row] = []
            for row in rows:
                group = key_of(row[self.per]) if self.per else None
                if self.promise != "none" and (row[TICK] is None or (self.per and row[self.per] is None)):
                    rejected.append(row)
                elif group in bounds and row[TICK] is not None and row[TICK] < bounds[group]:
                    late.append(row)
                else:
                    here.append(row)
            accepted += here
            self._learn(here, i, bounds, state)
        self.bounds = bounds
        return accepted, late, rejected

    def _learn(self, rows: list[Row], epoch: int, bounds: dict[Any, int], state: dict[str, Any]) -> None:
        def raised(group: Any, bound: int) -> None:
            bounds[group] = max(bound, bounds.get(group, bound))

        for row in rows:
            if self.promise in ("ordered", "bounded", "group"):
                raised(key_of(row[self.per]) if self.per else None, row[TICK] - (self.promise != "ordered") * self.span)
        state["seen"] += [row[TICK] for row in rows]
        if self.promise == "rows" and (done := state["seen"][: max(0, len(state["seen"]) - self.span)]):
            raised(None, max(done))
        if self.promise == "step" and state["seen"]:
            high = max(state["seen"])
            if state["last"] is None or high - state["last"] >= max(1, self.span):
                state["last"] = high
                raised(None, high)
        if self.promise == "supplied":
            for bound in self._given(epoch):
                raised(None, bound)


def feed(
    rnd: random.Random, name: str, *, clock: Clock | None = None, like: Feed | None = None, most: int = 60
) -> Feed:
    """A stream at random; `like` has its columns from another one."""
    chosen = clock or rnd.choice(CLOCKS)
    if like is not None:
        ts, columns = like.ts, like.columns
    else:
        ts, *others = names(rnd, rnd.randint(2, 6))
        columns = tuple(column(rnd, one) for one in others)
    n = rnd.choice([0, 1, 2, 5, rnd.randint(6, 25), rnd.randint(6, most), rnd.randint(6, most)])
    span = rnd.choice([5, 20, 60, 60, 150])
    low = rnd.choice([0, -10, -1000, 100_000])
    low = low if chosen.kind != "decimal" or abs(low) < 10_000 else 0
    ticks = sorted(rnd.randint(low, low + span) for _ in range(n))
    disorder = rnd.choice([0, 0, 3, 10, 40])
    ticks.sort(key=lambda tick: tick + rnd.randint(0, disorder))
    rows = [{TICK: tick, **{c.name: rnd.choice(c.pool) for c in columns}, "id": i} for i, tick in enumerate(ticks)]
    if rnd.random() < 0.3:
        for row in rnd.sample(rows, min(len(rows), 2)):
            row[TICK] = None
    epochs = _cut(rnd, rows)
    promise = rnd.choice(["none", "ordered", "bounded", "bounded", "bounded", "rows", "step", "group", "supplied"])
    per = rnd.choice(columns).name if promise == "group" and columns else None
    made = Feed(
        name, chosen, ts, columns, epochs, "bounded" if promise == "group" and per is None else promise,
        span=rnd.choice([0, disorder, disorder, disorder // 2, 50]), per=per,
    )  # fmt: skip
    if made.promise == "supplied":
        made.supplied = _bounds(rnd, epochs)
    return made


def _cut(rnd: random.Random, rows: list[Row]) -> list[list[Row]]:
    out: list[list[Row]] = []
    most = rnd.choice([3, 10, 20, 60])
    left = list(rows)
    while left and len(out) < 7:
        n = rnd.randint(0, most)
        out.append(left[:n])
        left = left[n:]
    return [*out, left] if left or not out else out


def _bounds(rnd: random.Random, epochs: list[list[Row]]) -> list[list[int]]:
    """Bounds that only grow; now and then one that rows to come break."""
    out: list[list[int]] = []
    promised = -(10**6)
    for i in range(len(epochs)):
        later = [row[TICK] for rows in epochs[i + 1 :] for row in rows if row[TICK] is not None]
        best = min(later, default=promised) + rnd.choice([0, 0, -3, 5])
        if later and best > promised and rnd.random() < 0.7:
            promised = best
            out.append([best])
        else:
            out.append([])
    return out
