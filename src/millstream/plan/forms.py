"""From a node of the plan to the contract form of the operator that computes it."""

from __future__ import annotations

from typing import assert_never

from millstream.core.aggregate import AggregateCall
from millstream.core.contract import form
from millstream.core.contract.as_of_form import AsOf
from millstream.core.contract.join_form import Join
from millstream.core.contract.scheme import Scheme
from millstream.core.window import Landmark, Rows, Session, SlideByTuple, Sliding, UserDefined
from millstream.plan import nodes
from millstream.plan.promise import promises_of

WINDOW_COLUMNS = ("window_id", "window_start", "window_end")
_HOLISTIC = frozenset({"median", "quantile", "mode", "count_distinct", "heavy_hitters"})


def form_of(node: nodes.Node, *, ends: bool) -> form.Form:
    """What the operator of a node offers; with `ends`, sources promise to end."""
    match node:
        case nodes.Source():
            return form.Leaf((Scheme(frozenset(promises_of(node, ends=ends))),))
        case nodes.Select():
            return form.Select()
        case nodes.Project():
            return form.Project(plain_names(node), nodes.extremes(node))
        case nodes.Union():
            return form.Union()
        case nodes.Distinct():
            return form.Within(node.columns)
        case nodes.Sort():
            return form.Release(node.attribute)
        case nodes.Top():
            return form.Complete(node.keys)
        case nodes.Aggregate():
            return _aggregate(node)
        case nodes.Join():
            return _join(node)
        case nodes.AsOf():
            return _as_of(node)
        case nodes.Enrich():
            leaving = [one for one in node.columns if not one.side and one.name in node.schema.names]
            return form.Project({one.column: (one.name,) for one in leaving})
        case _:
            assert_never(node)


def plain_names(node: nodes.Project) -> dict[str, tuple[str, ...]]:
    """For each column of the input that goes on unchanged, its names in the output."""
    out: dict[str, tuple[str, ...]] = {}
    for name, expression in node.columns:
        if expression.plain is not None:
            out[expression.plain] = (*out.get(expression.plain, ()), name)
    return out


def is_holistic(call: AggregateCall) -> bool:
    """Is its exact partial as large as its input? A user's function over all values is one."""
    return call.function in _HOLISTIC or "fn" in call.options


def grows(node: nodes.Aggregate) -> bool:
    """Is it a landmark whose totals are not of one size: by group, or of every value?"""
    holistic = any(is_holistic(one.call) for one in node.aggregates)
    return isinstance(node.windows[0], Landmark) and (bool(node.groups) or holistic)


def _aggregate(node: nodes.Aggregate) -> form.Form:
    first, attribute, groups = node.windows[0], node.attribute, node.groups
    match first:
        case Sliding():
            return form.WindowAggregate(attribute, WINDOW_COLUMNS, groups)
        case SlideByTuple():
            return form.WindowAggregate(attribute, WINDOW_COLUMNS, groups, linear=True)
        case Landmark():
            return form.WindowAggregate(attribute, ("window_id", "window_end"), groups, forgets=not grows(node))
        case Session() | UserDefined():
            return form.WindowAggregate(attribute, ("window_end",), groups)
        case Rows():
            return form.Numbered(first.partition_by)
        case _:
            assert_never(first)


def _join(node: nodes.Join) -> Join:
    near = None if node.time is None else (node.time.left, node.time.right)
    bounded = (True, True)
    if isinstance(node.time, nodes.Band):
        bounded = (node.time.high is not None, node.time.low is not None)
    # Where a partner is missing its columns are null, whatever its stream promised.
    padded = {"left": (1,), "right": (0,), "full": (0, 1)}.get(node.how, ())
    left, right = (
        {
            one.column: one.name
            for one in node.columns
            if one.side == side and side not in padded and one.name in node.schema.names
        }
        for side in (0, 1)
    )
    return Join(equal=node.keys, near=near, bounded=bounded, names=(left, right))


def _as_of(node: nodes.AsOf) -> AsOf:
    near = node.how == "inner" and node.within is not None
    partner = next((one.name for one in node.columns if one.side and one.column == node.time[1]), None)
    return AsOf(
        equal=node.keys,
        time=node.time,
        bounded=node.within is not None,
        names={one.column: one.name for one in node.columns if not one.side},
        partner=partner if near else None,
    )
