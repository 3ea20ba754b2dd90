"""Progress reports of the Spark host, in the shape of Spark's own."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from millstream.core.domain import BOTTOM, END
from millstream.plan import nodes
from millstream.runtime.metrics import books

if TYPE_CHECKING:
    from millstream.spark.host import SparkHost


def progress_report(host: SparkHost, rows: int, seconds: dict[str, float]) -> dict[str, Any]:
    """One step: rows, durations, streams, and each query's operators and books."""
    program, ledger = host.program, host.ledger
    key_of = {id(node): program.keys[i] for i, node in enumerate(program.nodes)}
    queries = {}
    for target in program.targets:
        operators = []
        for node in nodes.walk(target.node):
            state_rows, state_bytes = ledger.state_of(key_of[id(node)])
            operators.append(
                {
                    "operator": type(node).__name__.lower(),
                    **asdict(ledger.meter(key_of[id(node)])),
                    "state_rows": state_rows,
                    "state_bytes": state_bytes,
                }
            )
        queries[target.name] = {
            "rows_out": ledger.rows_out.get(target.name, 0),
            "books": books(
                lambda node: ledger.meter(key_of[id(node)]),
                target.node,
                lambda node, name=target.name: ledger.before(name, key_of[id(node)]),
            ),
            "operators": operators,
        }
    return {
        "epoch": ledger.sequence,
        "batchId": ledger.epoch,
        "numInputRows": rows,
        "durationMs": {name: round(1000 * took, 3) for name, took in seconds.items()},
        "sources": {n.name: _stream(host, n, key_of[id(n)]) for n in program.nodes if isinstance(n, nodes.Source)},
        "queries": queries,
    }


def _stream(host: SparkHost, node: nodes.Source, key: str) -> dict[str, Any]:
    meter, mine = host.ledger.meter(key), host.ledger.streams[node.name]
    attribute = node.progress.attribute if node.progress is not None else None
    out: dict[str, Any] = {
        "rows_in": meter.rows_in,
        "late": meter.late,
        "rejected": meter.rejected,
        "attribute": attribute,
        "progress": None,
        "lag": None,
    }
    if attribute is not None:
        bound = mine.known.bound(attribute)
        high = mine.generator.get("high", BOTTOM)
        if bound > BOTTOM:
            out["progress"] = node.domains[attribute].show(bound)
        if BOTTOM < bound < END and high > BOTTOM:
            out["lag"] = max(0, high - bound)
    return out
