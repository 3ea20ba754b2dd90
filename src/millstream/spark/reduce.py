"""Reduction in Spark: partials by (group, pane) with native functions, so that rows never leave the JVM.

It fits one query whose rows go straight from a stream to a window aggregate with native partials. Late, rejected
and filtered rows are grouped apart and only counted; the few that are late or rejected are fetched by a second job.
Everything else goes the general way, where kernels reduce the rows (see `runtime/tasks.py`).

Partials are shuffled twice: by (group, pane) to be combined, and by group to meet the group's other panes. Tumbling
windows are single panes that need not meet, so the first shuffle will do; their state is then laid out by *cells*,
in the partitions of Spark's own hash, and not by groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from millstream.core.domain import BOTTOM, END
from millstream.core.errors import RunError
from millstream.core.generator import BoundedDisorder, Ordered, Step
from millstream.core.window import Sliding
from millstream.kernels.aggregates.base import Algebra
from millstream.kernels.partials import KEY, ROWS
from millstream.kernels.partition import NULL, SEPARATOR
from millstream.ops.windowing.paned import Paned
from millstream.plan import nodes
from millstream.runtime.parcel import Parcel, Report, pack_tables, to_batch
from millstream.runtime.program import Program
from millstream.runtime.tasks import Order, meet_at
from millstream.spark.worker import settle_worker

GOOD, REJECTED, LATE, FILTERED, FAR = 0, 1, 2, 3, 4
"""What becomes of a row; one that is far lies at the ends of 64 bits, where its windows do not fit."""
GROUPS = "groups"
_APART, _HIGH = "__apart", "__high"
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
    stops = list(program.stops())
    if len(program.targets) != 1 or len(stops) != 1:
        return None
    stop, node = stops[0]
    if program.targets[0].node is not node or not isinstance(node, nodes.Aggregate) or not _plain(node):
        return None
    path: list[int] = []
    below, attribute = node.input, node.attribute
    while not isinstance(below, nodes.Source):
        if (isinstance(below, nodes.Select) and below.condition.simple) or (
            isinstance(below, nodes.Project) and all(e.simple for _, e in below.columns)
        ):
            pass
        else:
            return None
        if isinstance(below, nodes.Project):
            attribute = _passed(below, attribute)
        path.insert(0, program.index[id(below)])
        below = below.input
    if below.raw or not isinstance(below.progress, Ordered | BoundedDisorder | Step):
        return None
    if below.progress.attribute != attribute or not _ordered(below.schema.field(attribute).type):
        return None
    return NativeReduce(program.index[id(below)], tuple(path), stop)


def _passed(node: nodes.Project, attribute: str) -> str:
    """What an attribute is called below, if it is a column there; else nothing is called so."""
    return next((one.plain or "" for name, one in node.columns if name == attribute), "")


def _plain(node: nodes.Aggregate) -> bool:
    schema = node.input.schema
    if node.strategy not in ("auto", "paned") or not all(isinstance(w, Sliding) for w in node.windows):
        return False
    if not _ordered(schema.field(node.attribute).type):
        return False
    groups = [schema.field(name).type for name in node.groups]
    if not all(kind in _INTEGERS or pa.types.is_string(kind) or pa.types.is_boolean(kind) for kind in groups):
        return False
    return all(
        one.call.function in _NATIVE
        and one.filter is None
        and all(schema.field(a).type in _INTEGERS for a in one.arguments)
        for one in node.aggregates
    )


def _ordered(kind: pa.DataType) -> bool:
    return kind in _INTEGERS or kind == pa.timestamp("us", tz="UTC")


def _ticks(name: str, kind: pa.DataType) -> str:
    return f"unix_micros({_quoted(name)})" if pa.types.is_timestamp(kind) else f"cast({_quoted(name)} as bigint)"


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
    # Another Spark may hash in another way.
    return f"cells of Spark {spark_version}" if single else GROUPS


class Reduction:
    """The work of `NativeReduce` as columns, made once: each costs many calls to the JVM, and an epoch is short."""

    def __init__(self, program: Program, native: NativeReduce, laid_out: str) -> None:
        node, source = program.nodes[native.stop], program.nodes[native.source]
        assert isinstance(node, nodes.Aggregate)
        assert isinstance(source, nodes.Source)
        operator = program.operator(native.stop)
        assert isinstance(operator, Paned)
        self.native = native
        self.source = source
        self._partitions = program.partitions
        self._tick = _ticks(*_progressing(source))
        self._reach = operator.spec.reach
        self._high = F.expr(self._tick)
        self._path = [_through(program.nodes[i]) for i in native.path]
        tick = _ticks(node.attribute, node.input.schema.field(node.attribute).type)
        offset = f"({tick} - {operator.base}L)"
        pane = f"(({offset} - pmod({offset}, {operator.pane}L)) div {operator.pane}L)"
        good = f"{_APART} = {GOOD}"
        self._keys = [F.expr(f"CASE WHEN {good} THEN {_quoted(g)} END").alias(g) for g in node.groups]
        self._keys += [F.expr(f"CASE WHEN {good} THEN {pane} END").alias(KEY), F.col(_APART)]
        self._sums = [F.expr("count(*)").alias(ROWS), F.max(_HIGH).alias(_HIGH), *_partials(node)]
        self._partition = partition_column(node.groups, program.partitions) if laid_out == GROUPS else None

    def __call__(self, frame: DataFrame, order: Order) -> DataFrame:
        """The frame's rows as partials, each in the partition of its group, or of its cell."""
        good = self._flagged(frame, order)
        for through in self._path:
            good = through(good)
        grouped = good.groupBy(*self._keys).agg(*self._sums)
        return grouped if self._partition is None else grouped.repartitionById(self._partitions, self._partition)

    def _flagged(self, frame: DataFrame, order: Order) -> DataFrame:
        """The frame with a column that says which rows are late or have no value to be judged by, and one of ticks."""
        bound = max(order.judged[self.source.name].bound(self.source.progress.attribute), BOTTOM)
        # A bound written into the code would make Spark compile anew every epoch; an array is passed by reference,
        # and one that is indexed by the row is not folded into a constant.
        tick, reach = self._tick, self._reach
        limit = f"element_at(array({bound}L, {bound}L), IF({tick} IS NULL, 2, 1))"
        apart = (
            f"CASE WHEN {tick} IS NULL OR {tick} <= {BOTTOM}L OR {tick} >= {END}L THEN {REJECTED} "
            f"WHEN {tick} < {limit} THEN {LATE} "
            f"WHEN {tick} < {BOTTOM + reach}L OR {tick} > {END - reach}L THEN {FAR} ELSE {GOOD} END"
        )
        # In one call: Spark analyses the plan anew for each.
        return frame.withColumns({_APART: F.expr(apart), _HIGH: self._high})

    def set_apart(self, frame: DataFrame, order: Order) -> DataFrame:
        """The frame's rows that are late or rejected, as they came."""
        return self._flagged(frame, order).filter(f"{_APART} <> {GOOD}").drop(_APART, _HIGH)


def _partials(node: nodes.Aggregate) -> Iterator[Column]:
    for i, one in enumerate(node.aggregates):
        argument = _quoted(one.arguments[0]) if one.arguments else "*"
        if one.call.function in ("sum", "avg"):
            argument = f"cast({argument} as bigint)"
        for j, text in enumerate(_NATIVE[one.call.function](argument)):
            yield F.expr(text).alias(f"a{i}_{j}")


def reducing(program: Program, order: Order, native: NativeReduce) -> Callable[..., Iterator[pa.RecordBatch]]:
    """The function that takes partials in at the stop, in one partition."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle_worker()
        context = TaskContext.get()
        partition = context.partitionId() if context is not None else 0
        if partition >= program.partitions:
            raise RunError(
                f"Spark made more than {program.partitions} partitions",
                hint="The epoch is not committed. Please report this, with Spark's version and settings.",
            )
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        parcels = list(_parcels(program, native, pa.concat_tables(tables), partition)) if tables else []
        yield to_batch(list(meet_at(program, order, 1, partition, parcels)))

    return run


def _parcels(program: Program, native: NativeReduce, rows: pa.Table, partition: int) -> Iterator[Parcel]:
    """The partials as a segment for the stop, and the report that tasks at the entrance would have made."""
    node, source = program.nodes[native.stop], program.nodes[native.source]
    assert isinstance(node, nodes.Aggregate)
    assert isinstance(source, nodes.Source)
    apart = rows[_APART].to_numpy()
    counts = rows[ROWS].to_numpy()
    number = {kind: int(counts[apart == kind].sum()) for kind in (GOOD, REJECTED, LATE, FILTERED, FAR)}
    report = Report()
    passing = number[GOOD] + number[FILTERED] + number[FAR]
    high = rows.filter(pa.array((apart != REJECTED) & (apart != LATE)))[_HIGH].drop_null()
    if len(high):
        report.seen.append(_seen(source.name, partition, passing, int(high.to_numpy().max())))
    fixed = rows.filter(pa.array(apart == GOOD))
    operator = program.operator(native.stop)
    assert isinstance(operator, Paned)
    inside = operator.inside(fixed[KEY].to_numpy())
    outside = int(fixed[ROWS].to_numpy()[~inside].sum())
    _meter(report, native.source, sum(number.values()), late=number[LATE], rejected=number[REJECTED])
    for i in native.path:
        filtered = number[FILTERED] if isinstance(program.nodes[i], nodes.Select) else 0
        number[FILTERED] -= filtered
        _meter(report, i, passing, filtered=filtered)
        passing -= filtered
    _meter(report, native.stop, passing, outside=outside, rejected=number[FAR])
    yield Parcel(0, -1, 0, "report", report.pack())
    if inside.any():
        kept = fixed.filter(pa.array(inside))
        names = [KEY, *node.groups, ROWS]
        columns = {name: kept[name].cast(_type(node, name)) for name in names}
        for i, one in enumerate(operator.spec.aggregates):
            assert isinstance(one.kernel, Algebra)
            kinds = one.kernel.partial_types
            for j, kind in enumerate(kinds):
                column = kept[f"a{i}_{j}"].cast(kind)
                # A sum of no values is null in Spark and zero among limbs; a least value of none is null in both.
                columns[f"a{i}.{j}"] = column.fill_null(0) if len(kinds) > 1 else column
        yield Parcel(partition, native.stop, 0, "segment", pack_tables({"fixed": pa.table(columns)}))


def _seen(stream: str, partition: int, rows: int, high: int) -> dict[str, object]:
    return {
        "stream": stream,
        "at": partition,
        "rows": rows,
        "high": high,
        "high_before_tail": BOTTOM,
        "tail": (),
        "groups": {},
        "supplied": (),
    }


def _meter(report: Report, i: int, rows_in: int, **apart: int) -> None:
    out = rows_in - sum(apart.values())
    report.meters[i] = {"rows_in": rows_in, "rows_out": out, **apart}


def _type(node: nodes.Aggregate, name: str) -> pa.DataType:
    return pa.int64() if name in (KEY, ROWS) else node.input.schema.field(name).type


def _progressing(source: nodes.Source) -> tuple[str, pa.DataType]:
    name = source.progress.attribute
    return name, source.schema.field(name).type


def _through(node: nodes.Node) -> Callable[[DataFrame], DataFrame]:
    """Takes rows past a condition, which only flags them, or gives them other columns."""
    if isinstance(node, nodes.Select):
        judged = f"({GOOD})" if node.spare else f"({GOOD}, {FAR})"
        passes = f"{_APART} NOT IN {judged} OR coalesce({node.condition.spark}, false)"
        apart = F.expr(f"CASE WHEN {passes} THEN {_APART} ELSE {FILTERED} END")
        return lambda frame: frame.withColumn(_APART, apart)
    assert isinstance(node, nodes.Project)
    columns = [*(F.expr(e.spark).alias(name) for name, e in node.columns), F.col(_APART), F.col(_HIGH)]
    return lambda frame: frame.select(*columns)


def partition_column(groups: tuple[str, ...], partitions: int) -> Column:
    """The partition that a row of partials belongs to, by its groups, as `kernels.partition` has it."""
    if not groups:
        return F.pmod(F.col(_APART), F.lit(1))
    texts = [F.coalesce(F.col(_quoted(g)).cast("string"), F.lit(NULL)) for g in groups]
    hashed = F.pmod(F.crc32(F.concat_ws(SEPARATOR, *texts).cast("binary")), F.lit(partitions)).cast("int")
    return F.when(F.col(_APART) == GOOD, hashed).otherwise(0)


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
