"""Data frames in and out of tasks: tagged unions of streams, Arrow functions for `mapInArrow`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it
from pyspark.sql.pandas.types import to_arrow_schema

from millstream.runtime.batch import UNREADABLE, Batch
from millstream.runtime.parcel import Parcel, from_batch, pack_table, to_batch, unpack_table
from millstream.runtime.program import Program
from millstream.runtime.tasks import Order, enter, meet_at
from millstream.spark.worker import settle_worker

PARCEL = "partition int, node int, port int, kind string, blob binary"
_STREAM = "__stream"
_HELD = pa.schema(
    [
        ("stream", pa.string()),
        ("slice", pa.int32()),
        ("blob", pa.binary()),
        ("raw", pa.list_(pa.string())),
        ("reason", pa.list_(pa.string())),
    ]
)
ArrowFunction = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
# Parcels are handed on in batches of about this many bytes, so that no batch outgrows what Arrow can address.
_BYTES = 64 << 20


def arrow_schema(frame: DataFrame) -> pa.Schema:
    """The schema of a data frame as Arrow sees it, without the text of what could not be read."""
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    return pa.schema([field for field in schema if field.name != UNREADABLE])


def tagged(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Several streams as one, so that they share one epoch: a number and one struct a stream."""
    names = list(frames)
    if len(names) == 1:
        return frames[names[0]]
    out: DataFrame | None = None
    for i, name in enumerate(names):
        columns = [F.lit(i).alias(_STREAM)]
        for j, other in enumerate(names):
            frame = frames[other]
            struct = F.struct(*[F.col(f"`{c}`") for c in frame.columns]) if i == j else F.lit(None).cast(frame.schema)
            columns.append(struct.alias(f"s{j}"))
        one = frames[name].select(*columns)
        out = one if out is None else out.unionAll(one)
    assert out is not None
    return out


def entering(program: Program, order: Order, schemas: Mapping[str, pa.Schema]) -> ArrowFunction:
    """The function that takes a partition of (tagged) rows in."""
    names = list(schemas)

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle_worker()
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        if not tables:
            return
        rows = pa.concat_tables(tables)
        arrivals = {}
        for i, name in enumerate(names):
            mine = rows if len(names) == 1 else _untag(rows, i)
            arrivals[name] = _told_apart(mine, schemas[name])
        yield from _handed_on(enter(program, order, arrivals, _task()))

    return run


def entering_blobs(program: Program, order: Order) -> ArrowFunction:
    """The same for batches that the driver hands over as blobs."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle_worker()
        for batch in batches:
            for row in batch.to_pylist():
                bad = list(zip(row["raw"], row["reason"], strict=True))
                arrivals = {row["stream"]: (unpack_table(row["blob"]), bad)}
                yield from _handed_on(enter(program, order, arrivals, row["slice"]))

    return run


def meeting(program: Program, order: Order, level: int) -> ArrowFunction:
    """The function that runs the stops of a level in one partition."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        settle_worker()
        parcels = [parcel for batch in batches for parcel in from_batch(batch)]
        yield from _handed_on(meet_at(program, order, level, _task(), parcels))

    return run


def blobs(spark: SparkSession, batches: Mapping[str, Batch], partitions: int) -> DataFrame | None:
    """Batches held by the driver as a data frame, cut into slices in order of arrival."""
    rows: list[dict[str, Any]] = []
    for name, batch in batches.items():
        size = max(1, -(-batch.rows.num_rows // partitions))
        for start in range(0, max(1, batch.rows.num_rows), size):
            bad = batch.unreadable if start == 0 else ()
            rows.append(
                {
                    "stream": name,
                    "slice": len(rows),
                    "blob": pack_table(batch.rows.slice(start, size)),
                    "raw": [one.raw for one in bad],
                    "reason": [one.reason for one in bad],
                }
            )
    if not rows:
        return None
    # As Arrow: rows of Python objects would be pickled one by one, which costs a fifth of a small epoch.
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=_HELD))


def nothing(spark: SparkSession) -> DataFrame:
    """No parcels, in a form that the optimiser cannot prove empty."""
    return spark.range(1).mapInArrow(_none, PARCEL)


def _none(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for _ in batches:
        yield to_batch([])


def _task() -> int:
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _untag(rows: pa.Table, i: int) -> pa.Table:
    mine = rows.filter(pc.equal(rows[_STREAM], i))[f"s{i}"].combine_chunks()
    return pa.Table.from_arrays(mine.flatten(), names=[field.name for field in mine.type])


def _told_apart(rows: pa.Table, schema: pa.Schema) -> tuple[pa.Table, list[tuple[str, str]]]:
    """The rows, and as text those that Spark could not read as such."""
    if UNREADABLE not in rows.column_names:
        return rows.cast(schema), []
    columns = ", ".join(f"{field.name} {field.type}" for field in schema)
    bad = [(raw, f"not a row of ({columns})") for raw in rows[UNREADABLE].drop_null().to_pylist()]
    return rows.filter(pc.is_null(rows[UNREADABLE])).drop_columns([UNREADABLE]).cast(schema), bad


def _handed_on(parcels: Iterator[Parcel]) -> Iterator[pa.RecordBatch]:
    waiting: list[Parcel] = []
    size = 0
    for parcel in parcels:
        waiting.append(parcel)
        size += len(parcel.blob)
        if size > _BYTES:
            yield to_batch(waiting)
            waiting, size = [], 0
    if waiting:
        yield to_batch(waiting)


__all__ = ["PARCEL", "arrow_schema", "blobs", "entering", "entering_blobs", "meeting", "nothing", "tagged"]
