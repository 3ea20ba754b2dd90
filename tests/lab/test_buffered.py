"""Aggregation over the rows themselves, anew or by adding and subtracting, gives the windows' answers."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparators.buffered import DIFFERENTIAL, FUNCTIONS, Buffered, DifferentialBuffered
from comparators.comparator import END

rows = st.lists(st.tuples(st.integers(0, 60), st.integers(-5, 5)), max_size=40).map(
    lambda pairs: sorted(pairs, key=lambda pair: pair[0])
)


def answers(made: Buffered, data: list[tuple[int, int]], cut: int) -> dict[int, float]:
    out: list[pa.Table] = []
    for i in range(0, len(data), cut):
        ts, value = zip(*data[i : i + cut], strict=True)
        out.append(made.take(0, pa.table({"ts": pa.array(ts, pa.int64()), "value": pa.array(value, pa.int64())})))
    out.append(made.advance(0, END))
    return {row["window_id"]: row["result"] for part in out for row in part.to_pylist()}


def definition(data: list[tuple[int, int]], function: str, size: int, slide: int) -> dict[int, float]:
    out: dict[int, float] = {}
    for wid in range(80):
        found = [value for ts, value in data if (wid + 1) * slide - size <= ts < (wid + 1) * slide]
        if found:
            out[wid] = FUNCTIONS[function](np.array(found))
    return out


@given(rows, st.sampled_from(sorted(FUNCTIONS)), st.integers(1, 12), st.integers(1, 12), st.integers(1, 9))
def test_windows_are_computed_from_their_rows(
    data: list[tuple[int, int]], function: str, size: int, slide: int, cut: int
) -> None:
    assert definition(data, function, size, slide) == answers(
        Buffered("ts", "value", function, size=size, slide=slide), data, cut
    )


@given(rows, st.sampled_from(DIFFERENTIAL), st.integers(1, 12), st.integers(1, 12), st.integers(1, 9))
def test_adding_and_subtracting_gives_the_same(
    data: list[tuple[int, int]], function: str, size: int, slide: int, cut: int
) -> None:
    assert definition(data, function, size, slide) == answers(
        DifferentialBuffered("ts", "value", function, size=size, slide=slide), data, cut
    )


def test_the_buffer_holds_a_window_and_the_rows_of_a_batch() -> None:
    made = Buffered("ts", "value", "max", size=100, slide=10)
    answers(made, [(ts, 0) for ts in range(1000)], cut=10)

    assert 90 <= made.peak.rows <= 110


def test_what_cannot_subtract_is_refused() -> None:
    with pytest.raises(ValueError, match="max cannot subtract"):
        DifferentialBuffered("ts", "value", "max", size=2, slide=1)
