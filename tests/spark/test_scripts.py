"""Scripts on Spark: streams of files are read by Spark, answer as on the local host, and go on where they were."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame

import millstream as ms
from millstream.core.errors import RunError, SqlError
from sql.auction import BIDS
from support.bags import difference
from support.disk import rows_of

pytestmark = pytest.mark.spark

COLUMNS = "(ts TIMESTAMP, second BIGINT, item STRING, bidder BIGINT, price BIGINT, rate DOUBLE)"
SIZE = len(BIDS) // 4


def write(folder: Path, form: str, numbers: range) -> None:
    """One file for each number, in the order in which Spark takes them."""
    folder.mkdir(exist_ok=True)
    table = pa.Table.from_pylist(BIDS)
    for i in numbers:
        part, path = table.slice(SIZE * i, SIZE), folder / f"{i}.{form}"
        if form == "parquet":
            pq.write_table(part, path)
        elif form == "csv":
            pc.write_csv(part, path)
        else:
            rows = [{**row, "ts": row["ts"].isoformat()} for row in part.to_pylist()]
            path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))


def script(form: str, folder: Path, columns: str = COLUMNS) -> ms.Script:
    return ms.Script(f"""
        CREATE STREAM bids {columns} FROM {form} '{folder}' OPTIONS (maxFilesPerTrigger 1)
            PROGRESS ON ts WITHIN 5 seconds;
        SELECT item, count(*) AS n, sum(price) AS total FROM bids [RANGE 1 minute, WATTR ts]
            WHERE price > 0 GROUP BY item;
    """)


def answers(made: ms.Script, engine: ms.Engine) -> dict[str, Any]:
    (query,) = made.bind(engine)
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()
    return {
        "results": query.table().to_pylist(),
        "late": query.late.table().drop_columns(["epoch"]).to_pylist(),
        "books": run.progress["queries"][query.name]["books"],
    }


@pytest.mark.parametrize("columns", ["", COLUMNS], ids=["found", "declared"])
@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_files_are_read_by_spark_and_answer_as_on_the_local_host(
    spark: Any, tmp_path: Path, form: str, columns: str
) -> None:
    write(tmp_path / "in", form, range(3))
    made = script(form, tmp_path / "in", columns)
    engine = ms.Engine(spark, partitions=2)
    here, there = answers(made, ms.Engine(host="local")), answers(made, engine)

    assert isinstance(engine._sources["bids"], DataFrame)
    assert {} == difference(here["results"], there["results"])
    assert {} == difference(here["late"], there["late"])
    assert here["books"] == there["books"]


def test_parquet_is_reduced_by_spark_itself_and_explain_says_so(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "parquet", range(1))
    engine = ms.Engine(spark, partitions=2)
    script("parquet", tmp_path / "in").bind(engine)

    places = [line.rsplit("[", 1)[-1] for line in engine.explain().splitlines() if "─" in line]
    assert ["spark, then kernel]", "spark]", "spark]"] == places


def test_a_restart_takes_only_the_files_that_came_since(spark: Any, tmp_path: Path) -> None:
    folder, made = tmp_path / "in", script("parquet", tmp_path / "in")
    for numbers in (range(2), range(2, 4)):
        write(folder, "parquet", numbers)
        engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=2)
        (query,) = made.bind(engine)
        query.to_parquet(tmp_path / "out")
        run = engine.start(ms.available_now(), end_of_stream=numbers.stop == 4)
        run.await_termination()

    assert 4 * SIZE == run.progress["queries"][query.name]["books"]["rows_in"]
    assert {} == difference(answers(made, ms.Engine(host="local"))["results"], rows_of(tmp_path / "out"))


@pytest.mark.parametrize(("form", "bad"), [("csv", "x,y,z\n"), ("json", "{oops\n")])
def test_a_row_that_cannot_be_read_is_rejected_with_its_text(spark: Any, tmp_path: Path, form: str, bad: str) -> None:
    write(tmp_path / "in", form, range(1))
    with (tmp_path / "in" / f"0.{form}").open("a") as file:
        file.write(bad)
    engine = ms.Engine(spark, partitions=2)
    (query,) = script(form, tmp_path / "in").bind(engine)
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()

    assert [bad.strip()] == query.rejected.table()["raw"].to_pylist()
    assert 1 == run.progress["queries"][query.name]["books"]["rejected"]


def test_a_file_that_is_cut_off_stops_the_run_with_its_name(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", "parquet", range(2))
    path = tmp_path / "in" / "1.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    engine = ms.Engine(spark, partitions=2)
    script("parquet", tmp_path / "in").bind(engine)

    with pytest.raises(RunError, match=r"1\.parquet"):
        engine.start(ms.available_now(), end_of_stream=True).await_termination()


def test_kafka_without_its_connector_names_the_package(spark: Any) -> None:
    with pytest.raises(SqlError, match=rf"spark-sql-kafka-0-10_2\.13:{spark.version}"):
        ms.Engine(spark).sql("CREATE STREAM s FROM kafka 'topic' OPTIONS (`kafka.bootstrap.servers` 'localhost:9')")


def test_columns_of_files_may_have_any_name(spark: Any, tmp_path: Path) -> None:
    odd = "a`b.c d"
    pq.write_table(pa.table({"ts": [1, 2], odd: [5, 6]}), tmp_path / "1.parquet")
    engine = ms.Engine(spark, partitions=2)
    engine_script = ms.Script(
        f"CREATE STREAM s FROM parquet '{tmp_path}' PROGRESS ORDERED ON ts;"
        " INSERT INTO memory 'kept' SELECT ts, `a``b.c d` + 1 AS more FROM s;"
    )
    (query,) = engine_script.bind(engine)
    engine.start(ms.available_now()).await_termination()

    assert [(1, 6), (2, 7)] == sorted((row["ts"], row["more"]) for row in query.table().to_pylist())


NUMBERS = "1,nan,a\n2,inf,b\n3,-inf,c\n4,NaN,d\n5,,e\n6,x,f\n7,Infinity,g\n"


def test_csv_means_the_same_on_both_hosts(spark: Any, tmp_path: Path) -> None:
    texts = {
        "0.csv": "n,x,k\n" + NUMBERS,
        "1.csv": 'n,new,k,x\n8,1,"two\nlines, and "" a quote",0.5\n9,1,h,2\n10,1,i\n',
        "2.csv": "k,x,n\nj,1e3,11\n",
    }
    (tmp_path / "in").mkdir()
    for i, (name, text) in enumerate(texts.items()):
        (tmp_path / "in" / name).write_text(text)
        os.utime(tmp_path / "in" / name, (1_700_000_000 + i, 1_700_000_000 + i))
    (tmp_path / "in" / "3.csv.gz").write_bytes(gzip.compress(b"n,x,k\n12,0,k\n"))
    made = ms.Script(f"CREATE STREAM s (n BIGINT, x DOUBLE, k STRING) FROM csv '{tmp_path / 'in'}'; SELECT * FROM s;")
    found: list[Any] = []
    for engine in (ms.Engine(host="local"), ms.Engine(spark, partitions=2)):
        (query,) = made.bind(engine)
        engine.start(ms.available_now()).await_termination()
        rejected = query.rejected.table().select(["raw", "reason"]).to_pylist()
        found.append((query.table().sort_by("n").to_pylist(), sorted(rejected, key=str)))

    (here, bad), (there, bad_there) = found
    assert repr(here) == repr(there)
    assert [1, 2, 3, 4, 5, 7, 8, 9, 11, 12] == [row["n"] for row in there]
    assert bad == bad_there
    assert {"6,x,f", "10,1,i"} == {row["raw"] for row in bad_there}


def test_a_csv_file_without_a_column_stops_the_run_with_its_name(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("n,k\n1,a\n")
    engine = ms.Engine(spark, partitions=2)
    ms.Script(f"CREATE STREAM s (n BIGINT, x DOUBLE) FROM csv '{tmp_path}'; SELECT * FROM s;").bind(engine)

    with pytest.raises(ms.SourceError, match=r'1\.csv line 1 has no column "x"'):
        engine.start(ms.available_now()).await_termination()
