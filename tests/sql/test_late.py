"""LATE(q) and REJECTED(q): rows that were set apart have sinks in statements, and are streams."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from support import in_process

DECLARED = """
CREATE STREAM bids FROM parquet 'in' PROGRESS ORDERED ON ts;
CREATE VIEW dear AS SELECT * FROM bids WHERE price > 10;
INSERT INTO memory 'counts' SELECT item, count(*) AS n FROM dear [RANGE 10, WATTR ts] GROUP BY item;
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files of bids: the second is in order, the third has two late rows, and one without a time."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    epochs = [[(1, "lamp"), (5, "sofa")], [(21, "lamp")], [(3, "lamp"), (4, "vase"), (None, "sofa"), (30, "lamp")]]
    for i, epoch in enumerate(epochs):
        rows = [{"ts": ts, "item": item, "price": 20} for ts, item in epoch]
        table = pa.Table.from_pylist(rows, pa.schema({"ts": pa.int64(), "item": pa.string(), "price": pa.int64()}))
        pq.write_table(table, tmp_path / "in" / f"{i}.parquet")
    return tmp_path


def run(folder: Path, text: str, host: str = "local") -> list[ms.Query]:
    engine = ms.Engine(host="local") if host == "local" else in_process.engine(folder / "checkpoint", 2)
    queries = ms.Script(DECLARED + text).bind(engine)
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return queries


def read(path: str) -> list[dict[str, Any]]:
    return pa.concat_tables(pq.read_table(one) for one in sorted(Path(path).glob("*.parquet"))).to_pylist()


@pytest.mark.parametrize("host", ["local", "spark"])
@pytest.mark.parametrize("name", ["counts", "COUNTS", "dear", "bids"])
def test_late_and_rejected_rows_of_a_query_a_view_or_a_stream_are_written(folder: Path, host: str, name: str) -> None:
    run(folder, f"""
        INSERT INTO parquet 'late' SELECT * FROM LATE({name});
        INSERT INTO parquet 'bad' SELECT * FROM rejected({name});
    """, host)  # fmt: skip

    assert [3, 4] == sorted(row["ts"] for row in read("late"))
    assert {"ts < 21"} == {row["punctuation"] for row in read("late")}
    assert [("sofa", None)] == [(row["item"], row["ts"]) for row in read("bad")]


@pytest.mark.parametrize("host", ["local", "spark"])
def test_a_folder_that_never_got_a_row_is_readable(folder: Path, host: str) -> None:
    for path in ("1", "2"):
        (folder / "in" / f"{path}.parquet").unlink()
    run(folder, "INSERT INTO parquet 'late' SELECT * FROM LATE(counts);", host)

    table = pa.concat_tables(pq.read_table(path) for path in Path("late").glob("*.parquet"))
    assert (0, ["ts", "item", "price", "punctuation", "epoch"]) == (table.num_rows, table.schema.names)


def test_a_query_runs_once_whatever_is_written_of_it(folder: Path) -> None:
    queries = run(folder, "INSERT INTO json 'late' SELECT * FROM LATE(counts); SELECT * FROM LATE(counts);")

    assert ["counts"] == [query.name for query in queries]
    assert 2 == queries[0].late.table().num_rows


@pytest.mark.parametrize("host", ["local", "spark"])
def test_late_rows_may_be_asked_anything(folder: Path, host: str) -> None:
    *_, late, bad = run(folder, """
        INSERT INTO memory 'items' SELECT item, min(ts) AS first, count(*) AS n FROM LATE(counts) WHERE ts > 3
        GROUP BY item;
        INSERT INTO memory 'bad' SELECT upper(item) AS item FROM REJECTED(counts);
    """, host)  # fmt: skip

    assert [{"item": "vase", "first": 4, "n": 1}] == late.table().to_pylist()
    assert [{"item": "SOFA"}] == bad.table().to_pylist()


def test_a_statement_by_itself_is_a_query_over_the_rows() -> None:
    engine = ms.Engine(host="local")
    for one in DECLARED.split(";")[:-1]:
        engine.sql(one)
    late = engine.sql("SELECT * FROM LATE(counts)", name="late")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert [3, 4] == sorted(late.table()["ts"].to_pylist())


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("INSERT INTO parquet 'x' SELECT * FROM LATE(count)", 'there is no query, view or stream "count"'),
        ("INSERT INTO parquet 'x' SELECT * FROM LATE()", "the name of a query is expected"),
        ("INSERT INTO parquet 'x' SELECT * FROM LATE(counts", "is not closed"),
    ],
)
def test_a_wrong_one_is_told(folder: Path, text: str, fact: str) -> None:
    with pytest.raises(ms.SqlError, match=fact):
        run(folder, text)


def test_a_stream_may_still_be_called_late() -> None:
    engine = ms.Engine(host="local")
    engine.stream("late", [{"x": 1}])

    assert ["x"] == engine.sql("SELECT x FROM late").schema.names


def test_a_query_that_runs_gets_no_more_sinks() -> None:
    engine = ms.Engine(host="local")
    query = engine.stream("s", [{"x": 1}]).named("q")
    engine.start(ms.available_now()).await_termination()

    with pytest.raises(ms.SqlError, match="query 'q' has started"):
        engine.sql("INSERT INTO parquet 'x' SELECT * FROM LATE(q)")
    with pytest.raises(ms.PlanError, match="query 'q' has started"):
        query.late.stream()
