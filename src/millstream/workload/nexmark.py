"""An auction house after NEXMark: of every fifty rows one is a person, three are auctions and 46 are bids.

A bid is on one of the hundred auctions that were opened last, half of the time on the one that is hot. So an auction
is over when the hundredth after it opens: that instant is its `expires`, and natural punctuation, for no later bid
names it. tests/unit/test_workload_nexmark.py counts the rows and looks for a bid that came too late.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa

from millstream.workload.clock import START, dice, timestamps

PROPORTION = {"persons": 1, "auctions": 3, "bids": 46}
"""How many of each in every fifty rows."""

OPEN_AUCTIONS = 100
ACTIVE_PERSONS = 1_000
FIRST_ID = 1_000
_CATEGORIES = 5
_HOT_RATIO = 2  # one bid in two is on the hot auction
_CITIES = (
    "Phoenix",
    "Los Angeles",
    "San Francisco",
    "Boise",
    "Portland",
    "Bend",
    "Redmond",
    "Seattle",
    "Kent",
    "Cheyenne",
)
_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
_ROUND = sum(PROPORTION.values())


@dataclass(frozen=True, slots=True, eq=False)
class AuctionHouse:
    """Three streams with one clock, each ordered by `ts`."""

    persons: pa.Table
    auctions: pa.Table
    bids: pa.Table

    @property
    def closings(self) -> pa.Table:
        """When each auction is over, in order: from `ts` on no bid names `auction`."""
        return self.auctions.select(["auction", "expires"]).rename_columns(["auction", "ts"])


def nexmark(rows: int, *, seed: int = 0, rate: float = 10_000, start: datetime = START) -> AuctionHouse:
    """The first `rows` rows of an auction house, `rate` of them in each second of `ts`.

    >>> house = nexmark(5000, seed=7)
    >>> house.persons.num_rows, house.auctions.num_rows, house.bids.num_rows
    (100, 300, 4600)
    >>> house.bids.schema.names
    ['auction', 'bidder', 'price', 'channel', 'ts']
    """
    number = np.arange(rows)
    place = number % _ROUND
    kinds = (place == 0, (place >= 1) & (place <= PROPORTION["auctions"]), place > PROPORTION["auctions"])
    # The clock runs on past the last row: auctions that are open then expire later.
    beyond = (OPEN_AUCTIONS // PROPORTION["auctions"] + 2) * _ROUND
    clock = timestamps(rows + beyond if rows else 0, rate=rate, start=start)
    person, auction, bid = (np.flatnonzero(kind) for kind in kinds)
    chance = dice(seed, 8)
    return AuctionHouse(
        _persons(person, clock, chance[0]),
        _auctions(auction, clock, chance[1], chance[2], chance[3]),
        _bids(bid, clock, *chance[4:]),
    )


def _persons(number: np.ndarray, clock: pa.Array, city: np.random.Generator) -> pa.Table:
    ids = FIRST_ID + number // _ROUND
    return pa.table(
        {
            "person": ids,
            "name": pa.array([f"person {one}" for one in ids.tolist()], pa.string()),
            "city": pa.array(_CITIES).take((city.random(len(ids)) * len(_CITIES)).astype(np.int64)),
            "ts": clock.take(number),
        }
    )


def _auctions(
    number: np.ndarray, clock: pa.Array, seller: np.random.Generator, category: np.random.Generator,
    reserve: np.random.Generator,
) -> pa.Table:  # fmt: skip
    each = PROPORTION["auctions"]
    opened = number // _ROUND * each + number % _ROUND - 1
    follower = opened + OPEN_AUCTIONS
    expires = follower // each * _ROUND + follower % each + 1
    return pa.table(
        {
            "auction": FIRST_ID + opened,
            "seller": _recent(number // _ROUND + 1, ACTIVE_PERSONS, seller.random(len(number))),
            "category": (category.random(len(number)) * _CATEGORIES).astype(np.int64),
            "reserve": _prices(reserve.random(len(number))),
            "expires": clock.take(expires),
            "ts": clock.take(number),
        }
    )


def _bids(
    number: np.ndarray, clock: pa.Array, auction: np.random.Generator, bidder: np.random.Generator,
    price: np.random.Generator, channel: np.random.Generator,
) -> pa.Table:  # fmt: skip
    opened = (number // _ROUND + 1) * PROPORTION["auctions"]
    chance = auction.random((len(number), 2))
    hot = FIRST_ID + (opened - 1) // OPEN_AUCTIONS * OPEN_AUCTIONS
    return pa.table(
        {
            "auction": np.where(chance[:, 0] * _HOT_RATIO < 1, hot, _recent(opened, OPEN_AUCTIONS, chance[:, 1])),
            "bidder": _recent(number // _ROUND + 1, ACTIVE_PERSONS, bidder.random(len(number))),
            "price": _prices(price.random(len(number))),
            "channel": pa.array(_CHANNELS).take((channel.random(len(number)) * len(_CHANNELS)).astype(np.int64)),
            "ts": clock.take(number),
        }
    )


def _recent(known: np.ndarray, most: int, chance: np.ndarray) -> np.ndarray:
    """The id of one of the last `most` of so many."""
    return FIRST_ID + known - 1 - (chance * np.minimum(known, most)).astype(np.int64)


def _prices(chance: np.ndarray) -> np.ndarray:
    """Whole cents from 100 to under 100,000,000, as many in one decade as in the next."""
    return np.floor(100 * 10 ** (6 * chance)).astype(np.int64)
