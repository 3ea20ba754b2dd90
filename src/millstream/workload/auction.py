"""An auction's bids, after NEXMark: many auctions, a few of them hot, prices over six decades.

tests/unit/test_workload.py holds the stream to what is promised here.
"""

from datetime import datetime

import numpy as np
import pyarrow as pa

from millstream.core.errors import SourceError
from millstream.workload.clock import START, dice, timestamps

_BIDDERS = 10_000
_HOT_AUCTIONS = 10  # one auction in ten is hot


def bids(
    rows: int,
    *,
    keys: int = 100,
    seed: int = 0,
    rate: float = 10_000,
    hot: float = 0.5,
    start: datetime = START,
) -> pa.Table:
    """`rows` bids on `keys` auctions, ordered by `ts`, `rate` of them in each second of `ts`.

    The share `hot` of the bids goes to the first tenth of the auctions, the rest to any auction; `hot=0`
    spreads them evenly. Prices are whole cents from 100 to under 100,000,000, as many in one decade as
    in the next. The first rows of a longer stream are the rows of a shorter one.

    >>> stream = bids(1000, keys=20, seed=7)
    >>> stream.schema.names, stream.num_rows
    (['auction', 'bidder', 'price', 'ts'], 1000)
    >>> stream.equals(bids(2000, keys=20, seed=7).slice(0, 1000))
    True
    """
    if keys < 1:
        raise SourceError(f"keys is {keys}, so there is nothing to bid on", hint="Give at least 1.")
    if not 0 <= hot <= 1:
        raise SourceError(f"hot is {hot}, which is not a share", hint="Give a number from 0 to 1.")
    ts = timestamps(rows, rate=rate, start=start)
    heat, auction, bidder, price = (column.random(rows) for column in dice(seed, 4))
    hot_keys = -(-keys // _HOT_AUCTIONS)
    reach = np.where(heat < hot, hot_keys, keys)
    return pa.table(
        {
            "auction": (auction * reach).astype(np.int64),
            "bidder": (bidder * _BIDDERS).astype(np.int64),
            "price": np.floor(100 * 10 ** (6 * price)).astype(np.int64),
            "ts": ts,
        }
    )
