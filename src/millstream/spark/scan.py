"""Scans: the streams of a script as streaming data frames, so that Spark reads them where its executors are."""

from __future__ import annotations

import re
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from millstream.core.errors import SourceError
from millstream.runtime.batch import UNREADABLE
from millstream.runtime.sources.file_source import files
from millstream.runtime.sources.listing import named_path
from millstream.spark.csv_frame import WHOLE, csv_frame
from millstream.spark.epoch_size import LIMIT, bytes_per_epoch
from millstream.spark.paths.frames import arrow_schema

_CONNECTOR = "org.apache.spark:spark-sql-kafka-0-10_2.13"
# As on the local host, times without a zone are UTC, and a row that does not fit leaves as text, to be rejected.
_OPTIONS: dict[str, dict[str, str]] = {
    "parquet": {},
    "csv": {},
    "json": {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": UNREADABLE, "timeZone": "UTC"},
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
    elif format == "csv":  # read as whole files, in which nobody sees a folder any more
        options[LIMIT] = str(bytes_per_epoch(spark))
    try:
        found = _schema(spark, path, where, format, options, pattern) if schema is None else schema
        fields = _struct(found)
        if format == "csv":
            whole = spark.readStream.format("binaryFile").schema(WHOLE).options(**options).load(where)
            return csv_frame(whole, found, fields)
        apart = [] if format == "parquet" else [StructField(UNREADABLE, StringType())]
        rows = StructType([*fields.fields, *apart])
        return spark.readStream.format(format).schema(rows).options(**options).load(where)
    except PySparkException as error:
        raise SourceError(
            f'Spark cannot read {format} "{path}": {str(error).splitlines()[0]}',
            hint="Check the path, the columns and their types.",
        ) from error


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


def _schema(
    spark: SparkSession,
    path: str,
    where: str,
    format: str,  # noqa: A002
    options: dict[str, str],
    pattern: str,
) -> pa.Schema:
    """The columns that the files have."""
    if format != "parquet" and "://" not in path:
        return files(path, format, pattern=pattern).schema
    if format == "csv":
        options = {**options, "header": "true", "escape": '"', "timeZone": "UTC"}
    batch = {name: value for name, value in options.items() if name not in ("maxFilesPerTrigger", LIMIT)}
    return arrow_schema(spark.read.format(format).options(**batch, inferSchema="true").load(where))


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
