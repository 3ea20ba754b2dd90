"""docs/sql.md is true and complete: its statements run, and every word of the language is in it."""

from __future__ import annotations

import random
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.sql.dialect import AGGREGATES
from millstream.sql.grammar.read_statement import SINKS
from millstream.sql.grammar.read_stream import SOURCES
from millstream.sql.grammar.text import WINDOW_WORDS
from millstream.sql.grammar.window_function import TABLE_FUNCTIONS
from millstream.sql.types import _WORDS
from sql.auction import BIDS

PATH = Path(__file__).parents[2] / "docs" / "sql.md"
TEXT = PATH.read_text()
BLOCKS = [
    pytest.param(block[1], id=f"line {TEXT.count(chr(10), 0, block.start()) + 1}")
    for block in re.finditer(r"^```sql\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ms.Engine:
    """An engine with the streams that the page speaks of."""
    monkeypatch.chdir(tmp_path)
    bids = [{name: row[name] for name in ("ts", "item", "bidder", "price")} for row in BIDS]
    (tmp_path / "in" / "csv").mkdir(parents=True)
    pc.write_csv(pa.Table.from_pylist(bids), tmp_path / "in" / "csv" / "bids.csv")
    (tmp_path / "in" / "sellers.csv").write_text("item,seller\nlamp,ann\nsofa,bob\n")
    rnd = random.Random(3)
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    packets = [
        {"ts": begin + timedelta(seconds=i), "srcIP": rnd.choice("abc"), "destIP": rnd.choice("xyz"), "len": i % 40}
        for i in range(200)
    ]
    out = ms.Engine(host="local")
    out.stream("bids", bids, progress=ms.bounded_disorder("ts", "5 seconds"))
    out.stream("packets", packets, progress=ms.ordered("ts"))
    asks = [{"ts": row["ts"], "item": row["item"], "price": 12} for row in BIDS[::3]]
    out.stream("asks", asks, progress=ms.bounded_disorder("ts", "5 seconds"))
    out.table("items", [{"item": "lamp", "kind": "light"}, {"item": "sofa", "kind": "seat"}])
    return out


@pytest.mark.parametrize("block", BLOCKS)
def test_a_statement_of_the_page_runs(block: str, engine: ms.Engine) -> None:
    queries = ms.Script(block).bind(engine, show=lambda query: query.to_memory())
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    kept = [query for query in queries if not any(hasattr(sink, "stage") for sink in query.sinks)]
    assert queries
    assert all(query.table().num_rows for query in kept)


@pytest.mark.parametrize(
    "word",
    sorted({*AGGREGATES, *SINKS, *SOURCES, *WINDOW_WORDS, *TABLE_FUNCTIONS, *_WORDS, "window(", "session_window("}),
)
def test_a_word_of_the_language_is_in_the_page(word: str) -> None:
    assert re.search(rf"(?<!\w){re.escape(word)}", TEXT), f"{word} is not in {PATH.name}"


def test_the_statements_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (PATH.parents[1] / "README.md").read_text()
    (block,) = re.findall(r"^```sql\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "in" / "bids").mkdir(parents=True)
    bids = [{"ts": row["ts"], "auction": row["item"], "price": row["price"]} for row in BIDS]
    pq.write_table(pa.Table.from_pylist(bids), tmp_path / "in" / "bids" / "0.parquet")
    engine = ms.Engine(host="local")

    queries = ms.Script(block).bind(engine)
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert ["top", "query_1"] == [query.name for query in queries]
    assert queries[1].table().num_rows
    assert list((tmp_path / "out" / "top").glob("*.parquet"))
