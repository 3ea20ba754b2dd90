"""Slack waits and gives up: what it drops, and that it is right if it waits long enough."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparators.comparator import END
from comparators.inorder import InOrderWindows
from comparators.slack import ByRows, ByTime, SlackSort
from support.arrivals import ordered

SCHEMA = pa.schema([("ts", pa.int64()), ("value", pa.int64())])
times = st.lists(st.integers(0, 40), min_size=1, max_size=40)
slacks = st.one_of(st.integers(0, 12).map(ByTime), st.integers(0, 12).map(ByRows))
windows = st.tuples(st.integers(1, 12), st.integers(1, 12))


def table(at: list[int]) -> pa.Table:
    # Row i counts as 2^i, so the sum of a window says exactly which rows are in it.
    return pa.table({"ts": pa.array(at, pa.int64()), "value": pa.array([1 << i for i in range(len(at))], pa.int64())})


def released(at: list[int], slack: ByRows | ByTime, cut: int = 7) -> pa.Table:
    sort = SlackSort("ts", slack, SCHEMA)
    out = [sort.take(0, table(at).slice(i, cut)) for i in range(0, len(at), cut)]
    return pa.concat_tables([*out, sort.advance(0, END)])


def contributions(at: list[int], slack: ByRows | ByTime, size: int, slide: int, *, generous: bool) -> dict[int, int]:
    aggregate = InOrderWindows("ts", "value", size=size, slide=slide, generous=generous)
    out = [aggregate.take(0, released(at, slack)), aggregate.advance(0, END)]
    return {row["window_id"]: row["sum"] for part in out for row in part.to_pylist()}


def definition(at: list[int], slack: ByRows | ByTime, size: int, slide: int, *, generous: bool) -> dict[int, int]:
    """Row by row: a window is closed by the first row to leave the buffer that lies beyond it."""
    out: dict[int, int] = {}
    high = -1
    for row in released(at, slack).to_pylist():
        wids = [w for w in range(60) if (w + 1) * slide - size <= row["ts"] < (w + 1) * slide]
        late = [w for w in wids if (w + 1) * slide <= high]
        for wid in wids if not late else [w for w in wids if w not in late] if generous else []:
            out[wid] = out.get(wid, 0) + row["value"]
        high = max(high, row["ts"])
    return out


@given(at=times, slack=slacks, window=windows, generous=st.booleans())
def test_windows_hold_what_the_definition_says(
    *, at: list[int], slack: ByTime, window: tuple[int, int], generous: bool
) -> None:
    assert definition(at, slack, *window, generous=generous) == contributions(at, slack, *window, generous=generous)


@given(times, slacks, windows)
def test_what_consistent_counts_generous_counts_too(at: list[int], slack: ByTime, window: tuple[int, int]) -> None:
    strict = contributions(at, slack, *window, generous=False)
    kind = contributions(at, slack, *window, generous=True)

    assert all(rows & ~kind.get(wid, 0) == 0 for wid, rows in strict.items())


@given(at=times, window=windows, generous=st.booleans())
def test_enough_slack_drops_nothing(*, at: list[int], window: tuple[int, int], generous: bool) -> None:
    enough = ByTime(int((np.maximum.accumulate(at) - np.array(at)).max()) + 1)
    size, slide = window
    exact: dict[int, int] = {}
    for i, ts in enumerate(at):
        for wid in range(ts // slide, (ts + size) // slide):
            exact[wid] = exact.get(wid, 0) + (1 << i)

    assert ordered(released(at, enough)["ts"].to_pylist())
    assert exact == contributions(at, enough, *window, generous=generous)


def test_generous_keeps_what_consistent_drops_from_open_windows() -> None:
    at = [0, 6, 3]  # 3 is late for the window that ends at 4, not for the one that ends at 8

    assert {0: 1, 1: 3, 2: 2} == contributions(at, ByTime(0), 8, 4, generous=False)
    assert {0: 1, 1: 7, 2: 2} == contributions(at, ByTime(0), 8, 4, generous=True)


@pytest.mark.parametrize(("slack", "order", "most"), [(ByRows(2), [1, 3, 4, 5, 6], 2), (ByTime(2), [1, 4, 3, 5, 6], 2)])
def test_the_buffer_waits_by_rows_or_by_time(slack: ByRows | ByTime, order: list[int], most: int) -> None:
    sort = SlackSort("ts", slack, SCHEMA)
    out = pa.concat_tables([sort.take(0, table([1, 4, 6, 3, 5])), sort.advance(0, END)])

    assert order == out["ts"].to_pylist()
    assert most == sort.peak.rows
