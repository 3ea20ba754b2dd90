"""From a node of the plan to the operator that computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import pyarrow as pa

from millstream.core.aggregate import Difference
from millstream.core.errors import NotYetError, PlanError, WindowError
from millstream.core.problem import Problem
from millstream.core.window import Landmark, Rows, Session, SlideByTuple, Sliding, UserDefined, reach
from millstream.kernels.aggregates.base import Algebra
from millstream.kernels.aggregates.registry import build
from millstream.kernels.partials import Bound
from millstream.kernels.ticks import domain_of, edge_type
from millstream.ops.distinct import Distinct
from millstream.ops.ingest import Ingest
from millstream.ops.operator import Operator
from millstream.ops.project import Project
from millstream.ops.select import Select
from millstream.ops.sort import Sort
from millstream.ops.top import Top
from millstream.ops.union import Union
from millstream.ops.windowing.adaptive import Adaptive
from millstream.ops.windowing.auto import Undecided
from millstream.ops.windowing.bins import OnePass
from millstream.ops.windowing.buffered import Buffered
from millstream.ops.windowing.custom import CustomWindows
from millstream.ops.windowing.differential import Differential
from millstream.ops.windowing.landmark import GrowingWindows
from millstream.ops.windowing.paned import Paned
from millstream.ops.windowing.rows import ROW_NUMBER, RowWindows
from millstream.ops.windowing.session import Sessions
from millstream.ops.windowing.several import Several
from millstream.ops.windowing.slide_by_tuple import ListedWindows
from millstream.ops.windowing.spec import Spec
from millstream.ops.windowing.wid import Wid
from millstream.plan import nodes
from millstream.plan.cost import Choice, Statistics, choose, several
from millstream.plan.describe import describe

Note = Callable[[Choice], None]
"""Told which strategy was chosen, and why."""


def compile_node(node: nodes.Node, note: Note) -> Operator:
    """A fresh operator for one node; its inputs are somebody else's concern."""
    match node:
        case nodes.Source():
            return Ingest(node.progress, dict(node.domains))
        case nodes.Select():
            return Select(node.condition, node.spare and (node.spare.attribute, node.spare.reach))
        case nodes.Project():
            return Project(node.columns)
        case nodes.Union():
            return Union(len(node.inputs), node.schema)
        case nodes.Distinct():
            return Distinct(node.columns, ordered_attributes(node.schema))
        case nodes.Sort():
            return Sort(node.attribute)
        case nodes.Top():
            return Top(node.window, node.order, node.limit)
        case nodes.Aggregate():
            return _aggregate(node, note)
        case nodes.Join():
            raise NotYetError([not_yet(node)])
        case _:
            assert_never(node)


def not_yet(node: nodes.Join) -> Problem:
    """What is said of a join, whose operator is not there yet."""
    text = describe(node)[0]
    fact = f"not yet: join, the operator that {len(nodes.sources(node))} streams together need"
    hint = "It can be checked and explained; queries over one stream, or a union of several, run today."
    return Problem(fact, text, 0, len(text), hint, not_yet=True)


def ordered_attributes(schema: pa.Schema) -> set[str]:
    """The columns whose punctuation is in ticks."""
    found: set[str] = set()
    for field in schema:
        if pa.types.is_integer(field.type) or pa.types.is_temporal(field.type) or pa.types.is_decimal(field.type):
            try:
                domain_of(field.type, field.name)
            except WindowError:
                continue
            found.add(field.name)
    return found


def spec_of(node: nodes.Aggregate) -> Spec:
    """The node with its aggregates bound to kernels."""
    schema = node.input.schema
    bound = tuple(
        Bound(one.name, build(one.call, [_type(schema, a) for a in one.arguments]), one.arguments, one.filter)
        for one in node.aggregates
    )
    row_windows = any(isinstance(window, Rows) for window in node.windows)
    return Spec(
        attribute=node.attribute,
        attribute_type=pa.int64() if row_windows else edge_type(schema.field(node.attribute).type),
        groups=node.groups,
        group_types=tuple(schema.field(name).type for name in node.groups),
        aggregates=bound,
        row_schema=schema,
        reach=max(reach(window) for window in node.windows),
    )


def _type(schema: pa.Schema, column: str) -> pa.DataType:
    return pa.int64() if column == ROW_NUMBER and column not in schema.names else schema.field(column).type


def _aggregate(node: nodes.Aggregate, note: Note) -> Operator:
    spec, first = spec_of(node), node.windows[0]
    match first:
        case Sliding():
            return _sliding(node, spec, note)
        case Rows():
            return RowWindows(spec, first)
        case Landmark():
            return GrowingWindows(spec, first)
        case Session():
            return Sessions(spec, first)
        case UserDefined():
            return CustomWindows(spec, first)
        case SlideByTuple():
            if node.strategy == "buffered" or any(not isinstance(b.kernel, Algebra) for b in spec.aggregates):
                return ListedWindows(spec, first)
            return OnePass(spec, first)
        case _:
            assert_never(first)


def _sliding(node: nodes.Aggregate, spec: Spec, note: Note) -> Operator:
    windows = tuple(window for window in node.windows if isinstance(window, Sliding))
    if node.choice is not None:
        return _with_strategy(node.choice.strategy, node, spec, windows)
    if node.strategy == "auto":
        return Undecided(spec, windows, lambda *seen: _chosen(node, spec, windows, seen, note))
    return _with_strategy(node.strategy, node, spec, windows)


def _with_strategy(strategy: str, node: nodes.Aggregate, spec: Spec, windows: tuple[Sliding, ...]) -> Operator:
    match strategy:
        case "paned":
            return Paned(spec, windows)
        case "buffered":
            return Buffered(spec, windows)
        case "wid":
            parts = [Wid(spec, window) for window in windows]
        case "differential":
            parts = [Differential(spec, window) for window in windows]
        case "adaptive":
            hysteresis = node.options.get("hysteresis", 0.25)
            parts = [Adaptive(spec, window, hysteresis) for window in windows]
        case _:
            raise PlanError(f"there is no strategy {strategy!r} for sliding windows", hint=_known(strategy))
    return parts[0] if len(parts) == 1 else Several(parts)


def _chosen(
    node: nodes.Aggregate, spec: Spec, windows: tuple[Sliding, ...], seen: tuple[int, ...], note: Note
) -> Operator:
    rows, panes, cells = seen
    shared = Paned(spec, windows)
    if len(windows) > 1:
        choice = several(len(windows))
    else:
        shape = shared.shapes[0]
        kernels = [one.kernel for one in spec.aggregates]
        choice = choose(
            Statistics(rows=rows, panes=panes, cells=cells),
            length=shape.length,
            step=shape.step,
            differential=all(kernel.difference is Difference.FULL for kernel in kernels),
            holistic=any(not isinstance(kernel, Algebra) and not kernel.countable for kernel in kernels),
        )
    note(choice)
    return _with_strategy(choice.strategy, node, spec, windows)


def _known(strategy: str) -> str:
    return f"Choose one of {', '.join(nodes.STRATEGIES)}; {strategy!r} is none that fits."


__all__ = ["ROW_NUMBER", "compile_node", "ordered_attributes", "spec_of"]
