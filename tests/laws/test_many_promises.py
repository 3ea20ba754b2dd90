"""What a join of many streams promises holds, and what it keeps may still be needed: an operator by hand."""

from __future__ import annotations

from itertools import product

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from millstream.core.domain import BOTTOM
from millstream.core.progress import Progress
from millstream.core.promise.spans import Spans
from millstream.core.punctuation import Punctuation
from millstream.ops.many.join import ManyJoin
from millstream.ops.many.keyed_runs import name_of
from millstream.ops.many.many_spec import ManySpec

SCHEMA = pa.schema({"ts": pa.int64(), "k": pa.int64()})
LENGTH = st.integers(-3, 9)


def made(streams: int, limits: dict[tuple[int, int], int], *, keyed: bool) -> ManySpec:
    names = tuple((f"{name}{i}", i, name) for i in range(streams) for name in SCHEMA.names)
    return ManySpec(
        schemas=(SCHEMA,) * streams,
        spans=Spans.closed(("ts",) * streams, limits),
        keys=(dict.fromkeys(range(streams), "k"),) if keyed else (),
        condition=None,
        columns=names,
        schema=pa.schema([(name, pa.int64()) for name, _, _ in names]),
    )


@st.composite
def runs(draw: st.DrawFn) -> tuple[ManySpec, list[tuple[int, list[tuple[int, int]], int | None]]]:
    """A join, and what happens: rows at a port, then perhaps a bound that later rows of the port keep."""
    streams = draw(st.integers(2, 4))
    pairs = [(i, j) for i in range(streams) for j in range(streams) if i != j]
    limits = {pair: draw(LENGTH) for pair in pairs}
    spec = made(streams, limits, keyed=draw(st.booleans()))
    bounds = [-5] * streams
    events: list[tuple[int, list[tuple[int, int]], int | None]] = []
    for _ in range(draw(st.integers(1, 12))):
        port = draw(st.integers(0, streams - 1))
        times = draw(st.lists(st.integers(bounds[port], bounds[port] + 12), max_size=4))
        rows = [(at, draw(st.integers(0, 1))) for at in times]
        bound = draw(st.one_of(st.none(), st.integers(bounds[port], bounds[port] + 6)))
        bounds[port] = bounds[port] if bound is None else bound
        events.append((port, rows, bound))
    return spec, events


@settings(deadline=None)
@given(runs())
def test_nothing_leaves_that_was_ruled_out_and_everything_leaves_once(
    given: tuple[ManySpec, list[tuple[int, list[tuple[int, int]], int | None]]],
) -> None:
    spec, events = given
    if not spec.spans.possible:
        return
    operator = ManyJoin(spec)
    everything: list[list[tuple[int, int]]] = [[] for _ in range(spec.streams)]
    left: list[tuple[int, ...]] = []
    for port, rows, bound in events:
        promised = operator.promises()
        table = pa.table({"ts": [at for at, _ in rows], "k": [k for _, k in rows]}, schema=SCHEMA)
        everything[port] += rows
        tables = operator.take(port, table)
        if bound is not None:
            progress = Progress()
            progress.accept(Punctuation.linear("ts", bound))
            tables += operator.advance(port, progress)
        for row in (row for one in tables for row in one.to_pylist()):
            assert promised.rules_out(row) is None
            left.append(tuple(row.values()))
    keyed = bool(spec.keys)
    expected = [
        tuple(value for row in rows for value in row)
        for rows in product(*everything)
        if all(
            rows[j][0] - rows[i][0] <= (spec.spans.most[i][j] or 0)
            for i in range(spec.streams)
            for j in range(spec.streams)
        )
        and (not keyed or len({k for _, k in rows}) == 1)
    ]
    assert sorted(expected) == sorted(left)
    _keeps_what_is_needed(operator, everything)


def _keeps_what_is_needed(operator: ManyJoin, everything: list[list[tuple[int, int]]]) -> None:
    """Each row that a later row may be beside is kept; of others at most those of slices that are partly needed."""
    spec = operator.spec
    bounds = [one.bound("ts") for one in operator.progress]
    for stream in range(spec.streams):
        done = spec.spans.complete(stream, bounds)
        tables = [one.tables[name_of(stream)] for one in operator.store.segments if name_of(stream) in one.tables]
        kept = sorted(at for one in tables for at in one["ts"].to_pylist())
        needed = sorted(at for at, _ in everything[stream] if done == BOTTOM or at >= done)
        assert needed == [at for at in kept if done == BOTTOM or at >= done]
