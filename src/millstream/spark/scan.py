"""Scans: the streams of a script as streaming data frames, so that Spark reads them where its executors are."""

from __future__ import annotations

import csv
import re
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from millstream.core.errors import SourceError
from millstream.core.quote import quoted
from millstream.runtime.batch import UNREADABLE
from millstream.runtime.sources.files import files
from millstream.runtime.sources.listing import named_path, names_in

_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
# Text is read as the local host reads it: quotes are doubled, times without a zone are UTC. Columns are told by their
# names, and a row that does not fit leaves as text, for the rejected output.
_AS_TEXT = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": UNREADABLE, "timeZone": "UTC"}
_OPTIONS: dict[str, dict[str, str]] = {
    "parquet": {},
    "csv": {**_AS_TEXT, "header": "true", "enforceSchema": "false", "escape": '"'},
    "json": _AS_TEXT,
}


def file_frame(
    spark: SparkSession,
    path: str,
    format: str,  # noqa: A002 - the word users of Spark expect
    schema: pa.Schema | None,
    *,
    epoch_files: int | None = None,
    pattern: str = "*",
) -> DataFrame:
    """A file or a folder of files, read by Spark as they come; without `schema`, with the columns of those that did."""
    options = {**_OPTIONS[format], **_glob(pattern)}
    where = path
    if "://" not in path:
        place = named_path(path)
        where = str(place.absolute())
        if place.is_file():  # Spark streams folders only
            where = str(place.absolute().parent)
            options["pathGlobFilter"] = re.sub(r"([\\*?\[\]{}])", r"\\\1", place.name)
    if epoch_files is not None:
        options["maxFilesPerTrigger"] = str(epoch_files)
    try:
        fields = _fields(spark, path, where, format, schema, options, pattern)
        apart = [] if format == "parquet" else [StructField(UNREADABLE, StringType())]
        frame = spark.readStream.format(format).schema(StructType([*fields, *apart])).options(**options).load(where)
    except PySparkException as error:
        raise SourceError(
            f'Spark cannot read {format} "{path}": {str(error).splitlines()[0]}',
            hint="Check the path, the columns and their types.",
        ) from error
    names = [field.name for field in fields] if schema is None else schema.names
    return frame.select(*(quoted(name) for name in (*names, *(field.name for field in apart))))


def kafka_frame(spark: SparkSession, options: dict[str, Any]) -> DataFrame:
    """A topic of Kafka; its connector is a package of its own, which a session must have been started with."""
    try:
        return spark.readStream.format("kafka").options(**options).load()
    except Exception as error:  # of Spark, of its bridge, or of the connector
        raise SourceError(
            f"kafka cannot be read: {str(error).splitlines()[0]}",
            hint=f"Spark needs its connector: start it with --packages {_CONNECTOR}:{spark.version}.",
        ) from error


def rate_frame(spark: SparkSession, per_second: int) -> DataFrame:
    """Rows that number themselves, so many a second, made by Spark."""
    return spark.readStream.format("rate").option("rowsPerSecond", per_second).load()


def _fields(
    spark: SparkSession,
    path: str,
    where: str,
    format: str,  # noqa: A002
    schema: pa.Schema | None,
    options: dict[str, str],
    pattern: str,
) -> list[StructField]:
    """The columns that the files have, in their order, with the types that were declared or found."""
    if schema is None and (format == "parquet" or "://" in path):
        batch = {name: value for name, value in options.items() if name != "maxFilesPerTrigger"}
        found = spark.read.format(format).options(**batch, inferSchema="true").load(where).schema.fields
        return [field for field in found if field.name != UNREADABLE]
    declared = _struct(files(path, format, pattern=pattern).schema if schema is None else schema)
    header = _header(path, pattern) if format == "csv" else None
    if header is None or not set(declared.names) <= set(header):
        return declared.fields
    # What a file has besides is read as text and left behind.
    return [declared[name] if name in declared.names else StructField(name, StringType()) for name in header]


def _struct(schema: pa.Schema) -> StructType:
    """A schema as Spark has it.

    >>> _struct(pa.schema({"ts": pa.timestamp("us", "UTC"), "n": pa.int64()})).simpleString()
    'struct<ts:timestamp,n:bigint>'
    """
    try:
        return from_arrow_schema(schema, prefer_timestamp_ntz=True)
    except PySparkException as error:
        raise SourceError(
            f"Spark has no type for a column of {', '.join(f'{field.name} {field.type}' for field in schema)}",
            hint="Declare the columns, with types of Spark SQL.",
        ) from error


def _header(path: str, pattern: str) -> list[str] | None:
    """The names in the first line of the first CSV file; None where it is not plain text on this machine."""
    if "://" in path:
        return None
    place = named_path(path)
    names = names_in(place, pattern)
    if not names or not names[0].endswith(".csv"):
        return None
    with (place if place.is_file() else place / names[0]).open(encoding="utf-8-sig", newline="") as lines:
        return next(csv.reader(lines), None)


def _glob(pattern: str) -> dict[str, str]:
    """Which files of a folder, in Spark's words.

    >>> _glob("*"), _glob("**/*.csv")
    ({}, {'recursiveFileLookup': 'true', 'pathGlobFilter': '*.csv'})
    """
    if pattern == "*":
        return {}
    folders, slash, name = pattern.rpartition("/")
    if slash and folders != "**":
        raise SourceError(
            f"pattern {pattern!r} looks into folders that Spark cannot choose by name",
            hint='Write the folder in the path, and "**/*.csv" for all folders below it.',
        )
    return {"recursiveFileLookup": "true", "pathGlobFilter": name} if slash else {"pathGlobFilter": name}
