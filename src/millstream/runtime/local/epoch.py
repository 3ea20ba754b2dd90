"""The epoch step: the whole data flow of one micro-batch, in order.

Rows first: each stream's rows enter, late and rejected ones are set apart, the rest flow through the graph.
Punctuation after: each stream's generator says what now holds, and the promise flows through the graph,
closing windows and purging state on its way. Then what was held back for later epochs leaves, as far as it may. What
left is delivered at the end, one table per query.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from millstream.core.generator import IdleDisorder, Timer
from millstream.core.progress import Progress
from millstream.ops.ingest import Ingest
from millstream.ops.turn import Let, Turn
from millstream.plan import nodes
from millstream.runtime.batch import Batch
from millstream.runtime.entrance import admit
from millstream.runtime.local.graph import Graph, Vertex
from millstream.runtime.outcome import Outcome
from millstream.runtime.punctuate import bind_punctuations


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
            bad = [(one.raw, one.reason) for one in batch.unreadable]
            rows, found = admit(node, ingest, batch.rows, bad, out)
            graph.push(vertex, rows, out.deliver)
            if batch.unread is not None:
                ingest.pass_over(batch.unread.rows, batch.unread.high)
            marked = [*found, *batch.punctuations]
        supplied[node.name] = (vertex, marked)
    for name, (vertex, given) in supplied.items():
        graph.advance(vertex, _learn(vertex, given, end=end if isinstance(end, bool) else name in end), out.deliver)
    graph.release(Turn(let=let), out.deliver)
    for vertex in graph.vertices.values():
        out.collect(vertex.node, vertex.operator)
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
