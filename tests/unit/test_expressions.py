"""Expressions in every place where one may stand: constants, failures by row, names, depth."""

from __future__ import annotations

import pickle
import re
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.plan import nodes

ROWS = [{"ts": 1, "a": 6, "b": 3, "s": "1"}, {"ts": 2, "a": 5, "b": 0, "s": "x"}, {"ts": 3, "a": 8, "b": 2, "s": "4"}]


def stream(rows: Any = ROWS, **settings: Any) -> ms.Stream:
    return ms.Engine(host="local", **settings).stream("s", rows, progress=ms.ordered("ts"))


def answers(query: ms.Query) -> tuple[list[dict[str, Any]], list[str]]:
    query.named("q")
    query.engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return query.table().to_pylist(), query.rejected.table()["reason"].to_pylist()


# --- without columns --------------------------------------------------------------------------------


@pytest.mark.parametrize(("how", "pairs"), [("inner", 9), ("left", 9)])
@pytest.mark.parametrize("condition", ["true", "1 = 1 AND true", "NOT false", "'a' < 'b'"])
def test_a_join_condition_without_columns_holds_for_all_pairs(condition: str, how: str, pairs: int) -> None:
    left = stream()
    right = left.engine.stream("t", [{"at": i} for i in range(3)], progress=ms.ordered("at"))
    rows, _ = answers(left.join(right, how=how, within=10, where=condition))

    assert pairs == len(rows)
    assert all(row["at"] is not None for row in rows)


def test_a_join_condition_that_is_never_true_pairs_nothing() -> None:
    left = stream()
    right = left.engine.stream("t", [{"at": 1}], progress=ms.ordered("at"))

    assert [(1, None), (2, None), (3, None)] == sorted(
        (row["ts"], row["at"]) for row in answers(left.join(right, how="left", within=9, where="1 = 2"))[0]
    )


@pytest.mark.parametrize("condition", ["null", "a > 0 AND null", "null AND a > 0", "nothing", "1 = 2"])
@pytest.mark.parametrize(("how", "left_alone"), [("inner", 0), ("left", 3), ("full", 4), ("semi", 0), ("anti", 3)])
def test_a_join_condition_that_is_null_pairs_nothing(condition: str, how: str, left_alone: int) -> None:
    left = stream([{**row, "nothing": None} for row in ROWS])
    right = left.engine.stream("t", [{"at": 1}], progress=ms.ordered("at"))

    assert left_alone == len(answers(left.join(right, how=how, within=9, where=condition))[0])


@pytest.mark.parametrize("condition", ["null", "a > 0 AND null", "null AND a > 0", "nothing", "nothing AND a > 0"])
def test_a_condition_that_is_null_is_not_true_anywhere(condition: str) -> None:
    def rows() -> ms.Stream:
        return stream([{**row, "nothing": None} for row in ROWS])

    def windowed(**calls: Any) -> ms.Query:
        return rows().window("ts", range=10).agg(**calls)

    assert [] == answers(rows().where(condition))[0]
    assert [] == answers(rows().where("a > 0").where(condition).select("a"))[0]
    assert [] == answers(rows().engine.sql("SELECT 1 AS one FROM s WHERE null"))[0]
    assert [] == answers(windowed(a=ms.sum("a"), nothing=ms.count()).select("a", "null AS nothing").where(condition))[0]
    counted, _ = answers(windowed(n=ms.count(filter=condition), m=ms.sum("a", filter=condition), o=ms.count()))
    assert [(0, None, 3)] == [(row["n"], row["m"], row["o"]) for row in counted]
    table = [{"b": 3, "name": "three"}]
    assert [None] * 3 == [row["name"] for row in answers(rows().enrich(table, on="b", how="left", where=condition))[0]]


def test_what_has_no_type_is_cast_before_it_is_an_argument() -> None:
    nothing = stream().select("ts", "null AS nothing").window("ts", range=10)
    with pytest.raises(ms.AggregateError, match="nothing is null, and max takes") as caught:
        nothing.agg(n=ms.max("nothing"))
    (hinted,) = re.findall(r'"(.*)"', str(caught.value.hint))

    assert [None] == [row["n"] for row in answers(nothing.agg(n=ms.max(hinted)))[0]]


def test_constants_are_columns_aggregates_and_filters() -> None:
    assert [1, 1, 1] == [row["x"] for row in answers(stream().select("1 AS x"))[0]]
    assert 3 == len(answers(stream().where("true"))[0])
    assert [] == answers(stream().where("NULL = 1"))[0]
    counted = stream().window("ts", range=10).agg(n=ms.sum("2"), m=ms.count(filter="1 = 1"), o=ms.count(filter="false"))
    assert [(6, 3, 0)] == [(row["n"], row["m"], row["o"]) for row in answers(counted)[0]]


def test_a_table_is_looked_into_with_a_condition_without_columns() -> None:
    rows, _ = answers(stream().enrich([{"b": 3, "name": "three"}], on="b", how="left", where="2 > 1"))

    assert [None, None, "three"] == sorted((row["name"] for row in rows), key=str)


# --- failures ---------------------------------------------------------------------------------------

FAILING = {
    "select": lambda s: s.select("ts", "a / b AS q"),
    "where": lambda s: s.where("a / b > 0"),
    "an aggregate": lambda s: s.window("ts", range=1).agg(q=ms.sum("a / b")),
    "a filter": lambda s: s.window("ts", range=1).agg(q=ms.count(filter="a / b > 0")),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_row_that_fails_is_rejected_with_the_reason_and_no_other(name: str) -> None:
    query = FAILING[name](stream())
    rows, reasons = answers(query)

    assert 2 == len(rows)
    assert 1 == len(reasons)
    assert reasons[0].endswith(": division by zero")
    assert [2] == query.rejected.table()["ts"].to_pylist()
    assert query.rejected.table()["a"].to_pylist() in ([5], [None])


def test_without_ansi_nothing_fails_and_the_value_is_null() -> None:
    rows, reasons = answers(stream(ansi=False).select("a / b AS q", "cast(s AS int) AS n"))

    assert [(2.0, 1), (None, None), (4.0, 4)] == [(row["q"], row["n"]) for row in rows]
    assert [] == reasons


def test_what_is_guarded_does_not_fail() -> None:
    guarded = "b <> 0 AND a / b > 1"
    assert ([6, 8], []) == (lambda made: ([r["a"] for r in made[0]], made[1]))(answers(stream().where(guarded)))
    either = stream().select(
        "CASE WHEN b = 0 THEN 0 ELSE a / b END AS q", "coalesce(a, a / b) AS c", "if(b = 0, 1, a div b) AS d"
    )
    assert [] == answers(either)[1]
    filtered = stream().window("ts", range=9).agg(q=ms.sum("a / b", filter="b <> 0"))
    assert ([6.0], []) == (lambda made: ([r["q"] for r in made[0]], made[1]))(answers(filtered))


def test_the_first_reason_is_told_and_the_text_of_the_expression() -> None:
    _, reasons = answers(stream().select("cast(s AS int) AS n", "a / b AS q"))

    assert ["cast(s AS int): 'x' is no INT"] == reasons


def test_a_pair_whose_condition_fails_is_rejected_and_is_no_pair() -> None:
    left = stream()
    right = left.engine.stream("t", [{"at": 2, "n": 4}], progress=ms.ordered("at"))
    query = left.join(right, how="left", within=5, where="n / b > 0")
    rows, reasons = answers(query)

    assert [(1, 4), (2, None), (3, 4)] == sorted((row["ts"], row["n"]) for row in rows)
    assert ["n / b > 0: division by zero"] == reasons
    assert [{"ts": 2, "a": 5, "b": 0, "at": 2, "n": 4}] == query.rejected.table().select(
        ["ts", "a", "b", "at", "n"]).to_pylist()  # fmt: skip


def test_a_pair_with_a_row_of_a_table_whose_condition_fails_is_rejected() -> None:
    rows, reasons = answers(stream().enrich([{"n": 4}], how="left", where="n / b > 0"))

    assert [(1, 4), (2, None), (3, 4)] == sorted((row["ts"], row["n"]) for row in rows)
    assert ["n / b > 0: division by zero"] == reasons


def test_a_text_that_is_no_json_is_null() -> None:
    rows = [{"ts": 1, "j": '{"a": 5}'}, {"ts": 2, "j": "no json"}]

    assert ["5", None] == [row["x"] for row in answers(stream(rows).select("get_json_object(j, '$.a') AS x"))[0]]


@pytest.mark.parametrize("kind", [pa.int8(), pa.int16(), pa.int32(), pa.int64()], ids=str)
def test_what_overflows_is_rejected_with_ansi_and_wraps_without(kind: pa.DataType) -> None:
    most = 2 ** (kind.bit_width - 1) - 1
    rows = pa.table({"ts": [1, 2], "i": pa.array([most, 1], kind)})
    name = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}[kind.bit_width]

    kept, reasons = answers(stream(rows).select("ts", f"i + cast(1 AS {name}) AS x"))
    assert ([2], [f"i + cast(1 AS {name}): overflow of {name}"]) == ([row["x"] for row in kept], reasons)
    kept, reasons = answers(stream(rows, ansi=False).select(f"i + cast(1 AS {name}) AS x"))
    assert ([-most - 1, 2], []) == ([row["x"] for row in kept], reasons)


def test_books_count_rows_that_fail() -> None:
    query = stream().where("a / b > 100").named("q")
    run = query.engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()

    (select,) = [one for one in run.progress["queries"]["q"]["operators"] if one["operator"] == "select"]
    assert (3, 2, 1) == (select["rows_in"], select["filtered"], select["rejected"])


# --- zones ------------------------------------------------------------------------------------------


def test_hours_and_days_are_those_of_the_engines_zone() -> None:
    rows = [{"ts": datetime(2024, 3, 30, 23, 30, tzinfo=UTC)}, {"ts": datetime(2024, 3, 31, 1, 30, tzinfo=UTC)}]
    asked = ("hour(ts) AS h", "cast(ts AS date) AS d", "date_trunc('day', ts) AS t")

    berlin, _ = answers(stream(rows, time_zone="Europe/Berlin").select(*asked))
    assert [0, 3] == [row["h"] for row in berlin]
    assert ["2024-03-31", "2024-03-31"] == [str(row["d"]) for row in berlin]
    assert {datetime(2024, 3, 30, 23, tzinfo=UTC)} == {row["t"] for row in berlin}
    assert [23, 1] == [row["h"] for row in answers(stream(rows).select(*asked))[0]]


def test_a_zone_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ms.PlanError, match="there is no time zone 'Mars/Olympus'"):
        ms.Engine(host="local", time_zone="Mars/Olympus")


# --- refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("explode(array(1, 2))", "it makes several rows"),
        ("generate_series(1, 1000000000)", "it makes several rows"),
        ("rand()", "depend on when or where"),
        ("current_timestamp()", "depend on when or where"),
        ("current_date", "depend on when or where"),
        ("uppr(s)", 'there is no function "uppr"'),
        ("upper(s, s)", "upper takes 1 argument"),
        ("s RLIKE '\\\\bx'", "may mean something else in Java"),
        ("a -> b", "has no meaning here"),
        ("transform(a, x -> x)", "no function"),
        ("a & b | 1", "mixes operators on bits"),
        ("date_format(cast(s AS date), 'QQQ')", "QQQ, which is not written here"),
        ("(SELECT 1)", "not an expression over one row"),
        ("sum(a)", "not an expression over one row"),
        ("a + INTERVAL 1 DAY", "added to a date or a timestamp"),
        ("CASE WHEN a THEN 1 END", "takes conditions"),
        ("CASE WHEN true THEN 1 ELSE 'x' END", "several types"),
    ],
)
def test_what_cannot_be_meant_is_refused_where_it_is_declared(text: str, fact: str) -> None:
    with pytest.raises(ms.ExpressionError) as caught:
        stream().select(f"{text} AS x")

    assert fact in caught.value.fact
    assert caught.value.hint


def test_an_unknown_function_is_told_with_the_nearest_names() -> None:
    with pytest.raises(ms.ExpressionError) as caught:
        stream().select("uppr(s) AS x")

    assert "Did you mean upper?" in str(caught.value.hint)


def test_an_unknown_function_beside_aggregates_is_told_as_such() -> None:
    engine = stream().engine
    for text in ("uppr(s)", "uppr(max(s))", "uppr(s) || max(s)"):
        with pytest.raises(ms.SqlError) as caught:
            engine.sql(f"SELECT {text} AS x, count(*) AS n FROM s [RANGE 10, WATTR ts]")
        assert 'there is no function "uppr"' in str(caught.value)
        assert "upper" in str(caught.value.hint)


# --- depth ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [400, 3000])
def test_a_condition_may_have_many_parts(number: int) -> None:
    wide = " AND ".join(f"a <> {100 + i}" for i in range(number))
    assert 3 == len(answers(stream().where(wide))[0])
    some = " OR ".join(f"a = {i}" for i in range(number))
    query = stream().where(f"({wide}) AND ({some})")
    assert 3 == len(answers(query)[0])
    assert isinstance(query.node, nodes.Select)
    assert pickle.loads(pickle.dumps(query.node.condition)) == query.node.condition


def test_a_statement_may_have_many_conditions() -> None:
    engine = stream().engine
    wide = " AND ".join(f"a <> {100 + i}" for i in range(400))
    assert 3 == len(answers(engine.sql(f"SELECT a FROM s WHERE {wide}"))[0])


@pytest.mark.parametrize("text", ["(" * 500 + "a" + ")" * 500, " + ".join(["a"] * 400), "abs(" * 200 + "a" + ")" * 200])
def test_what_nests_too_deeply_is_told_so(text: str) -> None:
    with pytest.raises(ms.ExpressionError, match="nests more than 120 deep"):
        stream().select(f"{text} AS x")


# --- functions of one's own -------------------------------------------------------------------------


def widest(values: pa.Array) -> int:
    found = values.to_pylist()
    if 5 in found:
        raise ValueError("five")
    return max(found) - min(found)


@pytest.mark.parametrize("strategy", ["auto", "wid", "buffered"])
def test_a_window_whose_own_function_raises_is_rejected_with_its_group_and_no_other(strategy: str) -> None:
    rows = [{"ts": i, "k": "ab"[i % 2], "v": i} for i in range(8)]
    query = (
        stream(rows).window("ts", range=4).group_by("k").agg(w=ms.udaf(widest, "v", returns="int64"), strategy=strategy)
    )
    found, reasons = answers(query)

    assert [(0, "a"), (0, "b"), (1, "a")] == sorted((row["window_id"], row["k"]) for row in found)
    assert ["w: widest raised ValueError: five"] == reasons
    (rejected,) = query.rejected.table().to_pylist()
    assert "b" == rejected["k"]
    assert "'window_start': 4" in rejected["raw"]


@pytest.mark.parametrize("broken", ["lift", "combine", "lower"])
@pytest.mark.parametrize("strategy", ["auto", "wid", "paned", "adaptive"])
def test_a_step_of_ones_own_that_raises_rejects_the_result(broken: str, strategy: str) -> None:
    def steps(name: str) -> Any:
        def one(*given: Any) -> Any:
            plain = {"lift": lambda x: sum(x.to_pylist()), "combine": lambda a, b: a + b, "lower": lambda p: p}[name]
            made = plain(*given)
            if name == broken and made >= 9:
                raise KeyError("nine")
            return made

        return one

    mine = ms.udaf_algebraic(
        "v", lift=steps("lift"), combine=steps("combine"), lower=steps("lower"), partial="int64", returns="int64"
    )
    rows = [{"ts": i, "k": "ab"[i % 2], "v": i} for i in range(8)]
    query = stream([pa.Table.from_pylist(rows[:4]), pa.Table.from_pylist(rows[4:6]), pa.Table.from_pylist(rows[6:])])
    query = query.window("ts", range=4).group_by("k").agg(s=mine, strategy=strategy)
    found, reasons = answers(query)

    assert {(0, "a", 2), (0, "b", 4)} <= {(row["window_id"], row["k"], row["s"]) for row in found}
    assert len(found) + len(reasons) == 4
    assert all(reason.endswith("raised KeyError: 'nine'") for reason in reasons)
