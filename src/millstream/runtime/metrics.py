"""Metrics: what each operator and stream has done, and whether the books balance."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from millstream.core.domain import BOTTOM, END
from millstream.ops.operator import Meter
from millstream.plan import nodes
from millstream.runtime.graph import Vertex

_LOST = ("late", "rejected", "filtered", "outside", "guarded")
"""Where a row can go besides results."""


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


def books(meter_of: Callable[[nodes.Node], Meter], root: nodes.Node) -> dict[str, int]:
    """The accounts of one query: every row in, and where it went.

    `rows_in` is the sum of the others; `accepted` rows are in results or in state. The books are those of the streams
    up to the first aggregate, join or table above each: what leaves these is no longer the rows that came.
    """
    account: dict[str, int] = dict.fromkeys(("rows_in", *_LOST), 0)
    others: set[int] = set()
    for node in nodes.walk(root):
        changed = any(id(one) in others for one in nodes.inputs(node))
        if changed or isinstance(node, nodes.Aggregate | nodes.Join | nodes.AsOf | nodes.Enrich):
            others.add(id(node))
        if changed:
            continue
        meter = meter_of(node)
        if isinstance(node, nodes.Source):
            account["rows_in"] += meter.rows_in
        for name in _LOST:
            account[name] += getattr(meter, name)
    account["accepted"] = account["rows_in"] - sum(account[name] for name in _LOST)
    return account
