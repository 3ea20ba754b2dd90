"""Feedback, held to its definitions: no row is invented, none is missing but such as the reader said it ignores."""

from __future__ import annotations

import random
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.core.pattern import Between, Equal, From, OneOf, Pattern, UpTo
from millstream.core.window import Sliding
from support.feedback import QUESTIONS, check_def_1, ignored, partly, run, run_together, some_case
from support.in_process import engine as engine_on_disk

Seeds = st.integers(0, 2**32)


@pytest.mark.parametrize("question", QUESTIONS)
@given(seed=Seeds)
def test_def_1_feedback_that_comes_expires_and_is_withdrawn_is_correctly_exploited(question: str, seed: int) -> None:
    case = some_case(random.Random(seed), question)
    without, heeding = run(case, heeding=False), run(case)

    check_def_1(without.rows, heeding.rows, heeding.said)
    assert heeding.books["unaccounted"] == 0


@pytest.mark.parametrize("question", QUESTIONS)
@given(seed=Seeds)
def test_def_2_whatever_part_of_the_ignored_rows_does_not_come(question: str, seed: int) -> None:
    rnd = random.Random(seed)
    case = some_case(rnd, question)
    without = run(case, heeding=False)
    with pytest.MonkeyPatch.context() as patch, partly(rnd, patch):
        heeding = run(case)

    check_def_1(without.rows, heeding.rows, heeding.said)


@pytest.mark.parametrize("question", QUESTIONS)
@given(seed=Seeds)
def test_feedback_from_the_beginning_is_exploited_to_the_full(question: str, seed: int) -> None:
    case = some_case(random.Random(seed), question)
    case.said = [(0, said, 10**6) for _, said, _ in case.said]
    case.taken_back = {}
    without, heeding = run(case, heeding=False), run(case)

    assert sorted(row for row in map(repr, heeding.rows)) == sorted(
        repr(row) for row in without.rows if not ignored(row, heeding.said)
    )


SHARING = ("tumbling", "sliding", "average", "maximum", "gaps", "inner", "left", "anti", "select", "united counts")


@given(seed=Seeds)
def test_queries_that_share_operators_lose_only_what_their_own_readers_ignore(seed: int) -> None:
    rnd = random.Random(seed)
    first = some_case(rnd, rnd.choice(SHARING))
    others = [some_case(rnd, rnd.choice(SHARING)) for _ in range(rnd.randint(1, 3))]
    cases = [first, *(replace(one, left=first.left, right=first.right) for one in others)]
    for name, heeding in run_together(cases, ms.Engine(host="local")).items():
        without = run(cases[int(name[1:])], heeding=False)

        check_def_1(without.rows, heeding.rows, heeding.said)
        assert heeding.books["unaccounted"] == 0


@pytest.mark.parametrize("question", QUESTIONS)
@given(seed=Seeds)
def test_def_1_on_a_host_with_a_checkpoint(question: str, seed: int) -> None:
    rnd = random.Random(seed)
    case = some_case(rnd, question)
    without = run(case, heeding=False)
    with tempfile.TemporaryDirectory() as folder:
        heeding = run(case, engine=engine_on_disk(Path(folder), rnd.choice([1, 3])))

    check_def_1(without.rows, heeding.rows, heeding.said)
    assert heeding.books["unaccounted"] == 0


Ids = st.integers(-4, 6)
said_of_ids = st.one_of(
    Ids.map(UpTo), Ids.map(From), Ids.map(Equal), Ids.map(lambda n: OneOf(frozenset({n, n + 1}))),
    Ids.map(lambda n: Between(n, n + 3)),
)  # fmt: skip
windows = st.builds(
    lambda size, slide, start: Sliding(size=size, slide=slide, start=start),
    st.integers(1, 9), st.integers(1, 5), st.none() | st.integers(-3, 3),
)  # fmt: skip


@given(windows, st.sampled_from(["window_id", "window_start", "window_end"]), said_of_ids)
def test_the_rows_behind_ignored_windows_are_those_all_of_whose_windows_are_ignored(
    window: Sliding, column: str, said: Between
) -> None:
    place = ("window_start", "window_end").index(column) if column != "window_id" else None

    def matches(wid: int) -> bool:
        return Pattern({"x": said}).matches({"x": wid if place is None else window.extent(wid)[place]})

    found = window.within(Pattern({column: said}))
    for tick in range(-30, 40):
        wids = list(window.wids(tick))
        dropped = found is not None and Pattern({"t": found}).matches({"t": tick})

        assert not dropped or all(map(matches, wids))  # safe
        if wids and all(map(matches, wids)):
            assert dropped  # exact
