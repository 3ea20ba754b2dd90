"""Choose strategies: what can be decided before there are rows is decided, with the reason."""

from __future__ import annotations

from dataclasses import replace

from millstream.plan import nodes
from millstream.plan.cost import Choice, several
from millstream.plan.plan import Plan

_TRAVEL = Choice(strategy="paned", reason="rows are reduced to panes where they are, and only panes move")


def choose_strategy(plan: Plan) -> Plan:
    """Promise: only aggregates over sliding windows whose strategy is `auto` get a choice; the answers are the same.

    Where rows travel, panes are what travels least. Where several windows are asked for, they share panes. One
    window in one process waits for its first rows, and the cost model decides then.

    >>> choose_strategy(Plan(roots=()))
    Plan(roots=(), distributed=False)
    """
    return plan.each(lambda root: nodes.rebuilt(root, lambda node: _chosen(node, distributed=plan.distributed)))


def _chosen(node: nodes.Node, *, distributed: bool) -> nodes.Node:
    if not isinstance(node, nodes.Aggregate) or node.choice is not None or node.strategy != "auto":
        return node
    if not nodes.is_sliding(node):
        return node
    if distributed:
        return replace(node, choice=_TRAVEL)
    return replace(node, choice=several(len(node.windows))) if len(node.windows) > 1 else node
