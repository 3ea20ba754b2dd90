"""A small table in front loses nothing, whatever its size; what differs is when partials leave."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparators.comparator import END
from comparators.two_level import InOrderTable, LazyTable, LowTable, SlowTable, total
from support.arrivals import ordered

packets = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 12)), max_size=80).map(
    lambda pairs: sorted(pairs, key=lambda pair: pair[0])
)
designs = st.sampled_from(
    [
        InOrderTable,
        lambda slots: InOrderTable(slots, next_slot=True),
        LazyTable,
        lambda slots: LazyTable(slots, most=0),
        lambda slots: SlowTable(slots, every=3),
    ]
)


def run(low: LowTable, data: list[tuple[int, int]]) -> pa.Table:
    table = pa.table({"window": [w for w, _ in data], "group": [g for _, g in data]}, schema=COLUMNS)
    return pa.concat_tables([low.take(0, table), low.advance(0, END)])


COLUMNS = pa.schema([("window", pa.int64()), ("group", pa.int64())])


@given(packets, st.integers(1, 16), designs)
def test_totals_are_exact_for_any_table(data: list[tuple[int, int]], slots: int, design: type[InOrderTable]) -> None:
    got = total(run(design(slots), data)).to_pylist()

    assert Counter(data) == {(row["window"], row["group"]): row["n"] for row in got}


@given(data=packets, slots=st.integers(1, 16), next_slot=st.booleans())
def test_the_table_in_order_sends_windows_in_order(*, data: list[tuple[int, int]], slots: int, next_slot: bool) -> None:
    assert ordered(run(InOrderTable(slots, next_slot=next_slot), data)["window"].to_pylist())


def test_the_next_slot_puts_the_burst_off_until_two_are_taken() -> None:
    # Which slots of eight the groups want is a matter of Python's hash of a number, which is the same in every run.
    slots = 8
    wants: dict[int, list[int]] = {}
    for group in range(100):
        wants.setdefault(hash((group,)) % slots, []).append(group)
    a, b, c = wants[3][:3]
    old = [(0, group) for place in (0, 1, 2, 6) for group in wants[place][:1]]
    data = [*old, (1, a), (1, b), (1, b), (1, c)]

    def sent(low: InOrderTable) -> list[int]:
        table = pa.table({"window": [w for w, _ in data], "group": [g for _, g in data]}, schema=COLUMNS)
        return np.bincount(low.take(0, table)["at"].to_numpy(), minlength=len(data)).tolist()[len(old) :]

    # One old partial leaves with each row; the second row that wants slot 3 sends on the two others, and the resident.
    assert [1, 4, 0, 1] == sent(InOrderTable(slots))
    # With the next slot, the second finds one that is free, and the third finds both taken when nothing old is left.
    assert [1, 1, 1, 2] == sent(InOrderTable(slots, next_slot=True))


@given(data=packets, slots=st.integers(1, 16), most=st.integers(0, 3), slow=st.booleans())
def test_no_partial_is_later_than_allowed(*, data: list[tuple[int, int]], slots: int, most: int, slow: bool) -> None:
    low = SlowTable(slots, most, every=2) if slow else LazyTable(slots, most)
    for row in run(low, data).to_pylist():
        assert row["during"] - row["window"] <= most


@given(packets, st.integers(1, 16), designs, st.integers(1, 9))
def test_no_partial_is_below_the_bound(
    data: list[tuple[int, int]], slots: int, design: type[InOrderTable], cut: int
) -> None:
    low = design(slots)
    bound = -END
    for i in range(0, len(data), cut):
        part = data[i : i + cut]
        out = low.take(0, pa.table({"window": [w for w, _ in part], "group": [g for _, g in part]}, schema=COLUMNS))

        assert all(window >= bound for window in out["window"].to_pylist())
        bound = low.bound


def work(low: LowTable, slots: int) -> int:
    """The most partials that one row sends on: 3/4 as many groups as slots, each many times in each window."""
    rnd = np.random.default_rng(1)
    groups = slots * 3 // 4
    table = pa.table({"window": np.repeat(np.arange(6), groups * 8), "group": rnd.integers(0, groups, groups * 48)})
    at = low.take(0, table)["at"].to_numpy()
    return int(np.bincount(at).max())


@pytest.mark.parametrize("slots", [256, 1024])
def test_a_row_does_little_work_unless_order_is_kept(slots: int) -> None:
    assert work(InOrderTable(slots), slots) > slots / 4
    assert work(LazyTable(slots), slots) <= 1
    assert work(SlowTable(slots, every=4), slots) <= 2
