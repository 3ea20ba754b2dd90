"""Assign panes: sliding windows are whole runs of panes, and the plan says how long those are."""

from __future__ import annotations

from dataclasses import replace

from millstream.core.window import Sliding, common_pane
from millstream.plan import nodes
from millstream.plan.plan import Plan

_BY_PANE = ("auto", "paned", "differential")


def assign_panes(plan: Plan) -> Plan:
    """Promise: an aggregate that may be computed by panes has their length, the greatest that divides all its windows.

    Others have none, and nothing else changes.

    >>> assign_panes(Plan(roots=()))
    Plan(roots=(), distributed=False)
    """
    return plan.each(lambda root: nodes.rebuilt(root, _assigned))


def _assigned(node: nodes.Node) -> nodes.Node:
    if not isinstance(node, nodes.Aggregate) or node.pane is not None or node.strategy not in _BY_PANE:
        return node
    windows = [window for window in node.windows if isinstance(window, Sliding)]
    return replace(node, pane=common_pane(windows)) if windows else node
