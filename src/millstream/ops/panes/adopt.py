"""Panes that one aggregate has kept by itself, taken over by a store."""

from __future__ import annotations

from collections.abc import Sequence

from millstream.ops.operator import Operator
from millstream.ops.panes.store_form import PaneForm, marked
from millstream.ops.windowing.auto import Undecided
from millstream.ops.windowing.differential import Differential
from millstream.ops.windowing.paned import Paned
from millstream.state.store import Segment


def adoptable(operator: Operator) -> bool:
    """Can a store go on from what it keeps?"""
    return type(operator) in (Paned, Differential) or isinstance(operator, Undecided)


def panes_of(operator: Operator, names: Sequence[str]) -> list[Segment]:
    """The panes of an aggregate, which say what they are; `names` are the partials of its aggregates, in order."""
    if not isinstance(operator, Paned):
        return []
    form = PaneForm(operator.base, operator.pane, tuple(names))
    return [marked(segment, form) for segment in operator.store.segments if "fixed" in segment.tables]
