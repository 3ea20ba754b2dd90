"""Late and rejected rows as streams on Spark: in Python and in SQL, of frames and of files, over restarts."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from support import side_streams
from support.crash import ended, pulled
from support.disk import SCHEMA, frame, rows_of, some_rows, write_files

pytestmark = [pytest.mark.spark, pytest.mark.survival]

PROMISE = ms.bounded_disorder("ts", "10 seconds")
EPOCHS = some_rows(3, 40)
SCRIPT = """
CREATE STREAM bids FROM parquet 'in' OPTIONS (epoch_files 1) PROGRESS ORDERED ON ts;
INSERT INTO parquet 'counts' SELECT item, count(*) AS n FROM bids [RANGE 10, WATTR ts] GROUP BY item;
INSERT INTO parquet 'items' SELECT item, min(ts) AS first, count(*) AS n FROM LATE(counts) WHERE ts > 3 GROUP BY item;
INSERT INTO parquet 'windows' SELECT count(*) AS n FROM LATE(counts) [RANGE 5, WATTR ts];
INSERT INTO parquet 'bad' SELECT upper(item) AS item, reason FROM REJECTED(counts) WHERE price > 10;
"""


def begin(spark: Any, root: Path, *, end: bool) -> ms.Run:
    engine = ms.Engine(spark, checkpoint=root / "ck", partitions=2)
    queries = side_streams.ask(engine.stream("s", frame(spark, root / "in"), progress=PROMISE))
    side_streams.to_folders(queries, root)
    return engine.start(ms.available_now(), end_of_stream=end, allow_unbounded=True)


def test_late_and_rejected_rows_of_a_frame_are_streams_over_restarts_and_a_crash(spark: Any, tmp_path: Path) -> None:
    write_files(tmp_path / "in", EPOCHS[:2])
    with pulled("after the manifest", 1) as plug:  # rows of the second step wait in the checkpoint
        assert ended(begin(spark, tmp_path, end=False)) is not None
    assert plug.pulled
    write_files(tmp_path / "in", EPOCHS[2:], 2)

    assert ended(begin(spark, tmp_path, end=False)) is None
    assert ended(begin(spark, tmp_path, end=True)) is None

    side_streams.check(tmp_path, ms.files(tmp_path / "in", "parquet", schema=SCHEMA), progress=PROMISE)


@pytest.fixture
def bids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three files of bids: the third has two late rows, and one without a time."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    for i, epoch in enumerate([[(1, "lamp")], [(21, "lamp")], [(3, "lamp"), (4, "vase"), (None, "sofa")]]):
        rows = [{"ts": ts, "item": item, "price": 20} for ts, item in epoch]
        table = pa.Table.from_pylist(rows, pa.schema({"ts": pa.int64(), "item": pa.string(), "price": pa.int64()}))
        path = tmp_path / "in" / f"{i}.parquet"
        pq.write_table(table, path)
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))  # Spark takes files in the order of their times
    return tmp_path


def test_any_statement_may_ask_about_them(spark: Any, bids: Path) -> None:
    for end in (False, True):
        engine = ms.Engine(spark, checkpoint=bids / "ck", partitions=2)
        ms.Script(SCRIPT).bind(engine)
        engine.start(ms.available_now(), end_of_stream=end, allow_unbounded=True).await_termination()

    assert [{"item": "vase", "first": 4, "n": 1}] == rows_of(bids / "items")
    assert [2] == [row["n"] for row in rows_of(bids / "windows")]
    assert ["SOFA"] == [row["item"] for row in rows_of(bids / "bad")]
