"""As-of joins: what the fluent API and SQL make of them, when they are refused, and what a restart finds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.kernels.as_of import in_order
from millstream.plan import nodes
from support import in_process
from support.spark_driver import Keeper

SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("k", pa.string()), ("v", pa.int64())])
SECOND = 1_000_000
NUMBERS = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64())])


def streams(progress: Any = None) -> tuple[ms.Engine, ms.Stream, ms.Stream]:
    engine = ms.Engine(host="local")
    promise = progress or ms.bounded_disorder("ts", "5 seconds")
    a, b = (engine.stream(name, [], schema=SCHEMA, progress=promise) for name in ("a", "b"))
    return engine, a, b


def node_of(query: ms.Query) -> nodes.AsOf:
    return next(one for one in nodes.walk(query.node) if isinstance(one, nodes.AsOf))


def in_sql(text: str) -> nodes.AsOf:
    return node_of(streams()[0].sql(text))


def test_both_times_stay_and_a_key_of_one_name_is_one_column() -> None:
    _, a, b = streams()

    made = a.join_as_of(b, on="k", within="5 seconds")

    assert ["left_ts", "k", "left_v", "right_ts", "right_v"] == made.schema.names
    assert (("ts", "ts"), 5 * SECOND, False, "inner") == (
        node_of(made).time, node_of(made).within, node_of(made).strict, node_of(made).how,
    )  # fmt: skip


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no such column": ({"on": "q"}, ms.SchemaError, "there is no column 'q'"),
    "no such kind": ({"on": "k", "how": "full"}, ms.PlanError, "an as-of join is inner or left, and not 'full'"),
    "different types": ({"on": [("k", "v")]}, ms.SchemaError, "never equal"),
    "negative": ({"on": "k", "within": "-5 s"}, ms.PlanError, "no row lies within -5 s"),
    "nothing": ({"on": "k", "within": "0 s", "strict": True}, ms.PlanError, "no row lies within 0 s and before"),
    "no duration": ({"on": "k", "within": 5}, ms.WindowError, "has no unit"),
    "no time": (
        {"on": "k", "time": "k"},
        ms.WindowError,
        "k is string, and neither windows nor progress can be on that",
    ),
    "a key twice": ({"on": [("k", "k"), ("k", "k")]}, ms.PlanError, "k is among the keys twice"),
    "the time as a key": ({"on": ["k", "ts"]}, ms.PlanError, "ts is a key and the time too"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_as_of_join_is_told_clearly(case: str) -> None:
    _, a, b = streams()
    arguments, error, words = WRONG[case]

    with pytest.raises(error, match=words):
        a.join_as_of(b, **arguments)


def test_an_as_of_join_with_no_stream_is_told_clearly() -> None:
    engine, a, _ = streams()

    with pytest.raises(ms.PlanError, match="is not a stream"):
        a.join_as_of("b", on="k")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ms.PlanError, match="is not a stream"):
        a.join_as_of(engine.table("t", [{"k": "u"}]), on="k")  # type: ignore[arg-type]  # on purpose


# --- SQL --------------------------------------------------------------------------------------------

FORMS: dict[str, tuple[str, str, bool, int | None]] = {
    "by comparison": ("ASOF JOIN b ON a.k = b.k AND a.ts >= b.ts", "inner", False, None),
    "turned round": ("ASOF JOIN b ON b.ts <= a.ts AND b.k = a.k", "inner", False, None),
    "strict": ("ASOF JOIN b ON a.k = b.k AND a.ts > b.ts", "inner", True, None),
    "left, as in DuckDB": ("ASOF LEFT JOIN b ON a.k = b.k AND a.ts >= b.ts", "left", False, None),
    "left first": ("LEFT ASOF JOIN b ON a.k = b.k AND a.ts >= b.ts", "left", False, None),
    "using": ("ASOF JOIN b USING (k, ts)", "inner", False, None),
    "within": (
        "ASOF JOIN b ON a.k = b.k AND a.ts >= b.ts AND b.ts >= a.ts - INTERVAL 5 seconds", "inner", False, 5 * SECOND,
    ),
    "within, strictly": (
        "ASOF JOIN b ON a.k = b.k AND a.ts >= b.ts AND a.ts - b.ts < INTERVAL 5 s", "inner", False, 5 * SECOND - 1,
    ),
    "between": (
        "ASOF JOIN b ON a.k = b.k AND b.ts BETWEEN a.ts - INTERVAL 5 seconds AND a.ts", "inner", False, 5 * SECOND,
    ),
    "as in Snowflake": ("ASOF JOIN b MATCH_CONDITION (a.ts >= b.ts) ON a.k = b.k", "left", False, None),
    "as in Snowflake, with using": ("ASOF JOIN b MATCH_CONDITION (a.ts > b.ts) USING (k)", "left", True, None),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_way_to_write_it_means_the_same_node(form: str) -> None:
    text, how, strict, within = FORMS[form]

    made = in_sql(f"SELECT a.v, b.v AS bv FROM a {text}")

    assert (how, strict, within, (("k", "k"),), ("ts", "ts")) == (
        made.how, made.strict, made.within, made.keys, made.time,
    )  # fmt: skip


def test_where_looks_at_pairs_that_are_made() -> None:
    query = streams()[0].sql("SELECT a.v FROM a ASOF JOIN b ON a.k = b.k AND a.ts >= b.ts WHERE a.v = b.v")

    assert (("k", "k"),) == node_of(query).keys
    assert ["a_v = b_v"] == [str(one.condition) for one in nodes.walk(query.node) if isinstance(one, nodes.Select)]


def test_an_as_of_join_is_joined_on() -> None:
    engine, _, _ = streams()
    engine.stream("c", [], schema=SCHEMA, progress=ms.bounded_disorder("ts", "5 seconds"))
    near = "AND {0}.ts >= {1}.ts AND {1}.ts >= {0}.ts - INTERVAL 1 minute"
    engine.sql(
        f"SELECT a.v, c.v AS cv FROM a ASOF JOIN b ON a.k = b.k {near.format('a', 'b')} "
        f"ASOF LEFT JOIN c ON a.k = c.k {near.format('a', 'c')}",
        name="q",
    )

    assert engine.check().safe


# --- contracts --------------------------------------------------------------------------------------


def checked(left: Any, right: Any, **options: Any) -> Any:
    engine = ms.Engine(host="local")
    a = engine.stream("a", [], schema=SCHEMA, progress=left)
    b = engine.stream("b", [], schema=SCHEMA, progress=right)
    a.join_as_of(b, on="k", time="ts", **options).named("q")
    return engine.check()


TIMED = ms.bounded_disorder("ts", "5 seconds")
PER_KEY = ms.per_group("k", TIMED)
OVER = ms.supplied(per="k")


@pytest.mark.parametrize(
    ("left", "right", "within", "safe"),
    [
        (TIMED, TIMED, "1 minute", True), (TIMED, TIMED, None, False), (OVER, TIMED, None, True),
        (OVER, OVER, None, True), (TIMED, OVER, None, False), (TIMED, OVER, "1 minute", True),
        (PER_KEY, PER_KEY, "1 minute", True), (PER_KEY, PER_KEY, None, False), (None, TIMED, "1 minute", False),
        (TIMED, None, "1 minute", False),
    ],
)  # fmt: skip
def test_it_is_safe_if_each_side_lets_the_rows_of_the_other_go(
    left: Any, right: Any, within: str | None, *, safe: bool
) -> None:
    assert safe is checked(left, right, within=within).safe


def test_without_keys_only_one_row_is_the_last() -> None:
    _, a, b = streams()
    a.join_as_of(b).named("q")

    assert a.engine.check().safe


def test_check_says_what_is_kept_and_how_long() -> None:
    said = str(checked(TIMED, TIMED, within="1 minute"))

    assert "of the right side the last row of each k and what came after" in said
    assert "within 60 s of ts + disorder 5 s + skew of the inputs" in said


def test_a_window_above_it_closes_by_either_time_only_if_the_distance_is_bounded() -> None:
    for within, how, attribute, safe in [
        ("1 minute", "inner", "left_ts", True), ("1 minute", "left", "left_ts", True),
        ("1 minute", "inner", "right_ts", True), ("1 minute", "left", "right_ts", False),
    ]:  # fmt: skip
        engine, a, b = streams()
        joined = a.join_as_of(b, on="k", within=within, how=how)
        joined.window(attribute, range="1 minute").agg(n=ms.count()).named("q")

        assert safe is engine.check().safe, (within, how, attribute)


def test_the_partner_s_time_has_a_bound_that_no_later_row_breaks() -> None:
    engine = ms.Engine(host="local")
    left = [ms.Epoch([{"ts": 20, "k": "u", "v": 1}], [ms.punctuation("ts", before=20)])]
    right = [ms.Epoch([{"ts": 12, "k": "u", "v": 2}], [ms.punctuation("ts", before=19)])]
    a = engine.stream("a", left, schema=NUMBERS, progress=ms.supplied("ts"))
    b = engine.stream("b", right, schema=NUMBERS, progress=ms.supplied("ts"))
    query = a.join_as_of(b, on="k", within=8).named("q")
    engine.start(ms.available_now()).await_termination()

    promised = engine.host.graph.at(engine.host.queries["q"].node).operator.promises()

    assert (19, 11) == (promised.bound("left_ts"), promised.bound("right_ts"))
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    assert [(20, 12)] == [(row["left_ts"], row["right_ts"]) for row in query.table().to_pylist()]


# --- ties, rejected rows, state ---------------------------------------------------------------------


def test_ties_are_settled_by_the_other_columns_of_any_type() -> None:
    none = [[None], [{"x": 1}], [{"x": 2}]]
    others = pa.table({"list": none, "word": pa.array(["b", "a", "a"]).dictionary_encode()})

    order = in_order(pa.array([0, 0, 0]).to_numpy(), pa.array([7, 7, 7]).to_numpy(), others)

    assert sorted(range(3), key=lambda i: repr(none[i])) == order.tolist()


def test_rows_without_a_time_are_rejected_on_either_side() -> None:
    engine = ms.Engine(host="local")
    a = engine.stream("a", [{"ts": None, "k": "u", "v": 1}, {"ts": 4, "k": "u", "v": 2}], schema=NUMBERS)
    b = engine.stream("b", [{"ts": None, "k": "u", "v": 3}, {"ts": 4, "k": "u", "v": 4}], schema=NUMBERS)
    query = a.join_as_of(b, on="k", time="ts").named("q")
    query.rejected.to_memory()
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()

    assert [(4, 4)] == [(row["left_ts"], row["right_ts"]) for row in query.table().to_pylist()]
    assert ["ts is null"] * 2 == query.rejected.table()["reason"].to_pylist()
    assert {"rows_in": 4, "rejected": 2, "accepted": 2} == {
        name: run.progress["queries"]["q"]["books"][name] for name in ("rows_in", "rejected", "accepted")
    }


def test_times_at_the_ends_of_time_have_their_distance() -> None:
    engine = ms.Engine(host="local")
    far = 2**63 - 10
    a = engine.stream("a", [{"ts": far, "k": "u", "v": 1}], schema=NUMBERS)
    b = engine.stream("b", [{"ts": -far, "k": "u", "v": 2}], schema=NUMBERS)
    near = a.join_as_of(b, on="k", time="ts", within=2**60).named("near")
    any_age = a.join_as_of(b, on="k", time="ts").named("any_age")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert (0, 1) == (near.table().num_rows, any_age.table().num_rows)


def test_state_is_found_again_in_another_number_of_partitions(tmp_path: Path) -> None:
    keys = ["u", "v", "w", "x"]
    left = [{"ts": 10, "k": key, "v": i} for i, key in enumerate(keys)]
    right = [{"ts": 5, "k": key, "v": 100 + i} for i, key in enumerate(keys)]
    keeper = Keeper()
    for partitions, promises in ((3, []), (2, []), (5, [ms.punctuation("ts", before=11)])):
        engine = in_process.engine(tmp_path, partitions)
        a = engine.stream("a", [ms.Epoch(left, [])], schema=NUMBERS, progress=ms.supplied("ts"))
        first = [ms.Epoch(right, []), ms.Epoch([], []), ms.Epoch([], promises)]
        b = engine.stream("b", first[: 1 + (partitions == 2) + 2 * (partitions == 5)], schema=NUMBERS,
                          progress=ms.supplied("ts"))  # fmt: skip
        a.join_as_of(b, on="k", within=9).named("q").to(keeper)
        engine.start(ms.available_now()).await_termination()

    assert sorted((row["k"], row["left_v"], row["right_v"]) for row in keeper.rows) == [
        (key, i, 100 + i) for i, key in enumerate(keys)
    ]
