"""`wids` and `extent` are inverse for every kind of window, and the published vectors hold."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.core.errors import WindowError
from millstream.core.window import (
    Context,
    Landmark,
    Rows,
    Session,
    SlideByTuple,
    Sliding,
    UserDefined,
    Window,
    context,
)
from support.bags import difference
from support.harness import run

LENGTHS = range(1, 25)
VALUES = range(-60, 61)


# --- sliding ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", [None, 0, 7, -11])
def test_sliding_wids_are_the_inverse_of_extents_for_every_range_and_slide(start: int | None) -> None:
    wrong = []
    for size in LENGTHS:
        for slide in LENGTHS:
            window = Sliding(size=size, slide=slide, start=start)
            least = (min(VALUES) - window.base) // slide - 1 if start is None else 0
            ids = range(least, (max(VALUES) - window.base + size) // slide + 2)
            inside = {v: [w for w in ids if window.extent(w)[0] <= v < window.extent(w)[1]] for v in VALUES}
            wrong += [(size, slide, v) for v in VALUES if inside[v] != list(window.wids(v))]

    assert [] == wrong


@pytest.mark.parametrize("start", [None, 0, 7, -11])
def test_a_bound_leaves_open_exactly_the_windows_that_reach_beyond_it(start: int | None) -> None:
    wrong = []
    for size in LENGTHS:
        for slide in LENGTHS:
            window = Sliding(size=size, slide=slide, start=start)
            for bound in VALUES:
                first = window.first_open(bound)
                if not (window.extent(first - 1)[1] <= bound < window.extent(first)[1]):
                    wrong.append((size, slide, bound))

    assert [] == wrong


VECTORS: list[tuple[int, int, dict[int, list[int]]]] = [
    (600, 60, {5: list(range(10)), -5: list(range(9))}),
    (
        10,
        4,
        {
            0: [0, 1],
            1: [0, 1],
            2: [0, 1, 2],
            3: [0, 1, 2],
            4: [1, 2],
            7: [1, 2, 3],
            8: [2, 3],
            9: [2, 3],
            10: [2, 3, 4],
        },
    ),
    (9, 6, {0: [0], 2: [0], 3: [0, 1], 5: [0, 1], 6: [1], 8: [1], 9: [1, 2], 11: [1, 2], 12: [2], 15: [2, 3]}),
    (2, 5, {0: [], 1: [], 2: [], 3: [0], 4: [0], 5: [], 6: [], 7: [], 8: [1], 9: [1]}),
]


@pytest.mark.parametrize(("size", "slide", "expected"), VECTORS)
def test_the_published_window_ids(size: int, slide: int, expected: dict[int, list[int]]) -> None:
    window = Sliding(size=size, slide=slide, start=0)

    assert expected == {value: list(window.wids(value)) for value in expected}


def test_the_published_extents() -> None:
    window = Sliding(size=10, slide=4, start=0)

    assert [(-6, 4), (-2, 8), (2, 12)] == [window.extent(wid) for wid in range(3)]


def test_a_punctuation_of_660_finishes_windows_0_to_10() -> None:
    assert 11 == Sliding(size=600, slide=60, start=0).first_open(660)


@pytest.mark.parametrize(("size", "slide", "partial"), [(10, 1, 9), (9, 6, 1), (10, 4, 2), (5, 5, 0), (4, 1, 3)])
def test_the_first_windows_reach_before_the_start_and_are_still_there(size: int, slide: int, partial: int) -> None:
    window = Sliding(size=size, slide=slide, start=0)

    assert partial == sum(window.extent(wid)[0] < 0 for wid in range(50))
    ran = run(
        [{"ts": ts} for ts in range(40)],
        lambda s: s.window("ts", range=size, slide=slide, start=0).agg(n=ms.count()),
        schema=pa.schema([("ts", pa.int64())]),
    )
    starts = ran.query.table()["window_start"].to_pylist()
    assert partial == sum(start < 0 for start in starts)


@pytest.mark.parametrize(("size", "slide"), [(0, 1), (1, 0), (-1, 1), (1, -1)])
def test_a_window_without_length_or_motion_cannot_be(size: int, slide: int) -> None:
    with pytest.raises(WindowError, match="is not positive"):
        Sliding(size=size, slide=slide)
    with pytest.raises(WindowError, match="is not positive"):
        Rows(size=size, slide=slide)


# --- rows and partitions ----------------------------------------------------------------------------


@given(st.integers(1, 24), st.integers(1, 24))
def test_row_windows_are_sliding_windows_over_numbers_from_one(size: int, slide: int) -> None:
    assert Sliding(size=size, slide=slide, start=1) == Rows(size=size, slide=slide).by_number


STREAM = [{"p": "A", "v": 5}, {"p": "B", "v": 7}, {"p": "A", "v": 3}, {"p": "A", "v": 9}]


def rows_query(source: Any, *, partitioned: bool) -> list[tuple[Any, ...]]:
    partition: dict[str, Any] = {"partition_by": "p"} if partitioned else {}
    ran = run(
        source,
        lambda s: s.window(by="rows", range=2, slide=1, **partition).group_by("p").agg(top=ms.max("v")),
        schema=pa.schema([("p", pa.string()), ("v", pa.int64())]),
        end=False,
    )
    return ran.answers(("p",), ["top"])


def test_a_partitioned_window_partitions_first_and_then_windows() -> None:
    # §2.2, closed by the row numbers alone: A: w0=5, w1=5, w2=9; B: w0=7.
    assert {} == difference([(0, "A", 5), (1, "A", 5), (2, "A", 9), (0, "B", 7)], rows_query(STREAM, partitioned=True))


def test_group_by_windows_first_and_then_groups() -> None:
    # §2.2: w0: A5; w1: A5, B7; w2: B7, A3; w3: A9.
    assert {} == difference(
        [(0, "A", 5), (1, "A", 5), (1, "B", 7), (2, "B", 7), (2, "A", 3), (3, "A", 9)],
        rows_query(STREAM, partitioned=False),
    )


def test_partitioning_row_windows_is_not_grouping_them() -> None:
    # Q5-2 against Q5-3.
    assert rows_query(STREAM, partitioned=True) != rows_query(STREAM, partitioned=False)


@given(
    st.lists(st.fixed_dictionaries({"ts": st.integers(0, 30), "p": st.sampled_from("AB")}), max_size=20),
    st.integers(1, 9),
    st.integers(1, 9),
)
def test_for_time_windows_partitioning_is_grouping(rows: list[dict[str, Any]], size: int, slide: int) -> None:
    schema = pa.schema([("ts", pa.int64()), ("p", pa.string())])
    partitioned, grouped = (
        run(rows, ask, schema=schema).answers(("p",), ["n"])
        for ask in (
            lambda s: s.window("ts", range=size, slide=slide, partition_by="p").agg(n=ms.count()),
            lambda s: s.window("ts", range=size, slide=slide).group_by("p").agg(n=ms.count()),
        )
    )

    assert {} == difference(grouped, partitioned)


# --- landmark ---------------------------------------------------------------------------------------


def test_the_published_first_landmark_windows() -> None:
    # §2.3, slide 60: 0, 59, 60, 125 → 0, 0, 1, 2.
    window = Landmark(slide=60, start=0)

    assert [0, 0, 1, 2] == [window.first_wid(value) for value in (0, 59, 60, 125)]


@pytest.mark.parametrize("start", [None, 0, 7, -11])
def test_landmark_windows_hold_a_value_from_its_first_on(start: int | None) -> None:
    wrong = []
    for slide in LENGTHS:
        window = Landmark(slide=slide, start=start)
        ids = range(-70, 80) if start is None else range(80)
        for value in VALUES:
            extents = {w: window.extent(w) for w in ids}
            holds = [w for w, (low, high) in extents.items() if (low is None or low <= value) and value < high]
            if holds != [w for w in ids if w >= window.first_wid(value)]:
                wrong.append((slide, value))

    assert [] == wrong


def test_a_silent_group_has_a_row_in_every_later_landmark_window() -> None:
    ran = run(
        [{"ts": 1, "p": "quiet"}, {"ts": 2, "p": "busy"}, {"ts": 25, "p": "busy"}, {"ts": 47, "p": "busy"}],
        lambda s: s.window("ts", range="all", slide=10).group_by("p").agg(n=ms.count()),
        schema=pa.schema([("ts", pa.int64()), ("p", pa.string())]),
        progress=ms.ordered("ts"),
        epoch_rows=1,
    )
    expected = [(w, "quiet", 1) for w in range(5)] + [(w, "busy", n) for w, n in enumerate((1, 1, 2, 2, 3))]

    assert {} == difference(expected, ran.answers(("p",), ["n"]))


# --- slide-by-tuple ---------------------------------------------------------------------------------


@given(
    st.lists(st.integers(-9, 9), max_size=12),
    st.integers(1, 9),
    st.integers(1, 4),
    st.sampled_from(["arrival", "rank"]),
)
def test_slide_by_tuple_holds_a_value_as_its_extent_does(values: list[int], size: int, every: int, by: Any) -> None:
    window = SlideByTuple(size=size, every=every, by=by)
    for wid in window.windows(values):
        low, high = window.extent(wid)
        # The published inverse: wids(t) are the windows w with t <= w < t + range.
        assert [low < v <= high for v in values] == [window.holds(wid, v) for v in values]
        assert [window.holds(wid, v) for v in values] == [v <= wid < v + size for v in values]


@pytest.mark.parametrize(
    ("every", "by", "expected"), [(1, "arrival", [0, 1, 4, 7, 12]), (2, "arrival", [4, 12]), (2, "rank", [1, 7])]
)
def test_slide_by_tuple_windows_end_at_rows_chosen_by_arrival_or_by_rank(
    every: int, by: Any, expected: list[int]
) -> None:
    assert expected == SlideByTuple(size=10, every=every, by=by).windows([0, 4, 7, 12, 1])


# --- sessions ---------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 40), max_size=15), st.integers(1, 6), st.randoms(use_true_random=False))
def test_sessions_do_not_depend_on_order(values: list[int], gap: int, rnd: Any) -> None:
    shuffled = list(values)
    rnd.shuffle(shuffled)

    assert Session(gap=gap).sessions(values) == Session(gap=gap).sessions(shuffled)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=15), st.integers(1, 6))
def test_sessions_are_the_chains_of_values_no_more_than_a_gap_apart(values: list[int], gap: int) -> None:
    ordered = sorted(set(values))
    breaks = [i for i in range(1, len(ordered)) if ordered[i] - ordered[i - 1] > gap]
    chains = [ordered[i:j] for i, j in zip([0, *breaks], [*breaks, len(ordered)], strict=True)]

    assert [(chain[0], chain[-1] + gap) for chain in chains] == Session(gap=gap).sessions(values)


@pytest.mark.parametrize(("apart", "sessions"), [(5, 1), (6, 2)])
def test_a_gap_itself_does_not_end_a_session_but_one_more_does(apart: int, sessions: int) -> None:
    assert sessions == len(Session(gap=5).sessions([0, apart]))


# --- user-defined -----------------------------------------------------------------------------------


@given(st.integers(1, 9), st.integers(1, 9), st.integers(-40, 40))
def test_a_user_defined_window_that_is_inverse_answers_like_the_window_it_copies(
    size: int, slide: int, value: int
) -> None:
    copied = Sliding(size=size, slide=slide)
    window = UserDefined(extent_of=copied.extent, wids_of=copied.wids)

    assert list(copied.wids(value)) == window.wids(value)
    assert all(window.extent(wid)[0] <= value < window.extent(wid)[1] for wid in window.wids(value))


def test_a_user_defined_window_that_is_not_inverse_is_an_error_that_shows_both_sides() -> None:
    window = UserDefined(extent_of=lambda w: (10 * w, 10 * w + 10), wids_of=lambda a: [a // 10 + 1])
    with pytest.raises(WindowError) as caught:
        window.wids(12)

    assert "wids(12) has window 2, but extent(2) is [20, 30)" == caught.value.fact
    assert "`wids` and `extent` of a user-defined window must be inverse." == caught.value.hint


def test_a_user_defined_window_that_is_not_inverse_stops_the_run() -> None:
    with pytest.raises(WindowError, match=r"wids\(12\) has window 2"):
        run(
            [{"ts": 12}],
            lambda s: s.window("ts", extent=lambda w: (10 * w, 10 * w + 10), wids=lambda a: [a // 10 + 1]).agg(
                n=ms.count()
            ),
            schema=pa.schema([("ts", pa.int64())]),
        )


# --- context classes --------------------------------------------------------------------------------

CLASSES: list[tuple[Window, Context]] = [
    (Sliding(size=10, slide=2), Context.FREE),
    (Sliding(size=10, slide=10), Context.FREE),
    (Rows(size=10, slide=2), Context.FREE),
    (Landmark(slide=2), Context.FREE),
    (Rows(size=10, slide=2, partition_by=("p",)), Context.BACKWARD),
    (SlideByTuple(size=10), Context.FORWARD),
    (SlideByTuple(size=10, every=3), Context.FORWARD),
    (SlideByTuple(size=10, every=3, by="rank"), Context.FORWARD),
    (Session(gap=3), Context.FORWARD),
    (UserDefined(extent_of=lambda w: (w, w + 1), wids_of=lambda a: [a]), Context.FREE),
]


@pytest.mark.parametrize(("window", "expected"), CLASSES)
def test_the_context_class_follows_from_what_a_window_asks_for(window: Window, expected: Context) -> None:
    assert expected is context(window)
