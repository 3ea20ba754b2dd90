"""Road traffic: sensors in the road that report every 20 seconds, and probe vehicles every five minutes.

A day of 150 sensors is 648,000 rows, punctuated each minute; a day of 50 probes is 14,400 rows, and each probe says
after each of its rows that it will not report that instant again. Half a day in which every other sensor reading is
missing is the set that repairs of missing values are tried on. tests/unit/test_workload_traffic.py counts them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np
import pyarrow as pa

from millstream.core.errors import SourceError
from millstream.workload.clock import START, dice

FREEWAYS, STATIONS, LANES = 5, 10, 3
PROBES = 50
MISSING = -1
"""The speed of a reading that failed."""

_FIRST_MILEPOST = 100
_SENSOR_EVERY = timedelta(seconds=20)
_PROBE_EVERY = timedelta(minutes=5)


@dataclass(frozen=True, slots=True, eq=False)
class Punctuated:
    """Rows in order of arrival, and the punctuation that comes between them."""

    rows: pa.Table
    punctuation: pa.Table
    """`after` is the number of rows that came before it; the other columns are what it says."""


def locations() -> pa.Table:
    """Where each sensor is: 5 freeways of 10 stations with 3 lanes.

    >>> locations().num_rows, locations().slice(31, 1).to_pylist()
    (150, [{'sensor': 2002, 'freeway': 2, 'milepost': 100}])
    """
    number = np.arange(FREEWAYS * STATIONS * LANES)
    freeway, within = 1 + number // (STATIONS * LANES), number % (STATIONS * LANES)
    return pa.table(
        {"sensor": freeway * 1000 + 1 + within, "freeway": freeway, "milepost": _FIRST_MILEPOST + within // LANES}
    )


def sensors(
    hours: float = 24, *, seed: int = 0, every_other_missing: bool = False, start: datetime = START
) -> Punctuated:
    """What 150 sensors report each 20 seconds: rows ordered by `ts`, punctuation `ts < before` each minute.

    With `every_other_missing` every second row has the speed `MISSING`.

    >>> hour = sensors(1)
    >>> hour.rows.num_rows, hour.punctuation.num_rows, hour.rows.schema.names
    (27000, 60, ['sensor', 'ts', 'volume', 'speed', 'occupancy'])
    """
    ids = locations()["sensor"].to_numpy()
    reports = _reports(hours, _SENSOR_EVERY)
    rows = reports * len(ids)
    volume, speed, occupancy = (column.random(rows) for column in dice(seed, 3))
    mph = 5 + np.floor(speed * 71).astype(np.int64)
    if every_other_missing:
        mph[1::2] = MISSING
    table = pa.table(
        {
            "sensor": np.tile(ids, reports),
            "ts": _times(np.repeat(np.arange(reports), len(ids)), _SENSOR_EVERY, start),
            "volume": np.floor(volume * 15).astype(np.int64),
            "speed": mph,
            "occupancy": np.floor(occupancy * 101).astype(np.int64),
        }
    )
    minute = np.arange(1, int(hours * 60) + 1)
    each = rows // max(1, len(minute))
    return Punctuated(table, pa.table({"after": minute * each, "before": _times(minute, timedelta(minutes=1), start)}))


def probes(hours: float = 24, *, seed: int = 0, start: datetime = START) -> Punctuated:
    """Where 50 probe vehicles are each five minutes, and how fast; after each row, the end of (probe, ts).

    >>> hour = probes(1)
    >>> hour.rows.num_rows, hour.punctuation.num_rows, hour.rows.schema.names
    (600, 600, ['probe', 'ts', 'freeway', 'milepost', 'speed'])
    """
    reports = _reports(hours, _PROBE_EVERY)
    rows = reports * PROBES
    freeway, milepost, speed = (column.random(rows) for column in dice(seed, 3))
    table = pa.table(
        {
            "probe": np.tile(np.arange(1, PROBES + 1), reports),
            "ts": _times(np.repeat(np.arange(reports), PROBES), _PROBE_EVERY, start),
            "freeway": 1 + np.floor(freeway * FREEWAYS).astype(np.int64),
            "milepost": _FIRST_MILEPOST + np.floor(milepost * STATIONS).astype(np.int64),
            "speed": 5 + np.floor(speed * 71).astype(np.int64),
        }
    )
    said = pa.table({"after": np.arange(1, rows + 1), "probe": table["probe"], "ts": table["ts"]})
    return Punctuated(table, said)


def _reports(hours: float, every: timedelta) -> int:
    if hours < 0:
        raise SourceError(f"hours is {hours}, which is negative", hint="Ask for 0 hours or more.")
    return timedelta(hours=hours) // every


def _times(number: np.ndarray, every: timedelta, start: datetime) -> pa.Array:
    first = pa.scalar(start, pa.timestamp("us", tz="UTC")).cast(pa.int64()).as_py()
    return pa.array(first + number * (every // timedelta(microseconds=1))).cast(pa.timestamp("us", tz="UTC"))
