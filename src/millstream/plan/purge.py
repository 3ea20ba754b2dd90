"""How long each operator remembers: lags flow with the promises, and an operator adds its own range to them."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

from millstream.core.contract.scheme import Scheme
from millstream.core.contract.template import Template
from millstream.core.window import WHOLE, Landmark, Rows, Session, SlideByTuple, Sliding
from millstream.plan import nodes
from millstream.plan.forms import form_of, is_holistic
from millstream.plan.horizon import Horizon, Lag, Part
from millstream.plan.promise import Promises, promises_of, until_over
from millstream.plan.trace import domain_at

_SKEW = Part("skew of the inputs")
_SESSION = Part("length of a session")
# A row of a slide-by-tuple window makes two bins and one end, and a group has an anchor.
_BINS = 4


def outgoing(node: nodes.Node, incoming: Sequence[Promises], out: Scheme, *, ends: bool) -> Promises:
    """The lag of each template that leaves a node."""
    match node:
        case nodes.Source():
            return promises_of(node, ends=ends)
        case nodes.Select() | nodes.Distinct():
            return incoming[0]
        case nodes.Project() | nodes.Enrich():
            form = form_of(node, ends=ends)
            pairs = ((form.offers([Scheme.of(one)])[0].out, lag) for one, lag in incoming[0].items())
            found = {template: lag for scheme, lag in pairs for template in scheme}
            # The least of several progresses when all have: it is as late as the latest.
            together = _longest(list(incoming[0].values()))
            return {one: found.get(one, together) for one in out}
        case nodes.Union():
            return {one: (*_longest([_implied(one, promises) for promises in incoming]), _SKEW) for one in out}
        case nodes.Join() | nodes.AsOf():
            every = [lag for promises in incoming for lag in promises.values()]
            return {one: (*_near(node), *_longest(every), _SKEW) for one in out}
        case _:  # answers leave when the bound passes them, so that the bound is ahead of what has left
            return {one: _held_back(node, one.up_to[0]) if one.up_to else (until_over(one),) for one in out}


def horizon(node: nodes.Node, incoming: Sequence[Promises]) -> Horizon:
    """How far back the operator of a node remembers, by the simplest promise that it can use."""
    form = form_of(node, ends=False)
    if isinstance(node, nodes.Aggregate) and isinstance(first := node.windows[0], Rows):
        return Horizon(parts=(Part("range", rows=first.size),), entries=1)
    used = [one for port, some in enumerate(incoming) for one in form.uses(Scheme(frozenset(some)), port)]
    timed = [one for one in used if one.up_to] or [one for one in used if not one.ends]
    if not timed:
        return Horizon(parts=(Part("the end of the stream"),))
    best = timed[0]
    if not best.up_to:
        return Horizon(parts=(until_over(best),))
    if isinstance(node, nodes.Join | nodes.AsOf):
        lags = [some[one] for port, some in enumerate(incoming) for one in form.uses(Scheme(frozenset(some)), port)]
        domain = node.domain or domain_at(node.inputs[0], best.up_to[0])
        return Horizon.over(best.up_to[0], (*_near(node), *_longest(lags), _SKEW), domain)
    attribute, (below, *_) = best.up_to[0], nodes.inputs(node)
    own, entries = _own(node)
    return Horizon.over(attribute, (*own, *incoming[0][best]), domain_at(below, attribute), entries=entries)


def _own(node: nodes.Node) -> tuple[Lag, int]:
    """What an operator adds to the lag of its input, and how many entries a row makes."""
    if not isinstance(node, nodes.Aggregate):
        return (), 1
    first, domain = node.windows[0], node.domain
    match first:
        case Sliding():
            windows = [one for one in node.windows if isinstance(one, Sliding)]
            # A row is in one result of each of its windows, which may be held back.
            results = 0 if node.flush is None else sum(ceil(one.size / one.slide) for one in windows)
            lag = (Part.of("range", max(one.size for one in windows), domain), *_held_back(node, node.attribute))
            return lag, _entries(node, windows) + results
        case SlideByTuple():
            return (Part.of("range", first.size, domain),), _BINS
        case Session():
            gap = Part.of("gap", first.gap, domain)
            # Partials of every value are as long as the session, which goes on while rows come.
            holistic = any(is_holistic(one.call) for one in node.aggregates)
            return (gap, _SESSION) if holistic else (gap,), 1
        case Landmark():
            held = () if node.flush is None else (Part("flush", rows=node.flush.windows),)
            return (Part.of("slide", first.slide, domain), *held), 1
        case _:
            return (Part("the extent of a window"),) if first != WHOLE else (), 1


def _held_back(node: nodes.Node, attribute: str) -> Lag:
    """How far what an operator says of a column stays behind, because results are held back."""
    if not isinstance(node, nodes.Aggregate) or node.flush is None:
        return ()
    if attribute == "window_id":
        return (Part.of("flush", node.flush.windows, None),)
    slide = max(one.slide for one in node.windows if isinstance(one, Sliding | Landmark))
    return (Part.of("flush", node.flush.windows * slide, node.domain),)


def _entries(node: nodes.Aggregate, windows: Sequence[Sliding]) -> int:
    """By pane a row is in one partial, whatever its windows; by window it is in one for each of them."""
    match node.strategy:
        case "paned" | "buffered":
            return 1
        case "differential":  # and what is carried from window to window, one a group
            return 2 * len(windows)
        case _:
            return sum(ceil(one.size / one.slide) for one in windows)


def _near(node: nodes.Join | nodes.AsOf) -> Lag:
    if isinstance(node, nodes.AsOf):
        return () if node.within is None else (Part.of("within", node.within, node.domain),)
    match node.time:
        case nodes.Band() as band:
            return (Part.of("band", max(band.high or 0, -(band.low or 0), 0), node.domain),)
        case nodes.SameWindow() as same:
            return (Part.of("window", same.size, node.domain),)
        case None:
            return ()


def _implied(template: Template, promises: Promises) -> Lag:
    return next((lag for one, lag in promises.items() if one.implies(template)), ())


def _longest(lags: Sequence[Lag]) -> Lag:
    """The lag that is known to be the longest, and of the others what is not known."""
    if not lags:
        return ()
    longest = max(lags, key=lambda lag: sum(part.ticks or 0 for part in lag))
    unknown = [part for lag in lags for part in lag if part.ticks is None and part not in longest]
    return (*longest, *dict.fromkeys(unknown))
