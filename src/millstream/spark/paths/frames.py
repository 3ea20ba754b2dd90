"""Data frames in and out of tasks: tagged unions of streams, Arrow functions for `mapInArrow`."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType, IntegerType, StringType, StructType

from millstream.core.quote import quoted
from millstream.runtime.batch import APART, REASON, UNREADABLE, Batch
from millstream.runtime.durable.jobs import slices
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.parcel import Parcel, from_batch, pack_table, to_batch, unpack_table
from millstream.runtime.tasks.program import Program
from millstream.runtime.tasks.task import enter, enter_and_meet, meet_at
from millstream.spark.worker import freeze_worker

# As a type: a text would be parsed anew for every job.
PARCEL = (
    StructType()
    .add("partition", IntegerType())
    .add("node", IntegerType())
    .add("port", IntegerType())
    .add("kind", StringType())
    .add("blob", BinaryType())
)
STREAM = "__ms_stream"
_BARE = re.compile(r"\w+")
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
    """The schema of a data frame as Arrow sees it, without what could not be read."""
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    return pa.schema([field for field in schema if field.name not in APART])


def tagged(frames: Mapping[str, DataFrame]) -> DataFrame:
    """Several streams as one, so that they share an epoch: the stream's number, and columns that they share by type."""
    if len(frames) == 1:
        return next(iter(frames.values()))
    slots = slots_of(frames)
    kinds = {slots[name][field.name]: field.dataType for name, frame in frames.items() for field in frame.schema}
    out: DataFrame | None = None
    for i, (name, frame) in enumerate(frames.items()):
        column_in = {slot: column for column, slot in slots[name].items()}
        columns = [F.lit(i).alias(STREAM)]
        for slot, kind in kinds.items():
            value = F.col(quoted(column_in[slot])) if slot in column_in else F.lit(None).cast(kind)
            columns.append(value.alias(slot))
        one = frame.select(*columns)
        out = one if out is None else out.unionAll(one)
    assert out is not None
    return out


def numbered(frame: DataFrame) -> DataFrame:
    """The frame with names that `mapInArrow` can find: it takes a dot for a field, and a backtick for a quote."""
    if all(_BARE.fullmatch(name) for name in frame.columns):
        return frame
    return frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))


def slots_of(frames: Mapping[str, DataFrame]) -> dict[str, dict[str, str]]:
    """By stream and column, the name that the column has where streams are one: columns of one type share names."""
    out: dict[str, dict[str, str]] = {}
    for name, frame in frames.items():
        used: dict[str, int] = {}
        out[name] = {}
        for field in frame.schema:
            kind = field.dataType.json()
            used[kind] = used.get(kind, 0) + 1
            out[name][field.name] = f"{zlib.crc32(kind.encode()):08x}_{used[kind]}"
    return out


@dataclass(frozen=True)
class Tags:
    """How the streams of a tagged frame are told apart: their schemas, in the order of their numbers, and slots."""

    schemas: Mapping[str, pa.Schema]
    slots: Mapping[str, Mapping[str, str]]
    names: Sequence[str] = ()
    """Of a stream that is alone, its columns in order: on the way to a worker they may be called otherwise."""

    @classmethod
    def of(cls, frames: Mapping[str, DataFrame]) -> Tags:
        """Those of some frames."""
        names = next(iter(frames.values())).columns if len(frames) == 1 else ()
        return cls({name: arrow_schema(frame) for name, frame in frames.items()}, slots_of(frames), names)

    def read(self, batches: Iterator[pa.RecordBatch]) -> dict[str, tuple[pa.Table, list[tuple[str, str]]]]:
        """By stream, the rows and what could not be read; nothing if no batch came."""
        tables = [pa.Table.from_batches([batch]) for batch in batches]
        if not tables:
            return {}
        rows = pa.concat_tables(tables)
        if len(self.schemas) == 1:
            rows = rows.rename_columns(list(self.names)) if self.names else rows
            return {name: _told_apart(rows, schema) for name, schema in self.schemas.items()}
        out: dict[str, tuple[pa.Table, list[tuple[str, str]]]] = {}
        numbers = rows[STREAM].to_numpy()
        for i, (name, schema) in enumerate(self.schemas.items()):
            slots = self.slots[name]
            mine = rows.select(list(slots.values())).filter(pa.array(numbers == i)).rename_columns(list(slots))
            out[name] = _told_apart(mine, schema)
        return out


def entering(program: Program, order: Order, tags: Tags, *, narrow: bool = False) -> ArrowFunction:
    """The function that takes a partition of (tagged) rows in; `narrow` ones are only counted if they are bad."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_worker()
        arrivals = tags.read(batches)
        if arrivals:
            yield from _handed_on(enter(program, order, arrivals, _task(), narrow=narrow))

    return run


def entering_to_meet(program: Program, order: Order, tags: Tags, *, narrow: bool = False) -> ArrowFunction:
    """The function that takes in a partition of rows that are where they meet; `narrow` as in `entering`."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_worker()
        yield from _handed_on(enter_and_meet(program, order, tags.read(batches), _task(), narrow=narrow))

    return run


def entering_blobs(program: Program, order: Order) -> ArrowFunction:
    """The same for batches that the driver hands over as blobs."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_worker()
        for batch in batches:
            for row in batch.to_pylist():
                bad = list(zip(row["raw"], row["reason"], strict=True))
                arrivals = {row["stream"]: (unpack_table(row["blob"]), bad)}
                yield from _handed_on(enter(program, order, arrivals, row["slice"], held=True))

    return run


def meeting(program: Program, order: Order, level: int) -> ArrowFunction:
    """The function that runs the stops of a level in one partition."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_worker()
        parcels = [parcel for batch in batches for parcel in from_batch(batch)]
        yield from _handed_on(meet_at(program, order, level, _task(), parcels))

    return run


def learning(program: Program, order: Order) -> ArrowFunction:
    """The function that runs the first stops in one partition, to which nothing has come."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_worker()
        for _ in batches:  # Spark waits until its rows are read
            pass
        yield from _handed_on(meet_at(program, order, 1, _task(), []))

    return run


def blobs(spark: SparkSession, batches: Mapping[str, Batch], partitions: int) -> DataFrame | None:
    """Batches held by the driver as a data frame, cut into slices in order of arrival."""
    rows = [
        {
            "stream": name,
            "slice": number,
            "blob": pack_table(part),
            "raw": [raw for raw, _ in bad],
            "reason": [reason for _, reason in bad],
        }
        for number, (name, part, bad) in enumerate(slices(batches, partitions))
    ]
    if not rows:
        return None
    # As Arrow: rows of Python objects would be pickled one by one, which costs a fifth of a small epoch.
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=_HELD))


def _task() -> int:
    context = TaskContext.get()
    return context.partitionId() if context is not None else 0


def _told_apart(rows: pa.Table, schema: pa.Schema) -> tuple[pa.Table, list[tuple[str, str]]]:
    """The rows, and as text those that Spark could not read as such."""
    if UNREADABLE not in rows.column_names:
        return rows.cast(schema) if len(rows.column_names) == len(schema) else _filled(rows, schema), []
    columns = ", ".join(f"{field.name} {field.type}" for field in schema)
    wrong = rows.filter(pc.is_valid(rows[UNREADABLE]))
    reasons = wrong[REASON].to_pylist() if REASON in rows.column_names else [f"not a row of ({columns})"] * len(wrong)
    bad = list(zip(wrong[UNREADABLE].to_pylist(), reasons, strict=True))
    return rows.filter(pc.is_null(rows[UNREADABLE])).select(schema.names).cast(schema), bad


def _filled(rows: pa.Table, schema: pa.Schema) -> pa.Table:
    """Rows with all columns of a stream; those that nobody reads are null.

    >>> _filled(pa.table({"b": [1]}), pa.schema({"a": pa.string(), "b": pa.int64()})).to_pylist()
    [{'a': None, 'b': 1}]
    """
    columns = [
        rows[field.name].cast(field.type) if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


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


__all__ = [
    "PARCEL",
    "STREAM",
    "Tags",
    "arrow_schema",
    "blobs",
    "entering",
    "entering_blobs",
    "entering_to_meet",
    "learning",
    "meeting",
    "numbered",
    "quoted",
    "slots_of",
    "tagged",
]  # fmt: skip
