"""Feedback on a durable host: what is in force is in the manifest, and tasks are told what to leave out."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING, Any

from millstream.core.domain import BOTTOM
from millstream.core.feedback import Records, common, compact
from millstream.core.generator import high_of
from millstream.core.progress import Progress
from millstream.ops.guard import Guards
from millstream.plan import nodes
from millstream.runtime.durable.stops import Stops
from millstream.runtime.feedback import Scene
from millstream.runtime.plain_progress import records_from
from millstream.runtime.sources.file_source import FileSource
from millstream.runtime.sources.skipping import Skips
from millstream.runtime.tasks.doomed import DOOMED
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.staging import leaving
from millstream.runtime.tasks.task import DESIRES, IGNORES

if TYPE_CHECKING:
    from millstream.runtime.durable.host import DurableHost


def heed(host: DurableHost) -> None:
    """Take in what readers have said, and work out what operators leave out from the next step on."""
    loop, names = host.feedback, {target.name for target in host.program.targets}
    said, host.said = host.said, []
    for change in said:
        loop.heed(change, names, host.ledger.epoch + 1)
    if loop or loop.guarded:
        loop.settle(_scene(host))
    host.ledger.feedback = loop.to_plain()


def guards_in_force(host: DurableHost) -> tuple[dict[int, Guards], set[int]]:
    """What the next step leaves out, by node; and at which nodes for the first time, so that they can forget it.

    What has done its work goes first.
    """
    if not let_go(host):
        host.guarded = {}
        return {}, set()
    loop = host.feedback
    found = ((i, loop.guards(node)) for i, node in enumerate(host.program.nodes))
    guards = {i: one for i, one in found if one is not None}
    keys = host.program.keys
    fresh = {i for i, one in guards.items() if host.guarded.get(keys[i]) != one}
    host.guarded = {keys[i]: one for i, one in guards.items()}
    return guards, fresh


def skip(host: DurableHost) -> None:
    """Have files that the driver reads tell what need not be read of them, in the step that comes."""
    heeded = let_go(host)
    for node in host.source_nodes():
        source = host.held_sources().get(node.name)
        if isinstance(source, FileSource):
            known = host.stream_ledgers()[node.name].known
            source.skips = Skips.of(node, host.feedback.guards(node), known) if heeded else None


def let_go(host: DurableHost) -> bool:
    """Let feedback go that has done its work, and take what operators have found out; is any left?

    To ask again before the next step changes nothing.
    """
    loop = host.feedback
    news = loop.hear(_found(host, IGNORES, common), _found(host, DESIRES, _either), _doomed(host))
    if not loop:
        return False
    if loop.expire(_scene(host), host.ledger.epoch + 1) or news:
        heed(host)
    return True


def demanded(host: DurableHost, order: Order) -> list[dict[str, Any]]:
    """What is to be delivered of demanded results, after a step: what operators would answer if all streams ended now.

    They look at the state that the step has left, and save none.
    """
    asked = host.feedback.demands() if host.feedback.sent else {}
    if not asked:
        return []
    stops, ended = Stops(host.program, host.ledger), Progress(ended=True)
    now, _ = stops.now(dict.fromkeys(host.stream_ledgers(), ended), "all")
    look = replace(order, before=stops.before, now=now, let="all", fresh=frozenset(), demanded=asked)
    look.attempt = uuid.uuid4().hex[:8]
    host.give_state(look)
    return leaving(host.jobs.learn(host.program, look, "demanded"))


def _found(host: DurableHost, fact: str, both: Callable[[Records, Records], Records]) -> dict[str, dict[int, Records]]:
    """By node key and port: what operators have found out, in all their partitions: `both` puts two together."""
    out: dict[str, dict[int, Records]] = {}
    for key, partitions in host.ledger.facts.items():
        said = [stores[0][fact] for stores in partitions.values() if fact in stores.get(0, {})]
        parts = [{int(port): records_from(plain) for port, plain in one.items()} for one in said]
        ports = sorted({port for one in parts for port in one})
        found = {port: reduce(both, [one.get(port, ()) for one in parts]) for port in ports}
        out |= {key: found} if any(found.values()) else {}
    return out


def _doomed(host: DurableHost) -> dict[str, Records]:
    """By node key: partial results that are doomed, of all partitions."""
    out: dict[str, Records] = {}
    for partitions in host.ledger.facts.values():
        for stores in partitions.values():
            for key, plain in stores.get(0, {}).get(DOOMED, {}).items():
                out[key] = compact([*out.get(key, ()), *records_from(plain)])
    return out


def _either(one: Records, other: Records) -> Records:
    return compact([*one, *other])


def _scene(host: DurableHost) -> Scene:
    program, ledger = host.program, host.ledger
    known = {node.name for node in program.nodes if isinstance(node, nodes.Source)} <= ledger.streams.keys()
    leaving = Stops(program, ledger).leaving if known else []

    def high(source: nodes.Source) -> int:
        return high_of(ledger.streams[source.name].generator) if source.name in ledger.streams else BOTTOM

    return Scene(
        roots={target.name: target.node for target in program.targets},
        name=lambda node: program.keys[program.index[id(node)]],
        promised=lambda node: leaving[program.index[id(node)]] if leaving else Progress(),
        high=high,
    )
