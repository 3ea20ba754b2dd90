"""A small auction to ask about, and two ways of asking."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import millstream as ms

START = datetime(2026, 1, 1, tzinfo=UTC)
Rows = list[tuple[Any, ...]]


def bids(n: int = 120) -> list[dict[str, Any]]:
    """Bids of five minutes, up to five seconds out of order."""
    rnd = random.Random(7)
    seconds = sorted(rnd.sample(range(300), n))
    rows = [
        {
            "ts": START + timedelta(seconds=second),
            "second": second,
            "item": rnd.choice(["lamp", "sofa", "vase"]),
            "bidder": rnd.randint(1, 4),
            "price": rnd.choice([None, 5, 10, 15, 20, 25]),
            "rate": rnd.choice([0.5, 1.5, 2.25]),
        }
        for second in seconds
    ]
    return sorted(rows, key=lambda row: row["second"] + rnd.randint(0, 5))


BIDS = bids()


def engine(*, promise: bool = True) -> tuple[ms.Engine, ms.Stream]:
    """An engine with the stream `bids`, and the stream."""
    out = ms.Engine(host="local")
    progress = ms.bounded_disorder("ts", "5 seconds") if promise else None
    return out, out.stream("bids", BIDS, progress=progress, epoch_rows=25)


def answer(query: ms.Query, *, end: bool = True) -> Rows:
    """Run a query; its rows, sorted."""
    query.named("q")
    query.engine.start(ms.available_now(), end_of_stream=end).await_termination()
    return sorted((tuple(map(plain, row.values())) for row in query.table().to_pylist()), key=repr)


def plain(value: Any) -> Any:
    """Structs as tuples."""
    return tuple(value.values()) if isinstance(value, dict) else value


def by_sql(text: str, *, end: bool = True) -> Rows:
    """What a statement answers."""
    return answer(engine()[0].sql(text), end=end)


def by_hand(ask: Callable[[ms.Stream], ms.Query], *, end: bool = True) -> Rows:
    """What the fluent API answers."""
    return answer(ask(engine()[1]), end=end)
