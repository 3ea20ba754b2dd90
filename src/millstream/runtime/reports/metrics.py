"""Metrics: what each operator and stream has done, and whether the books balance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.ops.operator import Meter
from millstream.plan import nodes
from millstream.runtime.local.graph import Vertex
from millstream.runtime.reports.report import of_operator

Since = Callable[[nodes.Node], Meter | None]
"""What a node had done before a query came; None if nothing."""
_LOST = ("late", "rejected", "filtered", "outside", "guarded")
"""Where a row can go besides results."""


def operator_metrics(vertex: Vertex) -> dict[str, Any]:
    """One operator's meter, its state, and its name."""
    operator = vertex.operator
    operator.measure()
    for outlet, number in operator.open_by_outlet.items():
        for reader in vertex.outlets.get(outlet, ()):
            reader.operator.meter.open_windows = number
    return of_operator(vertex.node, operator.meter, operator.store.rows, operator.store.nbytes)


def books(meter_of: Callable[[nodes.Node], Meter], root: nodes.Node, since: Since | None = None) -> dict[str, int]:
    """The accounts of one query: every row in, and where it went.

    Each figure is counted where it happens. `accepted` rows are in results or in state; `unaccounted` is what `rows_in`
    has more than all the others together, and is 0 unless a row was lost or counted twice. The books are those of the
    streams up to the first operator above each that makes other rows of those that come. A stream that the query reads
    in several places is counted in each of them. What is rejected above them is no row that came in but a result, or a
    pair: `results_rejected` counts those apart, so that nothing fails unseen. `since` are the meters when the query
    came, where it came later.
    """
    account: dict[str, int] = dict.fromkeys(("rows_in", *_LOST, "accepted"), 0)
    failed = 0
    beyond: set[int] = set()
    readers: dict[int, int] = {}
    every = list(nodes.walk(root))
    for node in every:
        for below in nodes.inputs(node):
            readers[id(below)] = readers.get(id(below), 0) + 1
    meters = {id(node): (meter_of(node), None if since is None else since(node)) for node in every}

    def of(node: nodes.Node, name: str) -> int:
        meter, before = meters[id(node)]
        return getattr(meter, name) - (0 if before is None else getattr(before, name))

    for node in every:
        inside = [one for one in nodes.inputs(node) if id(one) not in beyond]
        if len(inside) < len(nodes.inputs(node)):
            # Some of its rows are no longer those that came; for the others the books end where it is handed them.
            account["accepted"] += sum(of(one, "rows_out") for one in inside)
            failed += of(node, "rejected") + of(node, "failed")
            beyond.add(id(node))
            continue
        account["accepted"] += of(node, "accepted")
        failed += of(node, "failed")
        if node.makes_rows:
            beyond.add(id(node))
        elif node is root:
            account["accepted"] += of(node, "rows_out")
        if node is not root and id(node) not in beyond:
            account["rows_in"] += of(node, "rows_out") * (readers[id(node)] - 1)
        if isinstance(node, nodes.Source):
            account["rows_in"] += of(node, "rows_in")
        for name in _LOST:
            account[name] += of(node, name)
    lost = sum(account[name] for name in (*_LOST, "accepted"))
    return {**account, "unaccounted": account["rows_in"] - lost, "results_rejected": failed}
