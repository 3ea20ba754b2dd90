"""Metrics: what each operator and stream has done, and whether the books balance."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from millstream.core.domain import BOTTOM, END
from millstream.plan import nodes
from millstream.runtime.graph import Graph, Vertex


def operator_metrics(vertex: Vertex) -> dict[str, Any]:
    """One operator's meter, its state, and its name."""
    operator = vertex.operator
    operator.measure()
    return {
        "operator": type(vertex.node).__name__.lower(),
        **asdict(operator.meter),
        "state_rows": operator.store.rows,
        "state_bytes": operator.store.nbytes,
    }


def stream_metrics(vertex: Vertex, high: int | None) -> dict[str, Any]:
    """Where a stream stands: its bound on the progressing attribute, and how far that trails the newest row."""
    node, operator = vertex.node, vertex.operator
    assert isinstance(node, nodes.Source)
    attribute = node.progress.attribute if node.progress is not None else None
    out: dict[str, Any] = {
        "rows_in": operator.meter.rows_in,
        "late": operator.meter.late,
        "rejected": operator.meter.rejected,
        "attribute": attribute,
        "progress": None,
        "lag": None,
    }
    if attribute is not None:
        bound = operator.progress[0].bound(attribute)
        domain = node.domains[attribute]
        if bound > BOTTOM:
            out["progress"] = domain.show(bound)
        if high is not None and BOTTOM < bound < END:
            out["lag"] = max(0, high - bound)
    return out


def books(graph: Graph, root: nodes.Node) -> dict[str, int]:
    """The accounts of one query: every row in, and where it went.

    `rows_in` is the sum of the others; `accepted` rows are in results or in open windows.
    """
    account = {"rows_in": 0, "late": 0, "rejected": 0, "filtered": 0, "outside": 0, "guarded": 0}
    last_in = 0
    for node in nodes.walk(root):
        meter = graph.at(node).operator.meter
        if isinstance(node, nodes.Source):
            account["rows_in"] += meter.rows_in
        for name in ("late", "rejected", "filtered", "outside", "guarded"):
            account[name] += getattr(meter, name)
        if isinstance(node, nodes.Aggregate):
            break
    else:
        node = root
    meter = graph.at(node).operator.meter
    last_in = meter.rows_in - meter.rejected - meter.filtered - meter.outside - meter.guarded
    if isinstance(node, nodes.Source):
        last_in -= meter.late
    account["accepted"] = last_in
    return account
