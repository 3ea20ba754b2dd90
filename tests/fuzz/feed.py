"""A stream to order: rows, their disorder, their cut into epochs, and what is promised of them."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

import millstream as ms
from fuzz.clock import CLOCKS, DST, Clock
from fuzz.compare import key_of
from fuzz.judge import Judge
from fuzz.values import TICK, Column, Row, column, names

MARK = "__mark"
"""The column that marks rows as punctuation."""
NEVER = -(10**6)


@dataclass
class Feed:
    """One stream, as it is declared and as the oracle knows it. Column `id` tells rows apart."""

    name: str
    clock: Clock
    ts: str
    columns: tuple[Column, ...]
    epochs: list[list[Row]]
    promise: str
    """none, ordered, bounded, idle, rows, step, timer, group, supplied, apart (for each group), marked or told."""
    span: int = 0
    per: str | None = None
    supplied: list[list[tuple[Any, int]]] = field(default_factory=list[list[tuple[Any, int]]])
    """For each epoch the bounds that the caller hands over or the data carries, with their group."""
    low: int = 0
    """The least tick that a row may have."""
    now: int = 0
    """The clock of a timer, which stands still."""
    zone: str = "UTC"
    """The time zone in which days are asked for."""
    bounds: dict[Any, int] = field(default_factory=dict[Any, int])
    """What is promised in the end, by group, once the rows have been judged."""

    @property
    def schema(self) -> pa.Schema:
        """The columns, the time first and the id last."""
        return pa.schema([
            (self.ts, self.clock.type), *((one.name, one.type) for one in self.columns), ("id", pa.int64())
        ])  # fmt: skip

    @property
    def declared(self) -> pa.Schema:
        """The columns that the source has: those, and perhaps a mark."""
        marks = {"marked": pa.bool_(), "told": pa.string()}
        return self.schema.append(pa.field(MARK, marks[self.promise])) if self.promise in marks else self.schema

    @property
    def progress(self) -> Any:
        """What is declared."""
        span, clock = self.clock.span(self.span), lambda: self.clock.value(self.now)
        match self.promise:
            case "none":
                return None
            case "ordered":
                return ms.ordered(self.ts)
            case "bounded":
                return ms.bounded_disorder(self.ts, span)
            case "idle":
                return ms.bounded_disorder(self.ts, span, idle=span, clock=clock)
            case "rows":
                return ms.bounded_disorder(self.ts, rows=self.span)
            case "step":
                return ms.step(self.ts, self.clock.span(max(1, self.span)))
            case "timer":
                return ms.timer(self.ts, self.clock.span(0), lull=span, clock=clock)
            case "group":
                assert self.per is not None
                return ms.per_group(self.per, ms.bounded_disorder(self.ts, span))
            case "marked" | "told":
                return ms.embedded(MARK, self.ts)
            case _:
                return ms.supplied(self.ts, per=self.per or ())

    def source(self, upto: int | None = None, order: Callable[[list[Row]], list[Row]] = list) -> list[ms.Epoch]:
        """The epochs as they are handed to an engine; `order` may move the rows of each."""
        out: list[ms.Epoch] = []
        for i, rows in enumerate(self.epochs[:upto]):
            given = self.given(i)
            if self.promise in ("marked", "told"):
                marks = [self._marking(bound) for _, bound in given]
                out.append(ms.Epoch(self.table([*marks, *order(rows)])))
                continue
            told = [
                ms.punctuation(self.ts, before=self.clock.value(bound), **({self.per: group} if self.per else {}))
                for group, bound in given
            ]
            out.append(ms.Epoch(self.table(order(rows)), told))
        return out

    def _marking(self, bound: int) -> Row:
        if self.promise == "marked":
            return {TICK: bound, MARK: True}
        return {TICK: None, MARK: f"{self.ts} < {bound}"}

    def table(self, rows: list[Row]) -> pa.Table:
        """Rows as a table."""
        plain = [{**row, self.ts: self.clock.value(row[TICK])} for row in rows]
        return pa.Table.from_pylist(plain, schema=self.declared)

    def given(self, epoch: int) -> list[tuple[Any, int]]:
        """The bounds of an epoch, each with its group."""
        return self.supplied[epoch] if epoch < len(self.supplied) else []

    def judged(self) -> tuple[list[Row], list[Row], list[Row]]:
        """Accepted, late and rejected rows by the definition: a bound holds from the next epoch on."""
        judge = Judge(self.promise, self.span, self.per, self.now)
        for i, rows in enumerate(self.epochs):
            judge.take(rows, self.given(i))
        self.bounds = judge.bounds
        return judge.accepted, judge.late, judge.rejected


PROMISES = (
    "none", "ordered", "bounded", "bounded", "bounded", "idle", "rows", "step", "timer", "group", "supplied", "apart",
    "marked", "told",
)  # fmt: skip


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
    low = _low(rnd, chosen) if like is None or rnd.random() < 0.2 else like.low
    ticks = sorted(rnd.randint(low, low + span) for _ in range(n))
    disorder = rnd.choice([0, 0, 3, 10, 40])
    ticks.sort(key=lambda tick: tick + rnd.randint(0, disorder))
    rows = [{TICK: tick, **{c.name: rnd.choice(c.pool) for c in columns}, "id": i} for i, tick in enumerate(ticks)]
    if rnd.random() < 0.3:
        for row in rnd.sample(rows, min(len(rows), 2)):
            row[TICK] = None
    promise = _promise(rnd, ts, columns, chosen)
    per = rnd.choice(columns).name if promise in ("group", "apart") else None
    made = Feed(
        name, chosen, ts, columns, _cut(rnd, rows), promise,
        span=rnd.choice([0, disorder, disorder, disorder // 2, 50]), per=per,
        low=low, now=low + rnd.choice([0, span, 2 * span]),
    )  # fmt: skip
    if promise in ("supplied", "marked", "told"):
        made.supplied = _bounds(rnd, made.epochs)
    if promise == "apart":
        made.supplied = _apart(rnd, made)
    return made


def _low(rnd: random.Random, clock: Clock) -> int:
    if clock.kind == "hour":
        return rnd.choice(DST)
    low = rnd.choice([0, -10, -1000, 100_000])
    return low if clock.kind != "decimal" or abs(low) < 10_000 else 0


def _promise(rnd: random.Random, ts: str, columns: tuple[Column, ...], clock: Clock) -> str:
    promise = rnd.choice(PROMISES)
    if promise in ("group", "apart") and not columns:
        return "bounded"
    if promise == "told" and not (ts.isascii() and ts.isidentifier() and clock.kind.startswith("int")):
        return "marked"  # a pattern as text names plain columns only
    return promise


def _cut(rnd: random.Random, rows: list[Row]) -> list[list[Row]]:
    out: list[list[Row]] = []
    most = rnd.choice([3, 10, 20, 60])
    left = list(rows)
    while left and len(out) < 7:
        n = rnd.randint(0, most)
        out.append(left[:n])
        left = left[n:]
    return [*out, left] if left or not out else out


def _bounds(rnd: random.Random, epochs: list[list[Row]], group: Any = None) -> list[list[tuple[Any, int]]]:
    """Bounds that only grow; now and then one that rows to come break."""
    out: list[list[tuple[Any, int]]] = []
    promised = NEVER
    for i in range(len(epochs)):
        later = [row[TICK] for rows in epochs[i + 1 :] for row in rows if row[TICK] is not None]
        best = min(later, default=promised) + rnd.choice([0, 0, -3, 5])
        if later and best > promised and rnd.random() < 0.7:
            promised = best
            out.append([(group, best)])
        else:
            out.append([])
    return out


def _apart(rnd: random.Random, made: Feed) -> list[list[tuple[Any, int]]]:
    """Bounds for some of the groups, each by itself."""
    assert made.per is not None
    column = next(one for one in made.columns if one.name == made.per)
    out: list[list[tuple[Any, int]]] = [[] for _ in made.epochs]
    for key, group in {key_of(one): one for one in column.pool}.items():
        if group is None or rnd.random() < 0.3:
            continue
        own = [[row for row in rows if key_of(row[made.per]) == key] for rows in made.epochs]
        for known, more in zip(out, _bounds(rnd, own, group), strict=True):
            known += more
    return out
