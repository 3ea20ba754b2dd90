"""Progress reports of a durable host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from millstream.core.domain import BOTTOM
from millstream.plan import nodes
from millstream.runtime.reports.report import made, of_operator, of_stores, of_stream
from millstream.runtime.tasks.parcel import Report

if TYPE_CHECKING:
    from millstream.runtime.durable.host import DurableHost


def progress_report(host: DurableHost, rows: int, seconds: dict[str, float]) -> dict[str, Any]:
    """One step: rows, durations, streams, and each query's operators and books."""
    program, ledger = host.program, host.ledger
    key_of = {id(node): program.keys[i] for i, node in enumerate(program.nodes)}
    # An operator that many queries share is measured once.
    meters = {id(node): ledger.meter(key_of[id(node)]) for node in program.nodes}
    sizes = ledger.sizes()
    measured = {
        id(node): of_operator(node, meters[id(node)], *sizes.get(key_of[id(node)], (0, 0)), host.feedback.guards(node))
        for node in program.nodes
    }
    queries = {}
    held = list(host.accounts.of(target.node for target in program.targets))
    for target, books in zip(program.targets, held, strict=True):
        queries[target.name] = {
            "rows_out": ledger.rows_out.get(target.name, 0),
            "books": books.settle(
                lambda node: meters[id(node)],
                lambda node, name=target.name: ledger.before(name, key_of[id(node)]),
            ),
            "operators": [measured[id(node)] for node in books.nodes],
            "feedback": host.feedback.report(target.name),
        }
    streams = {n.name: _stream(host, n, key_of[id(n)]) for n in program.nodes if isinstance(n, nodes.Source)}
    everything = {target.name: books.nodes for target, books in zip(program.targets, held, strict=True)}
    shared = of_stores(everything, lambda node: measured[id(node)])
    return made(ledger.sequence, ledger.epoch, rows, seconds, streams, queries, shared)


def rows_by_stream(host: DurableHost, reports: Iterable[Report]) -> dict[str, int]:
    """How many rows came in each stream, by what the tasks of a step report."""
    entrances = {host.program.index[id(node)]: node.name for node in host.source_nodes()}
    found = dict.fromkeys(entrances.values(), 0)
    for report in reports:
        for i, meter in report.meters.items():
            if i in entrances:
                found[entrances[i]] += meter.get("rows_in", 0)
    return found


def _stream(host: DurableHost, node: nodes.Source, key: str) -> dict[str, Any]:
    mine = host.ledger.streams[node.name]
    attribute = None if node.progress is None else node.progress.attribute
    bound = BOTTOM if attribute is None else mine.known.bound(attribute)
    return of_stream(node, host.ledger.meter(key), bound, mine.generator.get("high", BOTTOM))
