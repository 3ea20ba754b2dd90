"""The one-pass slide-by-tuple algorithm: its bins, its windows, and what it forgets (§3.2)."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.ops.windowing.bins import OnePass
from support.harness import Stepper

SCHEMA = pa.schema([("ra", pa.int64())])


def by_tuple(strategy: str = "bins", **window: Any) -> Stepper:
    return Stepper(
        lambda s: s.window("ra", **{"range": 10, "per": "tuple", **window}).agg(n=ms.count(), strategy=strategy),
        schema=SCHEMA,
    )


def bins(stepper: Stepper) -> dict[int, int]:
    """The bins that the store holds: where each stands, and the count it has."""
    operator = stepper.operator
    assert isinstance(operator, OnePass)
    tables = [s.tables["fixed"] for s in operator.store.segments if "fixed" in s.tables]
    return {row["__ms_key"]: row["__ms_a0.0"] for table in tables for row in table.to_pylist()}


def windows(rows: list[dict[str, Any]]) -> dict[int, int]:
    return {row["window_id"]: row["n"] for row in rows}


def test_each_row_makes_a_bin_where_it_enters_and_one_where_it_has_left() -> None:
    query = by_tuple()
    query.step([0, 4, 7, 12])

    assert {0: 1, 4: 2, 7: 3, 10: 2, 12: 3, 14: 2, 17: 1, 22: 0} == bins(query)


def test_a_row_out_of_order_updates_every_bin_that_it_reaches() -> None:
    query = by_tuple()
    query.step([0, 4, 7, 12])
    query.step([1])

    assert {0: 1, 1: 2, 4: 3, 7: 4, 10: 3, 11: 2, 12: 3, 14: 2, 17: 1, 22: 0} == bins(query)


def test_the_bins_do_not_depend_on_how_rows_are_cut_into_epochs() -> None:
    whole, pieces = by_tuple(), by_tuple()
    whole.step([0, 4, 7, 12, 1])
    for value in (0, 4, 7, 12, 1):
        pieces.step([value])

    assert bins(whole) == bins(pieces)


def test_a_punctuation_emits_the_windows_below_it_and_keeps_the_newest_as_anchor() -> None:
    query = by_tuple()
    query.step([0, 4, 7, 12])

    assert {0: 1, 1: 2, 4: 3} == windows(query.step([1], 5))
    assert {4: 3, 7: 4, 10: 3, 11: 2, 12: 3, 14: 2, 17: 1, 22: 0} == bins(query)


def test_the_published_windows_leave_at_the_end() -> None:
    # §2.4: RANGE 10, arrivals 0, 4, 7, 12, 1.
    assert {0: 1, 1: 2, 4: 3, 7: 4, 12: 3} == windows(by_tuple().step([0, 4, 7, 12, 1], end=True))


def test_a_row_a_whole_range_after_another_does_not_count_it() -> None:
    assert {0: 1, 10: 1} == windows(by_tuple().step([0, 10], end=True))


def test_rows_below_a_punctuation_still_count_in_later_windows_that_reach_them() -> None:
    query = by_tuple()
    query.step([0], 5)

    assert {6: 2} == windows(query.step([6], end=True))


def test_equal_values_share_one_window() -> None:
    assert {3: 2, 5: 3} == windows(by_tuple().step([3, 3, 5], end=True))


@pytest.mark.parametrize("strategy", ["bins", "buffered"])
def test_each_second_row_to_arrive_ends_a_window(strategy: str) -> None:
    query = by_tuple(strategy, slide=2)

    assert {4: 3, 12: 3} == windows(query.step([0, 4, 7]) + query.step([12, 1], end=True))


@pytest.mark.parametrize("strategy", ["bins", "buffered"])
def test_each_second_row_by_rank_ends_a_window_whatever_came_late(strategy: str) -> None:
    query = by_tuple(strategy, slide=2, per="rank")

    assert {1: 2, 7: 4} == windows(query.step([0, 4, 7]) + query.step([12, 1], end=True))


@pytest.mark.parametrize("strategy", ["bins", "buffered"])
def test_ranks_go_on_counting_after_rows_are_purged(strategy: str) -> None:
    query = by_tuple(strategy, slide=3, per="rank")
    first = query.step([0, 2, 1, 9], 5)

    assert ({2: 3}, {11: 4}) == (windows(first), windows(query.step([11, 8], end=True)))


@pytest.mark.parametrize("strategy", ["bins", "buffered"])
def test_a_punctuation_a_range_beyond_the_last_row_leaves_no_state(strategy: str) -> None:
    query = by_tuple(strategy)
    query.step([0, 4, 7, 12], 23)

    assert 0 == query.operator.store.rows


def test_a_long_stream_keeps_no_more_than_two_bins_a_row_in_range() -> None:
    query = by_tuple()
    held = []
    for value in range(200):
        query.step([value], value)
        held.append(len(bins(query)))

    # Ten rows are in range: an entry and an exit for each, the newest row's own two, and the anchor.
    assert max(held) <= 2 * 10 + 3
    assert max(held[100:]) == max(held[20:100])


def test_groups_answer_in_every_window_where_they_have_rows() -> None:
    query = Stepper(
        lambda s: s.window("ra", range=10, per="tuple").group_by("k").agg(n=ms.count()),
        schema=pa.schema([("ra", pa.int64()), ("k", pa.string())]),
    )
    left = query.step([{"ra": 0, "k": "a"}, {"ra": 4, "k": "b"}, {"ra": 12, "k": "b"}], end=True)

    assert {(0, "a", 1), (4, "a", 1), (4, "b", 1), (12, "b", 2)} == {(r["window_id"], r["k"], r["n"]) for r in left}
