"""What a join reads of its state: only slices that the band can reach, or that a bound has passed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np
import pytest

from millstream.kernels.pairs import Reach, SortedRun, pairs
from millstream.ops.join import join as operator
from millstream.state.store import Segment
from support.two_sides import TwoSides

LEFT, RIGHT = 0, 1
TIMES = (0, 10, 20, 30, 40, 50, 60)
KINDS = ("inner", "left", "right", "full", "semi", "anti")


def with_slices(how: str, times: Sequence[int] = TIMES) -> TwoSides:
    """A join with a band of two that keeps slices of the left side, of one row each."""
    join = TwoSides(lambda a, b: a.join(b, on=[("k", "k2")], how=how, within=2))
    for at in times:
        join.rows(LEFT, at)
    assert [(at, at) for at in times] == [(one.low, one.high) for one in join.operator.store.segments]
    return join


class Sealed:
    """A table that may be counted and not read."""

    def __init__(self, num_rows: int) -> None:
        self.num_rows, self.nbytes = num_rows, 0

    def __getitem__(self, name: str) -> NoReturn:
        raise AssertionError(f"{name} was read")

    def __getattr__(self, name: str) -> NoReturn:
        raise AssertionError(f"{name} was asked for")


def sealed(segment: Segment) -> Segment:
    return replace(segment, tables={name: Sealed(table.num_rows) for name, table in segment.tables.items()})


def seal_all_but(join: TwoSides, *times: int) -> None:
    store = join.operator.store
    store.segments = [one if one.low in times else sealed(one) for one in store.segments]


class Untouchable(np.ndarray):
    """An array that has a length, and whose values nobody may look at."""

    def __array_function__(self, *_: Any) -> NoReturn:
        raise AssertionError("values were read")

    def __array_ufunc__(self, *_: Any, **__: Any) -> NoReturn:
        raise AssertionError("values were read")

    def __getitem__(self, _: Any) -> NoReturn:
        raise AssertionError("values were read")


def guarded(hashes: np.ndarray, at: np.ndarray, run: SortedRun, reach: Reach) -> Any:
    """The kernel, given runs out of reach without their values."""
    assert reach == Reach(-2, 2)
    if not any(run.low - 2 <= one <= run.high + 2 for one in at.tolist()):
        run = SortedRun(run.code.view(Untouchable), run.at.view(Untouchable), run.low, run.high)
    return pairs(hashes, at, run, reach)


@pytest.mark.parametrize("how", KINDS)
def test_the_kernel_does_not_search_runs_out_of_reach(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    join = with_slices(how)
    monkeypatch.setattr(operator, "pairs", guarded)

    left = join.rows(RIGHT, 38, 35, 52)

    assert {"semi": [(40, None), (50, None)], "anti": []}.get(how, [(40, 38), (50, 52)]) == left


def test_the_guard_of_the_kernel_would_tell() -> None:
    run = SortedRun(np.zeros(1, dtype=np.uint64).view(Untouchable), np.zeros(1, dtype=np.int64), 0, 0)

    with pytest.raises(AssertionError, match="values were read"):
        list(pairs(np.zeros(1, dtype=np.uint64), np.array([1]), run, Reach(-2, 2)))


@pytest.mark.parametrize("how", KINDS)
def test_probing_opens_only_the_slices_that_the_band_can_reach(how: str) -> None:
    join = with_slices(how)
    seal_all_but(join, 40, 50)

    left = join.rows(RIGHT, 38, 35, 52)

    assert {"semi": [(40, None), (50, None)], "anti": []}.get(how, [(40, 38), (50, 52)]) == left


@pytest.mark.parametrize("how", KINDS)
def test_a_bound_opens_only_the_slices_that_it_has_passed(how: str) -> None:
    join = with_slices(how, (0, 10, 20, 30))  # of more than three like small ones one is made
    join.rows(RIGHT, 200)
    seal_all_but(join, 0, 10)

    left = join.bound(RIGHT, 13)

    alone = [(0, None), (10, None)] if how in ("left", "full", "anti") else []
    assert alone == left
    assert [20, 30, 200] == sorted(one.low for one in join.operator.store.segments)
