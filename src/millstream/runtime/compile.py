"""From a node of the plan to the operator that computes it."""

from __future__ import annotations

from collections.abc import Callable
from typing import assert_never

import pyarrow as pa

from millstream.core.aggregate import Difference
from millstream.core.errors import PlanError
from millstream.core.window import Landmark, Rows, Session, SlideByTuple, Sliding, UserDefined, reach
from millstream.kernels.aggregates.base import Algebra
from millstream.kernels.aggregates.registry import build
from millstream.kernels.partials import Bound
from millstream.kernels.ticks import edge_type, ordered_columns
from millstream.ops.as_of import AsOf, AsOfSpec
from millstream.ops.distinct import Distinct
from millstream.ops.enrich import Enrich, EnrichSpec
from millstream.ops.ingest import Ingest
from millstream.ops.join.join import Join
from millstream.ops.join.spec import JoinSpec
from millstream.ops.operator import Operator
from millstream.ops.project import Project
from millstream.ops.select import Select
from millstream.ops.sort import Sort
from millstream.ops.top import Top
from millstream.ops.union import Union
from millstream.ops.windowing.adaptive import Adaptive
from millstream.ops.windowing.auto import Look, Undecided
from millstream.ops.windowing.base import WindowOperator
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
from millstream.ops.windowing.smoothed import Smoothed, computing
from millstream.ops.windowing.spec import Spec
from millstream.ops.windowing.wid import Wid
from millstream.plan import nodes
from millstream.plan.cost import Choice, Statistics, better, choose, several

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
            return Project(node.columns, nodes.extremes(node))
        case nodes.Union():
            return Union(len(node.inputs), node.schema)
        case nodes.Distinct():
            return Distinct(node.columns, ordered_columns(node.schema))
        case nodes.Sort():
            return Sort(node.attribute)
        case nodes.Top():
            return Top(node.keys, ordered_columns(node.input.schema), node.order, node.limit, node.number)
        case nodes.Aggregate():
            return _aggregate(node, note)
        case nodes.Join():
            return Join(join_spec(node))
        case nodes.AsOf():
            return AsOf(as_of_spec(node))
        case nodes.Enrich():
            return Enrich(enrich_spec(node))
        case _:
            assert_never(node)


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
        windows=node.windows,
    )


def join_spec(node: nodes.Join) -> JoinSpec:
    """The node with its bounds closed: ticks are whole numbers, so `< 5` is `<= 4`."""
    return JoinSpec(
        how=node.how,
        keys=node.keys,
        near=nodes.near_of(node),
        condition=node.condition,
        columns=tuple((one.name, one.side, one.column) for one in node.columns),
        schemas=(node.inputs[0].schema, node.inputs[1].schema),
        schema=node.schema,
        nulls_equal=node.nulls_equal,
    )


def as_of_spec(node: nodes.AsOf) -> AsOfSpec:
    """The node bound to the columns of its sides."""
    return AsOfSpec(
        keys=node.keys,
        time=node.time,
        columns=tuple((one.name, one.side, one.column) for one in node.columns),
        schemas=(node.inputs[0].schema, node.inputs[1].schema),
        schema=node.schema,
        outer=node.how == "left",
        strict=node.strict,
        within=node.within,
    )


def enrich_spec(node: nodes.Enrich) -> EnrichSpec:
    """The node bound to the columns of the stream and of the table."""
    return EnrichSpec(
        table=node.table.name,
        keys=node.keys,
        condition=node.condition,
        columns=tuple((one.name, one.side, one.column) for one in node.columns),
        schema=node.schema,
        outer=node.how == "left",
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
            return _smoothed(node, GrowingWindows(spec, first))
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
        return Undecided(spec, windows, lambda seen: _chosen(node, spec, windows, seen, note))
    return _with_strategy(node.strategy, node, spec, windows)


def _with_strategy(strategy: str, node: nodes.Aggregate, spec: Spec, windows: tuple[Sliding, ...]) -> Operator:
    match strategy:
        case "paned":
            parts = [Paned(spec, windows)]
        case "buffered":
            parts = [Buffered(spec, windows)]
        case "wid":
            parts = [Wid(spec, window) for window in windows]
        case "differential":
            parts = [Differential(spec, window) for window in windows]
        case "adaptive":
            hysteresis = node.options.get("hysteresis", 0.25)
            parts = [Adaptive(spec, window, hysteresis) for window in windows]
        case _:
            raise PlanError(f"there is no strategy {strategy!r} for sliding windows", hint=_known(strategy))
    return _smoothed(node, parts[0] if len(parts) == 1 else Several(parts))


def _smoothed(node: nodes.Aggregate, operator: WindowOperator | Several) -> Operator:
    """With its results held back, if that is asked for."""
    if node.flush is None:
        return operator
    windows = [window for window in node.windows if isinstance(window, Sliding | Landmark)]
    return Smoothed(operator, node.flush, windows)


def _chosen(node: nodes.Aggregate, spec: Spec, windows: tuple[Sliding, ...], seen: Look, note: Note) -> Operator:
    shared = Paned(spec, windows)
    if len(windows) > 1:
        choice = several(len(windows))
    else:
        shape = shared.shapes[0]
        kernels = [one.kernel for one in spec.aggregates]
        choice = choose(
            statistics(seen),
            length=shape.length,
            step=shape.step,
            differential=all(kernel.difference is Difference.FULL for kernel in kernels),
            holistic=any(not isinstance(kernel, Algebra) and not kernel.countable for kernel in kernels),
        )
    note(choice)
    return _with_strategy(choice.strategy, node, spec, windows)


def reconsidered(
    undecided: Undecided, node: nodes.Node, now: Operator, rows: pa.Table
) -> tuple[Operator, Choice] | None:
    """Another operator with the same state, if rows like these make another strategy so much better."""
    inner = computing(now)
    if not isinstance(node, nodes.Aggregate) or type(inner) not in (Paned, Differential) or len(undecided.windows) > 1:
        return None
    assert isinstance(inner, Paned)
    if any(one.kernel.difference is not Difference.FULL for one in inner.spec.aggregates):
        return None
    shape = inner.shapes[0]
    was = "paned" if type(inner) is Paned else "differential"
    choice = better(statistics(undecided.look(rows)), was, length=shape.length, step=shape.step)
    if choice is None:
        return None
    made = _with_strategy(choice.strategy, node, undecided.spec, undecided.windows)
    heir = computing(made)
    # Both keep panes; the totals that one carries over the other can work out.
    heir.store.replace([segment for segment in inner.store.segments if "fixed" in segment.tables])
    heir.store.facts = inner.store.facts
    heir.meter = inner.meter
    if isinstance(now, Smoothed) and isinstance(heir, Paned):
        now.inner = heir
        return now, choice
    heir.resume(inner.progress)
    return heir, choice


def statistics(seen: Look) -> Statistics:
    """What a look at rows showed."""
    rows, panes, cells, groups = seen
    return Statistics(rows=rows, panes=panes, cells=cells, groups=groups)


def _known(strategy: str) -> str:
    return f"Choose one of {', '.join(nodes.STRATEGIES)}; {strategy!r} is none that fits."


__all__ = ["ROW_NUMBER", "as_of_spec", "compile_node", "enrich_spec", "join_spec", "spec_of"]
