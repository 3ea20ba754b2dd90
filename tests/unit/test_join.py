"""The order-agnostic join by hand: edges, what is kept and for how long, what is promised, and what leaves alone."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.punctuation import Punctuation
from support.joins import Row
from support.two_sides import TwoSides

LEFT, RIGHT = 0, 1


def band(low: int, high: int, how: str = "inner", on: object = (("k", "k2"),)) -> TwoSides:
    return TwoSides(lambda a, b: a.join(b, on=list(on), how=how, within=(low, high)))  # type: ignore[call-overload]


def tumbling(size: int, how: str = "inner") -> TwoSides:
    return TwoSides(lambda a, b: a.join(b, on=[("k", "k2")], how=how, window=size))


def in_sql(condition: str) -> TwoSides:
    return TwoSides(lambda a, _: a.engine.sql(f"SELECT * FROM a JOIN b ON a.k = b.k2 AND {condition}"))


def row(ts: int, k: str | None = "a", v: int = 0) -> Row:
    return {"ts": ts, "k": k, "j": 0, "v": v, "id": ts}


# --- edges ---------------------------------------------------------------------------------------


def test_both_ends_of_a_band_belong_to_it() -> None:
    join = band(-2, 3)
    join.rows(LEFT, 10)

    assert [(10, 8), (10, 13)] == join.rows(RIGHT, 7, 8, 13, 14)


@pytest.mark.parametrize(
    ("condition", "partners"),
    [
        ("b.ts2 BETWEEN a.ts - 2 AND a.ts + 2", [8, 9, 10, 11, 12]),
        ("b.ts2 > a.ts - 2 AND b.ts2 < a.ts + 2", [9, 10, 11]),
        ("b.ts2 >= a.ts - 2 AND b.ts2 < a.ts + 2", [8, 9, 10, 11]),
        ("b.ts2 > a.ts - 2 AND b.ts2 <= a.ts + 2", [9, 10, 11, 12]),
        ("b.ts2 = a.ts", [10]),
    ],
)
def test_each_bound_may_be_strict(condition: str, partners: list[int]) -> None:
    join = in_sql(condition)
    join.rows(LEFT, 10)

    assert [(10, at) for at in partners] == sorted(join.rows(RIGHT, *range(6, 15)))


def test_strict_bounds_let_rows_go_one_tick_earlier() -> None:
    closed, strict = in_sql("b.ts2 BETWEEN a.ts - 2 AND a.ts + 2"), in_sql("b.ts2 > a.ts - 2 AND b.ts2 < a.ts + 2")
    for join in (closed, strict):
        join.rows(LEFT, 8)
        join.bound(RIGHT, 10)

    assert ([8], []) == (closed.kept(LEFT), strict.kept(LEFT))


def test_windows_have_no_common_edge_below_zero_either() -> None:
    join = tumbling(10)
    join.rows(LEFT, -11, -10, -1, 0, 9, 10)

    assert [(-10, -5), (-1, -5)] == join.rows(RIGHT, -5)
    assert [(0, 3), (9, 3)] == join.rows(RIGHT, 3)


def test_ties_make_a_pair_each() -> None:
    join = band(0, 0)
    join.rows(LEFT, 5, 5)

    assert [(5, 5)] * 4 == join.rows(RIGHT, 5, 5)


def test_null_keys_meet_nothing_and_leave_alone_at_once() -> None:
    inner, full = band(-5, 5), band(-5, 5, "full")

    assert [] == inner.rows(LEFT, row(1, None)) + inner.rows(RIGHT, row(1, None))
    assert ([], []) == (inner.kept(LEFT), inner.kept(RIGHT))
    assert [(1, None)] == full.rows(LEFT, row(1, None))
    assert [(None, 1)] == full.rows(RIGHT, row(1, None))


def test_a_null_time_is_rejected_with_its_reason() -> None:
    join = band(-5, 5)
    join.rows(LEFT, {**row(1), "ts": None})

    assert ["ts is null"] == [one.reason for one in join.operator.rejected]
    assert 1 == join.operator.meter.rejected


def test_times_at_the_end_of_all_times_are_rejected() -> None:
    join = band(-5, 5)
    join.rows(LEFT, row(2**63 - 3))

    assert ["ts is too far out for the join"] == [one.reason for one in join.operator.rejected]


# --- state ---------------------------------------------------------------------------------------


def test_a_row_whose_partners_have_all_come_is_joined_and_never_kept() -> None:
    join = band(-2, 2)
    join.rows(RIGHT, 4)
    join.bound(RIGHT, 20)

    assert [(5, 4)] == join.rows(LEFT, 5)
    assert [] == join.kept(LEFT)


def test_a_row_goes_when_the_other_side_has_passed_its_last_partner() -> None:
    join = band(-2, 3)
    join.rows(LEFT, 10)
    join.rows(RIGHT, 10)

    join.bound(RIGHT, 13)
    assert [10] == join.kept(LEFT)  # 13 may still come
    join.bound(RIGHT, 14)
    assert [] == join.kept(LEFT)
    join.bound(LEFT, 12)
    assert [10] == join.kept(RIGHT)
    join.bound(LEFT, 13)
    assert [] == join.kept(RIGHT)


def test_windows_are_compared_by_floors() -> None:
    join = tumbling(10)
    join.rows(LEFT, 9)

    join.bound(RIGHT, 9)
    assert [9] == join.kept(LEFT)
    join.bound(RIGHT, 10)
    assert [] == join.kept(LEFT)


def test_a_side_that_lags_costs_the_other_side_only() -> None:
    """All of the left side comes five ticks late, a band of two: seven ticks of the right are kept, and no left row."""
    join = band(-2, 2)
    for now in range(30):
        join.rows(RIGHT, now)
        join.bound(RIGHT, now + 1)
        if now >= 5:
            join.rows(LEFT, now - 5)
            join.bound(LEFT, now - 4)
    # The clock says 30; right rows up to 29, left rows up to 24.
    assert [] == join.kept(LEFT)  # the right side has passed all their partners
    assert list(range(23, 30)) == join.kept(RIGHT)  # seven


def test_a_late_minority_of_a_side_is_never_kept_and_holds_back_the_other_side_only() -> None:
    """Spec F15: a tenth of S0 comes five minutes late, a band of two: of S0 two minutes are kept, of S1 seven.

    A plan in order keeps the same of S1, and must hold five minutes of S0 to sort it.
    """
    join = band(-2, 2)
    come: list[int] = []
    for now in range(30):
        some = [now - 5, *[now] * 9] if now >= 5 else [now] * 9
        come += some
        join.rows(RIGHT, now)
        join.bound(RIGHT, now + 1)
        join.rows(LEFT, *some)
        join.bound(LEFT, now - 4)
        if now < 7:
            continue
        to_sort = [at for at in come if at >= now - 4]
        assert [now - 1] * 9 + [now] * 9 == join.kept(LEFT)
        assert Fraction(2, 5) == Fraction(len(join.kept(LEFT)), len(to_sort))
        assert list(range(now - 6, now + 1)) == join.kept(RIGHT)

    met = Counter(one["ts"] for one in join.left)
    assert dict.fromkeys(range(2, 25), 50) == {at: met[at] for at in range(2, 25)}  # ten rows of five partners each


def test_rows_of_a_group_that_is_over_or_ahead_go_alone() -> None:
    join = band(-2, 2)
    join.rows(LEFT, row(10, "a"), row(10, "b"), row(10, "c"))

    join.bound(RIGHT, 20, k2="a")
    assert [10, 10] == join.kept(LEFT)
    join.promise(RIGHT, Punctuation.over({"k2": "b"}))
    assert [10] == join.kept(LEFT)


def test_equal_columns_that_progress_bound_the_state_without_a_band() -> None:
    join = TwoSides(lambda a, b: a.join(b, on=[("ts", "ts2"), ("k", "k2")]))
    join.rows(LEFT, 5, 6)
    join.rows(RIGHT, 5, 6)

    join.bound(RIGHT, 6)
    assert [6] == join.kept(LEFT)
    join.bound(LEFT, 7)
    assert [] == join.kept(RIGHT)
    assert {"ts < 6", "ts2 < 6"} == join.promises


def test_state_is_cut_by_time_and_dropped_slice_by_slice() -> None:
    join = band(-160, 160)
    join.rows(LEFT, *[at for at in range(400) for _ in range(200)])
    join.bound(RIGHT, 10)
    assert 1 == len(join.operator.store.segments)  # of which nothing can go yet
    join.bound(RIGHT, 201)

    lows = [(one.low, one.high) for one in join.operator.store.segments]
    assert len(lows) == 9
    assert all(high - low < 40 for low, high in lows)
    join.bound(RIGHT, 361)
    assert [at for at in range(201, 400) for _ in range(200)] == [at for at in join.kept(LEFT) if at > 200]
    assert len(join.kept(LEFT)) <= 1.2 * 199 * 200


def test_many_small_epochs_do_not_make_many_runs() -> None:
    join = band(-40, 40)
    for at in range(200):
        join.rows(LEFT, at)
        join.rows(RIGHT, at)
        join.bound(LEFT, at + 1)
        join.bound(RIGHT, at + 1)

    assert len(join.operator.store.segments) < 30
    assert join.operator.meter.peak_rows <= 1.2 * 2 * 42
    assert list(range(160, 200)) == [at for at in join.kept(LEFT) if at >= 160]


# --- promises ------------------------------------------------------------------------------------


def test_individual_and_joint_punctuation_in_the_order_of_the_specification() -> None:
    join = band(-2, 2)
    seen = []
    for side, value in ((LEFT, 1), (RIGHT, 1), (LEFT, 2), (RIGHT, 2), (LEFT, 3)):
        join.bound(side, value)
        promised = join.operator.promises()
        seen.append(([str(one) for one in promised.others], promised.bound("ts2")))

    assert ["ts < 2, ts2 < 1"] == seen[2][0]
    assert seen[2][1] < 1
    assert 1 == seen[4][1]


def test_a_side_that_lags_cannot_starve_who_groups_on_both_times() -> None:
    join = band(-2, 2)
    join.bound(LEFT, 100)
    join.bound(RIGHT, 10)

    near = join.operator.spec.near
    assert near is not None
    assert (12, 10) == near.joint(100, 10)  # held back to where the left side can meet the right
    assert {"ts < 8", "ts2 < 10"} == join.promises  # which the individual bounds say already


def test_tumbling_promises_are_floors() -> None:
    join = tumbling(10)
    join.bound(LEFT, 25)
    join.bound(RIGHT, 29)

    promised = join.operator.promises()
    assert (20, 20) == (promised.bound("ts"), promised.bound("ts2"))


def test_a_group_that_is_ahead_on_both_sides_is_promised_ahead() -> None:
    join = band(-2, 2)
    for side, name in ((LEFT, "k"), (RIGHT, "k2")):
        join.bound(side, 5)
        join.bound(side, 50, **{name: "a"})

    promised = join.operator.promises()
    assert (3, 48) == (promised.bound("ts"), promised.bound("ts", {"k": "a"}))


def test_the_end_of_both_sides_is_the_end() -> None:
    join = band(-2, 2)
    join.end(LEFT)
    assert not join.operator.promises().ended
    join.end(RIGHT)
    assert join.operator.promises().ended


# --- what leaves alone ---------------------------------------------------------------------------


def test_a_row_without_a_partner_leaves_when_that_is_proven_and_not_before() -> None:
    join = band(-2, 3, "left")
    join.rows(LEFT, 10)

    assert [] == join.bound(RIGHT, 13)
    assert [(10, None)] == join.bound(RIGHT, 14)
    assert [] == join.bound(RIGHT, 50)


def test_a_row_that_had_a_partner_never_leaves_alone() -> None:
    join = band(-2, 3, "full")
    join.rows(LEFT, 10)

    assert [(10, 12)] == join.rows(RIGHT, 12)
    assert [] == join.bound(RIGHT, 40) + join.bound(LEFT, 40)


def test_a_row_that_comes_when_all_its_partners_have_leaves_alone_at_once() -> None:
    join = band(-2, 3, "left")
    join.bound(RIGHT, 100)

    assert [(10, None)] == join.rows(LEFT, 10)


def test_a_semi_join_lets_a_row_go_once_at_its_first_partner() -> None:
    join = band(-2, 2, "semi")
    assert [] == join.rows(LEFT, 10)

    assert [(10, None)] == [(at, None) for at, _ in join.rows(RIGHT, 10)]
    assert [] == join.rows(RIGHT, 11) + join.bound(RIGHT, 100)
    assert [] == join.kept(LEFT)


def test_an_anti_join_waits_for_the_proof() -> None:
    join = band(-2, 2, "anti")
    join.rows(LEFT, 10, row(10, "b"))

    assert [] == join.rows(RIGHT, 9)
    assert [] == join.bound(RIGHT, 12)
    assert [10] == [at for at, _ in join.bound(RIGHT, 13)]
    assert ["b"] == [one["k"] for one in join.left]


@pytest.mark.parametrize("how", ["right", "full"])
def test_a_key_of_one_name_is_known_whichever_side_is_missing(how: str) -> None:
    engine = ms.Engine(host="local")
    a, b = (
        engine.stream(name, [ms.Epoch([{"ts": at, "k": name}], [])], progress=ms.supplied("ts"))
        for name, at in (("a", 1), ("b", 2))
    )
    query = a.join(b, on="k", how=how, within=1).named("q")

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    found = {one["k"]: (one["left_ts"], one["right_ts"]) for one in query.table().to_pylist()}
    assert ({"b": (None, 2)} if how == "right" else {"a": (1, None), "b": (None, 2)}) == found


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti", "window", "as of", "sql"])
def test_moments_meet_in_any_time_zone(how: str) -> None:
    """As on Spark, whose timestamps have no zone of their own."""

    def answer(zone: str) -> list[dict[str, object]]:
        engine = ms.Engine(host="local")
        left, right = (
            engine.stream(
                name,
                pa.table({"ts": pa.array(seconds, "int64").cast(pa.timestamp("us", in_zone)), "k": ["a"] * 3}),
                progress=ms.bounded_disorder("ts", "1 second"),
            )
            for name, in_zone, seconds in (("l", "UTC", [0, 9_000_000, 5_000_000]), ("r", zone, [1, 9_000_001, 10**9]))
        )
        match how:
            case "window":
                query = left.join(right, on="k", window="1 second")
            case "as of":
                query = left.join_as_of(right, on="k", within="10 seconds")
            case "sql":
                query = engine.sql(
                    "SELECT l.ts AS a, r.ts AS b FROM l JOIN r ON l.k = r.k "
                    "AND r.ts >= l.ts AND r.ts < l.ts + INTERVAL 1 second"
                )
            case _:
                query = left.join(right, on="k", how=how, within="1 second")
        query.named("q")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        return sorted(query.table().to_pylist(), key=str)

    expected, found = answer("UTC"), answer("Europe/Berlin")
    assert 0 < len(expected) == len(found)
    assert all(one in expected for one in found)
