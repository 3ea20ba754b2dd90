"""Arranging a durable host: its queries become a program, in which aggregates of the same rows share stores."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from millstream.core.domain import BOTTOM
from millstream.core.generator import high_of
from millstream.core.progress import Progress
from millstream.ops.panes.store import HIGH
from millstream.plan import nodes
from millstream.plan.lease import LEASING, Lease, streams_behind
from millstream.plan.plan import Plan
from millstream.plan.rewrite.share_panes import Shared
from millstream.plan.rewrite.share_state import share_state
from millstream.runtime.durable.heeding import heed
from millstream.runtime.durable.lay_out import lay_out
from millstream.runtime.durable.ledger import Ledger, name_nodes
from millstream.runtime.durable.outlets import for_workers
from millstream.runtime.durable.stops import Stops
from millstream.runtime.leases import Standing, holdings, settle_leases
from millstream.runtime.outputs.folders import claim_folders
from millstream.runtime.sharing.join_leases import (
    JoinStanding,
    completes,
    conditions_below,
    join_holdings,
    join_stores,
    settle_joins,
)
from millstream.runtime.tasks.program import Program, Target
from millstream.runtime.tasks.route import spread

if TYPE_CHECKING:
    from millstream.runtime.changes import Change
    from millstream.runtime.durable.host import DurableHost
    from millstream.runtime.query import HostQuery


def plain_program(host: DurableHost, plan: Plan) -> Program:
    """The queries as each would be computed by itself."""
    read = {source.name for query in host.queries.values() for source in nodes.sources(query.node)}
    targets = [Target(q.name, plan[q.name], for_workers(q, read), q.finals) for q in host.queries.values()]
    return Program(targets, host.partitions)


def arrange(host: DurableHost, plan: Plan, plain: Program) -> None:
    """Have the host run the queries of a plan. The ledger knows who reads what of which store from now on."""
    ledger = host.ledger
    before = {key for keys in ledger.operators.values() for key in keys}
    operators = name_nodes(plain, ledger.operators)
    key_of = {id(node): key for node, key in zip(plain.nodes, plain.keys, strict=True)}
    known = {id(n): ledger.leases[key_of[id(n)]] for n in plain.nodes if key_of[id(n)] in ledger.leases}
    held, joined = holdings(ledger.kept), join_holdings(ledger.joins)
    # A join that was never to be shared goes on so.
    apart = {id(n) for n in plain.nodes if isinstance(n, nodes.Join) and key_of[id(n)] in before} - known.keys()
    fresh = ledger.sequence < 0
    shared = share_state(plan, known, held=held, joins=joined, apart=apart, fresh=fresh, sharing=host.sharing)
    program = _program(plain, shared, key_of)
    of_joins, joins = settle_joins(shared, known, _join_standing(ledger, program), distributed=plan.distributed)
    leases, kept = settle_leases(
        shared, known, _standing(ledger, program, lambda panes: completes(panes, shared, of_joins))
    )
    leases |= of_joins
    if leases != shared.leases:
        shared = share_state(plan, leases, held=held, joins=joined, apart=apart, fresh=fresh, sharing=host.sharing)
        program = _program(plain, shared, key_of)
    _take_over(ledger, plain, shared, key_of, host.partitions)
    ledger.kept, ledger.joins = kept, joins
    ledger.leases = {key_of[node]: lease for node, lease in shared.leases.items()}
    run = {t.name: [program.keys[program.index[id(n)]] for n in nodes.walk(t.node)] for t in program.targets}
    ledger.welcome(operators, run)
    host.program = program
    heed(host)


def change_queries(host: DurableHost, kept: Mapping[str, HostQuery], change: Change) -> None:
    """Run other queries, between two epochs of an open checkpoint. What is refused changes nothing."""
    known = {name for query in kept.values() for name in (source.name for source in nodes.sources(query.node))}
    host.check_sources({name: source for name, source in change.sources.items() if name not in known})
    before = host.queries, host.program, replace(host.ledger, since=dict(host.ledger.since))
    try:
        host.queries = dict(kept)
        for name in change.remove:
            host.ledger.operators = {one: keys for one, keys in host.ledger.operators.items() if one != name}
        host.add(change.add, change.sources)
        plan = host.plan({query.name: query.node for query in host.queries.values()}, None)
        claim_folders(host.queries.values(), host.sources, host.id)
        arrange(host, plan, plain_program(host, plan))
    except BaseException:
        host.queries, host.program, host.ledger = before
        raise
    host.ledger.forget(host.program)
    lay_out(host, host.partitions)
    host.ledger.sequence += 1
    host.commit([], host.ledger.epoch)


def _program(plain: Program, shared: Shared, key_of: Mapping[int, str]) -> Program:
    """The program that runs, with the names under which its nodes keep state."""
    targets = [Target(t.name, shared.plan[t.name], t.sinks, t.finals, t.node) for t in plain.targets]
    program = Program(targets, plain.partitions)
    program.keys = [""] * len(program.nodes)
    for i, node in enumerate(program.nodes):
        if isinstance(node, nodes.Panes | nodes.SharedJoin):
            program.keys[i] = node.name
            for below, one in enumerate(_own(node, shared)):
                program.keys[program.index[id(one)]] = f"{node.name}-{below}"
        elif (origin := shared.origin.get(id(node))) is not None:
            program.keys[i] = key_of[id(origin)]
    return program


def _own(store: nodes.Node, shared: Shared) -> list[nodes.Node]:
    """The nodes that were made for a store, between it and the rows that it is of."""
    out: list[nodes.Node] = []
    for node in store.reads():
        while id(node) not in shared.origin:
            out.append(node)
            (node,) = node.reads()
    return out


def _take_over(ledger: Ledger, plain: Program, shared: Shared, key_of: Mapping[int, str], partitions: int) -> None:
    """Have stores go on from joins that kept their rows by themselves: nothing is written but whose rows they are."""
    for store in join_stores(shared.plan):
        facts = ledger.joins[store.name].lone if store.name in ledger.joins else {}
        if not facts:
            continue
        alone = next(key for key, lease in ledger.leases.items() if lease.store == store.name)
        ledger.segments = [
            replace(one, operator=store.name) if one.operator == alone else one for one in ledger.segments
        ]
        ledger.facts = {key: one for key, one in ledger.facts.items() if key != alone}
        # What conditions below it had stopped is in the books of its readers still.
        for node in (one for one in plain.nodes if isinstance(one, nodes.Join) and key_of[id(one)] == alone):
            stopped = [ledger.meters.get(key_of[id(one)], {}).get("filtered", 0) for one in conditions_below(node)]
            mine = ledger.meters.get(alone, {})
            ledger.meters = {**ledger.meters, alone: {**mine, "filtered": mine.get("filtered", 0) + sum(stopped)}}
        ledger.facts[store.name] = {at: {0: dict(facts)} for at in range(partitions if spread(store) else 1)}


def _join_standing(ledger: Ledger, program: Program) -> JoinStanding:
    """Where the streams of joins stand, as a ledger has it."""

    def came(rows: nodes.Node, attribute: str) -> int | None:
        streams = streams_behind(rows, attribute)
        if streams is None:
            return None
        found = (high_of(ledger.streams[one.name].generator) for one in streams if one.name in ledger.streams)
        return max((high + 1 for high in found if high > BOTTOM), default=BOTTOM)

    def progress(store: nodes.TwoSided) -> list[Progress]:
        known = {source.name for source in nodes.sources(store)} <= ledger.streams.keys()
        return Stops(program, ledger).before[program.index[id(store)]] if known else [Progress(), Progress()]

    short = bool(ledger.feedback.get("heeded"))
    return JoinStanding(fresh=ledger.sequence < 0, kept=ledger.joins, high=came, progress=progress, short=short)


def _standing(ledger: Ledger, program: Program, begun: Callable[[nodes.Panes], list[int]]) -> Standing:
    """Where the streams stand, as a ledger has it; joins that a store's rows are from may have `begun` later."""

    def high(panes: nodes.Panes) -> int | None:
        parts = ledger.facts.get(panes.name, {}).values()
        found = [facts[HIGH] for stores in parts for facts in stores.values() if HIGH in facts]
        found += begun(panes)
        for source in streams_behind(panes, panes.attribute) or ():
            seen = high_of(ledger.streams[source.name].generator) if source.name in ledger.streams else BOTTOM
            found += [seen + 1] if seen > BOTTOM else []
        return max(found, default=None)

    def progress(panes: nodes.Panes) -> Progress:
        streams = {source.name for source in nodes.sources(panes)}
        if not streams <= ledger.streams.keys():
            return Progress()
        return Stops(program, ledger).before[program.index[id(panes)]][0]

    return Standing(fresh=ledger.sequence < 0, kept=ledger.kept, high=high, progress=progress)


def lease_of(host: DurableHost, name: str) -> list[tuple[nodes.Node, Lease]]:
    """The aggregates and joins of a query that read stores, and their leases."""
    target = next(one for one in host.program.targets if one.name == name)
    keys = dict(zip(map(id, nodes.walk(target.alone)), host.ledger.operators[name], strict=True))
    return [
        (node, host.ledger.leases[keys[id(node)]])
        for node in nodes.walk(target.alone)
        if isinstance(node, LEASING) and keys[id(node)] in host.ledger.leases
    ]
