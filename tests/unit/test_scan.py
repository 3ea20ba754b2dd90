"""What a script's streams ask of Spark: formats, columns, options, errors. The session only takes notes."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StringType, StructType

import millstream as ms
from millstream.core.errors import SqlError
from millstream.plan import nodes
from millstream.runtime.batch import REASON, UNREADABLE
from millstream.spark.paths.frames import _told_apart, arrow_schema
from support import planning


class Notes(DataFrame):
    """A reader that notes what it is asked for, and the frame that it gives."""

    def __new__(cls, *_: object) -> Notes:
        return object.__new__(cls)

    def __init__(self, found: StructType, broken: str | None = None) -> None:
        self.asked: dict[str, Any] = {}
        self.found, self.broken = found, broken

    def format(self, name: str) -> Notes:
        self.asked["format"] = name
        return self

    @property
    def schema(self) -> Any:
        return _Schema(self)

    def options(self, **more: Any) -> Notes:
        self.asked |= more
        return self

    def option(self, name: str, value: Any) -> Notes:
        return self.options(**{name: value})

    def load(self, path: str | None = None) -> Notes:
        if self.broken:
            raise AnalysisException(self.broken)
        self.asked["path"] = path
        return self

    def select(self, *names: Any) -> Notes:  # type: ignore[override]  # all that is asked here
        bare = [name.strip("`") for name in names]
        self.found = StructType([self.found[name] for name in bare])
        return self

    def mapInArrow(self, fn: Any, schema: Any) -> Notes:  # type: ignore[override]  # noqa: N802 - Spark's name
        self.read, self.given, self.found = fn, self.found.names, schema
        return self

    @property
    def isStreaming(self) -> bool:  # noqa: N802 - Spark's name
        return True


class _Schema(StructType):
    """The schema of the frame, which sets it when called."""

    def __init__(self, notes: Notes) -> None:
        super().__init__(list(notes.found.fields))
        self.notes = notes

    def __call__(self, schema: StructType) -> Notes:
        self.notes.found = schema
        return self.notes


class Session:
    """A session with such a reader."""

    version = "4.3.0"

    def __init__(self, found: StructType | None = None, broken: str | None = None) -> None:
        self.notes = Notes(found or StructType(), broken)
        self.read = self.readStream = self.notes
        self.sparkContext = SimpleNamespace(defaultParallelism=2)


def declared(tmp_path: Path, statement: str, **session: Any) -> tuple[Notes, nodes.Source]:
    engine = planning.engine(tmp_path / "ck", 1)
    engine.host.spark = Session(**session)
    engine.sql(statement)
    return engine.host.spark.notes, engine._streams["s"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "0.csv").write_text("k,extra,n\na,x,1\n")
    (tmp_path / "in" / "0.json").write_text('{"n": 1, "k": "a"}\n')
    pq.write_table(pa.table({"n": [1], "k": ["a"]}), tmp_path / "in" / "0.parquet")
    return tmp_path / "in"


def test_a_folder_of_parquet_is_read_with_the_declared_columns(tmp_path: Path, folder: Path) -> None:
    notes, source = declared(
        tmp_path, f"CREATE STREAM s (n BIGINT, k STRING) FROM parquet '{folder}' OPTIONS (maxFilesPerTrigger 3)"
    )

    assert {"format": "parquet", "path": str(folder), "maxFilesPerTrigger": "3"} == notes.asked
    assert (["n", "k"], False) == (source.schema.names, source.raw)


def test_columns_of_parquet_that_are_not_declared_are_those_that_spark_finds(tmp_path: Path, folder: Path) -> None:
    found = StructType().add("n", LongType()).add("k", StringType())
    _, source = declared(tmp_path, f"CREATE STREAM s FROM parquet '{folder}'", found=found)

    assert ["n", "k"] == source.schema.names


def test_text_is_read_by_the_names_in_its_header_and_what_cannot_be_read_comes_along(
    tmp_path: Path, folder: Path
) -> None:
    statement = f"CREATE STREAM s (n BIGINT, k STRING) FROM csv '{folder}' OPTIONS (pattern '*.csv')"
    notes, source = declared(tmp_path, statement)

    assert (["n", "k"], True) == (source.schema.names, source.raw)
    assert ["n", "k", UNREADABLE, REASON] == notes.found.names
    assert {
        "format": "binaryFile",
        "pathGlobFilter": "*.csv",
        "maxBytesPerTrigger": str(256 << 20),
        "path": str(folder),
    } == notes.asked
    assert ["path", "content"] == notes.given
    texts = [b"k,extra,n\na,x,1\n", b"n,k\nx,b\n2,c\n"]
    files = pa.RecordBatch.from_pydict({"path": ["file:/in/0.csv", "file:/in/1.csv"], "content": texts})
    rows = pa.Table.from_batches(notes.read(iter([files]))).to_pylist()
    assert [(1, "a", None), (2, "c", None), (None, None, "x,b")] == [(r["n"], r["k"], r[UNREADABLE]) for r in rows]
    assert '1.csv line 2: column "n": "x" is not int64' == rows[-1][REASON]


@pytest.mark.parametrize("form", ["csv", "json"])
def test_columns_of_text_that_are_not_declared_are_those_of_the_local_host(
    tmp_path: Path, folder: Path, form: str
) -> None:
    statement = f"CREATE STREAM s FROM {form} '{folder}' OPTIONS (pattern '*.{form}')"
    _, there = declared(tmp_path, statement)
    engine = ms.Engine(host="local")
    engine.sql(statement)

    assert engine._streams["s"].schema == there.schema


def test_one_file_is_its_folder_with_a_pattern(tmp_path: Path, folder: Path) -> None:
    notes, _ = declared(tmp_path, f"CREATE STREAM s (n BIGINT) FROM parquet '{folder / '0.parquet'}'")

    assert (str(folder), "0.parquet") == (notes.asked["path"], notes.asked["pathGlobFilter"])


def test_a_path_that_is_not_on_this_machine_is_left_to_spark(tmp_path: Path) -> None:
    notes, _ = declared(tmp_path, "CREATE STREAM s (n BIGINT) FROM parquet 's3://bucket/in'")

    assert "s3://bucket/in" == notes.asked["path"]


def test_a_file_is_cut_only_in_this_process(tmp_path: Path, folder: Path) -> None:
    notes, source = declared(
        tmp_path, f"CREATE STREAM s (n BIGINT) FROM parquet '{folder}' OPTIONS (epoch_rows 5, pattern '*.parquet')"
    )

    assert ({}, ["n"]) == (notes.asked, source.schema.names)


def test_rate_is_sparks_unless_it_is_to_end(tmp_path: Path) -> None:
    found = StructType().add("timestamp", StringType()).add("value", LongType())
    notes, _ = declared(tmp_path / "a", "CREATE STREAM s FROM rate OPTIONS (rowsPerSecond 7)", found=found)
    mine, _ = declared(tmp_path / "b", "CREATE STREAM s FROM rate OPTIONS (rows 7)")

    assert {"format": "rate", "rowsPerSecond": 7} == {n: v for n, v in notes.asked.items() if n != "path"}
    assert {} == mine.asked


WRONG = {
    "CREATE STREAM s (n BIGINT) FROM parquet 'nowhere'": '"nowhere" does not exist',
    "CREATE STREAM s (n BIGINT) FROM parquet ''": '"" names no file and no folder',
    "CREATE STREAM s (n BIGINT) FROM csv '.' OPTIONS (pattern 'a/*.csv')": "looks into folders that Spark",
}


@pytest.mark.parametrize("statement", WRONG)
def test_a_path_that_cannot_be_is_refused(tmp_path: Path, statement: str) -> None:
    with pytest.raises(SqlError, match=WRONG[statement]):
        declared(tmp_path, statement)


def test_a_connector_that_is_not_there_is_named_with_its_version(tmp_path: Path) -> None:
    with pytest.raises(SqlError) as raised:
        declared(tmp_path, "CREATE STREAM s FROM kafka 'topic'", broken="Failed to find data source: kafka.")

    assert "org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0" in str(raised.value)


def test_what_spark_could_not_read_is_told_apart() -> None:
    rows = pa.table({"n": [1, None, 3], UNREADABLE: [None, "x,y", None]})
    schema = pa.schema({"n": pa.int64()})
    good, bad = _told_apart(rows, schema)
    _, told = _told_apart(rows.append_column(REASON, pa.array([None, "line 2", None])), schema)

    assert ([1, 3], [("x,y", "not a row of (n int64)")]) == (good["n"].to_pylist(), bad)
    assert [("x,y", "line 2")] == told


def test_the_text_of_what_could_not_be_read_is_no_column_of_the_stream() -> None:
    notes = Notes(StructType().add("n", LongType()).add(UNREADABLE, StringType()))

    assert ["n"] == arrow_schema(notes).names
