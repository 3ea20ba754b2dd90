"""Windows of every kind: as they are asked, as SQL says them, and which rows each holds by the definition."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from fuzz.feed import TICK, Feed
from fuzz.values import Row
from support import oracle

Held = tuple[Any, Any, Any, list[Row]]
"""A window: its id (None where it is not compared), start, end, and rows."""
STRATEGIES = ("wid", "paned", "differential", "buffered", "adaptive")


@dataclass(frozen=True)
class Window:
    """One window of a question."""

    options: dict[str, Any]
    hold: Callable[[list[Row]], list[Held]] | None
    """By the definition; None where only hosts are compared."""
    clause: str | None = None
    attribute: str | None = None
    arrival: bool = False
    """Does the order of arrival matter?"""
    partition: tuple[str, ...] = ()
    strategies: tuple[str, ...] = ()
    by_group: bool = False
    """Are windows made within each group?"""
    ids: bool = field(default=True)


def window(rnd: random.Random, feed: Feed) -> Window:
    """A window over a feed, at random."""
    kinds = [_sliding, _sliding, _several, _session, _landmark, _rows, _rows, _by_tuple, _user]
    return rnd.choice(kinds)(rnd, feed)


def _lengths(rnd: random.Random) -> tuple[int, int]:
    slide = rnd.choice([1, 3, 5, 10, 20])
    return rnd.choice([slide, slide, slide * 2, slide * 4, slide + 3, max(1, slide - 1)]), slide


def _slid(feed: Feed, rows: list[Row], size: int, slide: int, start: int | None = None) -> list[Held]:
    found = oracle.sliding(rows, TICK, size, slide, start)
    value, base = feed.clock.value, start or 0
    return [(w, value(base + (w + 1) * slide - size), value(base + (w + 1) * slide), held) for w, held in found.items()]


def _sliding(rnd: random.Random, feed: Feed) -> Window:
    size, slide = _lengths(rnd)
    span, sql = feed.clock.span, feed.clock.sql_span
    options: dict[str, Any] = {"range": span(size), "slide": span(slide)}
    start = rnd.choice([None, None, None, 7])
    if start is not None:
        options["start"] = feed.clock.value(start)
    clause = f"RANGE {sql(size)}, SLIDE {sql(slide)}, WATTR {_name(feed)}" if start is None else None
    if size == slide and rnd.random() < 0.5:
        del options["slide"]
    return Window(
        options, lambda rows: _slid(feed, rows, size, slide, start), clause, feed.ts, strategies=STRATEGIES
    )  # fmt: skip


def _several(rnd: random.Random, feed: Feed) -> Window:
    sizes = rnd.sample([2, 5, 6, 10, 15, 30], rnd.randint(2, 3))
    slide = rnd.choice([5, 10, None])
    span, sql = feed.clock.span, feed.clock.sql_span
    options: dict[str, Any] = {"range": [span(size) for size in sizes]}
    clause = "RANGE " + ", ".join(map(sql, sizes))
    if slide is not None:
        options["slide"] = span(slide)
        clause += f", SLIDE {sql(slide)}"

    def hold(rows: list[Row]) -> list[Held]:
        return [one for size in sizes for one in _slid(feed, rows, size, slide or size)]

    return Window(
        options, hold, f"{clause}, WATTR {_name(feed)}", feed.ts, strategies=("wid", "differential", "adaptive")
    )


def _session(rnd: random.Random, feed: Feed) -> Window:
    gap = rnd.choice([1, 2, 5, 12])
    value = feed.clock.value

    def hold(rows: list[Row]) -> list[Held]:
        found = oracle.sessions(rows, TICK, gap)
        return [(None, value(s), value(max(r[TICK] for r in held) + gap), held) for s, held in found.items()]

    clause = f"GAP {feed.clock.sql_span(gap)}, WATTR {_name(feed)}"
    return Window({"gap": feed.clock.span(gap)}, hold, clause, feed.ts, by_group=True, ids=False)


def _landmark(rnd: random.Random, feed: Feed) -> Window:
    slide = rnd.choice([5, 10, 40])

    def hold(rows: list[Row]) -> list[Held]:
        if not rows:
            return []
        feed.judged()
        last = max(row[TICK] for row in rows) // slide
        until = max([last, *(bound // slide - 1 for bound in feed.bounds.values())])
        found = oracle.landmark(rows, TICK, slide, until)
        return [(w, None, feed.clock.value((w + 1) * slide), held) for w, held in found.items()]

    clause = f"RANGE ALL, SLIDE {feed.clock.sql_span(slide)}, WATTR {_name(feed)}"
    options = {"range": "all", "slide": feed.clock.span(slide)}
    return Window(options, None if feed.promise == "group" else hold, clause, feed.ts)


def _rows(rnd: random.Random, feed: Feed) -> Window:
    size = rnd.choice([1, 2, 5, 9])
    slide = rnd.choice([size, 1, 2, 4])
    keys = tuple(rnd.sample([one.name for one in feed.columns], min(len(feed.columns), rnd.choice([0, 0, 1, 2]))))

    def hold(rows: list[Row]) -> list[Held]:
        numbered = [{**row, TICK: i} for i, row in enumerate(rows, 1)]
        found = oracle.sliding(numbered, TICK, size, slide, 1)
        return [(w, 1 + (w + 1) * slide - size, 1 + (w + 1) * slide, held) for w, held in found.items()]

    clause = f"RANGE {size} rows, SLIDE {slide} rows, WATTR row-num"
    if keys:
        clause += ", PATTR " + ", ".join(one.sql for name in keys for one in feed.columns if one.name == name)
    return Window(
        {"range": size, "slide": slide, "by": "rows", **({"partition_by": keys} if keys else {})},
        hold, None if keys else clause, None, arrival=True, partition=keys, by_group=bool(keys),
    )  # fmt: skip


def _by_tuple(rnd: random.Random, feed: Feed) -> Window:
    size, every = rnd.choice([4, 10, 25]), rnd.choice([1, 2, 3])
    rank = rnd.random() < 0.5
    value = feed.clock.value

    def hold(rows: list[Row]) -> list[Held]:
        found = oracle.by_tuple(rows, TICK, size, every, rank=rank)
        return [(None, value(end - size), value(end), held) for end, held in found.items()]

    order = f"rank({_name(feed)})" if rank else "row-num"
    clause = f"RANGE {feed.clock.sql_span(size)}, RATTR {_name(feed)}, SLIDE {every} rows, SATTR {order}"
    options = {"range": feed.clock.span(size), "slide": every, "per": "rank" if rank else "tuple"}
    return Window(options, hold, clause, feed.ts, arrival=not rank and every > 1, ids=False)


def _user(rnd: random.Random, feed: Feed) -> Window:
    every = rnd.choice([5, 8])
    if feed.clock.kind in ("us", "ms"):
        return _sliding(rnd, feed)
    options = {
        "extent": lambda w: (every * w, every * w + 3),
        "wids": lambda tick: [tick // every] if tick % every < 3 else [],
    }

    def hold(rows: list[Row]) -> list[Held]:
        found: dict[int, list[Row]] = {}
        for row in rows:
            if row[TICK] % every < 3:
                found.setdefault(row[TICK] // every, []).append(row)
        return [(w, feed.clock.value(every * w), feed.clock.value(every * w + 3), held) for w, held in found.items()]

    return Window(options, hold, None, feed.ts)


def _name(feed: Feed) -> str:
    return "`" + feed.ts.replace("`", "``") + "`"
