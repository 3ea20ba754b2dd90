"""Links as they arrive, second by second: what unions and joins of late inputs are fed with.

Times are whole milliseconds from 0. In each second every link brings the rows of one second of its own time: a link
that lags brings those of an earlier one. It is punctuated with the end of that second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from comparators.comparator import values
from lab.measure import Input
from millstream.workload.clock import START
from millstream.workload.links import Link, packets_on

UNIT = 1000


@dataclass(frozen=True, slots=True)
class Late:
    """A table ordered by `ts`, in milliseconds, and by how many seconds it lags."""

    rows: pa.Table
    lag: int = 0

    def second(self, now: int) -> tuple[pa.Table, int | None]:
        """What arrives in one second: rows and the bound after them; before its first row, nothing."""
        own = now - self.lag
        at = values(self.rows, "ts")
        low, high = at.searchsorted([own * UNIT, (own + 1) * UNIT])
        return self.rows.slice(int(low), int(high - low)), (own + 1) * UNIT if own >= 0 else None


def seconds_of(links: Sequence[Late]) -> range:
    """Until the last of them has brought its last row."""
    return range(max((int(values(one.rows, "ts")[-1]) // UNIT + 1 + one.lag for one in links), default=0))


def inputs(*, apart: bool = False, **links: Late) -> dict[str, Input]:
    """The links as streams of the engine, a second an epoch, or two if punctuation comes `apart`."""
    time = seconds_of(list(links.values()))
    return {
        name: Input(epochs=[link.second(now) for now in time], attribute="ts", apart=apart)
        for name, link in links.items()
    }


def steps(links: Sequence[Late]) -> Iterator[tuple[int, pa.Table, int | None]]:
    """The links as a comparator is fed: in each second, port by port, rows and then a bound."""
    for now in seconds_of(links):
        for port, link in enumerate(links):
            yield port, *link.second(now)


def ticks_from_zero(table: pa.Table) -> pa.Table:
    """The same rows with `ts`, of a generated stream, in whole milliseconds from 0."""
    first = int(START.timestamp() * 1_000_000)
    ticks = (table["ts"].cast(pa.int64()).to_numpy() - first) // (1_000_000 // UNIT)
    return table.set_column(table.schema.get_field_index("ts"), "ts", pa.array(ticks))


def packets(link: Link, seconds: float, *, conversations: int, seed: int = 0) -> pa.Table:
    """The packets of a link, with `ts` in whole milliseconds from 0."""
    return ticks_from_zero(packets_on(link, seconds, conversations=conversations, seed=seed)).drop_columns(["link"])
