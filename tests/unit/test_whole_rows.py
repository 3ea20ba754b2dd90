"""Difference and intersection: what they are made of, what bounds them, and what they are told when they are wrong."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.plan import nodes

SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string())])


def streams(**progress: Any) -> tuple[ms.Engine, ms.Stream, ms.Stream]:
    engine = ms.Engine(host="local")
    timed = ms.bounded_disorder("ts", 5)
    a, b = (engine.stream(name, [], schema=SCHEMA, progress=progress.get(name, timed)) for name in "ab")
    return engine, a, b


def join_of(query: ms.Query) -> nodes.Join:
    return next(one for one in nodes.walk(query.node) if isinstance(one, nodes.Join))


@pytest.mark.parametrize(("method", "how"), [("difference", "anti"), ("intersect", "semi")])
def test_it_is_a_join_on_all_columns_where_null_equals_null(method: str, how: str) -> None:
    _, a, b = streams()

    made = getattr(a, method)(b)

    assert isinstance(made.node, nodes.Distinct)
    join = join_of(made)
    assert (how, (("k", "k"),), True) == (join.how, join.keys, join.nulls_equal)
    assert nodes.Band(left="ts", right="ts", low=0, high=0) == join.time
    assert SCHEMA == made.schema


def test_a_window_compares_rows_without_their_time() -> None:
    _, a, b = streams()

    assert nodes.SameWindow(left="ts", right="ts", size=10) == join_of(a.difference(b, window=10)).time


def test_it_explains_itself() -> None:
    engine, a, b = streams()
    a.difference(b).named("q")
    a.intersect(b, window=10).named("r")

    assert "difference on k [kernel]" in engine.explain()
    assert "of the same ts" in engine.explain()
    assert "ts and ts in the same window of 10" in engine.explain()
    assert engine.check().safe


OVER = ms.supplied(per="k")


@pytest.mark.parametrize(
    ("left", "right", "options", "safe"),
    [
        (None, None, {}, False), (None, None, {"window": 10, "time": "ts"}, False), (OVER, OVER, {}, True),
        (OVER, None, {}, False), (ms.ordered("ts"), ms.ordered("ts"), {}, True),
    ],
)  # fmt: skip
def test_it_is_bounded_by_what_both_sides_promise_of_their_columns(
    left: Any, right: Any, options: dict[str, Any], *, safe: bool
) -> None:
    for method in ("difference", "intersect"):
        engine, a, b = streams(a=left, b=right)
        getattr(a, method)(b, **options).named("q")

        assert safe is engine.check().safe


def test_a_refusal_names_the_missing_clause() -> None:
    engine, a, b = streams()
    a.select("k").intersect(b.select("k")).named("q")

    with pytest.raises(ms.ContractError) as caught:
        engine.start()

    assert "no column of k makes progress on both sides" in str(caught.value)
    assert "Have ts among the columns of both sides" in str(caught.value.hint)
    assert '.intersect(…, window="5 minutes")' in str(caught.value.hint)


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no such time": ({"time": "when"}, ms.SchemaError, "there is no column 'when'"),
    "no length": ({"window": 0}, ms.PlanError, "window 0 is not positive"),
    "no number": ({"window": "5 s"}, ms.WindowError, "is not a whole number"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_window_or_time_is_told_clearly(case: str) -> None:
    _, a, b = streams()
    arguments, error, words = WRONG[case]

    with pytest.raises(error, match=words):
        a.difference(b, **arguments)


def test_other_columns_no_stream_and_a_time_that_is_not_known_are_told() -> None:
    engine, a, b = streams(b=None)

    with pytest.raises(ms.SchemaError, match=r"rows of \(ts int64, k string\) are compared with rows of \(k string\)"):
        a.difference(b.select("k"))
    with pytest.raises(ms.PlanError, match="is not a stream"):
        a.intersect("b")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ms.PlanError, match="is not a stream"):
        a.intersect(engine.table("t", pa.table({"ts": [1], "k": ["u"]})))  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ms.PlanError, match="no column of both sides is known to be its time"):
        a.difference(b, window=10)


def test_columns_that_cannot_be_compared_are_told() -> None:
    engine = ms.Engine(host="local")
    schema = pa.schema({"ts": pa.int64(), "tags": pa.list_(pa.string())})
    a, b = (engine.stream(name, [], schema=schema, progress=ms.ordered("ts")) for name in "ab")

    with pytest.raises(ms.SchemaError, match="'tags' is list"):
        a.difference(b)


def test_a_union_with_an_intersection_binds_as_in_sql() -> None:
    engine, _, _ = streams()

    made = engine.sql("SELECT ts, k FROM a UNION ALL SELECT ts, k FROM b INTERSECT SELECT ts, k FROM a").node

    assert isinstance(made, nodes.Union)
    assert isinstance(made.inputs[1], nodes.Distinct)
