"""The published sliced join, literally: its trace, any schedule, splits and merges, conditions in between, unions.

Rows of the checklist are those of the specification of sliced joins.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparators.slices.chain import Chain, Item
from comparators.slices.rows import Condition, Marked, Row, Share, few, joined, joined_by_count, joined_many
from comparators.slices.strategies import STRATEGIES, Query, WindowJoin
from comparators.slices.union import PunctuatedUnion

Seeds = st.integers(0, 2**32)
THIRD = Share(0.3)
WINDOWS = (3, 8, 20)


def rows_of(rnd: random.Random) -> list[Row]:
    """With ties, with an empty stream now and then, and with ages that hit the ends of windows."""
    return few(rnd, rnd.randint(0, 60), 60, rnd.choice(["ab", "ab", "ab", "a", "b"]))


def played(chain: Chain, rows: list[Row], rnd: random.Random) -> None:
    """Slices run in any order, some of them long after the rows have come."""
    for row in rows:
        chain.arrive(row)
        while rnd.random() < 0.7 and (live := chain.live()):
            chain.step(rnd.choice(live))
    chain.run(rnd.choice)


# --- rows 1 to 3: by definition, the regular join, the trace ------------------------------------------


def test_definitions_agree_with_cases_by_hand() -> None:
    """Row 1: boundaries, ties, last rows, three streams."""
    a1, a2, b1, b2, c1 = Row(1, "a", 1), Row(4, "a", 2), Row(4, "b", 1), Row(6, "b", 2), Row(7, "c", 1)
    rows = [a1, a2, b1, b2]
    assert Counter([(a2, b1), (a2, b2)]) == joined(rows, 3)
    assert Counter([(a1, b1), (a2, b1), (a2, b2)]) == joined(rows, 3, closed=True)
    assert Counter([(a2, b1), (a2, b2)]) == joined_by_count(sorted(rows), 1)
    assert Counter([(a1, b1), (a2, b1), (a1, b2), (a2, b2)]) == joined_by_count(sorted(rows), 2)
    assert Counter() == joined([], 5) == joined([a1, a2], 5)
    some = list(joined_many([*rows, c1], (4, 4, 4), lambda *_: True))
    assert [(a2, b1, c1), (a2, b2, c1)] == some


@given(Seeds)
def test_the_regular_join_is_as_defined(seed: int) -> None:
    """Row 2."""
    rows = rows_of(random.Random(seed))
    join = WindowJoin(8, THIRD, Counter())
    assert joined(rows, 8, THIRD) == Counter(pair for row in rows for pair in join.take(row))


TRACE = [  # second, slice that runs, state of the first, queue, state of the second, pairs
    (3, 0, "a3 a2 a1", "", "", ""),
    (4, 0, "a3 a2", "b1 a1", "", "a2b1 a3b1"),
    (5, 0, "a3", "b2 a2 b1 a1", "", "a3b2"),
    (6, 1, "a3", "b2 a2 b1", "a1", ""),
    (7, 1, "a3", "b2 a2", "a1", "a1b1"),
    (8, 0, "a4 a3", "b2 a2", "a1", ""),
    (9, 1, "a4 a3", "b2", "a2 a1", ""),
    (10, 1, "a4 a3", "", "a2 a1", "a1b2 a2b2"),
]


def test_the_trace_of_a_one_way_join_row_for_row() -> None:
    """Row 3, with closed windows: a is only stored, b only probes."""
    chain = one_way(closed=True)
    for second, number, *wanted in TRACE:
        assert wanted == one_second(chain, second, number), second


def test_half_open_windows_make_fewer_pairs_in_the_trace() -> None:
    """Row 6."""
    chain = one_way(closed=False)
    for second, number, *_ in TRACE:
        one_second(chain, second, number)
    assert ["a3b1", "a1b1", "a2b1"] == [f"{one.pair[0]}{one.pair[1]}" for one in chain.results]
    assert ["b2"] == [str(item.row) for item in chain.slices[1].queue if item.copy == "probe"]


ARRIVALS = {1: "a1", 2: "a2", 3: "a3", 4: "b1", 5: "b2", 8: "a4"}


def one_way(*, closed: bool) -> Chain:
    chain = Chain([2, 4], closed=closed)
    for second in (1, 2):
        one_second(chain, second, 0)
    return chain


def one_second(chain: Chain, second: int, number: int) -> list[str]:
    """A row comes, a slice runs once; what is where after that, the newest first."""
    if second in ARRIVALS:
        stream, digit = ARRIVALS[second]
        chain.arrive(Row(second, stream, int(digit)), ["build" if stream == "a" else "probe"])
    before = len(chain.results)
    chain.step(number)
    first, last = chain.slices
    return [
        " ".join(map(str, reversed(first.rows("a")))),
        " ".join(str(item.row) for item in reversed(last.queue)),
        " ".join(map(str, reversed(last.rows("a")))),
        " ".join(f"{one.pair[0]}{one.pair[1]}" for one in chain.results[before:]),
    ]


# --- rows 4 to 8: chains, schedules, ends, counts, unions ---------------------------------------------


@given(seed=Seeds, closed=st.booleans())
def test_each_slice_makes_the_pairs_of_its_ages(*, seed: int, closed: bool) -> None:
    """Rows 4 and 6: with ages that hit the ends of slices exactly."""
    rnd = random.Random(seed)
    rows = rows_of(rnd)
    chain = Chain(WINDOWS, THIRD, closed=closed)
    played(chain, rows, rnd)
    whole = [joined(rows, width, THIRD, closed=closed) for width in WINDOWS]
    for i, within in enumerate(whole):
        made = Counter(one.pair for one in chain.results if one.slice == i)
        assert within - (whole[i - 1] if i else Counter()) == made


def test_a_thousand_schedules_give_the_regular_join_and_keep_no_row_twice() -> None:
    """Row 5."""
    for seed in range(1000):
        rnd = random.Random(seed)
        rows = few(rnd, 24, 40)
        chain = Chain(WINDOWS, THIRD)
        for row in rows:
            chain.arrive(row)
            while rnd.random() < 0.6 and (live := chain.live()):
                chain.step(rnd.choice(live))
                kept = [one for part in chain.slices for stream in "ab" for one in part.rows(stream)]
                assert len(kept) == len(set(kept))
        chain.run(rnd.choice)
        assert joined(rows, WINDOWS[-1], THIRD) == Counter(one.pair for one in chain.results), seed


@given(Seeds)
def test_windows_of_rows_are_those_of_the_last_rows(seed: int) -> None:
    """Row 7: what is inserted pushes the oldest on; probes purge nothing."""
    rnd = random.Random(seed)
    rows, widths = rows_of(rnd), sorted(rnd.sample(range(1, 15), 3))
    chain = Chain(widths, THIRD, by_count=True)
    played(chain, rows, rnd)
    for query, width in enumerate(widths):
        assert joined_by_count(rows, width, THIRD) == chain.answers(query)
    assert 0 == chain.counts["purge"]


@given(Seeds)
def test_a_punctuated_union_is_complete_and_in_order_and_compares_nothing(seed: int) -> None:
    """Row 8: whatever the schedule, for each query."""
    rnd = random.Random(seed)
    rows = rows_of(rnd)
    chain = Chain(WINDOWS, THIRD)
    unions = [PunctuatedUnion(chain, last) for last in range(len(WINDOWS))]
    played(chain, rows, rnd)
    for union, width in zip(unions, WINDOWS, strict=True):
        times = [one.probe.at for one in union.out]
        assert times == sorted(times)
        assert joined(rows, width, THIRD) == Counter(one.pair for one in union.out)
        assert 0 == union.waiting
        assert len(rows) == union.steps  # one a probe, however many results
    assert not {"union", "route"} & chain.counts.keys()


# --- rows 9 to 11, 16: exact for every query, whatever the strategy ------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
@given(seed=Seeds)
def test_every_strategy_answers_every_query(strategy: str, seed: int) -> None:
    """Rows 9, 10 and 11."""
    rnd = random.Random(seed)
    rows, passing = rows_of(rnd), Marked(rnd.choice([0.0, 0.4, 1.0]))
    queries = [Query(5), Query(10, passing), Query(30, passing)]
    ran = STRATEGIES[strategy](queries, rows, THIRD)
    for query, answer in zip(queries, ran.answers, strict=True):
        whole = joined(rows, query.window, THIRD)
        wanted = {pair for pair in whole if query.condition is None or query.condition(pair[0])}
        assert wanted == set(+answer)


def some_conditions(rnd: random.Random) -> dict[str, list[Condition | None]]:
    return {
        stream: [None if rnd.random() < 0.3 else Marked(rnd.choice([0.0, 0.2, 0.5, 0.8, 1.0])) for _ in WINDOWS]
        for stream in rnd.choice(["a", "ab"])
    }


def wanted_of(rows: list[Row], query: int, conditions: dict[str, list[Condition | None]]) -> set[tuple[Row, Row]]:
    def holds(row: Row) -> bool:
        condition = conditions.get(row.stream, [None] * len(WINDOWS))[query]
        return condition is None or condition(row)

    return {pair for pair in joined(rows, WINDOWS[query], THIRD) if all(map(holds, pair))}


@given(Seeds)
def test_conditions_in_between_drop_what_no_later_query_asks_for(seed: int) -> None:
    """Row 16: exact; no row beyond the last slice of a query that asks for it; each condition once for a row."""
    rnd = random.Random(seed)
    rows, conditions = rows_of(rnd), some_conditions(rnd)
    looked: Counter[tuple[Row, int]] = Counter()

    def counted(stream: str, query: int) -> Condition | None:
        condition = conditions[stream][query]
        if condition is None:
            return None

        def look(row: Row) -> bool:
            looked[row, query] += 1
            return condition(row)

        return look

    watched = {stream: [counted(stream, query) for query in range(len(WINDOWS))] for stream in conditions}
    chain = Chain(WINDOWS, THIRD, conditions=watched)
    for row in rows:
        chain.arrive(row)
        while rnd.random() < 0.7 and (live := chain.live()):
            chain.step(rnd.choice(live))
        for number, one in enumerate(chain.slices):
            here = [*(row for stream in "ab" for row in one.rows(stream)), *(item.row for item in one.queue)]
            assert all(any(chain.holds(row, later) for later in range(number, len(WINDOWS))) for row in here)
    chain.run(rnd.choice)
    for query in range(len(WINDOWS)):
        assert wanted_of(rows, query, conditions) == set(chain.answers(query))
    assert 1 >= max(looked.values(), default=0)


# --- rows 18 to 20: slices are cut, joined, and queries come and go while it runs ----------------------


@given(Seeds)
def test_slices_that_are_cut_and_joined_at_any_time_lose_and_double_nothing(seed: int) -> None:
    """Rows 18 and 19: with conditions in between; a cut moves nothing."""
    rnd = random.Random(seed)
    rows, conditions = rows_of(rnd), some_conditions(rnd)
    chain = Chain(WINDOWS, THIRD, conditions=conditions)
    for row in rows:
        chain.arrive(row)
        while rnd.random() < 0.6 and (live := chain.live()):
            chain.step(rnd.choice(live))
        number = rnd.randrange(len(chain.slices))
        one = chain.slices[number]
        if rnd.random() < 0.2 and one.end - one.start > 1:
            states = [list(part.rows(stream)) for part in chain.slices for stream in "ab"]
            chain.split(number, rnd.uniform(one.start + 0.1, one.end - 0.1))
            now = [list(part.rows(stream)) for part in chain.slices for stream in "ab"]
            assert [part for part in states if part] == [part for part in now if part]
        elif rnd.random() < 0.2 and number + 1 < len(chain.slices):
            chain.merge(number)
    chain.run(rnd.choice)
    for query in range(len(WINDOWS)):
        assert Counter(wanted_of(rows, query, conditions)) == chain.answers(query)
    assert all(one.end == other.start for one, other in pairwise(chain.slices))


def test_a_merge_that_does_not_drain_the_queue_loses_results() -> None:
    """Row 19, the negative test."""
    wrong = 0
    for seed in range(30):
        rnd = random.Random(seed)
        rows = few(rnd, 80, 60)
        for drain in (True, False):
            rnd.seed(seed)
            chain = Chain((4, 9, 16), THIRD)
            for number, row in enumerate(rows):
                chain.arrive(row)
                while rnd.random() < 0.5 and (live := chain.live()):
                    chain.step(rnd.choice(live))
                if number in (30, 50):
                    chain.merge(rnd.randrange(len(chain.slices) - 1), drain=drain)
            chain.run(rnd.choice)
            same = joined(rows, 16, THIRD) == Counter(one.pair for one in chain.results)
            assert same or not drain
            wrong += not same
    assert wrong > 10


def test_a_query_with_a_longer_window_is_complete_after_the_difference() -> None:
    """Row 20: an empty slice is put behind the last one."""
    rnd = random.Random(7)
    rows = few(rnd, 200, 200)
    chain = Chain([10], THIRD, windows=[10])
    came = 100.0
    for row in rows:
        if row.at >= came and len(chain.slices) == 1:
            chain.slices.append(type(chain.slices[0])(10, 25))
            chain.windows = (10, 25)
            first = chain.slices[0]
            first.queue.extend(Item(item.copy, item.row, 25) for item in list(first.queue))
            for state in first.states.values():
                kept = [(one, 25.0) for one, _ in state]
                state.clear()
                state.extend(kept)
        chain.arrive(row)
        chain.run(rnd.choice)
    wanted = {pair for pair in joined(rows, 25, THIRD) if max(one.at for one in pair) >= came + 15}
    assert wanted <= set(chain.answers(1))
    assert set(chain.answers(1)) <= set(joined(rows, 25, THIRD))
