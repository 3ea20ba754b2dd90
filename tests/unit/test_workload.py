"""Generated streams are what their docstrings promise."""

from datetime import UTC, date, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from millstream.core.errors import SchemaError, SourceError
from millstream.workload import disorder
from millstream.workload.auction import bids
from millstream.workload.packets import DS1, DS2, DS3, DS4, DS5, LARGE_SIZE, MEDIUM_SIZE, Skew, packets

TIMESTAMP = pa.timestamp("us", tz="UTC")


def test_bids_have_the_promised_schema() -> None:
    expected = pa.schema([("auction", pa.int64()), ("bidder", pa.int64()), ("price", pa.int64()), ("ts", TIMESTAMP)])

    assert bids(0).schema == expected
    assert bids(10).schema == expected


def test_bids_are_ordered_and_evenly_spaced_from_the_start() -> None:
    ts = bids(5000, rate=1000, start=datetime(2026, 5, 1, tzinfo=UTC))["ts"].cast(pa.int64()).to_numpy()

    assert int(datetime(2026, 5, 1, tzinfo=UTC).timestamp()) * 1_000_000 == ts[0]
    assert {1000} == set(np.diff(ts))


def test_the_seed_decides_the_bids() -> None:
    assert bids(500, seed=3).equals(bids(500, seed=3))
    assert not bids(500, seed=3).equals(bids(500, seed=4))


def test_bids_use_every_auction_and_no_other() -> None:
    assert set(range(100)) == set(bids(20_000, keys=100)["auction"].to_pylist())


def test_hot_auctions_get_their_share_of_the_bids() -> None:
    auction = bids(100_000, keys=100, hot=0.5)["auction"].to_numpy()

    assert pytest.approx(0.5 + 0.5 / 10, abs=0.01) == np.mean(auction < 10)


def test_prices_span_six_decades_evenly() -> None:
    decade = np.log10(bids(60_000)["price"].to_numpy()).astype(int)

    counts = np.bincount(decade, minlength=8)
    assert [0, 0] == list(counts[:2])
    assert counts[2:] == pytest.approx(10_000, rel=0.05)


@pytest.mark.parametrize(
    ("wrong", "fact"),
    [
        ({"rows": -1}, "rows is -1, which is negative"),
        ({"rows": 1, "keys": 0}, "keys is 0, so there is nothing to bid on"),
        ({"rows": 1, "rate": 0}, "rate is 0, which is not positive"),
        ({"rows": 1, "hot": 1.5}, "hot is 1.5, which is not a share"),
        ({"rows": 1, "start": datetime(2026, 1, 1)}, "start 2026-01-01 00:00:00 has no time zone"),  # noqa: DTZ001  the case
    ],
)
def test_bids_that_cannot_be_made_are_refused(wrong: dict[str, Any], fact: str) -> None:
    with pytest.raises(SourceError) as refused:
        bids(**wrong)

    assert fact == refused.value.fact


# The published shares of the groups, in per cent: small, medium, large.
PUBLISHED = [
    (DS1, 0.01, (39, 51, 10)),
    (DS2, 0.03, (66, 28, 6)),
    (DS3, 0.05, (77, 19, 4)),
    (DS4, 0.07, (82, 15, 3)),
    (DS5, 0.09, (87, 11, 2)),
]


@pytest.mark.parametrize(("skew", "small", "published"), PUBLISHED)
def test_skewed_groups_have_the_published_shares(skew: Skew, small: float, published: tuple[int, int, int]) -> None:
    rows = 300_000
    size = pc.value_counts(packets(rows, skew=skew, seed=1)["srcIP"]).field("counts").to_numpy()
    kinds = [size[size == 1], size[(size > 1) & (size < 80)], size[size >= 80]]

    assert sum(len(kind) for kind in kinds) == len(size)
    assert pytest.approx([small, 0.20, 0.80 - small], abs=1e-4) == [kind.sum() / rows for kind in kinds]
    assert pytest.approx([1, MEDIUM_SIZE, LARGE_SIZE], rel=0.01) == [kind.mean() for kind in kinds]
    # The published shares are rounded from another run: the text itself allows two points.
    assert pytest.approx(published, abs=2) == [100 * len(kind) / len(size) for kind in kinds]


def test_packets_have_the_promised_schema_order_and_seed() -> None:
    table = packets(1000, seed=5)

    assert ["srcIP", "destIP", "len", "ts"] == table.column_names
    assert [pa.int64(), pa.int64(), pa.int64(), TIMESTAMP] == table.schema.types
    assert table.equals(table.sort_by("ts"))
    assert table.equals(packets(1000, seed=5))
    assert not table.equals(packets(1000, seed=6))


@pytest.mark.parametrize("rows", [0, 1, 2, 7, 40])
def test_packets_are_as_many_as_asked_however_few(rows: int) -> None:
    assert rows == packets(rows, skew=DS5).num_rows


def test_a_skew_that_leaves_no_room_is_refused() -> None:
    with pytest.raises(SourceError, match=r"small share 0\.9 is not in"):
        Skew(small=0.9)


@pytest.mark.parametrize(
    ("values", "kind", "span", "ticks"),
    [
        (range(100), pa.int32(), 10, 10),
        (range(100), pa.timestamp("s"), timedelta(seconds=10), 10),
        (range(100), pa.timestamp("ms", tz="UTC"), timedelta(milliseconds=10), 10),
        (range(0, 100_000, 1000), pa.timestamp("ns"), timedelta(microseconds=10), 10_000),
        ([date(2026, 1, 1) + timedelta(days=d) for d in range(100)], pa.date32(), timedelta(days=10), 10),
    ],
)
def test_spans_are_in_the_unit_of_the_attribute(
    values: list[int], kind: pa.DataType, span: int | timedelta, ticks: int
) -> None:
    table = pa.table({"a": pa.array(values, kind)})
    arrived = disorder.bounded(table, "a", span)

    assert 0 < disorder.greatest(arrived, "a") < ticks
    assert arrived.sort_by("a").equals(table)


def test_late_minority_delays_the_asked_share_of_the_rows() -> None:
    table = pa.table({"t": range(1000)})
    at = disorder.late_minority(table, "t", 50, share=0.03)["t"].to_numpy()
    late = at[at < np.maximum.accumulate(at)]

    # The last rows of a stream have nothing to be late behind.
    assert 25 < len(late) <= 30


def test_lag_leaves_rows_without_a_key_where_they_are() -> None:
    table = pa.table({"t": range(4), "site": ["a", None, "b", None]})

    assert [1, 2, 3, 0] == disorder.lag(table, "t", "site", {"a": 9})["t"].to_pylist()


@pytest.mark.parametrize(
    ("column", "span", "error", "fact"),
    [
        ("tt", 1, SchemaError, 'no column "tt"'),
        ("name", 1, SchemaError, '"name" is string, which has no whole-number distance'),
        ("gap", 1, SchemaError, '"gap" has 1 nulls'),
        ("t", timedelta(1), SchemaError, 'span is a duration, but "t" is int64'),
        ("t", -1, SourceError, "span is -1, which is negative"),
    ],
)
def test_disorder_that_cannot_be_made_is_refused(
    column: str, span: int | timedelta, error: type[SchemaError | SourceError], fact: str
) -> None:
    table = pa.table({"t": [1, 2], "name": ["a", "b"], "gap": [1, None]})

    with pytest.raises(error) as refused:
        disorder.bounded(table, column, span)

    assert fact == refused.value.fact
