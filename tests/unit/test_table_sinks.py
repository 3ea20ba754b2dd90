"""Iceberg and PostgreSQL tables as sinks: exactly once across crashes, and nobody else's table is touched."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Protocol

import psycopg
import pyarrow as pa
import pytest
from pyiceberg.catalog import load_catalog

import millstream as ms
from millstream.runtime.sinks.iceberg import IcebergSink
from millstream.runtime.sinks.postgres import PostgresSink
from support import postgres
from support.table_sinks import EPOCHS, ask, bag, read_input, run, wanted, write_input

OTHER = pa.table({"window_id": [7], "window_start": [70], "window_end": [80], "k": ["x"], "n": [1], "total": [0.5]})


class Tables(Protocol):
    """A kind of sink, and what is in its tables."""

    sink: Any

    def to(self, output: Any, name: str, **options: Any) -> None:
        """Have an output written to a table."""
        ...

    def found(self, name: str) -> pa.Table:
        """What a table has, read by somebody else's code."""
        ...

    def put(self, name: str, rows: pa.Table) -> None:
        """A table of somebody else."""
        ...


class Iceberg:
    sink = IcebergSink

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.catalog = {
            "name": "tests",
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"file://{folder}",
        }

    def to(self, output: Any, name: str, **options: Any) -> None:
        output.to_iceberg(f"lake.{name}", catalog=self.catalog, **options)

    def load(self) -> Any:
        return load_catalog(**self.catalog)

    def found(self, name: str) -> pa.Table:
        with closing(self.load()) as catalog:
            return catalog.load_table(f"lake.{name}").scan().to_arrow()

    def put(self, name: str, rows: pa.Table) -> None:
        with closing(self.load()) as catalog:
            catalog.create_namespace_if_not_exists("lake")
            catalog.create_table(f"lake.{name}", rows.schema).append(rows)


class Postgres:
    sink = PostgresSink

    def __init__(self, address: str) -> None:
        self.address = address
        with psycopg.connect(address) as connection:
            connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")

    def to(self, output: Any, name: str, **options: Any) -> None:
        output.to_postgres(self.address, name, **options)

    def found(self, name: str) -> pa.Table:
        with psycopg.connect(self.address) as connection:
            cursor = connection.execute(f'SELECT * FROM "{name}"')  # type: ignore[arg-type]
            names = [one.name for one in cursor.description or ()]
            return pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in cursor.fetchall()])

    def put(self, name: str, rows: pa.Table) -> None:
        with psycopg.connect(self.address) as connection:
            connection.execute(
                f'CREATE TABLE "{name}" (window_id bigint, window_start bigint, window_end bigint, k text, n bigint, '  # type: ignore[arg-type]
                "total double precision)"
            )
            for row in rows.to_pylist():
                connection.execute(f'INSERT INTO "{name}" VALUES (%s, %s, %s, %s, %s, %s)', list(row.values()))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with postgres.server() as found:
        yield found


@pytest.fixture(params=["iceberg", "postgres"])
def tables(request: pytest.FixtureRequest, tmp_path: Path) -> Tables:
    if request.param == "iceberg":
        return Iceberg(tmp_path / "lake")
    return Postgres(request.getfixturevalue("address"))


def engine(tmp_path: Path, tables: Tables, name: str = "q", checkpoint: str | None = "ck", **options: Any) -> ms.Engine:
    made = ms.Engine(host="local", checkpoint=None if checkpoint is None else tmp_path / checkpoint)
    query = ask(made, read_input(tmp_path / "in"), name)
    tables.to(query, "out", **options)
    tables.to(query.late, "late", **options)
    tables.to(query.rejected, "rejected", **options)
    return made


def same(tmp_path: Path, tables: Tables) -> None:
    right = wanted(tmp_path / "in")
    assert right["out"] == bag(tables.found("out"))
    for name in ("late", "rejected"):
        assert len(right[name]) == tables.found(name).num_rows == 1


@pytest.mark.parametrize("checkpoint", [None, "ck"], ids=["memory", "disk"])
def test_a_table_has_each_result_once(tmp_path: Path, tables: Tables, checkpoint: str | None) -> None:
    write_input(tmp_path / "in")
    run(engine(tmp_path, tables, checkpoint=checkpoint), end=True)

    same(tmp_path, tables)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("crash", range(4))
def test_a_crash_around_a_delivery_loses_nothing_and_repeats_nothing(
    tmp_path: Path, tables: Tables, when: str, crash: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = tables.sink.write, iter(range(10**6))

    def crashing(self: Any, rows: pa.Table, epoch: int) -> None:
        if (number := next(calls)) == crash and when == "before":
            raise RuntimeError("killed")
        real(self, rows, epoch)
        if number == crash and when == "after":
            raise RuntimeError("killed")

    write_input(tmp_path / "in")
    with monkeypatch.context() as patch:
        patch.setattr(tables.sink, "write", crashing)
        with pytest.raises(Exception, match="killed"):
            run(engine(tmp_path, tables), end=True)
    with suppress(ms.RunError):  # where the end of the stream was committed, and only its delivery was missing
        run(engine(tmp_path, tables), end=True)

    same(tmp_path, tables)


def test_a_restart_goes_on_with_its_table_and_a_renamed_query_too(tmp_path: Path, tables: Tables) -> None:
    write_input(tmp_path / "in", 3)
    run(engine(tmp_path, tables))
    write_input(tmp_path / "in")
    run(engine(tmp_path, tables, name="other"), end=True)

    same(tmp_path, tables)


def test_somebody_else_s_table_is_refused_appended_to_or_replaced(tmp_path: Path, tables: Tables) -> None:
    write_input(tmp_path / "in")
    tables.put("out", OTHER)

    def again(mode: str) -> list[str]:
        run(engine(tmp_path, tables, checkpoint=f"ck-{mode}", mode=mode), end=True)
        return bag(tables.found("out"))

    with pytest.raises(ms.SinkError, match="is not that of the results of 'q'"):
        again("error")
    assert sorted([*wanted(tmp_path / "in")["out"], *bag(OTHER)]) == again("append")
    assert wanted(tmp_path / "in")["out"] == again("replace")


def test_a_lake_gets_columns_that_it_lacks_only_if_asked(tmp_path: Path) -> None:
    write_input(tmp_path / "in")
    tables = Iceberg(tmp_path / "lake")
    tables.put("out", OTHER.drop_columns(["total"]))

    with pytest.raises(ms.SinkError, match="has no column 'total'"):
        run(engine(tmp_path, tables, mode="append"), end=True)
    run(engine(tmp_path, tables, checkpoint="b", mode="append", evolve=True), end=True)

    assert [None] == [row["total"] for row in tables.found("out").to_pylist() if row["k"] == "x"]


def test_a_snapshot_of_a_lake_names_its_query_and_epoch(tmp_path: Path) -> None:
    write_input(tmp_path / "in")
    tables = Iceberg(tmp_path / "lake")
    run(engine(tmp_path, tables, partition_by="k"), end=True)

    with closing(tables.load()) as catalog:
        table = catalog.load_table("lake.out")
    found = [one.summary.additional_properties for one in table.snapshots()]
    assert {"q"} == {one["millstream.query"] for one in found}
    assert sorted({one["millstream.epoch"] for one in found}) == [one["millstream.epoch"] for one in found]
    assert ["k"] == [field.name for field in table.spec().fields]


def test_of_rows_with_one_key_the_last_stays(address: str) -> None:
    tables = Postgres(address)
    made = ms.Engine(host="local")
    rows = [
        [{"ts": 1, "k": "a"}, {"ts": 2, "k": None}, {"ts": 3, "k": "a"}],
        [{"ts": 4, "k": "a"}, {"ts": 5, "k": None}],
    ]
    stream = made.stream("s", rows, schema="ts BIGINT, k STRING", progress=ms.ordered("ts"))
    tables.to(stream.select("k", "ts").named("q"), "last", key="k")
    run(made, end=True)

    assert ["{'k': 'a', 'ts': 4}", "{'k': None, 'ts': 5}"] == bag(tables.found("last"))


def test_a_table_takes_every_type_and_odd_names(address: str) -> None:
    tables = Postgres(address)
    odd = 'a "b" %s'
    rows = pa.table(
        {
            "ts": [1, 2],
            odd: ["it's \\ \t", None],
            "d": pa.array(["1.50", None]).cast(pa.decimal128(12, 2)),
            "f": [float("nan"), float("-inf")],
            "t": pa.array([0, None], pa.timestamp("us", tz="UTC")),
            "day": pa.array([0, None], pa.date32()),
            "b": [b"\x00\xff", None],
            "l": [[1, None], None],
            "y": [True, None],
        }
    )
    made = ms.Engine(host="local")
    stream = made.stream("s", rows, progress=ms.ordered("ts"))
    tables.to(stream.select(*rows.schema.names[:1], *(f"`{name}`" for name in rows.schema.names[1:])).named("q"), "t's")
    run(made, end=True)

    found = sorted(tables.found("t's").to_pylist(), key=lambda row: row["ts"])
    assert ["it's \\ \t", None] == [row[odd] for row in found]
    assert ["nan", "-inf"] == [str(row["f"]) for row in found]
    assert [b"\x00\xff", None] == [row["b"] for row in found]
    assert [[1, None], None] == [row["l"] for row in found]
    assert ["1.50", "None"] == [str(row["d"]) for row in found]


def test_a_server_that_is_not_there_is_told_at_the_start(tmp_path: Path) -> None:
    made = ms.Engine(host="local")
    made.stream("s", EPOCHS[:1], progress=ms.ordered("ts")).select("ts").named("q").to_postgres(f"host={tmp_path}", "t")
    with pytest.raises(ms.SinkError, match="PostgreSQL cannot be reached"):
        run(made)


def test_scripts_write_tables(tmp_path: Path, address: str) -> None:
    folder, lake, base = write_input(tmp_path / "in"), Iceberg(tmp_path / "lake"), Postgres(address)
    made = ms.Engine(host="local")
    made.sql(f"CREATE STREAM s (ts BIGINT, k STRING, v DOUBLE) FROM parquet '{folder}' PROGRESS ON ts WITHIN 3")
    options = ", ".join(f"`catalog.{name}` '{value}'" for name, value in lake.catalog.items())
    made.sql(f"INSERT INTO iceberg 'lake.out' OPTIONS (partition_by 'k', {options}) SELECT k, ts FROM s WHERE v > 1")
    made.sql(f"INSERT INTO postgres 'out' OPTIONS (address '{address}', key 'k') SELECT k, ts FROM s WHERE v > 1")
    run(made, end=True)

    assert 42 == lake.found("out").num_rows
    assert {"a", "b"} == {row["k"] for row in base.found("out").to_pylist()}
    with pytest.raises(ms.SqlError, match="is in no database"):
        made.sql("INSERT INTO postgres 'out' SELECT k FROM s")
