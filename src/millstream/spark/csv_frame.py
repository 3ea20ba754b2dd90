"""CSV files on Spark: it hands over files, and the reader of the local host takes them, so that both mean the same.

Spark's own reader knows other spellings of numbers, and takes the columns of all files to be those of the first.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import BinaryType, LongType, StringType, StructField, StructType, TimestampType

from millstream.runtime.batch import REASON, UNREADABLE
from millstream.runtime.sources.contents import unpacked
from millstream.runtime.sources.csv_file import read_text
from millstream.spark.paths.frames import ArrowFunction
from millstream.spark.worker import freeze_worker

WHOLE = (
    StructType()
    .add("path", StringType())
    .add("modificationTime", TimestampType())
    .add("length", LongType())
    .add("content", BinaryType())
)
"""What Spark gives of a file that is handed over whole."""
_ROWS = 100_000
"""So many rows are handed on at a time."""


def csv_frame(whole: DataFrame, schema: pa.Schema, fields: StructType) -> DataFrame:
    """The rows of whole files, and beside them, as text with the reason, what could not be read."""
    apart = [StructField(UNREADABLE, StringType()), StructField(REASON, StringType())]
    rows = StructType([*fields.fields, *apart])
    return whole.select("path", "content").mapInArrow(_reading(schema, to_arrow_schema(rows, timezone="UTC")), rows)


def _reading(schema: pa.Schema, out: pa.Schema) -> ArrowFunction:
    """The function that reads whole files."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        freeze_worker()
        for batch in batches:
            for path, content in zip(batch["path"], batch["content"], strict=True):
                for table in _tables(PurePosixPath(path.as_py()), content.as_py(), schema, out):
                    yield from table.to_batches(max_chunksize=_ROWS)

    return run


def _tables(path: PurePosixPath, content: bytes, schema: pa.Schema, out: pa.Schema) -> Iterator[pa.Table]:
    r"""The rows of a file, and those that could not be read, as Spark has both.

    >>> out = pa.schema({"x": pa.int64(), UNREADABLE: pa.string(), REASON: pa.string()})
    >>> good, bad = _tables(PurePosixPath("in/1.csv"), b"y,x\na,1\nb,z\n", pa.schema({"x": pa.int64()}), out)
    >>> good.to_pylist()
    [{'x': 1, '__ms_unreadable': None, '__ms_reason': None}]
    >>> bad.to_pylist()
    [{'x': None, '__ms_unreadable': 'b,z', '__ms_reason': '1.csv line 3: column "x": "z" is not int64'}]
    """
    found = read_text(unpacked(content, path), schema, path.name)
    good: list[pa.Array | pa.ChunkedArray] = [found.rows[name].cast(out.field(name).type) for name in schema.names]
    none = pa.nulls(found.rows.num_rows, pa.string())
    yield pa.Table.from_arrays([*good, none, none], schema=out)
    if found.unreadable:
        n = len(found.unreadable)
        texts = [pa.array([one.raw for one in found.unreadable]), pa.array([one.reason for one in found.unreadable])]
        yield pa.Table.from_arrays([*(pa.nulls(n, out.field(name).type) for name in schema.names), *texts], schema=out)
