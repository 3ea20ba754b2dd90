"""Draining: a query of a checkpoint gives all that it holds, and is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.core.progress import Progress
from millstream.runtime.durable.arrange import arrange, plain_program
from millstream.runtime.tasks.program import Program
from millstream.runtime.tasks.staging import leaving

if TYPE_CHECKING:
    from millstream.runtime.durable.host import DurableHost


def drain_query(host: DurableHost, name: str) -> None:
    """A step in which only one query's operators learn, of the end; the others stay as they are."""
    whole, ledger = host.program, host.ledger
    target = next(one for one in whole.targets if one.name == name)
    kept = {key for query, keys in ledger.operators.items() if query != name for key in keys}
    mine = set(ledger.operators[name]) - kept
    alone = Program([target], host.partitions)
    alone.keys = [whole.keys[whole.index[id(node)]] for node in alone.nodes]
    others = [segment for segment in ledger.segments if segment.operator not in mine]
    facts = {key: found for key, found in ledger.facts.items() if key not in mine}
    known = {source: (one.known, one.advanced) for source, one in host.stream_ledgers().items()}
    host.program = alone
    try:
        order = host.order({source.name: Progress(ended=True) for source in host.source_nodes()}, "all")
        reports = host.jobs.learn(alone, order, f"drain {name}") if alone.depth else []
        host.take_in(order, reports)
    finally:
        host.program = whole
    for source, (was, told) in known.items():  # the streams have not ended for the others
        ledger.streams[source].known, ledger.streams[source].advanced = was, told
    ledger.segments, ledger.facts = others, facts
    del ledger.operators[name]
    query = host.queries.pop(name)
    plan = host.plan({one.name: one.node for one in host.queries.values()}, None)
    arrange(host, plan, plain_program(host, plan))
    ledger.forget(host.program)
    host.queries[name] = query  # its last results are still to be delivered
    host.commit(leaving(reports), ledger.epoch)
    del host.queries[name]
