"""The operators of the nodes: who computes which kind of node, and which kind of window. Each registers once.

@operator_of(nodes.Sort)
def _sort(node: nodes.Sort, note: Note) -> Operator: ...
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from millstream.core.window import Window
from millstream.ops.operator import Operator
from millstream.ops.windowing.aggregate_spec import Spec
from millstream.plan import nodes
from millstream.plan.cost import Choice

Note = Callable[[Choice], None]
"""Told which strategy was chosen, and why."""
Make = Callable[[Any, Note], Operator]
"""From a node to a fresh operator."""
MakeWindow = Callable[[nodes.Aggregate, Spec, Any, Note], Operator]
"""From an aggregate, bound to kernels, and its first window to a fresh operator."""
_Make = TypeVar("_Make", bound=Make)
_MakeWindow = TypeVar("_MakeWindow", bound=MakeWindow)

_OPERATORS: dict[type[nodes.Node], Make] = {}
_WINDOWS: dict[type[Window], MakeWindow] = {}


def operator_of(kind: type[nodes.Node]) -> Callable[[_Make], _Make]:
    """Register the function that makes the operator of a kind of node."""

    def register(make: _Make) -> _Make:
        _OPERATORS[kind] = make
        return make

    return register


def operator_of_window(kind: type[Window]) -> Callable[[_MakeWindow], _MakeWindow]:
    """Register the function that makes the operator of aggregates over a kind of window."""

    def register(make: _MakeWindow) -> _MakeWindow:
        _WINDOWS[kind] = make
        return make

    return register


def make_operator(node: nodes.Node, note: Note) -> Operator:
    """A fresh operator for one node; its inputs are somebody else's concern."""
    return _OPERATORS[type(node)](node, note)


def make_window_operator(node: nodes.Aggregate, spec: Spec, note: Note) -> Operator:
    """A fresh operator for an aggregate, by the kind of its first window."""
    return _WINDOWS[type(node.windows[0])](node, spec, node.windows[0], note)
