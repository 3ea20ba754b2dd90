"""Packets whose groups are skewed: many groups of one row, a few of hundreds.

The sets DS1 to DS5 are those of the AdaptWID experiments: a small group is one row, a medium one 15
rows and a large one 300 rows on average. Medium groups always hold a fifth of the rows; from set to set
the small groups' share grows, and with it the share of *groups* that are small, from 39 % to 87 %.
"""

from dataclasses import dataclass
from datetime import datetime

import numpy as np
import pyarrow as pa

from millstream.core.errors import SourceError
from millstream.workload.clock import START, dice, timestamps

MEDIUM_SHARE = 0.20
MEDIUM_SIZE = 15
LARGE_SIZE = 300

_HOSTS = 256
_SHORTEST, _LONGEST = 40, 1500  # bytes: a bare acknowledgement, a full Ethernet frame


@dataclass(frozen=True, slots=True, kw_only=True)
class Skew:
    """How the rows of a stream are shared out between small, medium and large groups.

    >>> DS1.groups(100_000)
    (1000, 1333, 263)
    """

    small: float
    """The share of the rows that belong to groups of one row; the large groups get what is left."""

    def __post_init__(self) -> None:
        if not 0 <= self.small <= 1 - MEDIUM_SHARE:
            raise SourceError(
                f"small share {self.small} is not in [0, {1 - MEDIUM_SHARE}]",
                hint=f"Medium groups always hold {MEDIUM_SHARE:.0%} of the rows.",
            )

    def rows(self, total: int) -> tuple[int, int, int]:
        """How many of `total` rows are in small, in medium and in large groups."""
        small = round(total * self.small)
        medium = round(total * MEDIUM_SHARE)
        return small, medium, total - small - medium

    def groups(self, total: int) -> tuple[int, int, int]:
        """How many small, medium and large groups `total` rows make."""
        small, medium, large = self.rows(total)
        return small, _groups_of(medium, MEDIUM_SIZE), _groups_of(large, LARGE_SIZE)


DS1 = Skew(small=0.01)
DS2 = Skew(small=0.03)
DS3 = Skew(small=0.05)
DS4 = Skew(small=0.07)
DS5 = Skew(small=0.09)


def packets(
    rows: int,
    *,
    skew: Skew = DS1,
    seed: int = 0,
    rate: float = 10_000,
    start: datetime = START,
) -> pa.Table:
    """`rows` packets in the groups of `skew`, ordered by `ts`, `rate` of them in each second of `ts`.

    `srcIP` is the id of the group: small groups first, then medium, then large. The rows of a group
    are scattered over the whole stream, and the group sizes hold for the stream as a whole.

    >>> stream = packets(100_000, skew=DS5, seed=7)
    >>> stream.schema.names, stream.num_rows
    (['srcIP', 'destIP', 'len', 'ts'], 100000)
    >>> len(stream.column("srcIP").unique()) == sum(DS5.groups(100_000))
    True
    """
    ts = timestamps(rows, rate=rate, start=start)
    size_dice, place_dice, host_dice, length_dice = dice(seed, 4)
    in_small, in_medium, in_large = skew.rows(rows)
    sizes = np.concatenate(
        [
            np.ones(in_small, dtype=np.int64),
            _sizes(in_medium, MEDIUM_SIZE, size_dice),
            _sizes(in_large, LARGE_SIZE, size_dice),
        ]
    )
    group = np.repeat(np.arange(len(sizes), dtype=np.int64), sizes)
    return pa.table(
        {
            "srcIP": place_dice.permutation(group),
            "destIP": (host_dice.random(rows) * _HOSTS).astype(np.int64),
            "len": (_SHORTEST + length_dice.random(rows) * (_LONGEST + 1 - _SHORTEST)).astype(np.int64),
            "ts": ts,
        }
    )


def _groups_of(rows: int, size: int) -> int:
    """How many groups of `size` rows on average `rows` rows make: at least one, if there is a row."""
    return max(round(rows / size), min(rows, 1))


def _sizes(rows: int, size: int, chance: np.random.Generator) -> np.ndarray:
    """Sizes that add up to `rows` and average `size`: half of it for sure, the rest by chance."""
    groups = _groups_of(rows, size)
    if groups == 0:
        return np.zeros(0, dtype=np.int64)
    sure = min(size // 2, rows // groups)
    return sure + chance.multinomial(rows - sure * groups, np.full(groups, 1 / groups))
