"""Demanded results: what the operators would answer if every stream ended now, while they go on as they are."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from millstream.core.feedback import Records
from millstream.core.progress import Progress
from millstream.ops.feedback.peek import undone
from millstream.ops.guard import matched
from millstream.ops.turn import Turn
from millstream.plan import nodes
from millstream.runtime.local.graph import Graph
from millstream.runtime.outcome import Outcome


def demanded(graph: Graph, asked: Mapping[int, Records], roots: Mapping[int, nodes.Node]) -> dict[int, pa.Table]:
    """By identity of a query's node: results that match what is demanded of it, of the rows that have come so far."""
    out = _looked_ahead(graph)
    found: dict[int, pa.Table] = {}
    for key, records in asked.items():
        tables = [matched(records, table) for table in out.rows.get(key, [])]
        found[key] = pa.concat_tables([roots[key].schema.empty_table(), *tables])
    return found


def _looked_ahead(graph: Graph) -> Outcome:
    out = Outcome()
    vertices = list(graph.vertices.values())
    were = [(vertex, vertex.operator, vertex.choice, vertex.told) for vertex in vertices]
    operators = {id(one): one for vertex in vertices for one in (vertex.operator, vertex.first)}
    with undone(operators.values()):
        for vertex, _ in list(graph.ingests()):
            graph.advance(vertex, Progress(ended=True), out.deliver)
        graph.release(Turn(let="all"), out.deliver)
    for vertex, operator, choice, told in were:
        vertex.operator, vertex.choice, vertex.told = operator, choice, told
    return out
