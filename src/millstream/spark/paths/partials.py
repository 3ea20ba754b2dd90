"""Partials that Spark made, in the hands of a Python worker: a segment for the operator, and a report of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from millstream.core.domain import BOTTOM
from millstream.core.entrance import Fate
from millstream.core.errors import RunError
from millstream.kernels.aggregates.base import Algebra
from millstream.kernels.partials import KEY, ROWS
from millstream.kernels.partition import partition_of
from millstream.ops.panes.lifted import BITS
from millstream.ops.panes.store import PaneStore
from millstream.plan import nodes
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.parcel import Parcel, Report, pack_facts, pack_tables, to_batch
from millstream.runtime.tasks.program import Program
from millstream.runtime.tasks.task import meet_at
from millstream.spark.paths.reduce import APART, FAILED, HIGH, NativeReduce, group_names
from millstream.spark.worker import freeze_worker


def reducing(
    program: Program, order: Order, native: NativeReduce, *, together: bool
) -> Callable[..., Iterator[pa.RecordBatch]]:
    """The function that takes partials in at the stop: those of one partition, or of all."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_worker()
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        rows = _named(pa.concat_tables(tables), program.nodes[native.stop]) if tables else None
        for partition, mine in _shared_out(program, native, rows) if together else [(_task(program), rows)]:
            parcels = [] if mine is None else list(_parcels(program, native, mine, partition))
            yield to_batch(list(meet_at(program, order, 1, partition, parcels)))

    return run


def sending(program: Program, native: NativeReduce) -> Callable[..., Iterator[pa.RecordBatch]]:
    """The function that addresses partials to the partitions where they meet, where Spark cannot find those itself."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_worker()
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        if not tables:
            return
        rows = _named(pa.concat_tables(tables), program.nodes[native.stop])
        for partition, mine in _shared_out(program, native, rows):
            if mine is not None:
                yield to_batch(list(_parcels(program, native, mine, partition)))

    return run


def _named(rows: pa.Table, node: nodes.Node) -> pa.Table:
    """Partials whose groups have their own names again."""
    assert isinstance(node, nodes.Panes)
    names = group_names(node)
    return rows.rename_columns([names.get(name, name) for name in rows.column_names])


def _task(program: Program) -> int:
    context = TaskContext.get()
    partition = context.partitionId() if context is not None else 0
    if partition >= program.partitions:
        raise RunError(
            f"Spark made more than {program.partitions} partitions",
            hint="The epoch is not committed. Please report this, with Spark's version and settings.",
        )
    return partition


def _shared_out(program: Program, native: NativeReduce, rows: pa.Table | None) -> Iterator[tuple[int, pa.Table | None]]:
    """Every partition with the partials of its groups; what is set apart is counted in the first."""
    node = program.nodes[native.stop]
    assert isinstance(node, nodes.Panes)
    if rows is None:
        yield from ((partition, None) for partition in range(program.partitions))
        return
    at = partition_of([rows[name] for name in node.meets], rows.num_rows, program.partitions)
    at = np.where(rows[APART].to_numpy() == Fate.GOOD, at, 0)
    for partition in range(program.partitions):
        mask = at == partition
        yield partition, rows.filter(pa.array(mask)) if mask.any() else None


def _parcels(program: Program, native: NativeReduce, rows: pa.Table, partition: int) -> Iterator[Parcel]:
    """The partials as a segment for the stop, and the report that tasks at the entrance would have made."""
    node, source = program.nodes[native.stop], program.nodes[native.source]
    assert isinstance(node, nodes.Panes)
    assert isinstance(source, nodes.Source)
    apart = rows[APART].to_numpy()
    counts = rows[ROWS].to_numpy()
    number = {kind: int(counts[apart == kind].sum()) for kind in Fate}
    report = Report(partials=rows.num_rows, failed=int(counts[apart == FAILED].sum()))
    passing = number[Fate.GOOD] + number[Fate.FILTERED] + number[Fate.FAR]
    high = rows.filter(pa.array((apart != Fate.REJECTED) & (apart != Fate.LATE)))[HIGH].drop_null()
    if len(high) and native.counts:
        came = passing + number[Fate.GUARDED]
        report.seen.append(_seen(source.name, partition, came, int(high.to_numpy().max())))
    fixed = rows.filter(pa.array(apart == Fate.GOOD))
    operator = program.operator(native.stop)
    assert isinstance(operator, PaneStore)
    if native.counts:
        lost = {"late": number[Fate.LATE], "rejected": number[Fate.REJECTED], "guarded": number[Fate.GUARDED]}
        _meter(report, native.source, sum(number.values()), **lost)
    for i in native.path:
        filtered = number[Fate.FILTERED] if isinstance(program.nodes[i], nodes.Select) else 0
        number[Fate.FILTERED] -= filtered
        _meter(report, i, passing, filtered=filtered)
        passing -= filtered
    _meter(report, native.stop, passing, rejected=number[Fate.FAR])
    weights = fixed[ROWS].to_numpy()
    panes, bits = fixed[KEY].to_numpy(), fixed[BITS].to_numpy() if node.predicates else None
    operator.count_rows(panes, bits, weights)
    for outlet, figures in operator.counts.items():
        for reader in program.outlets[native.stop].get(outlet, ()):
            report.meters[reader] = dict(figures)
    yield Parcel(0, -1, 0, "report", report.pack())
    if fixed.num_rows:
        columns = {name: fixed[name].cast(_type(node, name)) for name in [KEY, *operator.lifting.groups, ROWS]}
        for i, one in enumerate(operator.spec.aggregates):
            assert isinstance(one.kernel, Algebra)
            kinds = one.kernel.partial_types
            for j, kind in enumerate(kinds):
                column = fixed[f"__ms_a{i}_{j}"].cast(kind)
                # A sum of no values is null in Spark and zero among limbs; a least value of none is null in both.
                columns[f"__ms_a{i}.{j}"] = column.fill_null(0) if len(kinds) > 1 else column
        yield Parcel(partition, native.stop, 0, "segment", pack_tables({"fixed": pa.table(columns)}))
        high = {"high": operator.grid.base + (int(panes.max()) + 1) * operator.grid.pane}
        for place in range(program.partitions):
            yield Parcel(place, native.stop, 0, "facts", pack_facts(high))


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


def _type(node: nodes.Panes, name: str) -> pa.DataType:
    return pa.int64() if name in (KEY, ROWS, BITS) else node.input.schema.field(name).type
