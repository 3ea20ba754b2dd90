"""Streams to order: disordered, cut into epochs, punctuated as far as the rows to come allow; and a run over them."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import millstream as ms
from millstream.ops.operator import Operator
from millstream.runtime.batch import Batch
from millstream.runtime.local.epoch import step
from millstream.runtime.local.graph import Graph
from support import oracle
from support.families import Aggregate
from support.oracle import Answer, Row

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64()), ("f", pa.float64())])


def some_rows(
    rnd: random.Random, n: int, span: int, *, low: int = -20, keys: Sequence[Any] = ("a", "b", None)
) -> list[Row]:
    """Rows at random, in order of `ts`."""
    return [
        {"ts": ts, "k": rnd.choice(keys), "v": rnd.choice([None, *range(6)]), "f": rnd.choice([None, 0.25, 1.5, -2.0])}
        for ts in sorted(rnd.randint(low, low + span) for _ in range(n))
    ]


def stray(rows: Sequence[Row], disorder: int, rnd: random.Random) -> list[Row]:
    """The same rows, none more than `disorder` behind one that came before it."""
    return sorted(rows, key=lambda row: row["ts"] + rnd.randint(0, disorder))


def cut(rows: Sequence[Row], rnd: random.Random, most: int = 14) -> list[list[Row]]:
    """The rows in epochs of at most `most`; some epochs are empty."""
    out: list[list[Row]] = []
    left = list(rows)
    while left:
        n = rnd.randint(0, most)
        out.append(left[:n])
        left = left[n:]
    return out


def punctuated(epochs: Sequence[list[Row]], rnd: random.Random, *, group_wise: bool = False) -> list[ms.Epoch]:
    """Each epoch with promises that the rows to come keep: the best there is, a weaker one, or none."""
    out: list[ms.Epoch] = []
    promised = -(10**9)
    of_group: dict[Any, int] = {}
    for i, rows in enumerate(epochs):
        later = [row for epoch in epochs[i + 1 :] for row in epoch]
        given: list[Any] = []
        best = min((row["ts"] for row in later), default=max((row["ts"] for row in rows), default=promised) + 1)
        if rnd.random() < 0.6 and (bound := best - rnd.choice([0, 0, 1, 7])) > promised:
            given.append(ms.punctuation("ts", before=bound))
            promised = bound
        if group_wise and rnd.random() < 0.5:
            key = rnd.choice(["a", "b"])
            mine = min((row["ts"] for row in later if row["k"] == key), default=None)
            if mine is None and rnd.random() < 0.5:
                given.append(ms.punctuation(k=key))
                of_group[key] = 10**9
            elif mine is not None and mine > max(promised, of_group.get(key, promised)):
                given.append(ms.punctuation("ts", before=mine, k=key))
                of_group[key] = mine
        out.append(ms.Epoch(pa.Table.from_pylist(rows, schema=SCHEMA), given))
    return out


@dataclass
class Ran:
    """A run that is over: the query, the engine, and what the host knew at the end."""

    engine: ms.Engine
    query: ms.Query
    run: ms.Run

    @property
    def operator(self) -> Operator:
        """The operator that computed the query."""
        return self.engine.host.graph.at(self.engine.host.queries[self.query.name].node).operator

    @property
    def source(self) -> Any:
        """The operator by which the stream enters."""
        return next(ingest for _, ingest in self.engine.host.graph.ingests())

    @property
    def books(self) -> dict[str, int]:
        """The accounts of the query."""
        return self.run.progress["queries"][self.query.name]["books"]

    def answers(self, groups: tuple[str, ...], names: Iterable[str]) -> list[Answer]:
        """(window, group…, aggregate…) of every result."""
        return oracle.result(self.query.table(), groups, names)


def run(
    source: Any,
    ask: Callable[[ms.Stream], ms.Query],
    *,
    progress: Any = None,
    schema: pa.Schema | None = SCHEMA,
    end: bool = True,
    epoch_rows: int | None = None,
) -> Ran:
    """Run one query over one stream, to the end."""
    engine = ms.Engine(host="local")
    stream = engine.stream("s", source, schema=schema, progress=progress, epoch_rows=epoch_rows)
    query = ask(stream).named("q")
    running = engine.start(ms.available_now(), end_of_stream=end, allow_unbounded=True)
    running.await_termination()
    return Ran(engine, query, running)


def calls(chosen: Mapping[str, Aggregate]) -> dict[str, Any]:
    """The aggregates as arguments of `agg`."""
    return {name: one.call for name, one in chosen.items()}


def definitions(chosen: Mapping[str, Aggregate]) -> dict[str, Callable[[list[Row]], Any]]:
    """The aggregates as the oracle computes them."""
    return {name: one.define for name, one in chosen.items()}


def extents(table: pa.Table) -> set[tuple[Any, Any, Any]]:
    """(window, start, end) of every result."""
    return {(row["window_id"], row["window_start"], row["window_end"]) for row in table.to_pylist()}


class Stepper:
    """One query over one stream, an epoch at a time, without a thread: for looking at the operator in between."""

    def __init__(
        self, ask: Callable[[ms.Stream], ms.Query], *, schema: pa.Schema = SCHEMA, progress: Any = None
    ) -> None:
        """`progress` defaults to punctuation supplied on the first column."""
        stream = ms.Engine(host="local").stream(
            "s", [], schema=schema, progress=progress or ms.supplied(schema.names[0])
        )
        self.schema = schema
        self.query = ask(stream)
        self.graph = Graph()
        self.graph.add(self.query.node)

    def step(self, rows: Iterable[Mapping[str, Any] | int] = (), *given: Any, end: bool = False) -> list[Row]:
        """Rows (numbers stand for the first column alone), then punctuation (numbers likewise); what leaves."""
        first = self.schema.names[0]
        table = pa.Table.from_pylist([{first: r} if isinstance(r, int) else dict(r) for r in rows], schema=self.schema)
        promises = [{first: one} if isinstance(one, int) else one for one in given]
        return self._step(table, promises, end=end)

    def _step(self, table: pa.Table, promises: list[Any], *, end: bool) -> list[Row]:
        out = step(self.graph, {"s": Batch(table, (), promises)}, end=end)
        return [row for left in out.rows.get(id(self.query.node), []) for row in left.to_pylist()]

    @property
    def operator(self) -> Any:
        """The operator that computes the query."""
        return self.graph.at(self.query.node).operator

    @property
    def late(self) -> int:
        """How many rows were late."""
        return sum(ingest.meter.late for _, ingest in self.graph.ingests())

    def play(self, epochs: Iterable[ms.Epoch]) -> list[Row]:
        """All epochs and the end of the stream; everything that left."""
        left = [row for epoch in epochs for row in self._step(epoch.rows, list(epoch.punctuations), end=False)]
        return left + self.step(end=True)
