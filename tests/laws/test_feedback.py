"""Feedback, held to its definitions: no row is invented, none is missing but such as the reader said it ignores."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.feedback import QUESTIONS, check_def_1, ignored, partly, run, some_case

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
