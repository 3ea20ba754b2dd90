"""The streams that NEXMark's queries read, out of order by up to three seconds, and DuckDB's answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import millstream as ms
from millstream.workload.disorder import bounded, ticks_of
from millstream.workload.nexmark import AuctionHouse, nexmark

QUERIES = Path(__file__).parent / "queries" / "nexmark"
LATE = timedelta(seconds=3)
DAILY = ("q15", "q16", "q17")
"""Queries with windows of a day, which read a slower house."""
PACE: dict[str, float] = dict.fromkeys(DAILY, 0.1)
"""Rows a second, where they are not NEXMark's usual 10,000."""


@dataclass(frozen=True, eq=False)
class House:
    """The streams of one house, in order of arrival."""

    persons: pa.Table
    auctions: pa.Table
    bids: pa.Table
    arriving: pa.Table
    """The bids with the instant at which they arrived, which is the greatest time so far."""
    closings: pa.Table

    @property
    def rows(self) -> int:
        """How many there are."""
        return self.persons.num_rows + self.auctions.num_rows + self.bids.num_rows

    def tables(self) -> dict[str, pa.Table]:
        """By the names that queries know."""
        named = {"persons": self.persons, "auctions": self.auctions, "bids": self.bids}
        return {**named, "arriving": self.arriving, "closing": self.bids}

    def closing(self, rows: int) -> Iterator[ms.Epoch]:
        """The bids, so many an epoch, each with the auctions that are over when all its bids have come."""
        arrived = ticks_of(self.arriving, "arrived")
        over = ticks_of(self.closings, "ts") + LATE // timedelta(microseconds=1)
        ids, done = self.closings["auction"].to_pylist(), 0
        for first in range(0, self.bids.num_rows, rows):
            part = self.bids.slice(first, rows)
            until = int(np.searchsorted(over, arrived[first + part.num_rows - 1], side="right"))
            yield ms.Epoch(part, [ms.punctuation(auction=one) for one in ids[done:until]])
            done = until


def house(rows: int, *, rate: float = 10_000, seed: int = 0) -> House:
    """So many rows of an auction house, `rate` of them a second."""
    made: AuctionHouse = nexmark(rows, seed=seed, rate=rate)
    persons, auctions, bids = (bounded(one, "ts", LATE, seed) for one in (made.persons, made.auctions, made.bids))
    arrived = pa.array(np.maximum.accumulate(ticks_of(bids, "ts"))).cast(bids.schema.field("ts").type)
    return House(persons, auctions, bids, bids.append_column("arrived", arrived), made.closings)


def names() -> list[str]:
    """The queries that there are, in order of their numbers."""
    found = (path.name.partition(".")[0] for path in QUERIES.glob("*.duckdb.sql"))
    return sorted(found, key=lambda name: int(name[1:]))


def text(name: str, engine: str = "") -> str:
    """A query as Millstream reads it, or as `engine` does."""
    return (QUERIES / f"{name}{engine and '.'}{engine}.sql").read_text()


def ask(engine: ms.Engine, name: str, data: House, epoch_rows: int) -> Any:
    """The query on an engine, over the streams that it reads."""
    wanted = text(name)
    for stream, table in data.tables().items():
        if stream not in wanted:
            continue
        if stream == "closing":
            promise = ms.supplied(per="auction")
            engine.stream(stream, data.closing(epoch_rows), schema=table.schema, progress=promise)
        elif stream == "arriving":
            engine.stream(stream, table, progress=ms.ordered("arrived"), epoch_rows=epoch_rows)
        else:
            engine.stream(stream, table, progress=ms.bounded_disorder("ts", LATE), epoch_rows=epoch_rows)
    return engine.sql(wanted, name=name)


def answer(name: str, data: House) -> pa.Table:
    """What DuckDB finds in the whole of the streams."""
    with duckdb.connect() as connection:
        connection.sql("SET TimeZone = 'UTC'")
        for stream, table in data.tables().items():
            connection.register(stream, table)
        return connection.sql(text(name, "duckdb")).to_arrow_table()


def differences(found: pa.Table, wanted: pa.Table) -> int:
    """How many rows one has and the other has not, counted as often as they come."""
    columns = ", ".join(f'"{one}"' for one in wanted.schema.names)
    with duckdb.connect() as connection:
        connection.sql("SET TimeZone = 'UTC'")
        connection.register("found", found)
        connection.register("wanted", wanted)
        both = (f"(SELECT {columns} FROM {a} EXCEPT ALL SELECT {columns} FROM {b})" for a, b in _BOTH)
        return sum(int(connection.sql(f"SELECT count(*) FROM {one}").fetchall()[0][0]) for one in both)


_BOTH = (("found", "wanted"), ("wanted", "found"))
