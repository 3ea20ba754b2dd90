"""From a window aggregate to the operator that computes it: by the kind of its windows, and by its strategy."""

from __future__ import annotations

import pyarrow as pa

from millstream.core.aggregate import Difference
from millstream.core.errors import PlanError
from millstream.core.window import Landmark, Rows, Session, SlideByTuple, Sliding, UserDefined
from millstream.kernels.aggregates.aggregate_registry import build
from millstream.kernels.aggregates.base import Algebra
from millstream.kernels.partials import Bound
from millstream.kernels.ticks import edge_type
from millstream.ops.operator import Operator
from millstream.ops.windowing.adaptive import Adaptive
from millstream.ops.windowing.aggregate_spec import Spec
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
from millstream.ops.windowing.wid import Wid
from millstream.plan import nodes
from millstream.plan.cost import Statistics, better, choose, several
from millstream.runtime.compile.operator_registry import Note, operator_of_window


def spec_of(node: nodes.Aggregate) -> Spec:
    """The node with its aggregates bound to kernels."""
    schema = node.input.schema
    bound = tuple(
        Bound(one.name, build(one.call, [_type(schema, a) for a in one.arguments]), one.arguments, one.filter)
        for one in node.aggregates
    )
    row_windows = any(window.by_rows for window in node.windows)
    return Spec(
        attribute=node.attribute,
        attribute_type=pa.int64() if row_windows else edge_type(schema.field(node.attribute).type),
        groups=node.groups,
        group_types=tuple(schema.field(name).type for name in node.groups),
        aggregates=bound,
        row_schema=schema,
        reach=max(window.reach for window in node.windows),
        windows=node.windows,
    )


def _type(schema: pa.Schema, column: str) -> pa.DataType:
    return pa.int64() if column == ROW_NUMBER and column not in schema.names else schema.field(column).type


@operator_of_window(Rows)
def _rows(_: nodes.Aggregate, spec: Spec, window: Rows, __: Note) -> Operator:
    return RowWindows(spec, window)


@operator_of_window(Landmark)
def _landmark(node: nodes.Aggregate, spec: Spec, window: Landmark, _: Note) -> Operator:
    return _smoothed(node, GrowingWindows(spec, window))


@operator_of_window(Session)
def _session(_: nodes.Aggregate, spec: Spec, window: Session, __: Note) -> Operator:
    return Sessions(spec, window)


@operator_of_window(UserDefined)
def _user_defined(_: nodes.Aggregate, spec: Spec, window: UserDefined, __: Note) -> Operator:
    return CustomWindows(spec, window)


@operator_of_window(SlideByTuple)
def _slide_by_tuple(node: nodes.Aggregate, spec: Spec, window: SlideByTuple, _: Note) -> Operator:
    if node.strategy == "buffered" or any(not isinstance(b.kernel, Algebra) for b in spec.aggregates):
        return ListedWindows(spec, window)
    return OnePass(spec, window)


@operator_of_window(Sliding)
def _sliding(node: nodes.Aggregate, spec: Spec, _: Sliding, note: Note) -> Operator:
    windows = tuple(window for window in node.windows if isinstance(window, Sliding))
    if node.choice is not None:
        return _with_strategy(node.choice.strategy, node, spec, windows)
    if node.strategy == "auto":
        return Undecided(
            spec,
            windows,
            lambda seen: _chosen(node, spec, windows, seen, note),
            lambda now, look: _reconsidered(node, spec, windows, now, look, note),
        )
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


def _reconsidered(
    node: nodes.Aggregate, spec: Spec, windows: tuple[Sliding, ...], now: Operator, seen: Look, note: Note
) -> Operator:
    """Another operator with the same state, if rows like these make another strategy so much better."""
    inner = computing(now)
    if type(inner) not in (Paned, Differential) or len(windows) > 1:
        return now
    assert isinstance(inner, Paned)
    if any(one.kernel.difference is not Difference.FULL for one in inner.spec.aggregates):
        return now
    shape = inner.shapes[0]
    was = "paned" if type(inner) is Paned else "differential"
    choice = better(statistics(seen), was, length=shape.length, step=shape.step)
    if choice is None:
        return now
    note(choice)
    heir = computing(_with_strategy(choice.strategy, node, spec, windows))
    # Both keep panes; the totals that one carries over the other can work out.
    heir.store.replace([segment for segment in inner.store.segments if "fixed" in segment.tables])
    heir.store.facts = inner.store.facts
    heir.meter = inner.meter
    if isinstance(now, Smoothed) and isinstance(heir, Paned):
        now.inner = heir
        return now
    heir.resume(inner.progress)
    return heir


def statistics(seen: Look) -> Statistics:
    """What a look at rows showed."""
    rows, panes, cells, groups = seen
    return Statistics(rows=rows, panes=panes, cells=cells, groups=groups)


def _known(strategy: str) -> str:
    return f"Choose one of {', '.join(nodes.STRATEGIES)}; {strategy!r} is none that fits."


__all__ = ["ROW_NUMBER", "spec_of"]
