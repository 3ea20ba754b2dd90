"""Joins as plans: what the fluent API and SQL make of them, and what they are told when they are wrong."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.plan import nodes

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("v", pa.int64())])
SECOND = 1_000_000


def streams(progress: Any = None) -> tuple[ms.Engine, ms.Stream, ms.Stream]:
    engine = ms.Engine(host="local")
    promise = progress or ms.bounded_disorder("ts", "5 seconds")
    a, b = (engine.stream(name, [], schema=SCHEMA, progress=promise) for name in ("a", "b"))
    return engine, a, b


def node_of(query: ms.Query) -> nodes.Join:
    return next(one for one in nodes.walk(query.node) if isinstance(one, nodes.Join))


def in_sql(text: str) -> nodes.Join:
    return node_of(streams()[0].sql(text))


def test_a_key_of_one_name_is_one_column_and_others_say_their_side() -> None:
    _, a, b = streams()

    made = a.join(b, on="k", within="5 seconds")

    assert ["left_ts", "k", "left_v", "right_ts", "right_v"] == made.schema.names
    assert nodes.Band(left="ts", right="ts", low=-5 * SECOND, high=5 * SECOND) == node_of(made).time


def test_a_semi_join_leaves_the_left_side_and_its_condition_sees_both() -> None:
    _, a, b = streams()

    made = a.join(b, on="k", how="left_semi", within="5 s", where="left_v < right_v")

    assert ["ts", "k", "v"] == made.schema.names
    assert ("semi", "left_v < right_v") == (node_of(made).how, str(node_of(made).condition))


@pytest.mark.parametrize(
    ("word", "kind"),
    [("inner", "inner"), ("cross", "inner"), ("left_outer", "left"), ("rightouter", "right"), ("outer", "full"),
     ("full_outer", "full"), ("leftsemi", "semi"), ("LEFT ANTI", "anti")],
)  # fmt: skip
def test_the_words_of_spark_are_understood(word: str, kind: str) -> None:
    _, a, b = streams()

    assert kind == node_of(a.join(b, on="k", how=word, within="1 s")).how


def test_both_ends_of_a_band_can_be_given() -> None:
    _, a, b = streams()

    assert (
        nodes.Band(left="ts", right="ts", low=-SECOND, high=2 * SECOND)
        == node_of(a.join(b, within=("-1 second", "2 seconds"))).time
    )


def test_a_tumbling_window_in_place_of_a_band() -> None:
    _, a, b = streams()

    assert nodes.SameWindow(left="ts", right="ts", size=60 * SECOND) == node_of(a.join(b, "k", window="1 minute")).time


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no such column": ({"on": "q"}, ms.SchemaError, "there is no column 'q'"),
    "no such join": ({"on": "k", "how": "sideways"}, ms.PlanError, "there is no join 'sideways'"),
    "different types": ({"on": [("k", "v")]}, ms.SchemaError, "never equal"),
    "no columns": ({"on": 5}, ms.PlanError, "on=5 names no columns"),
    "a dict of columns": ({"on": {"k": "v"}}, ms.PlanError, "names no columns"),
    "no attribute": ({"on": "k", "within": "5 s", "time": 5}, ms.PlanError, "time=5 names no attributes"),
    "one attribute": ({"on": "k", "within": "5 s", "time": ("ts",)}, ms.PlanError, "names no attributes"),
    "both": ({"within": "1 s", "window": "1 s"}, ms.PlanError, "either within or window"),
    "backwards": ({"within": ("5 s", "1 s")}, ms.PlanError, "no row lies between"),
    "negative": ({"within": "-5 s"}, ms.PlanError, "is negative"),
    "no duration": ({"within": 5}, ms.WindowError, "has no unit"),
    "three ends": ({"within": ("1 s", "2 s", "3 s")}, ms.PlanError, "is not a pair"),
    "no condition": ({"on": "k", "where": "w > 3"}, ms.ExpressionError, 'unknown column "w"'),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_join_is_told_clearly(case: str) -> None:
    _, a, b = streams()
    arguments, error, words = WRONG[case]

    with pytest.raises(error, match=words):
        a.join(b, **arguments)


def test_a_join_with_no_stream_is_told_clearly() -> None:
    _, a, _ = streams()

    with pytest.raises(ms.PlanError, match="is not a stream"):
        a.join("b", on="k")  # type: ignore[arg-type]  # on purpose


def test_time_must_be_known() -> None:
    engine = ms.Engine(host="local")
    a, b = (engine.stream(name, [], schema=SCHEMA) for name in ("a", "b"))

    with pytest.raises(ms.PlanError, match="declares no progress"):
        a.join(b, on="k", within="5 s")
    assert node_of(a.join(b, on="k", within="5 s", time="ts")).time is not None


# --- SQL --------------------------------------------------------------------------------------------

BANDS: dict[str, tuple[str, nodes.Band | None]] = {
    "between": (
        "b.ts BETWEEN a.ts AND a.ts + INTERVAL 5 seconds",
        nodes.Band(left="ts", right="ts", low=0, high=5 * SECOND),
    ),
    "turned round": (
        "a.ts BETWEEN b.ts - INTERVAL 1 second AND b.ts + INTERVAL '2' SECOND",
        nodes.Band(left="ts", right="ts", low=-2 * SECOND, high=SECOND),
    ),
    "comparisons": (
        "b.ts > a.ts - INTERVAL 3 seconds AND b.ts <= a.ts",
        nodes.Band(left="ts", right="ts", low=-3 * SECOND, high=0, low_strict=True),
    ),
    "a difference": (
        "b.ts - a.ts < INTERVAL 4 seconds AND a.ts - b.ts < INTERVAL 1 second",
        nodes.Band(left="ts", right="ts", low=-SECOND, high=4 * SECOND, low_strict=True, high_strict=True),
    ),
    "the tighter of two": (
        "b.ts >= a.ts AND b.ts > a.ts AND b.ts < a.ts + INTERVAL 9 seconds AND b.ts <= a.ts + INTERVAL 2 seconds",
        nodes.Band(left="ts", right="ts", low=0, high=2 * SECOND, low_strict=True),
    ),
    "one end": ("b.ts >= a.ts", nodes.Band(left="ts", right="ts", low=0, high=None)),
    "none": ("(a.v < b.v + 1 OR a.v > 3)", None),
}


@pytest.mark.parametrize("case", BANDS)
@pytest.mark.parametrize("clause", ["ON", "WHERE"])
def test_conditions_on_time_become_a_band(case: str, clause: str) -> None:
    condition, expected = BANDS[case]
    on = f"ON a.k = b.k AND {condition}" if clause == "ON" else f"ON a.k = b.k WHERE {condition}"

    made = in_sql(f"SELECT a.v FROM a JOIN b {on}")

    assert expected == made.time
    assert (("k", "k"),) == made.keys


def test_what_is_no_key_and_no_bound_stays_a_condition() -> None:
    made = in_sql("SELECT a.v FROM a LEFT JOIN b ON a.k = b.k AND b.ts = a.ts AND a.v < b.v")

    assert ("left", (("k", "k"), ("ts", "ts"))) == (made.how, made.keys)
    assert "a_v < b_v" == str(made.condition)


def test_where_is_applied_after_an_outer_join() -> None:
    query = streams()[0].sql("SELECT a.v FROM a LEFT JOIN b ON a.k = b.k WHERE a.v = b.v AND b.v > 3")

    assert (("k", "k"),) == node_of(query).keys
    assert ["a_v = b_v AND b_v > 3"] == [
        str(one.condition) for one in nodes.walk(query.node) if isinstance(one, nodes.Select)
    ]


def test_windows_after_streams_are_a_strict_band() -> None:
    made = in_sql("SELECT a.v FROM a [RANGE 3 seconds, WATTR ts], b [RANGE 2 seconds, WATTR ts] WHERE a.k = b.k")

    assert made.time == nodes.Band(
        left="ts", right="ts", low=-2 * SECOND, high=3 * SECOND, low_strict=True, high_strict=True
    )


@pytest.mark.parametrize(
    "source",
    [
        "a x, b [RANGE TUMBLING 1 minute, WATTR ts] y",
        "a [RANGE TUMBLING 60 seconds, WATTR ts] x, b [RANGE TUMBLING 1 minute, WATTR ts] y",
        "TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '1' MINUTE) x, TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL 1 MINUTE) y",
    ],
)
def test_tumbling_windows_after_streams_are_one_window(source: str) -> None:
    made = in_sql(f"SELECT x.v FROM {source} WHERE x.k = y.k")

    assert nodes.SameWindow(left="ts", right="ts", size=60 * SECOND) == made.time


def test_using_names_the_keys() -> None:
    assert (("k", "k"), ("v", "v")) == in_sql("SELECT a.ts FROM a SEMI JOIN b USING (k, v)").keys


def three(text: str) -> ms.Query:
    engine, _, _ = streams()
    engine.stream("c", [], schema=SCHEMA, progress=ms.bounded_disorder("ts", "5 seconds"))
    return engine.sql(text)


def test_a_column_of_using_is_one_for_the_next_join_too() -> None:
    query = three("SELECT c.v FROM a JOIN b USING (k) JOIN c USING (k)")

    joins = [one for one in nodes.walk(query.node) if isinstance(one, nodes.Join)]
    assert [(("k", "k"),), (("a_k", "k"),)] == [one.keys for one in joins]


@pytest.mark.parametrize(("how", "side"), [("", "a_k"), ("LEFT", "a_k"), ("RIGHT", "b_k"), ("SEMI", "a_k")])
def test_a_column_of_using_needs_no_stream(how: str, side: str) -> None:
    query = three(f"SELECT k FROM a {how} JOIN b USING (k)")

    assert ["k"] == query.schema.names
    assert isinstance(query.node, nodes.Project)
    assert [("k", side)] == [(name, one.plain) for name, one in query.node.columns]


def test_a_column_of_a_full_join_needs_its_stream() -> None:
    with pytest.raises(ms.SqlError, match='several streams have a column "k"'):
        three("SELECT k FROM a FULL JOIN b USING (k)")


def test_using_must_not_mean_two_columns() -> None:
    with pytest.raises(ms.SqlError, match='several streams have a column "k"'):
        three("SELECT c.v FROM a JOIN b ON a.v = b.v JOIN c USING (k)")


def test_a_join_in_parentheses_goes_by_its_name() -> None:
    query = three("SELECT x.a_k FROM (a JOIN b ON a.k = b.k AND a.ts = b.ts) x WHERE x.b_v > 3")

    assert ["a_k"] == query.schema.names


def test_three_streams_are_two_joins() -> None:
    engine, _, _ = streams()
    engine.stream("c", [], schema=SCHEMA, progress=ms.bounded_disorder("ts", "5 seconds"))
    query = engine.sql(
        "SELECT a.v, b.v AS bv, c.v AS cv FROM a, b, c WHERE a.k = b.k AND b.v = c.v AND a.ts = b.ts AND b.ts = c.ts",
        name="q",
    )

    outer = node_of(streams()[0].sql("SELECT a.v FROM a, b WHERE a.k = b.k"))
    assert (("k", "k"),) == outer.keys
    joins = [one for one in nodes.walk(query.node) if isinstance(one, nodes.Join)]
    assert [(("k", "k"), ("ts", "ts")), (("b_v", "v"), ("b_ts", "ts"))] == [one.keys for one in joins]
    assert ["v", "bv", "cv"] == query.schema.names
    assert engine.check().safe


def test_the_first_of_three_streams_may_be_a_sub_query_without_a_name() -> None:
    engine, _, _ = streams()
    engine.stream("c", [], schema=SCHEMA, progress=ms.bounded_disorder("ts", "5 seconds"))
    window = "[RANGE 3 seconds, WATTR ts]"
    query = engine.sql(f"SELECT b.v FROM (SELECT ts, k FROM a) {window}, b {window}, c {window}")

    (join,) = (one for one in nodes.walk(query.node) if isinstance(one, nodes.ManyJoin))
    assert ["join of item1, b, c on time alone", "times at most: 2.999999 s apart"] == join.words()
    assert ("item1_ts", 0, "ts") == (join.columns[0].name, join.columns[0].side, join.columns[0].column)


def test_a_join_explains_itself() -> None:
    engine, a, b = streams()
    a.join(b, on="k", within="5 seconds").named("q")

    assert "└─ inner join on k = k" in engine.explain()
    assert "├─ stream a: ts within 5 s" in engine.explain()


def test_a_stream_joined_with_itself_is_known_by_its_aliases() -> None:
    made = streams()[0].sql("SELECT x.v, y.v FROM a x JOIN a y ON x.k = y.k")

    assert ["x_v", "y_v"] == made.schema.names
    with pytest.raises(ms.SqlError, match='no stream "a" in FROM'):
        streams()[0].sql("SELECT a.v FROM a x JOIN a y ON x.k = y.k")
