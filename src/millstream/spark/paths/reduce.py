"""Reduction in Spark: partials by (group, pane) with native functions, so that rows never leave the JVM.

It fits programs whose rows go from one stream to one store of panes with native partials, for any number of queries.
Late, rejected and filtered rows are grouped apart and only counted; the few that are late or rejected are fetched by a
second job. Everything else goes the general way, where kernels reduce the rows (see `runtime/tasks/task.py`).

Partials are shuffled twice: by (group, pane) to be combined, and by group to meet the group's other panes. Where
partials are few, one task can stand in for all partitions, which costs less than the second shuffle.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from millstream.core.domain import BOTTOM
from millstream.core.entrance import Fate
from millstream.core.expression import Expression
from millstream.core.generator import BoundedDisorder, Ordered, Step
from millstream.core.quote import quoted
from millstream.core.window import Sliding
from millstream.kernels.partials import KEY, ROWS
from millstream.ops.panes.lifted import BITS
from millstream.ops.panes.store_spec import StoreSpec
from millstream.plan import nodes
from millstream.runtime.compile.store_specs import store_spec
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.program import Program
from millstream.runtime.tasks.route import ring
from millstream.spark.paths.entrance_column import fate, is_ordered, ticks
from millstream.spark.paths.guard_conditions import kept
from millstream.spark.paths.native import INTEGERS, partial_texts
from millstream.spark.paths.partition import partition
from millstream.spark.paths.tried import Tried, tried

# So many partials pass through one task in less time than a shuffle takes.
_FEW = 20_000
MOST_STORES = 4
"""Spark reads the rows once for each store: above so many, kernels read them once for all."""
APART, HIGH = "__ms_apart", "__ms_high"
FAILED = max(Fate) + 1
"""The fate of a row that an expression fails for: kernels must take the epoch in, and say why."""


@dataclass(frozen=True)
class NativeReduce:
    """A stream, the conditions and columns on the way, and the aggregate at the end, by their numbers."""

    source: int
    path: tuple[int, ...]
    stop: int
    counts: bool = True
    """Are the rows that enter counted here? Where there are several stores, only for the first."""


Natives = tuple[NativeReduce, ...]
"""One for each store."""


def native_reduce(program: Program) -> Natives | None:
    """How Spark itself can reduce this program's rows, if it can."""
    found = why_not_native(program)
    return None if isinstance(found, str) else found


def why_not_native(program: Program) -> Natives | str:
    """How Spark itself can reduce this program's rows, or why it cannot."""
    stops = [i for i, _ in program.stops(1)]
    if sum(isinstance(node, nodes.Source) for node in program.nodes) != 1 or len(stops) > MOST_STORES:
        return f"there are several streams, or more than {MOST_STORES} stores"
    if any(ring(node) for node in program.nodes):
        return "rows are for a join of many streams, too"
    if any(program.levels[program.index[id(target.node)]] == 0 for target in program.targets) or not stops:
        return "a query reads the rows themselves"
    found = [_why_not_stop(program, stop, counts=not place) for place, stop in enumerate(stops)]
    refused = next((one for one in found if isinstance(one, str)), None)
    return tuple(one for one in found if not isinstance(one, str)) if refused is None else refused


def _why_not_stop(program: Program, stop: int, *, counts: bool) -> NativeReduce | str:
    node = program.nodes[stop]
    if not isinstance(node, nodes.Panes):
        return "some rows are not those of an aggregate of windows"
    if (reason := _not_plain(program, stop)) is not None:
        return reason
    path: list[int] = []
    below, attribute = node.input, node.attribute
    while not isinstance(below, nodes.Source):
        if not isinstance(below, nodes.Select | nodes.Project):
            return "rows pass more than conditions and columns on their way"
        if any(tried(one, below.input.schema) is None for one in below.expressions()):
            return "an expression may fail for a row, and Spark has no form of it that does not fail"
        if isinstance(below, nodes.Project):
            attribute = _passed(below, attribute)
        path.insert(0, program.index[id(below)])
        below = below.input
    schemas = [program.nodes[i].schema for i in path] + [below.schema]
    if any(len({name.lower() for name in schema.names}) < len(schema.names) for schema in schemas):
        return "Spark would take columns for each other whose names differ in capitals only"
    if below.raw or not isinstance(below.progress, Ordered | BoundedDisorder | Step):
        return "the stream's progress needs a look at every row"
    if below.progress.attribute != attribute or not is_ordered(below.schema.field(attribute).type):
        return "the windows are not on the column that progress is measured by"
    return NativeReduce(program.index[id(below)], tuple(path), stop, counts)


def _passed(node: nodes.Project, attribute: str) -> str:
    """What an attribute is called below, if it is a column there; else nothing is called so."""
    return next((one.plain or "" for name, one in node.columns if name == attribute), "")


def _not_plain(program: Program, stop: int) -> str | None:
    """Why Spark has no partials for a store; None if it has."""
    node = program.nodes[stop]
    assert isinstance(node, nodes.Panes)
    schema = node.input.schema
    if not all(isinstance(window, Sliding) for window in node.spans()):
        return "Spark has no panes for these windows"
    if not is_ordered(schema.field(node.attribute).type):
        return f"Spark has no panes on a column of {schema.field(node.attribute).type}"
    for name in node.groups:
        if not _groupable(schema.field(name).type):
            return f"Spark cannot group by {name!r} of {schema.field(name).type} as kernels do"
    spec = store_spec(node)
    for call, answer in zip(node.aggregates, spec.answers, strict=True):
        if answer.place is not None and partial_texts(spec.aggregates[answer.place], schema) is None:
            kinds = ", ".join(str(schema.field(name).type) for name in call.arguments)
            return f"Spark has no partials for {call.call.function}({kinds})"
    return None


def _groupable(kind: pa.DataType) -> bool:
    """Does Spark tell apart the values of a type as kernels do?"""
    types = pa.types
    plain = kind in INTEGERS or types.is_string(kind) or types.is_boolean(kind) or types.is_date32(kind)
    return plain or types.is_floating(kind) or types.is_decimal128(kind) or kind == pa.timestamp("us", tz="UTC")


def _hashed_alike(kind: pa.DataType) -> bool:
    """Do Spark and kernels find the same partition for the values of a type?"""
    types = pa.types
    return kind in INTEGERS or types.is_string(kind) or types.is_boolean(kind) or types.is_date32(kind)


class Reduction:
    """The work of `NativeReduce` as columns, made once: each costs many calls to the JVM, and an epoch is short."""

    def __init__(self, program: Program, native: NativeReduce) -> None:
        node, source = program.nodes[native.stop], program.nodes[native.source]
        assert isinstance(node, nodes.Panes)
        assert isinstance(source, nodes.Source)
        spec = store_spec(node)
        grid = spec.grid
        self.native = native
        self.source = source
        self._partitions = program.partitions
        self._tick = ticks(*_progressing(source))
        self._reach = spec.reach
        self._high = F.expr(self._tick)
        path = [program.nodes[i] for i in native.path]
        # Rows are flagged and get the columns of the first node on the way in one step: Spark analyses the plan anew
        # for each.
        at_once = bool(path) and isinstance(path[0], nodes.Project) and all(e.total for e in path[0].expressions())
        self._columns = _columns(path.pop(0)) if at_once else [F.col("*")]
        self._path = [_through(node) for node in path]
        tick = ticks(node.attribute, node.input.schema.field(node.attribute).type)
        offset = f"({tick} - {grid.base}L)"
        pane = f"(({offset} - pmod({offset}, {grid.pane}L)) div {grid.pane}L)"
        good = f"{APART} = {Fate.GOOD:d}"
        names = group_names(node)
        self._keys = [F.expr(f"CASE WHEN {good} THEN {quoted(g)} END").alias(n) for n, g in names.items()]
        self._keys += [F.expr(f"CASE WHEN {good} THEN {pane} END").alias(KEY), F.col(APART)]
        if node.predicates:
            bits = [f"if(coalesce({quoted(one)}, false), {1 << i}L, 0L)" for i, one in enumerate(node.predicates)]
            self._keys.append(F.expr(f"CASE WHEN {good} THEN {' | '.join(bits)} END").alias(BITS))
        self._sums = [F.expr("count(*)").alias(ROWS), F.max(HIGH).alias(HIGH)]
        self._sums += [F.expr(text).alias(name) for name, text in _partials(spec)]
        self.alike = all(_hashed_alike(node.input.schema.field(name).type) for name in node.meets)
        """Can Spark itself bring partials to where they meet?"""
        self._partition = None if not self.alike else partition_column(node, program.partitions)

    def in_one_task(self, partials: int | None) -> bool:
        """Should all partitions be taken together, after an epoch with so many partials?"""
        return partials is not None and partials <= _FEW

    def __call__(self, frame: DataFrame, order: Order, *, together: bool, sent: bool = False) -> DataFrame:
        """The frame's rows as partials, each in the partition of its group; or all in one.

        With `sent`, somebody else brings them to where they meet.
        """
        good = self._first(frame, order)
        for through in self._path:
            good = through(good)
        grouped = good.groupBy(*self._keys).agg(*self._sums)
        if together:
            return grouped.coalesce(1)
        return (
            grouped if self._partition is None or sent else grouped.repartitionById(self._partitions, self._partition)
        )

    def _first(self, frame: DataFrame, order: Order) -> DataFrame:
        return frame.select(*self._columns, self._apart(order).alias(APART), self._high.alias(HIGH))

    def _apart(self, order: Order) -> Column:
        """What becomes of a row at the entrance."""
        judged, guards = self._judged(order), order.guards.get(self.native.source)
        wanted = [] if guards is None else kept(guards.output, self.source.schema)
        if not wanted:
            return F.expr(judged)
        apart = f"({Fate.REJECTED:d}, {Fate.LATE:d})"
        guarded = f"NOT ({' AND '.join(wanted)}) AND {judged} NOT IN {apart}"
        return F.expr(f"CASE WHEN {guarded} THEN {Fate.GUARDED:d} ELSE {judged} END")

    def _judged(self, order: Order) -> str:
        bound = max(order.judged[self.source.name].bound(self.source.progress.attribute), BOTTOM)
        return fate(self._tick, bound, self._reach)

    def set_apart(self, frame: DataFrame, order: Order) -> DataFrame:
        """The frame's rows that are late or rejected, as they came."""
        return frame.filter(F.expr(self._judged(order)) != int(Fate.GOOD))


def group_names(node: nodes.Panes) -> dict[str, str]:
    """What groups are called among partials: names of theirs may hold what `mapInArrow` cannot read."""
    return {f"__ms_g{i}": name for i, name in enumerate(node.groups)}


def _partials(spec: StoreSpec) -> Iterator[tuple[str, str]]:
    """The partial columns of a store: their names, and what they are."""
    for i, one in enumerate(spec.aggregates):
        texts = partial_texts(one, spec.row_schema)
        assert texts is not None
        yield from ((f"__ms_a{i}_{j}", text) for j, text in enumerate(texts))


def _progressing(source: nodes.Source) -> tuple[str, pa.DataType]:
    name = source.progress.attribute
    return name, source.schema.field(name).type


def _through(node: nodes.Node) -> Callable[[DataFrame], DataFrame]:
    """Takes rows past a condition, which only flags them, or gives them other columns."""
    if isinstance(node, nodes.Select):
        judged = f"({Fate.GOOD:d})" if node.spare else f"({Fate.GOOD:d}, {Fate.FAR:d})"
        condition = _tried(node.condition, node)
        passes = f"{APART} NOT IN {judged} OR coalesce({condition.value}, false)"
        apart = F.expr(f"CASE {_failing([condition])} WHEN {passes} THEN {APART} ELSE {Fate.FILTERED:d} END")
        return lambda frame: frame.withColumn(APART, apart)
    assert isinstance(node, nodes.Project)
    failing = _failing([_tried(one, node) for one in node.expressions()])
    apart = F.expr(f"CASE {failing} ELSE {APART} END").alias(APART) if failing else F.col(APART)
    columns = [*_columns(node), apart, F.col(HIGH)]
    return lambda frame: frame.select(*columns)


def _failing(some: Sequence[Tried]) -> str:
    """The cases of rows that have got so far and fail here."""
    fails = [
        f"WHEN {APART} IN ({Fate.GOOD:d}, {Fate.FAR:d}) AND {one.failed} THEN {FAILED}" for one in some if one.failed
    ]
    return " ".join(fails)


def _columns(node: nodes.Node) -> list[Column]:
    """A node's columns, null where they fail."""
    assert isinstance(node, nodes.Project)
    return [F.expr(_tried(one, node).value).alias(name) for name, one in node.columns]


def _tried(expression: Expression, node: nodes.Select | nodes.Project) -> Tried:
    made = tried(expression, node.input.schema)
    assert made is not None, expression
    return made


def partition_column(node: nodes.Panes, partitions: int) -> Column:
    """The partition that a row of partials belongs to, by the groups that it must meet others of."""
    if not node.meets:
        return F.pmod(F.col(APART), F.lit(1))
    kinds = [node.input.schema.field(name).type for name in node.meets]
    named = {name: short for short, name in group_names(node).items()}
    hashed = partition([named[name] for name in node.meets], kinds, partitions)
    return F.when(F.col(APART) == int(Fate.GOOD), hashed).otherwise(0)
