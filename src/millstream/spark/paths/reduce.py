"""Reduction in Spark: partials by (group, pane) with native functions, so that rows never leave the JVM.

It fits one query whose rows go straight from a stream to a window aggregate with native partials. Late, rejected
and filtered rows are grouped apart and only counted; the few that are late or rejected are fetched by a second job.
Everything else goes the general way, where kernels reduce the rows (see `runtime/tasks/task.py`).

Partials are shuffled twice: by (group, pane) to be combined, and by group to meet the group's other panes. Tumbling
windows are single panes that need not meet, so the first shuffle will do; their state is then laid out by *cells*,
in the partitions of Spark's own hash, and not by groups. And where partials are few, one task can stand in for all
partitions, which costs less than the second shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from millstream.core.domain import BOTTOM
from millstream.core.entrance import Fate, cases
from millstream.core.generator import BoundedDisorder, Ordered, Step
from millstream.core.quote import quoted
from millstream.core.window import Sliding
from millstream.kernels.partials import KEY, ROWS
from millstream.ops.windowing.paned import Paned
from millstream.ops.windowing.smoothed import computing
from millstream.plan import nodes
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.program import Program
from millstream.spark.paths.partition import partition
from millstream.state.manifest import GROUPS

# So many partials pass through one task in less time than a shuffle takes.
_FEW = 20_000
APART, HIGH = "__ms_apart", "__ms_high"
_INTEGERS = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
_NATIVE: dict[str, Callable[[str], list[str]]] = {
    "count": lambda x: [f"count({x})"],
    "sum": lambda x: [f"count({x})", f"sum({x} & 4294967295L)", f"sum(shiftright({x}, 32))"],
    "avg": lambda x: [f"count({x})", f"sum({x} & 4294967295L)", f"sum(shiftright({x}, 32))"],
    "min": lambda x: [f"min({x})"],
    "max": lambda x: [f"max({x})"],
}


@dataclass(frozen=True)
class NativeReduce:
    """A stream, the conditions and columns on the way, and the aggregate at the end, by their numbers."""

    source: int
    path: tuple[int, ...]
    stop: int


def native_reduce(program: Program) -> NativeReduce | None:
    """How Spark itself can reduce this program's rows, if it can."""
    found = why_not_native(program)
    return None if isinstance(found, str) else found


def why_not_native(program: Program) -> NativeReduce | str:
    """How Spark itself can reduce this program's rows, or why it cannot."""
    stops = list(program.stops())
    if len(program.targets) != 1 or len(stops) != 1:
        return "there are several queries, or several operators that keep state"
    stop, node = stops[0]
    if program.targets[0].node is not node or not isinstance(node, nodes.Aggregate):
        return "the query is not an aggregate of windows alone"
    if (reason := _not_plain(node)) is not None:
        return reason
    path: list[int] = []
    below, attribute = node.input, node.attribute
    while not isinstance(below, nodes.Source):
        if not isinstance(below, nodes.Select | nodes.Project):
            return "rows pass more than conditions and columns on their way"
        # What may fail for a row is computed by kernels, which set the row apart; Spark would fail the job.
        texts = [below.condition] if isinstance(below, nodes.Select) else [e for _, e in below.columns]
        if not all(one.total for one in texts):
            return "an expression may fail for a row, and only kernels can set such a row apart"
        if isinstance(below, nodes.Project):
            attribute = _passed(below, attribute)
        path.insert(0, program.index[id(below)])
        below = below.input
    schemas = [program.nodes[i].schema for i in path] + [below.schema]
    if any(len({name.lower() for name in schema.names}) < len(schema.names) for schema in schemas):
        return "Spark would take columns for each other whose names differ in capitals only"
    if below.raw or not isinstance(below.progress, Ordered | BoundedDisorder | Step):
        return "the stream's progress needs a look at every row"
    if below.progress.attribute != attribute or not _ordered(below.schema.field(attribute).type):
        return "the windows are not on the column that progress is measured by"
    return NativeReduce(program.index[id(below)], tuple(path), stop)


def _passed(node: nodes.Project, attribute: str) -> str:
    """What an attribute is called below, if it is a column there; else nothing is called so."""
    return next((one.plain or "" for name, one in node.columns if name == attribute), "")


def _not_plain(node: nodes.Aggregate) -> str | None:
    """Why Spark has no partials for an aggregate; None if it has."""
    schema = node.input.schema
    if node.strategy not in ("auto", "paned") or not all(isinstance(w, Sliding) for w in node.windows):
        return "Spark has no panes for these windows"
    if not _ordered(schema.field(node.attribute).type):
        return f"Spark has no panes on a column of {schema.field(node.attribute).type}"
    for name in node.groups:
        kind = schema.field(name).type
        if not (kind in _INTEGERS or pa.types.is_string(kind) or pa.types.is_boolean(kind)):
            return f"Spark cannot group by {name!r} of {kind} as kernels do"
    for one in node.aggregates:
        kinds = [schema.field(a).type for a in one.arguments]
        if one.call.function not in _NATIVE or one.filter is not None or not all(k in _INTEGERS for k in kinds):
            filtered = " with a filter" if one.filter is not None else ""
            return f"Spark has no partials for {one.call.function}({', '.join(map(str, kinds))}){filtered}"
    return None


def _ordered(kind: pa.DataType) -> bool:
    return kind in _INTEGERS or kind == pa.timestamp("us", tz="UTC")


def _ticks(name: str, kind: pa.DataType) -> str:
    return f"unix_micros({quoted(name)})" if pa.types.is_timestamp(kind) else f"cast({quoted(name)} as bigint)"


def layout(program: Program, spark_version: str) -> str:
    """How the state of a program is best laid out, when it is to begin with nothing: by groups, or by cells."""
    native = native_reduce(program)
    if native is None:
        return GROUPS
    node = program.nodes[native.stop]
    assert isinstance(node, nodes.Aggregate)
    window = node.windows[0]
    assert isinstance(window, Sliding)
    single = len(node.windows) == 1 and window.size == window.slide and bool(node.groups)
    if node.flush is not None and node.flush.lazy:
        return GROUPS  # the held rows of a group leave with its next row, which must meet them
    # Another Spark may hash in another way.
    return f"cells of Spark {spark_version}" if single else GROUPS


class Reduction:
    """The work of `NativeReduce` as columns, made once: each costs many calls to the JVM, and an epoch is short."""

    def __init__(self, program: Program, native: NativeReduce, laid_out: str) -> None:
        node, source = program.nodes[native.stop], program.nodes[native.source]
        assert isinstance(node, nodes.Aggregate)
        assert isinstance(source, nodes.Source)
        operator = computing(program.operator(native.stop))
        assert isinstance(operator, Paned)
        self.native = native
        self.source = source
        self._partitions = program.partitions
        self._tick = _ticks(*_progressing(source))
        self._reach = operator.spec.reach
        self._high = F.expr(self._tick)
        path = [program.nodes[i] for i in native.path]
        # Rows are flagged and get the columns of the first node on the way in one step: Spark analyses the plan anew
        # for each.
        at_once = bool(path) and isinstance(path[0], nodes.Project) and all(e.total for _, e in path[0].columns)
        self._columns = _columns(path.pop(0)) if at_once else [F.col("*")]
        self._path = [_through(node) for node in path]
        tick = _ticks(node.attribute, node.input.schema.field(node.attribute).type)
        offset = f"({tick} - {operator.base}L)"
        pane = f"(({offset} - pmod({offset}, {operator.pane}L)) div {operator.pane}L)"
        good = f"{APART} = {Fate.GOOD:d}"
        names = group_names(node)
        self._keys = [F.expr(f"CASE WHEN {good} THEN {quoted(g)} END").alias(n) for n, g in names.items()]
        self._keys += [F.expr(f"CASE WHEN {good} THEN {pane} END").alias(KEY), F.col(APART)]
        self._sums = [F.expr("count(*)").alias(ROWS), F.max(HIGH).alias(HIGH), *_partials(node)]
        self.by_cells = laid_out != GROUPS
        self._partition = None if self.by_cells else partition_column(node, program.partitions)

    def in_one_task(self, partials: int | None) -> bool:
        """Should all partitions be taken together, after an epoch with so many partials?"""
        return not self.by_cells and partials is not None and partials <= _FEW

    def __call__(self, frame: DataFrame, order: Order, *, together: bool) -> DataFrame:
        """The frame's rows as partials, each in the partition of its group, or of its cell; or all in one."""
        good = self._first(frame, order)
        for through in self._path:
            good = through(good)
        grouped = good.groupBy(*self._keys).agg(*self._sums)
        if together:
            return grouped.coalesce(1)
        return grouped if self._partition is None else grouped.repartitionById(self._partitions, self._partition)

    def _first(self, frame: DataFrame, order: Order) -> DataFrame:
        return frame.select(*self._columns, self._apart(order).alias(APART), self._high.alias(HIGH))

    def _apart(self, order: Order) -> Column:
        """What becomes of a row at the entrance."""
        bound = max(order.judged[self.source.name].bound(self.source.progress.attribute), BOTTOM)
        # A bound written into the code would make Spark compile anew every epoch; an array is passed by reference,
        # and one that is indexed by the row is not folded into a constant.
        tick = self._tick
        known = f"element_at(array({bound}L, {bound}L), IF({tick} IS NULL, 2, 1))"
        texts = [f"WHEN {tick} IS NULL THEN {Fate.REJECTED:d}"]
        for case in cases(self._reach):
            limit = known if case.limit is None else f"{case.limit}L"
            texts.append(f"WHEN {tick} {'<' if case.below else '>='} {limit} THEN {case.fate:d}")
        return F.expr(f"CASE {' '.join(texts)} ELSE {Fate.GOOD:d} END")

    def set_apart(self, frame: DataFrame, order: Order) -> DataFrame:
        """The frame's rows that are late or rejected, as they came."""
        return frame.filter(self._apart(order) != int(Fate.GOOD))


def group_names(node: nodes.Aggregate) -> dict[str, str]:
    """What groups are called among partials: names of theirs may hold what `mapInArrow` cannot read."""
    return {f"__ms_g{i}": name for i, name in enumerate(node.groups)}


def _partials(node: nodes.Aggregate) -> Iterator[Column]:
    for i, one in enumerate(node.aggregates):
        argument = quoted(one.arguments[0]) if one.arguments else "*"
        if one.call.function in ("sum", "avg"):
            argument = f"cast({argument} as bigint)"
        for j, text in enumerate(_NATIVE[one.call.function](argument)):
            yield F.expr(text).alias(f"__ms_a{i}_{j}")


def _progressing(source: nodes.Source) -> tuple[str, pa.DataType]:
    name = source.progress.attribute
    return name, source.schema.field(name).type


def _through(node: nodes.Node) -> Callable[[DataFrame], DataFrame]:
    """Takes rows past a condition, which only flags them, or gives them other columns."""
    if isinstance(node, nodes.Select):
        judged = f"({Fate.GOOD:d})" if node.spare else f"({Fate.GOOD:d}, {Fate.FAR:d})"
        passes = f"{APART} NOT IN {judged} OR coalesce({node.condition.spark}, false)"
        apart = F.expr(f"CASE WHEN {passes} THEN {APART} ELSE {Fate.FILTERED:d} END")
        return lambda frame: frame.withColumn(APART, apart)
    assert isinstance(node, nodes.Project)
    columns = [*_columns(node), F.col(APART), F.col(HIGH)]
    return lambda frame: frame.select(*columns)


def _columns(node: nodes.Node) -> list[Column]:
    """A node's columns; what may fail is computed only for rows that have got so far."""
    assert isinstance(node, nodes.Project)
    texts = [
        (name, e.spark if e.total else f"CASE WHEN {APART} = {Fate.GOOD:d} THEN {e.spark} END")
        for name, e in node.columns
    ]
    return [F.expr(text).alias(name) for name, text in texts]


def partition_column(node: nodes.Aggregate, partitions: int) -> Column:
    """The partition that a row of partials belongs to, by its groups."""
    if not node.groups:
        return F.pmod(F.col(APART), F.lit(1))
    kinds = [node.input.schema.field(name).type for name in node.groups]
    hashed = partition(list(group_names(node)), kinds, partitions)
    return F.when(F.col(APART) == int(Fate.GOOD), hashed).otherwise(0)
