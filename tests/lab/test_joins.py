"""Order-preserving joins are right and ordered; the join by arrival is wrong in the way that is known."""

from collections import Counter
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparators.band_join import BandJoin
from comparators.comparator import END
from comparators.global_order import GlobalOrderJoin
from comparators.opib import Opib
from comparators.opob import Opob
from comparators.pairs import Band
from comparators.symmetric import Symmetric
from support.arrivals import SCHEMA, Two, feed, ordered

KEY, SCHEMAS = ("key", "key"), (SCHEMA, SCHEMA)
sides = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 2)), max_size=25)
inputs = st.builds(lambda a, b, seed: Two((a, b), seed), sides, sides, st.integers(0, 2**20))
bands = st.builds(
    lambda lo, hi, low, high: Band(lo=lo, hi=hi, lo_strict=low, hi_strict=high),
    st.integers(1, 6), st.integers(1, 6), st.booleans(), st.booleans(),
)  # fmt: skip
order_preserving = pytest.mark.parametrize("kind", [Opob, Opib])


def bag(table: pa.Table) -> Counter[tuple[int, int]]:
    return Counter(zip(table["left_row"].to_pylist(), table["right_row"].to_pylist(), strict=True))


@order_preserving
@given(two=inputs, band=bands)
def test_pairs_are_those_of_the_band_and_leave_in_order(kind: type[BandJoin], two: Two, band: Band) -> None:
    join = kind(KEY, "ts", band, SCHEMAS)
    out = feed(join, two.steps())

    assert two.band(*band.ends) == bag(out)
    assert ordered(out["left_ts"].to_pylist())
    assert 0 == join.held().rows


@given(two=inputs, band=bands)
def test_the_plain_join_finds_the_same_pairs(two: Two, band: Band) -> None:
    join = Symmetric(KEY, "ts", band, SCHEMAS)

    assert two.band(*band.ends) == bag(feed(join, two.steps()))
    assert 0 == join.held().rows


def in_step(rows: int, lag: int = 0) -> Iterator[tuple[int, pa.Table | int]]:
    """A row of each side each second, the left one `lag` behind, punctuated as they come."""
    for now in range(rows + lag):
        for port, at in ((1, now), (0, now - lag)):
            if 0 <= at < rows:
                yield port, pa.table({"ts": [at], "key": [7], "row": [at]})
                yield port, at
    yield 0, END
    yield 1, END


@order_preserving
def test_what_is_held_follows_the_band(kind: type[BandJoin]) -> None:
    peaks: list[int] = []
    for width in (2, 4, 8):
        join = kind(KEY, "ts", Band(lo=width, hi=width), SCHEMAS)
        feed(join, in_step(60))
        peaks.append(join.peak.rows)

    # Inputs grow with the width of the band, held results with its square.
    growth = peaks[2] / peaks[1]
    assert (2.2 < growth < 4) if kind is Opob else (1.7 < growth < 2.2)


def test_holding_inputs_is_cheaper_than_holding_results() -> None:
    band = Band(lo=9, hi=9)
    joins = [kind(KEY, "ts", band, SCHEMAS) for kind in (Opib, Opob)]
    for join in joins:
        feed(join, in_step(60))

    assert 2 * joins[0].peak.rows < joins[1].peak.rows


def clock(text: str) -> int:
    hours, minutes, seconds = (int(part) for part in text.split(":"))
    return (hours * 60 + minutes) * 60 + seconds


MAIN_1_LATE = 5 * 60
QUERY_5_8 = Band(lo=2 * 60, hi=3 * 60, hi_strict=True)


def quarter_hour(late: int) -> Iterator[tuple[int, pa.Table | int]]:
    """From 10:00 a row of the second link each second and of the first each half minute, the first link's late."""
    start = clock("10:00:00")
    for now in range(start, start + 15 * 60 + late):
        for port, at, every in ((1, now, 1), (0, now - late, 30)):
            if start <= at < start + 15 * 60 and at % every == 0:
                yield port, pa.table({"ts": [at], "key": [7], "row": [at]})
            if at % 30 == 0:
                yield port, at
    yield 0, END
    yield 1, END


def times(out: pa.Table) -> set[tuple[int, int]]:
    return set(zip(out["left_ts"].to_pylist(), out["right_ts"].to_pylist(), strict=True))


def test_the_join_by_arrival_pairs_what_is_eight_minutes_apart() -> None:
    wrong = times(feed(GlobalOrderJoin(KEY, "ts", QUERY_5_8, SCHEMAS), quarter_hour(MAIN_1_LATE)))
    right = times(feed(Opib(KEY, "ts", QUERY_5_8, SCHEMAS), quarter_hour(MAIN_1_LATE)))
    known = (clock("10:03:00"), clock("10:10:59"))
    missed = (clock("10:03:00"), clock("10:02:00"))

    assert known in wrong
    assert known not in right
    assert missed in right
    assert missed not in wrong
    assert (clock("10:03:00"), clock("10:11:00")) not in wrong  # one second more, and it is out of the window


def test_the_join_by_arrival_is_right_while_inputs_keep_step() -> None:
    by_arrival = times(feed(GlobalOrderJoin(KEY, "ts", QUERY_5_8, SCHEMAS), quarter_hour(0)))

    assert times(feed(Opib(KEY, "ts", QUERY_5_8, SCHEMAS), quarter_hour(0))) == by_arrival
