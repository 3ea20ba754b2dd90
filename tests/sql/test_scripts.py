"""Files of statements: streams from files, a clause for each generator, sinks, several queries on one engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.core import generator
from sql.auction import BIDS, START

SCHEMA = "ts TIMESTAMP, second BIGINT, item STRING, bidder BIGINT, price BIGINT, rate DOUBLE"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the bids as Parquet, CSV and JSON files."""
    monkeypatch.chdir(tmp_path)
    table = pa.Table.from_pylist(BIDS)
    for name in ("parquet", "csv", "json"):
        (tmp_path / name).mkdir()
    for i, at in enumerate(range(0, table.num_rows, 40)):
        part = table.slice(at, 40)
        pq.write_table(part, tmp_path / "parquet" / f"{i}.parquet")
        pc.write_csv(part, tmp_path / "csv" / f"{i}.csv")
        lines = part.to_pandas().to_json(orient="records", lines=True, date_format="iso")
        (tmp_path / "json" / f"{i}.json").write_text(str(lines))
    return tmp_path


def run(text: str) -> tuple[ms.Engine, list[ms.Query]]:
    engine = ms.Engine(host="local")
    queries = ms.Script(text).bind(engine)
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return engine, queries


def test_a_table_is_read_from_files(folder: Path) -> None:
    (folder / "items").mkdir()
    (folder / "items" / "0.csv").write_text("item,kind,least\nlamp,light,1\n")
    (folder / "items" / "1.csv").write_text("item,kind,least\nsofa,seat,1\n")
    (folder / "items" / "2.txt").write_text("nothing\n")
    text = """
        CREATE STREAM bids FROM parquet 'parquet' PROGRESS ON ts WITHIN 5 seconds;
        CREATE TABLE items (item STRING, kind STRING, least DOUBLE) FROM csv 'items' OPTIONS (pattern '*.csv');
        SELECT kind, count(*) AS n FROM bids [RANGE 10 minutes, WATTR ts] JOIN items USING (item) GROUP BY kind;
    """
    engine, (query,) = run(text)

    wanted = {"light": "lamp", "seat": "sofa"}
    found = {row["kind"]: row["n"] for row in query.table().to_pylist()}
    assert {kind: sum(row["item"] == item for row in BIDS) for kind, item in wanted.items()} == found
    assert ["stream", "table", "query"] == [one.kind for one in ms.Script(text).check(ms.Engine(host="local"))]
    assert pa.float64() == engine._tables["items"].schema.field("least").type


@pytest.mark.parametrize(
    ("statement", "fact"),
    [
        ("CREATE TABLE t FROM csv 'nowhere'", "nowhere"),
        ("CREATE TABLE t FROM csv 'csv' OPTIONS (header true)", 'there is no option "header"'),
        ("CREATE TABLE t (item WORDS) FROM csv 'csv'", "WORDS"),
        ("CREATE TABLE bids FROM csv 'csv'", 'there is a stream, table or query "bids" already'),
    ],
)
def test_a_wrong_table_is_told_clearly(statement: str, fact: str) -> None:
    text = f"CREATE STREAM bids FROM parquet 'parquet';\n{statement};"

    with pytest.raises(ms.SqlError, match=fact):
        ms.Script(text).bind(ms.Engine(host="local"))


def counts(query: ms.Query) -> list[int]:
    return [row["n"] for row in sorted(query.table().to_pylist(), key=lambda row: row["window_start"])]


WANTED = [sum(row["second"] // 60 == minute for row in BIDS) for minute in range(5)]


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
@pytest.mark.parametrize("columns", ["", f"({SCHEMA})"])
def test_a_stream_is_read_from_files(form: str, columns: str) -> None:
    _, (query,) = run(f"""
        CREATE STREAM bids {columns} FROM {form} '{form}' PROGRESS ON ts WITHIN 5 seconds;
        SELECT count(*) AS n FROM bids [RANGE 1 minute, WATTR ts];
    """)

    assert WANTED == counts(query)


def test_options_reach_the_source() -> None:
    engine = ms.Engine(host="local")
    (query,) = ms.Script("""
        CREATE STREAM bids FROM parquet 'parquet' OPTIONS (epoch_rows 10, pattern '0*') PROGRESS ON ts WITHIN 5 seconds;
        SELECT * FROM bids
    """).bind(engine)
    running = engine.start(ms.available_now())
    running.await_termination()

    assert (4, 40) == (len(running.recent_progress), query.table().num_rows)


@pytest.mark.parametrize(
    ("clause", "kind"),
    [
        ("ORDERED ON ts", generator.Ordered),
        ("ON ts WITHIN 5 seconds", generator.BoundedDisorder),
        ("ON ts WITHIN 10 ROWS", generator.BoundedRows),
        ("ON second WITHIN 5", generator.BoundedDisorder),
        ("ON ts EVERY 10 seconds STEP", generator.Step),
        ("ON ts TIMER EVERY 1 second", generator.Timer),
        ("ON ts TIMER EVERY 1 second LULL 5 seconds", generator.Timer),
        ("SUPPLIED", generator.Supplied),
        ("SUPPLIED ON ts", generator.Supplied),
        ("MARKED BY item", generator.Supplied),
        ("MARKED BY item ON ts", generator.Supplied),
        ("ON ts WITHIN 5 seconds PER item", generator.PerGroup),
        ("ORDERED ON ts PER item, bidder", generator.PerGroup),
    ],
)
def test_every_generator_has_a_clause(clause: str, kind: type) -> None:
    stream = ms.Engine(host="local").sql(f"CREATE STREAM bids FROM parquet 'parquet' PROGRESS {clause}")

    assert isinstance(stream.node.progress, kind)  # type: ignore[union-attr]  # a source


def test_progress_is_as_declared() -> None:
    engine = ms.Engine(host="local")
    (query,) = ms.Script("""
        CREATE STREAM bids FROM parquet 'parquet' PROGRESS ON ts WITHIN 5 seconds;
        SELECT count(*) AS n FROM bids [RANGE 1 minute, WATTR ts]
    """).bind(engine)
    engine.start(ms.available_now()).await_termination()

    assert WANTED[:4] == counts(query)


def test_every_sink() -> None:
    _, queries = run("""
        CREATE STREAM bids FROM parquet 'parquet' PROGRESS ON ts WITHIN 5 seconds;
        CREATE VIEW few AS SELECT ts, item FROM bids WHERE price > 20;
        INSERT INTO parquet 'out/p' SELECT * FROM few;
        INSERT INTO csv 'out/c' SELECT * FROM few;
        INSERT INTO json 'out/j' SELECT * FROM few;
        INSERT INTO memory 'kept' SELECT * FROM few;
        INSERT INTO console SELECT * FROM few;
    """)
    wanted = sum((row["price"] or 0) > 20 for row in BIDS)

    assert ["p", "c", "j", "kept", "query_1"] == [query.name for query in queries]
    assert wanted == queries[3].table().num_rows
    assert wanted == sum(pq.read_table(path).num_rows for path in Path("out/p").glob("*.parquet"))
    assert wanted == sum(len(path.read_text().splitlines()) - 1 for path in Path("out/c").glob("*.csv"))
    assert wanted == sum(len(path.read_text().splitlines()) for path in Path("out/j").glob("*.json"))


def test_several_queries_read_a_stream_once() -> None:
    engine, queries = run("""
        CREATE STREAM bids FROM parquet 'parquet' PROGRESS ON ts WITHIN 5 seconds;
        SELECT count(*) AS n FROM bids [RANGE 1 minute, WATTR ts];
        SELECT item, count(*) AS n FROM bids [RANGE 1 minute, WATTR ts] GROUP BY item;
    """)

    assert 2 == len(queries)
    assert len(BIDS) == next(iter(engine.host.graph.ingests()))[1].meter.rows_in


def test_rate_counts_by_itself() -> None:
    _, (query,) = run("""
        CREATE STREAM ticks FROM rate OPTIONS (rowsPerSecond 10, rows 35, start '2026-01-01')
            PROGRESS ORDERED ON timestamp;
        SELECT count(*) AS n, max(value) AS last FROM ticks [RANGE 1 second, WATTR timestamp];
    """)

    assert [10, 10, 10, 5] == counts(query)
    assert START == query.table()["window_start"][0].as_py()


class Session:
    """A Spark session, as far as reading Kafka goes."""

    version = "4.3.0"
    readStream: Any  # noqa: N815 - Spark's name

    def __init__(self, failure: str | None) -> None:
        self.readStream = self
        self.failure = failure
        self.asked: dict[str, str] = {}

    def format(self, name: str) -> Session:
        self.asked["format"] = name
        return self

    def options(self, **options: str) -> Session:
        self.asked |= options
        return self

    def load(self) -> Any:
        raise RuntimeError(self.failure)


def test_kafka_without_its_connector_names_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    session = Session("[DATA_SOURCE_NOT_FOUND] Failed to find the data source: kafka")
    monkeypatch.setattr(ms.Engine, "spark", session)

    with pytest.raises(ms.SqlError, match=r"org\.apache\.spark:spark-sql-kafka-0-10_2\.13:4\.3\.0"):
        ms.Engine(host="local").sql(
            "CREATE STREAM s FROM kafka 'topic' OPTIONS ('kafka.bootstrap.servers' 'x:9092', startingOffsets earliest)"
        )

    assert session.asked == {
        "format": "kafka",
        "subscribe": "topic",
        "kafka.bootstrap.servers": "x:9092",
        "startingOffsets": "earliest",
    }


def test_all_problems_of_all_statements_are_told() -> None:
    with pytest.raises(ms.SqlError) as caught:
        ms.Script("""
            CREATE STREAM bids FROM parquet 'parquet';
            SELECT prize FROM bids;
            SELCT 1;
            SELECT count(*) AS n FROM bids [RANGE 1 minute, WATTR tss];
        """).bind(ms.Engine(host="local"))

    assert [3, 4, 5] == [problem.line for problem in caught.value.problems]


def test_a_stream_whose_own_statement_has_a_problem_is_not_asked_for_again() -> None:
    with pytest.raises(ms.SqlError) as caught:
        ms.Script("""
            CREATE STREAM bids FROM parquet 'nowhere';
            CREATE VIEW `dear` AS SELECT price FROM bids;
            SELECT price FROM dear
        """).bind(ms.Engine(host="local"))

    assert [
        "The statement in line 2 would make it, and has a problem of its own: mend that first.",
        "The statement in line 3 would make it, and has a problem of its own: mend that first.",
    ] == [problem.hint for problem in caught.value.problems[1:]]


def test_a_script_is_checked_without_running() -> None:
    script = ms.Script("CREATE STREAM bids FROM parquet 'parquet'; SELECT ts FROM bids; SELECT nope FROM bids")

    done = script.check(ms.Engine(host="local"))

    assert [("stream", "bids", 0), ("query", "query_1", 0), ("query", "query_2", 1)] == [
        (one.kind, one.name, len(one.problems)) for one in done
    ]
    assert not Path("out").exists()


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("TIMESTAMP", pa.timestamp("us", "UTC")),
        ("TIMESTAMP_NTZ", pa.timestamp("us")),
        ("DATE", pa.date32()),
        ("STRING", pa.string()),
        ("VARCHAR(20)", pa.string()),
        ("TINYINT", pa.int8()),
        ("SMALLINT", pa.int16()),
        ("INT", pa.int32()),
        ("INTEGER", pa.int32()),
        ("BIGINT", pa.int64()),
        ("FLOAT", pa.float32()),
        ("DOUBLE", pa.float64()),
        ("BOOLEAN", pa.bool_()),
        ("BINARY", pa.binary()),
        ("DECIMAL(12, 3)", pa.decimal128(12, 3)),
        ("DECIMAL", pa.decimal128(10, 0)),
        ("ARRAY<STRING>", pa.list_(pa.string())),
        ("STRUCT<x: INT, y: STRING>", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("MAP<STRING, BIGINT>", pa.map_(pa.string(), pa.int64())),
    ],
)
def test_types_are_those_of_spark(written: str, kind: pa.DataType) -> None:
    stream = ms.Engine(host="local").sql(f"CREATE STREAM s (a BIGINT, b {written}, c STRING) FROM json 'json'")

    assert kind == stream.schema.field("b").type


def test_a_query_whose_folder_has_the_name_of_a_view_is_numbered(tmp_path: Path) -> None:
    script = ms.Script(f"""
        CREATE STREAM bids FROM rate OPTIONS (rows 3);
        CREATE VIEW dear AS SELECT value FROM bids;
        INSERT INTO parquet '{tmp_path / "dear"}' SELECT * FROM dear;
        INSERT INTO memory 'bids' SELECT * FROM bids;
        SELECT value FROM dear;
    """)

    assert ["dear_2", "bids_2", "query_1"] == [query.name for query in script.bind(ms.Engine(host="local"))]


@pytest.mark.parametrize(("second", "how"), [("out/a", "is"), ("./out/../out/a/", "is"), ("out", "lies in, or holds,")])
def test_two_queries_of_one_folder_are_refused_with_both_lines(second: str, how: str) -> None:
    script = ms.Script(f"""CREATE STREAM bids FROM rate OPTIONS (rows 3);
        INSERT INTO parquet 'out/a' SELECT * FROM bids;

        INSERT INTO json '{second}' SELECT value FROM bids;
        INSERT INTO json 'late' SELECT * FROM LATE(bids)""")

    with pytest.raises(ms.SqlError) as caught:
        script.bind(ms.Engine(host="local"))
    (problem,) = caught.value.problems
    assert (4, f'"{second}" {how} the folder that the statement in line 2 writes to') == (problem.line, problem.fact)


@pytest.mark.parametrize(
    "clause", ["ON Event Time WITHIN 5 seconds", "ORDERED ON Event Time", "SUPPLIED ON Event Time"]
)
def test_a_name_of_two_words_is_told_of_backticks(clause: str) -> None:
    with pytest.raises(ms.SqlError) as caught:
        ms.Engine(host="local").sql(f"CREATE STREAM s FROM csv 'in' PROGRESS {clause}")

    assert '"Event Time" is 2 words, and the name of a column is expected' == caught.value.problems[0].fact
    assert "A name of several words stands in backticks: `Event Time`." == caught.value.hint
