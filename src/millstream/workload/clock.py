"""Time and chance of a generated stream: when row i happens, and what the dice show.

Rows are evenly spaced, so the number of rows in a window is known before the stream is made. Each
column draws from a stream of chance of its own, so a longer run begins with the rows of a shorter one.
"""

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa

from millstream.core.errors import SourceError

START = datetime(2026, 1, 1, tzinfo=UTC)
"""When a generated stream begins, unless told otherwise."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def timestamps(rows: int, *, rate: float, start: datetime = START) -> pa.Array:
    """The times of `rows` rows at `rate` rows per second: row i happens i / rate seconds after `start`.

    >>> [t.isoformat() for t in timestamps(3, rate=2).to_pylist()]
    ['2026-01-01T00:00:00+00:00', '2026-01-01T00:00:00.500000+00:00', '2026-01-01T00:00:01+00:00']
    """
    if rows < 0:
        raise SourceError(f"rows is {rows}, which is negative", hint="Ask for 0 rows or more.")
    if not rate > 0:
        raise SourceError(f"rate is {rate}, which is not positive", hint="Give rows per second.")
    if start.tzinfo is None:
        raise SourceError(f"start {start} has no time zone", hint="Add tzinfo=UTC.")
    first = (start - _EPOCH) // timedelta(microseconds=1)
    ticks = first + np.floor(np.arange(rows) * (1_000_000 / rate)).astype(np.int64)
    return pa.array(ticks).cast(pa.timestamp("us", tz="UTC"))


def dice(seed: int, columns: int) -> list[np.random.Generator]:
    """One independent generator for each of `columns` columns, all decided by `seed`.

    >>> price, bidder = dice(7, 2)
    >>> bool(price.random() == dice(7, 2)[0].random()), bool(price.random() == bidder.random())
    (True, False)
    """
    return [np.random.Generator(np.random.PCG64(s)) for s in np.random.SeedSequence(seed).spawn(columns)]
