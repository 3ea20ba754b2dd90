"""Optimize: the rewrites that every plan goes through, in order. Each is a function from a plan to a plan."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from millstream.plan.plan import Plan
from millstream.plan.rewrite.assign_panes import assign_panes
from millstream.plan.rewrite.choose_strategy import choose_strategy
from millstream.plan.rewrite.prune_columns import prune_columns
from millstream.plan.rewrite.push_filters import push_filters
from millstream.plan.rewrite.share import share

Rewrite = Callable[[Plan], Plan]

REWRITES: tuple[Rewrite, ...] = (push_filters, prune_columns, choose_strategy, assign_panes, share)
"""The answers, the late rows and the rejected rows are the same before and after each of them."""


def optimize(plan: Plan) -> Plan:
    """The plan as it is run. It is the same for the same queries, and once more changes nothing.

    All rewrites but the last look at one query at a time, and the last only joins what is equal: a query is
    computed by the same operators whatever other queries come and go, and finds its state again.

    >>> optimize(Plan(roots=()))
    Plan(roots=(), distributed=False)
    """
    return reduce(lambda made, rewrite: rewrite(made), REWRITES, plan)
