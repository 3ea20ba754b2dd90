"""Lazy punctuation: acting on it once an epoch gives what acting on each gives, with fewer sweeps (F37)."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from support.bags import difference
from support.harness import Stepper, cut, punctuated, some_rows, stray

ASKS: dict[str, Any] = {
    "sum": lambda s: s.window("ts", range=5).group_by("k").agg(t=ms.sum("v")),
    "sliding": lambda s: s.window("ts", range=10, slide=3).group_by("k").agg(n=ms.count(), m=ms.median("v")),
    "sessions": lambda s: s.window("ts", gap=2).group_by("k").agg(n=ms.count()),
    "distinct": lambda s: s.distinct("k", "ts"),
    "sort": lambda s: s.sort("ts"),
}


def merged(epochs: list[ms.Epoch], size: int) -> list[ms.Epoch]:
    """The same stream with so many epochs as one: their rows, and then all their punctuation."""
    out: list[ms.Epoch] = []
    for i in range(0, len(epochs), size):
        some = epochs[i : i + size]
        out.append(
            ms.Epoch(
                [row for one in some for row in one.rows.to_pylist()], [p for one in some for p in one.punctuations]
            )
        )
    return out


@pytest.mark.parametrize("name", ASKS)
@given(seed=st.integers(0, 10**6), size=st.integers(2, 5))
def test_acting_once_for_several_punctuations_changes_no_answer_and_sweeps_no_more(
    name: str, seed: int, size: int
) -> None:
    rnd = random.Random(seed)
    epochs = punctuated(cut(stray(some_rows(rnd, 40, 40), 6, rnd), rnd), rnd)
    eager, lazy = Stepper(ASKS[name]), Stepper(ASKS[name])

    expected = eager.play(epochs)
    found = [
        left
        for one in merged(epochs, size)
        for left in lazy.step(one.rows, *one.punctuations)  # type: ignore[arg-type]  # dict rows
    ]
    found += lazy.step(end=True)

    assert {} == difference(expected, found)
    assert lazy.operator.meter.punctuations <= eager.operator.meter.punctuations


def test_the_example_takes_one_sweep_in_place_of_two() -> None:
    def total(stream: ms.Stream) -> ms.Query:
        return stream.window("ts", range=1).agg(total=ms.sum("v"))

    first, second = [{"ts": 1, "v": 2}, {"ts": 1, "v": 3}], [{"ts": 2, "v": 1}, {"ts": 2, "v": 2}]
    eager, lazy = Stepper(total), Stepper(total)

    one_by_one = [*eager.step(first, 2), *eager.step(second, 3)]
    at_once = lazy.step([*first, *second], 2, 3)

    assert [5, 3] == [row["total"] for row in one_by_one]
    assert {} == difference(one_by_one, at_once)
    assert (2, 1) == (eager.operator.meter.punctuations, lazy.operator.meter.punctuations)
