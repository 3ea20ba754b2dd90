"""Merge keeps order by holding what is early; Meld holds nothing."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from comparators.comparator import END
from comparators.merge import Merge
from millstream.core.progress import Progress
from millstream.ops.union import Union
from support.arrivals import ordered

SCHEMA = pa.schema([("ts", pa.int64()), ("row", pa.int64())])


def rows_of(*ts: int) -> pa.Table:
    return pa.table({"ts": pa.array(ts, pa.int64()), "row": pa.array(range(len(ts)), pa.int64())})


@given(st.lists(st.lists(st.integers(0, 30), max_size=20), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_merge_gives_every_row_in_order(inputs: list[list[int]], rnd: object) -> None:
    merge = Merge(len(inputs), "ts", SCHEMA)
    left = [sorted(one) for one in inputs]
    out: list[pa.Table] = []
    while any(left):
        port = rnd.choice([i for i, one in enumerate(left) if one])  # type: ignore[attr-defined]  # Hypothesis's Random
        n = rnd.randint(1, 5)  # type: ignore[attr-defined]
        out.append(merge.take(port, rows_of(*left[port][:n])))
        left[port] = left[port][n:]
    out += [merge.advance(port, END) for port in range(len(inputs))]
    came = pa.concat_tables(out)["ts"].to_pylist()

    assert ordered(came)
    assert Counter(came) == Counter(ts for one in inputs for ts in one)
    assert 0 == merge.held().rows


def test_a_row_waits_until_the_other_input_has_reached_it() -> None:
    merge = Merge(2, "ts", SCHEMA)

    assert [] == merge.take(0, rows_of(1, 5, 9))["ts"].to_pylist()
    assert [1, 4] == merge.take(1, rows_of(4))["ts"].to_pylist()
    assert 2 == merge.held().rows
    assert [5] == merge.advance(1, 8)["ts"].to_pylist()  # in a lull only punctuation helps
    assert 3 == merge.peak.rows


def test_an_input_out_of_order_is_refused() -> None:
    merge = Merge(2, "ts", SCHEMA)
    merge.take(0, rows_of(5))

    with pytest.raises(ValueError, match="input 0 is not ordered by ts"):
        merge.take(0, rows_of(4))


@pytest.mark.parametrize("rate", [5, 20])
@pytest.mark.parametrize("skew", [0, 3, 12])
def test_merge_holds_rate_times_skew_and_meld_nothing(rate: int, skew: int) -> None:
    merge = Merge(2, "ts", SCHEMA)
    meld = Union(2, SCHEMA)
    for second in range(40):
        for port, now in enumerate((second, second - skew)):
            if now < 0:
                continue
            batch = rows_of(*(now * 1000 + i * 1000 // rate for i in range(rate)))
            merge.take(port, batch)
            meld.take(port, batch)
            meld.advance(port, Progress({"ts": now * 1000}))

            assert 0 == meld.store.rows

    assert rate * (skew + 1) == pytest.approx(merge.peak.rows, abs=rate)
    assert (38 - skew) * 1000 <= meld.promises().bound("ts") <= 39 * 1000
