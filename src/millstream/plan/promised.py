"""What each node promises: a pure function of the node and of what its inputs promise. No operator is made for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream.core.progress import Progress, meet
from millstream.core.promise import as_of, join, windows
from millstream.core.promise.as_of import AsOfShape
from millstream.core.promise.columns import of_attribute, of_columns, plain_names, projected, renamed
from millstream.core.promise.join import JoinShape
from millstream.core.promise.windows import WindowShape
from millstream.plan import nodes

Promise = Callable[[Any, Sequence[Progress]], Progress]


def promised(node: nodes.Node, inputs: Sequence[Progress]) -> Progress:
    """The progress of a node's output, from that of its inputs.

    What an operator holds back may make it promise less for a while (see `runtime.stops`).
    """
    return _PROMISES.get(type(node), _as_it_came)(node, inputs)


def _as_it_came(_: nodes.Node, inputs: Sequence[Progress]) -> Progress:
    return inputs[0]


def _union(_: nodes.Union, inputs: Sequence[Progress]) -> Progress:
    return meet(inputs)


def _project(node: nodes.Project, inputs: Sequence[Progress]) -> Progress:
    return projected(inputs[0], plain_names(node.columns), nodes.extremes(node))


def _top(node: nodes.Top, inputs: Sequence[Progress]) -> Progress:
    return of_columns(inputs[0], node.keys)


def _sort(node: nodes.Sort, inputs: Sequence[Progress]) -> Progress:
    return of_attribute(inputs[0], node.attribute)


def _aggregate(node: nodes.Aggregate, inputs: Sequence[Progress]) -> Progress:
    return windows.promised(WindowShape(node.attribute, node.groups, node.windows), inputs[0])


def _columns(node: nodes.Join | nodes.AsOf | nodes.Enrich) -> list[tuple[str, int, str]]:
    return [(one.name, one.side, one.column) for one in node.columns]


def _join(node: nodes.Join, inputs: Sequence[Progress]) -> Progress:
    names = join.leaving(node.how, _columns(node), node.schema.names)
    return join.promised(JoinShape(node.keys, nodes.near_of(node), names), inputs)


def _as_of(node: nodes.AsOf, inputs: Sequence[Progress]) -> Progress:
    shape = AsOfShape(
        keys=node.keys,
        time=node.time,
        leaving=as_of.named(_columns(node)),
        outer=node.how == "left",
        strict=node.strict,
        within=node.within,
    )
    return as_of.promised(shape, inputs)


def _enrich(node: nodes.Enrich, inputs: Sequence[Progress]) -> Progress:
    leaving = {c: name for name, side, c in _columns(node) if side == 0 and name in node.schema.names}
    return renamed(inputs[0], leaving)


_PROMISES: dict[type, Promise] = {
    nodes.Union: _union,
    nodes.Project: _project,
    nodes.Top: _top,
    nodes.Sort: _sort,
    nodes.Aggregate: _aggregate,
    nodes.Join: _join,
    nodes.AsOf: _as_of,
    nodes.Enrich: _enrich,
}
