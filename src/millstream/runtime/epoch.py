"""The epoch step: the whole data flow of one micro-batch, in order.

Rows first: each stream's rows enter, late and rejected ones are set apart, the rest flow through the graph.
Punctuation after: each stream's generator says what now holds, and the promise flows through the graph,
closing windows and purging state on its way. Then what was held back for later epochs leaves, as far as it may. What
left is delivered at the end, a table a query.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from millstream.core.generator import IdleDisorder, Timer
from millstream.core.progress import Progress
from millstream.ops.ingest import Ingest, Late
from millstream.ops.operator import Rejected
from millstream.ops.turn import Let, Turn
from millstream.plan import nodes
from millstream.runtime.batch import Batch
from millstream.runtime.graph import Graph, Vertex
from millstream.runtime.punctuate import bind_punctuations, split_marked


@dataclass(slots=True)
class Outcome:
    """What left in an epoch, by node."""

    rows: dict[int, list[pa.Table]] = field(default_factory=dict[int, list[pa.Table]])
    late: dict[int, list[Late]] = field(default_factory=dict[int, list[Late]])
    rejected: dict[int, list[Rejected]] = field(default_factory=dict[int, list[Rejected]])
    unreadable: dict[int, list[tuple[str, str]]] = field(default_factory=dict[int, list[tuple[str, str]]])

    def deliver(self, node: nodes.Node, table: pa.Table) -> None:
        """Keep what leaves a node."""
        self.rows.setdefault(id(node), []).append(table)


def step(
    graph: Graph, batches: Mapping[str, Batch], *, end: bool | Collection[str] = False, let: Let = "share"
) -> Outcome:
    """Run one epoch: `batches` by stream; with `end`, the final punctuation follows, for all streams or those named.

    `let` says how much of what operators hold back may leave.
    """
    out = Outcome()
    supplied: dict[str, tuple[Vertex, Sequence[object]]] = {}
    for vertex, ingest in graph.ingests():
        node = vertex.node
        assert isinstance(node, nodes.Source)
        batch = batches.get(node.name)
        marked: Sequence[object] = ()
        if batch is not None:
            if batch.unreadable:
                out.unreadable[id(node)] = [(bad.raw, bad.reason) for bad in batch.unreadable]
                ingest.meter.rows_in += len(batch.unreadable)
                ingest.meter.rejected += len(batch.unreadable)
            rows, marked, bad = split_marked(batch.rows, node, ingest.progress[0])
            if bad:
                out.rejected.setdefault(id(node), []).extend(bad)
                ingest.meter.rows_in += sum(one.rows.num_rows for one in bad)
                ingest.meter.rejected += sum(one.rows.num_rows for one in bad)
            graph.push(vertex, rows, out.deliver)
            marked = [*marked, *batch.punctuations]
        supplied[node.name] = (vertex, marked)
    for name, (vertex, given) in supplied.items():
        graph.advance(vertex, _learn(vertex, given, end=end if isinstance(end, bool) else name in end), out.deliver)
    graph.release(Turn(let=let), out.deliver)
    for vertex in graph.vertices.values():
        _collect(vertex, out)
    return out


def _learn(vertex: Vertex, given: Sequence[object], *, end: bool) -> Progress:
    node, ingest = vertex.node, vertex.operator
    assert isinstance(node, nodes.Source)
    assert isinstance(ingest, Ingest)
    if end:
        return Progress(ended=True)
    promises = bind_punctuations(given, node, ingest.progress[0])
    return ingest.learn(promises, now_of(node))


def now_of(node: nodes.Source) -> int | None:
    """What the clock of a timed stream says, in ticks; None where progress does not depend on it."""
    generator = node.progress
    inner = getattr(generator, "inner", generator)
    return inner.clock() if isinstance(inner, Timer | IdleDisorder) else None


def _collect(vertex: Vertex, out: Outcome) -> None:
    """Take what an operator set apart."""
    operator = vertex.operator
    if operator.rejected:
        out.rejected.setdefault(id(vertex.node), []).extend(operator.rejected)
        operator.rejected.clear()
    late = getattr(operator, "late", None)
    if late:
        out.late.setdefault(id(vertex.node), []).extend(late)
        late.clear()
