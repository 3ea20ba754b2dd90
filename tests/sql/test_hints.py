"""A hint is in the language of the question, names nothing that a user has not named, and means what was asked."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from millstream.sql.hints import HINTS
from sql.auction import START
from sql.hinted import HINTED
from sql.test_errors import engine as wrong_engine
from sql.wrong import WRONG

PYTHON = re.compile(r"\bms\.|\bpa\.|\w=\"|\w=\[|\.\w+\(|\bengine\.|\bselect\(|\bagg\(|lambda")
INNER = re.compile(r"__\w+")


@pytest.mark.parametrize("name", WRONG)
def test_what_is_said_of_a_statement_is_sql(name: str) -> None:
    with pytest.raises(ms.SqlError) as caught:
        wrong_engine().sql(WRONG[name])

    for problem in caught.value.problems:
        if "ms.Script" in str(problem.hint) or "engine.table" in str(problem.hint):
            continue  # of a statement that is right, and stands in the wrong place of a program
        assert PYTHON.search(problem.hint or "") is None, problem.hint
        assert INNER.search(f"{problem.fact} {problem.hint}") is None, problem


def engine() -> ms.Engine:
    out = ms.Engine(host="local")
    bids = [(1, "lamp", 1, 20), (4, "sofa", 2, 95), (3, "lamp", 1, 25), (64, "lamp", 2, 40), (66, "sofa", 2, 99)]
    asks = [(0, "lamp", 18), (2, "lamp", 3), (4, "sofa", 90), (60, "sofa", 2)]
    promise = ms.bounded_disorder("ts", "5 seconds")
    times = {second: START.replace(minute=second // 60, second=second % 60) for second in range(120)}
    out.stream("bids", [{"ts": times[s], "item": i, "bidder": b, "price": p} for s, i, b, p in bids], progress=promise)
    out.stream("asks", [{"ts": times[s], "item": i, "cost": c} for s, i, c in asks], progress=promise)
    out.table("kinds", [{"item": "lamp", "kind": "light", "least": 22}, {"item": "vase", "kind": "seat", "least": 1}])
    return out


def answer(text: str, *, windows: bool = True) -> list[tuple[Any, ...]]:
    asked = engine()
    query = asked.sql(text, name="q")
    asked.start(ms.available_now(), end_of_stream=True).await_termination()
    kept = [name for name in query.schema.names if windows or not name.startswith("window_")]
    return sorted((tuple(row.values()) for row in query.table().select(kept).to_pylist()), key=repr)


def hint_of(text: str) -> str:
    with pytest.raises(ms.SqlError) as caught:
        engine().sql(text)
    return str(caught.value.hint)


def test_hints_that_are_told_in_sql_are_hints_that_are_given() -> None:
    source = "".join(path.read_text() for path in Path(ms.__file__).parent.rglob("*.py") if path.name != "hints.py")
    said = re.sub(r"[\"']\s*[\"']", "", source)

    assert [] == [hint for hint in HINTS if re.sub(r"[\"']\s*[\"']", "", hint) not in said]
    assert [] == [hint for hint in HINTS.values() if PYTHON.search(hint)]


@pytest.mark.parametrize("name", HINTED)
def test_a_statement_that_follows_the_hint_answers_what_was_meant(name: str) -> None:
    wrong, hint, hinted, expected = HINTED[name]

    assert hint == hint_of(wrong)
    assert sorted(expected, key=repr) == answer(hinted, windows=False)


def test_the_window_that_an_offset_is_written_as() -> None:
    at = "INTERVAL '1' MINUTE, INTERVAL '2' SECOND"
    hint = hint_of(f"SELECT count(*) AS n FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), {at}))")
    clause = hint.removeprefix("Write ").removesuffix(".")

    found = answer(f"SELECT window_start, count(*) AS n FROM bids {clause}")
    assert [(2, 1), (2, 2), (2, 2)] == [(start.second, n) for start, n in found]
    named = "SIZE => INTERVAL '1' MINUTE, OFFSET => INTERVAL '2' SECOND"
    assert hint == hint_of(f"SELECT count(*) AS n FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), {named}))")
    spark = hint_of("SELECT count(*) AS n FROM bids GROUP BY window(ts, '1 minute', '1 minute', '2 seconds')")
    assert found == answer(f"SELECT window_start, count(*) AS n FROM bids {spark[6:-1]}")


def test_the_filter_that_a_condition_of_an_as_of_join_is() -> None:
    base = "SELECT a.ts, a.item, cost FROM bids a ASOF LEFT JOIN {} ON a.item = b.item AND a.ts >= b.ts"
    hint = hint_of(base.format("asks b") + " AND b.cost > 10")
    other = hint.partition("ASOF JOIN ")[2].removesuffix(" ON ….")

    assert "(SELECT * FROM asks WHERE cost > 10) AS b" == other
    # The latest ask above 10, and not: the latest ask, if it is above 10.
    assert [18, 18, 18, 90, 90] == sorted(cost for _, _, cost in answer(base.format(other)))


def test_a_condition_on_the_left_goes_into_where_only_if_that_means_the_same() -> None:
    inner = "SELECT a.ts, cost FROM bids a ASOF JOIN asks b ON a.item = b.item AND a.ts >= b.ts AND a.price > 30"

    assert "Put it into WHERE." == hint_of(inner)
    assert 3 == len(answer(inner.replace(" AND a.price > 30", " WHERE a.price > 30")))
    assert "WHERE" not in hint_of(inner.replace("ASOF JOIN", "ASOF LEFT JOIN"))


@pytest.mark.parametrize(
    ("condition", "join"),
    [
        ("EXISTS (SELECT 1 FROM asks b WHERE b.item = a.item AND b.ts = a.ts)", "SEMI"),
        ("item IN (SELECT item FROM asks)", "SEMI"),
        ("NOT EXISTS (SELECT 1 FROM TABLE(TUMBLE(TABLE asks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) b)", "ANTI"),
        ("item NOT IN (SELECT item FROM asks [RANGE 1 minute, WATTR ts])", "ANTI"),
    ],
)
def test_a_sub_query_in_a_condition_is_a_join(condition: str, join: str) -> None:
    text = f"SELECT ts, item FROM bids a WHERE {condition}"

    with pytest.raises(ms.NotYetError, match="a sub-query inside an expression"):
        engine().sql(text)
    assert f"LEFT {join} JOIN" in hint_of(text)
    found = answer(f"SELECT a.ts, a.item FROM bids a LEFT {join} JOIN asks b ON a.item = b.item AND a.ts = b.ts")
    assert [4] == [ts.second for ts, _ in found] if join == "SEMI" else len(found) == 4


def test_grouping_sets_are_queries_side_by_side() -> None:
    window = "FROM bids [RANGE 1 minute, WATTR ts]"
    for sets in ("GROUPING SETS ((item), ())", "ROLLUP (item)", "CUBE(item)", "item WITH ROLLUP"):
        hint = hint_of(f"SELECT item, count(*) AS n {window} GROUP BY {sets}")
        assert "UNION ALL" in hint
        assert "CAST(NULL AS type)" in hint

    each = f"SELECT window_end, item, count(*) AS n {window} GROUP BY item"
    every = f"SELECT window_end, CAST(NULL AS STRING) AS item, count(*) AS n {window}"
    assert {("lamp", 2), ("sofa", 1), (None, 3), ("lamp", 1), (None, 2)} == {
        row[1:] for row in answer(f"{each} UNION ALL {every}")
    }


def test_the_first_of_all_rows_is_that_of_the_least_time() -> None:
    hint = hint_of("SELECT first(price) AS p FROM bids")

    assert "Say by which column: min_by(price, ts)." == hint
    assert [(20,)] == answer("SELECT min_by(price, ts) AS p FROM bids")


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("SELECT * FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '1' MINUTE))", "nothing to aggregate"),
        ("SELECT b.price FROM bids b JOIN asks FOR SYSTEM_TIME AS OF b.ts AS a ON b.item = a.item", "FOR SYSTEM_TIME"),
        ("SELECT price FROM bids FETCH FIRST 3 ROWS ONLY", "FETCH is not possible here"),
        ("SELECT * EXCEPT (price) FROM bids", "takes no EXCEPT"),
        ("SELECT item, year(count(*)) - 1 AS n FROM bids [RANGE 1 minute, WATTR ts] GROUP BY item", "count"),
    ],
)
def test_the_fact_is_what_is_wrong(text: str, fact: str) -> None:
    with pytest.raises(ms.SqlError, match=fact) as caught:
        engine().sql(text)

    assert 1 == len(caught.value.problems)
    assert INNER.search(str(caught.value)) is None


def test_explain_shows_aggregates_by_what_they_are() -> None:
    asked = engine()
    asked.sql("SELECT item FROM bids [RANGE 1 minute, WATTR ts] GROUP BY item HAVING max(price) > 3", name="q")

    assert "where max(price) > 3" in asked.explain()
