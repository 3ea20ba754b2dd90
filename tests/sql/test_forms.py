"""Every form of a window: the same answer as the fluent API gives."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

import millstream as ms
from sql.auction import BIDS, START, answer, by_hand, by_sql, engine


def minutes(stream: ms.Stream) -> ms.Query:
    return stream.window("ts", range="2 minutes", slide="1 minute").group_by("item").agg(n=ms.count())


@pytest.mark.parametrize(
    "text",
    [
        "SELECT item, count(*)[RANGE 2 minutes, SLIDE 1 minute, WATTR ts] AS n FROM bids GROUP BY item",
        "SELECT item, count(*) AS n FROM bids [RANGE 2 minutes, SLIDE 1 minute, WATTR ts] GROUP BY item",
        "SELECT item, count(*) AS n FROM bids GROUP BY item [RANGE 2 minutes, SLIDE 1 minute, WATTR ts]",
        "SELECT item, count(*) AS n FROM bids [WA ts, SLIDE 1 minute, RANGE 2 minutes] GROUP-BY item",
        "SELECT item, count(*) AS n FROM bids [slide 60 seconds range 120 seconds wattr ts] groupby item",
        "SELECT b.item, count(*) AS n FROM bids AS b [RANGE 2 min, SLIDE 1 min, WATTR b.ts] GROUP BY b.item",
        "SELECT b.item, count(*) AS n FROM bids [RANGE 2 min, SLIDE 1 min, WATTR ts] AS b GROUP BY item",
        "SELECT ITEM, COUNT(*) AS n FROM Bids [RANGE INTERVAL '2' MINUTE, SLIDE INTERVAL 60 s, WA TS] GROUP BY Item",
        "SELECT item, count(*) AS n FROM bids [RANGE 2 minutes, SLIDE 1 minute, WATTR ts, PATTR item]",
        "SELECT window_id, window_start, window_end, item, count(1) AS n "
        "FROM TABLE(HOP(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '2' MINUTES)) "
        "GROUP BY window_start, window_end, item",
        "SELECT item, count(*) AS n FROM HOP(DATA => TABLE bids, TIMECOL => DESCRIPTOR(ts), "
        "SIZE => INTERVAL '2' MINUTE, SLIDE => INTERVAL '1' MINUTE) GROUP BY item, window_start, window_end",
        "SELECT item, count(*) AS n FROM bids GROUP BY item, window(ts, '2 minutes', '1 minute')",
        "SELECT item, count(*) AS n FROM bids WATERMARK ts DELAY OF INTERVAL 5 SECONDS "
        "GROUP BY window(ts, '2 minutes', '1 minute'), item",
        "SELECT item, count(*) AS n FROM (SELECT ts, item FROM bids) [RANGE 2 minutes, SLIDE 1 minute, WATTR ts] "
        "GROUP BY item",
        "WITH few AS (SELECT ts, item FROM bids) SELECT item, count(*) AS n FROM few "
        "[RANGE 2 minutes, SLIDE 1 minute, WATTR ts] GROUP BY item -- a comment",
    ],
)
def test_a_sliding_window_can_be_written_in_many_ways(text: str) -> None:
    assert by_hand(minutes) == by_sql(text)


Ask = Callable[[ms.Stream], Any]


@pytest.mark.parametrize(
    ("window", "ask"),
    [
        ("[RANGE 1 minute, WATTR ts]", lambda s: s.window("ts", range="1 minute")),
        ("[RANGE TUMBLING 1 minute, WATTR ts]", lambda s: s.window("ts", range="1 minute")),
        (
            "[RANGE 50 seconds, SLIDE 20 seconds, WATTR ts]",
            lambda s: s.window("ts", range="50 seconds", slide="20 seconds"),
        ),
        ("[RANGE 40, SLIDE 10, WATTR second]", lambda s: s.window("second", range=40, slide=10)),
        ("[RANGE 40, SLIDE 10, WATTR second, START 7]", lambda s: s.window("second", range=40, slide=10, start=7)),
        (
            "[RANGE 1 minute, WATTR ts, START TIMESTAMP '2026-01-01 00:00:30']",
            lambda s: s.window("ts", range="1 minute", start="2026-01-01 00:00:30"),
        ),
        ("[RANGE 30 rows, SLIDE 10 rows, WATTR row-num]", lambda s: s.window(by="rows", range=30, slide=10)),
        ("[RANGE 30 tuples]", lambda s: s.window(by="rows", range=30)),
        ("[RANGE 30 rows, WATTR ts]", lambda s: s.window("ts", by="rows", range=30)),
        (
            "[RANGE 10 rows, SLIDE 1 row, WA row-num, PA item, bidder]",
            lambda s: s.window(by="rows", range=10, slide=1, partition_by=["item", "bidder"]),
        ),
        ("[RANGE ALL, SLIDE 1 minute, WATTR ts]", lambda s: s.window("ts", range="all", slide="1 minute")),
        ("[RANGE 1 minute, SLIDE 1 row, WATTR ts]", lambda s: s.window("ts", range="1 minute", per="tuple")),
        (
            "[RANGE 1 minute, RATTR ts, SLIDE 4 rows, SATTR row-num]",
            lambda s: s.window("ts", range="1 minute", slide=4, per="tuple"),
        ),
        (
            "[RANGE 1 minute, RATTR ts, SLIDE 4 rows, SATTR rank(ts)]",
            lambda s: s.window("ts", range="1 minute", slide=4, per="rank"),
        ),
        ("[GAP 4 seconds, WATTR ts]", lambda s: s.window("ts", gap="4 seconds")),
    ],
)
def test_every_kind_of_window(window: str, ask: Ask) -> None:
    groups = "item, bidder, " if "bidder" in window else ""

    found = by_sql(f"SELECT {groups}count(*) AS n, max(second) AS last FROM bids {window}")

    assert by_hand(lambda s: ask(s).agg(n=ms.count(), last=ms.max("second"))) == found
    assert found


@pytest.mark.parametrize(
    ("source", "ask"),
    [
        ("TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE))", lambda s: s.window("ts", range="1 minute")),
        ("TABLE(SESSION(TABLE bids, DESCRIPTOR(ts), INTERVAL '4' SECOND))", lambda s: s.window("ts", gap="4 seconds")),
        (
            "TABLE(SESSION(TABLE bids PARTITION BY item, DESCRIPTOR(ts), INTERVAL '9' SECOND))",
            lambda s: s.window("ts", gap="9 seconds").group_by("item"),
        ),
        ("bids GROUP BY session_window(ts, '4 seconds')", lambda s: s.window("ts", gap="4 seconds")),
        ("bids GROUP BY window(ts, '1 minute')", lambda s: s.window("ts", range="1 minute")),
    ],
)
def test_the_windows_of_flink_and_spark(source: str, ask: Ask) -> None:
    groups = "item, " if "PARTITION" in source else ""

    assert by_hand(lambda s: ask(s).agg(n=ms.count())) == by_sql(f"SELECT {groups}count(*) AS n FROM {source}")


def test_cumulate_grows_by_steps_within_its_size() -> None:
    found = by_sql(
        "SELECT window_start, window_end, count(*) AS n "
        "FROM TABLE(CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL '20' SECOND, INTERVAL '1' MINUTE))"
    )

    wanted = []
    for start in range(0, 300, 60):
        for end in range(start + 20, start + 61, 20):
            n = sum(start <= row["second"] < end for row in BIDS)
            if n:
                wanted.append((START + timedelta(seconds=start), START + timedelta(seconds=end), n))
    assert sorted(wanted, key=repr) == found


def test_cumulate_leaves_as_time_goes_by() -> None:
    asked, _ = engine()
    query = asked.sql(
        "SELECT count(*) AS n "
        "FROM TABLE(CUMULATE(TABLE bids, DESCRIPTOR(ts), INTERVAL '20' SECOND, INTERVAL '1' MINUTE))"
    )

    before = answer(query, end=False)

    assert 0 < len(before) < 15
    assert {row[2] for row in before} <= {START + timedelta(seconds=s) for s in range(20, 296, 20)}


def test_a_watermark_is_a_promise() -> None:
    asked, _ = engine(promise=False)
    text = "SELECT count(*) AS n FROM bids WATERMARK ts DELAY OF INTERVAL 5 SECONDS [RANGE 1 minute, WATTR ts]"

    found = answer(asked.sql(text), end=False)

    assert by_hand(lambda s: s.window("ts", range="1 minute").agg(n=ms.count()), end=False) == found


def test_a_promise_cannot_come_after_a_query_without_it() -> None:
    asked, _ = engine(promise=False)
    asked.sql("SELECT count(*) AS n FROM bids [RANGE 1 minute, WATTR ts]", name="first")

    with pytest.raises(ms.SqlError, match="read without a promise already"):
        asked.sql("SELECT count(*) AS n FROM bids WATERMARK ts DELAY OF INTERVAL 5 SECONDS [RANGE 1 minute, WATTR ts]")


@pytest.mark.parametrize("head", ["", "CREATE VIEW v AS "])
def test_a_wrong_statement_promises_nothing(head: str) -> None:
    asked, stream = engine(promise=False)
    with pytest.raises(ms.SqlError, match="nope"):
        asked.sql(head + "SELECT nope FROM bids WATERMARK ts DELAY OF INTERVAL 5 SECONDS")

    stream.named("raw")


def test_a_stream_from_before_a_promise_is_refused() -> None:
    asked, stream = engine(promise=False)
    asked.sql("SELECT count(*) AS n FROM bids WATERMARK ts DELAY OF INTERVAL 5 SECONDS [RANGE 1 minute, WATTR ts]")

    with pytest.raises(ms.PlanError, match="declared again"):
        stream.named("raw")


def test_the_plan_is_the_one_of_the_fluent_api() -> None:
    by_text, _ = engine()
    by_text.sql(
        "SELECT item, max(price) AS top FROM bids [RANGE 1 minute, WATTR ts] WHERE price > 10 GROUP BY item", name="q"
    )
    by_calls, stream = engine()
    stream.where("price > 10").window("ts", range="1 minute").group_by("item").agg(top=ms.max("price")).named("q")

    assert by_calls.explain() == by_text.explain()
