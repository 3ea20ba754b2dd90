"""Auction houses, links and roads: as many rows as published, and punctuation that no row breaks."""

from collections import Counter
from datetime import timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from millstream.core.errors import SourceError
from millstream.workload import disorder, pace
from millstream.workload.links import Link, packets_of, packets_on
from millstream.workload.nexmark import FIRST_ID, OPEN_AUCTIONS, nexmark
from millstream.workload.traffic import MISSING, Punctuated, locations, probes, sensors

SECOND = timedelta(seconds=1)


def ticks(table: pa.Table, name: str = "ts") -> np.ndarray:
    return table[name].cast(pa.int64()).to_numpy()


@pytest.mark.parametrize("rows", [0, 1, 3, 50, 5_000, 12_345])
def test_an_auction_house_keeps_the_proportions(rows: int) -> None:
    house = nexmark(rows)
    counts = [house.persons.num_rows, house.auctions.num_rows, house.bids.num_rows]

    assert rows == sum(counts)
    assert all(abs(found - rows * part / 50) <= 4 for found, part in zip(counts, (1, 3, 46), strict=True))


def test_no_bid_names_an_auction_that_is_not_open() -> None:
    house = nexmark(50_000, seed=3)
    opened = ticks(house.auctions)
    expires = ticks(house.auctions, "expires")
    number = house.bids["auction"].to_numpy() - FIRST_ID

    assert np.all(ticks(house.bids) > opened[number])
    assert np.all(ticks(house.bids) < expires[number])
    assert house.closings.equals(house.closings.sort_by("ts"))


def test_auctions_are_used_until_they_expire() -> None:
    house = nexmark(50_000, seed=3)
    last = pc.max(house.bids.filter(pc.equal(house.bids["auction"], FIRST_ID + 700))["ts"]).as_py()
    row = house.auctions.slice(700, 1).to_pylist()[0]

    assert last > row["ts"] + 0.5 * (row["expires"] - row["ts"])
    opened, expires = ticks(house.auctions), ticks(house.auctions, "expires")
    instant = expires[700] - 1
    assert OPEN_AUCTIONS == np.count_nonzero((opened <= instant) & (expires > instant))


def test_half_of_the_bids_are_on_the_hot_auction() -> None:
    number = nexmark(50_000).bids["auction"].to_numpy() - FIRST_ID

    assert 0.5 + 0.5 / 100 == pytest.approx(np.mean(number % OPEN_AUCTIONS == 0), abs=0.02)


def test_the_seed_decides_the_streams() -> None:
    makers: list[Any] = [
        lambda seed: nexmark(500, seed=seed).bids,
        lambda seed: packets_on(Link(name="a", rate=50), 2, seed=seed),
        lambda seed: sensors(0.1, seed=seed).rows,
        lambda seed: probes(1, seed=seed).rows,
    ]
    for make in makers:
        assert make(3).equals(make(3))
        assert not make(3).equals(make(4))


def test_links_have_their_rates_and_lags() -> None:
    links = [Link(name="a", rate=100), Link(name="b", rate=10, lag=3 * SECOND, reverse=True)]
    stream = packets_of(links, 10)
    arrived = stream.rows

    assert Counter({"a": 1000, "b": 100}) == Counter(arrived["link"].to_pylist())
    assert 3_000_000 - 10_000 <= disorder.greatest(arrived, "ts") <= 3_000_000
    for name in ("a", "b"):
        mine = ticks(arrived.filter(pc.equal(arrived["link"], name)))
        assert np.all(np.diff(mine) > 0)


def test_answers_go_the_other_way() -> None:
    there = packets_on(Link(name="a", rate=500), 10, conversations=20)
    back = packets_on(Link(name="b", rate=500, reverse=True), 10, conversations=20)
    ends = ["srcIP", "srcPort", "destIP", "destPort"]

    asked = {tuple(row.values()) for row in there.select(ends).to_pylist()}
    answered = {tuple(row.values()) for row in back.select([*ends[2:], *ends[:2]]).to_pylist()}
    assert 20 == len(asked)
    assert asked == answered


def test_two_links_do_not_carry_the_same_packets() -> None:
    one, other = (packets_on(Link(name=name, rate=50), 2) for name in ("ab", "ba"))

    assert not one["srcIP"].equals(other["srcIP"])


@pytest.mark.parametrize(
    ("stream", "rows", "punctuations"),
    [
        (sensors(), 648_000, 1_440),
        (probes(), 14_400, 14_400),
        (sensors(12, every_other_missing=True), 324_000, 720),
    ],
)
def test_a_day_on_the_road_has_the_published_counts(stream: Punctuated, rows: int, punctuations: int) -> None:
    assert (rows, punctuations) == (stream.rows.num_rows, stream.punctuation.num_rows)
    assert stream.punctuation["after"][-1].as_py() == rows


def test_every_sensor_is_somewhere() -> None:
    assert 150 == locations().num_rows
    assert set(locations()["sensor"].to_pylist()) == set(sensors(0.1).rows["sensor"].to_pylist())
    assert {3} == set(
        Counter(zip(*(locations()[n].to_pylist() for n in ("freeway", "milepost")), strict=True)).values()
    )


def test_every_other_reading_is_missing() -> None:
    speed = sensors(1, every_other_missing=True).rows["speed"].to_numpy()

    assert np.all(speed[1::2] == MISSING)
    assert np.all(speed[::2] >= 0)


def test_no_sensor_row_breaks_a_promise_and_each_minute_is_promised() -> None:
    stream = sensors(0.5)
    at = ticks(stream.rows)
    for after, before in zip(stream.punctuation["after"].to_pylist(), ticks(stream.punctuation, "before"), strict=True):
        assert np.all(at[after:] >= before)
        assert np.all(at[:after] < before)


def test_no_probe_reports_an_instant_twice() -> None:
    stream = probes(2)
    said = {(row["probe"], row["ts"]): row["after"] for row in stream.punctuation.to_pylist()}
    for number, row in enumerate(stream.rows.to_pylist()):
        assert said[row["probe"], row["ts"]] == number + 1


@pytest.mark.parametrize(
    ("make", "fact"),
    [
        (lambda: Link(name="a", rate=1, lag=-SECOND), "lag of link 'a' is -1 day, 23:59:59, which is negative"),
        (lambda: packets_of([Link(name="a", rate=1)] * 2, 1), "links are named ['a', 'a'], two of them alike"),
        (lambda: packets_on(Link(name="a", rate=1), 1, conversations=0), "conversations is 0, so no packet has any"),
        (lambda: sensors(-1), "hours is -1, which is negative"),
        (lambda: pace.lulls(pa.table({"t": [1]}), "t", 0, 1), "every is 0, so nothing happens in between"),
        (lambda: pace.bursts(pa.table({"t": [1]}), "t", 5, 0), "share is 0, which leaves no time to happen in"),
        (lambda: disorder.banded(pa.table({"t": [1]}), "t", 5, patterns=0), "patterns is 0, so no row has a delay"),
    ],
)
def test_streams_that_cannot_be_made_are_refused(make: Any, fact: str) -> None:
    with pytest.raises(SourceError) as refused:
        make()

    assert fact == refused.value.fact
