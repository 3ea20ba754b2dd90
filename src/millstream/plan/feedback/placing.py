"""Feedback over a whole plan: from what the readers of queries ignore to what each operator leaves out.

It is worked out on the driver, for all queries together and for a whole epoch, so that every operator acts on the same
feedback at the same time. A pass from the queries to the streams asks each node what it ignores of its inputs; a node
that several read leaves out only what all of them ignore. A pass back puts a guard at the lowest place where it is
safe, and none where the rows are missing already.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass, field
from functools import reduce

from millstream.core.feedback import Records, Response, common, compact, covered
from millstream.core.pattern import Pattern, UpTo
from millstream.plan import nodes
from millstream.plan.nodes import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Knobs:
    """What a node does with feedback, for experiments.

    One that does not exploit it lets everything through, and one that does not propagate it tells its inputs nothing.
    """

    exploit: bool = True
    propagate: bool = True


ALL = Knobs()
KnobsOf = Callable[[Node], Knobs]


Unsettled = dict[Pattern, str]
"""Records by which results lose rows, and the column that tells which results."""


@dataclass(slots=True)
class Guarded:
    """What one node leaves out."""

    inputs: dict[int, Records] = field(default_factory=dict[int, Records])
    """By port: rows that it drops where they come in."""
    output: Records = ()
    """Rows that it makes and does not let go."""
    ignored: dict[int, Records] = field(default_factory=dict[int, Records])
    """By port: all that it has no use for, whoever drops it; what it holds of that it can forget."""
    sweeps: Records = ()
    """Of those, the ones by which partial answers are doomed already."""
    unsettled: Unsettled = field(default_factory=dict[Pattern, str])
    """Those by which results lose rows."""


Placed = Mapping[int, Guarded]
"""By identity of a node."""


def place(
    roots: Mapping[str, Node],
    asked: Mapping[str, Records],
    lingering: Mapping[int, Records] | None = None,
    knobs: KnobsOf = lambda _: ALL,
    found: Mapping[int, Mapping[int, Records]] | None = None,
) -> dict[int, Guarded]:
    """Where guards are, for queries whose readers ignore some of their rows.

    `lingering` are records of nodes, by identity, that hold whoever reads them: see `lost`. `found` is what operators
    have found out that they ignore, by identity of a node and by port.
    """
    if not any(asked.values()) and not lingering and not found:
        return {}
    every = list({id(node): node for root in roots.values() for node in nodes.walk(root)}.values())
    wanted = _relayed(every, roots, asked, lingering or {}, knobs, found or {})
    clean: dict[int, Records] = {}
    out: dict[int, Guarded] = {}
    for node in every:
        ignored = wanted[id(node)]
        if ignored and knobs(node).exploit:
            out[id(node)] = _guarded(node, ignored, clean)
            clean[id(node)] = compact(ignored)
    return out


def _relayed(
    every: list[Node],
    roots: Mapping[str, Node],
    asked: Mapping[str, Records],
    lingering: Mapping[int, Records],
    knobs: KnobsOf,
    found: Mapping[int, Mapping[int, Records]],
) -> dict[int, dict[Pattern, Response]]:
    """By node: what all who read it ignore, and what it does with that."""
    heard: dict[int, list[Records]] = {id(node): [] for node in every}
    for name, root in roots.items():
        heard[id(root)].append(asked.get(name, ()))
    out: dict[int, dict[Pattern, Response]] = {}
    for node in reversed(every):
        told = heard[id(node)]
        all_ignore = reduce(common, told) if told and all(told) else ()
        records = compact([*lingering.get(id(node), ()), *all_ignore])
        knob = knobs(node)
        out[id(node)] = {one: node.responds(one) for one in records}
        # Without a guard of its own, a node that makes results of several rows would make wrong ones of some of them.
        speaks = knob.propagate and (knob.exploit or not any(one.settles for one in out[id(node)].values()))
        for port, below in enumerate(node.reads()):
            ignored = [one.inputs[port] for one in out[id(node)].values() if port in one.inputs] if speaks else []
            own = found.get(id(node), {}).get(port, ()) if knob.propagate else ()
            heard[id(below)].append(compact([*ignored, *own]))
    return out


def first(
    roots: Mapping[str, Node], asked: Mapping[str, Records], found: Mapping[int, Mapping[int, Records]]
) -> dict[int, Records]:
    """By identity of a node: which of its rows readers want first. What one of them wants is enough.

    `found` is what operators want first of their inputs, by identity of a node and by port.
    """
    every = list({id(node): node for root in roots.values() for node in nodes.walk(root)}.values())
    out: dict[int, Records] = {}
    for name, root in roots.items():
        out[id(root)] = compact([*out.get(id(root), ()), *asked.get(name, ())])
    for node in reversed(every):
        wishes = [wish for record in out.get(id(node), ()) for wish in node.responds(record).inputs.items()]
        own = [(port, one) for port, records in found.get(id(node), {}).items() for one in records]
        for port, wish in (*wishes, *own):
            below = node.reads()[port]
            out[id(below)] = compact([*out.get(id(below), ()), wish])
    return {key: records for key, records in out.items() if records}


def _guarded(node: Node, found: Mapping[Pattern, Response], clean: Mapping[int, Records]) -> Guarded:
    guarded = Guarded()
    out: list[Pattern] = []
    below = node.reads()
    for record, response in found.items():
        for port, ignored in response.inputs.items():
            if node.reads_outlet() is not None:
                continue  # rows that are ignored stop at the store; what comes from it are results already
            guarded.ignored[port] = (*guarded.ignored.get(port, ()), ignored)
            if not covered(ignored, clean.get(id(below[port]), ())):
                guarded.inputs[port] = (*guarded.inputs.get(port, ()), ignored)
        if not (response.inputs and response.whole):
            out.append(record)
        if response.inputs and response.settles is not None:
            guarded.unsettled[record] = response.settles
    guarded.inputs = {port: compact(records) for port, records in guarded.inputs.items()}
    guarded.output = compact(out)
    guarded.sweeps = tuple(one for one in out if node.dooms(one))
    return guarded


def lost(
    was: Mapping[str, Unsettled], now: Placed, at: Mapping[str, Node], high: Callable[[nodes.Source], int]
) -> dict[str, Records]:
    """What must linger, by the name of a node, where feedback that was in force no longer is.

    Results that are made of several rows may have lost some of them. Those that can have are the ones below the
    greatest value that has come: they are ignored until punctuation has passed them, and all later ones are whole.
    """
    out: dict[str, Records] = {}
    for name, records in was.items():
        node = at.get(name)
        if node is None:
            continue
        still = now[id(node)].unsettled if id(node) in now else {}
        found = [
            _before(node, record, column, high) for record, column in records.items() if not covered(record, still)
        ]
        if records := compact(one for one in found if one is not None):
            out[name] = records
    return out


def lost_to_newcomers(
    short: Container[str], known: Container[str], at: Mapping[str, Node], high: Callable[[nodes.Source], int]
) -> dict[str, Records]:
    """What must linger at readers that are new to a store which has left out rows for those who were there before.

    `known` are the readers that were there, and `short` those whose results have lost rows, or are losing them.
    """
    readers = {name: node for name, node in at.items() if isinstance(node, nodes.Answers)}
    stores = {id(node.input) for name, node in readers.items() if name in short}
    new = {name: node for name, node in readers.items() if name not in known and id(node.input) in stores}
    found = {name: _before(node, Pattern(), "window_start", high) for name, node in new.items()}
    return {name: (record,) for name, record in found.items() if record is not None}


def _before(node: Node, record: Pattern, column: str, high: Callable[[nodes.Source], int]) -> Pattern | None:
    """Of what a record matches, what can have lost rows."""
    ahead = node.ahead(column, high)
    return None if ahead is None else record.meet(Pattern({column: UpTo(ahead)}))
