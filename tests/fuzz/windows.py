"""Windows of every kind: as they are asked, as SQL says them, and which rows each holds by the definition."""

from __future__ import annotations

import datetime as dt
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from zoneinfo import ZoneInfo

from fuzz.feed import Feed
from fuzz.values import TICK, Row
from millstream.core.quote import quoted
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
    table: str | None = None
    """The stream cut by a table function of Flink."""
    grouped: str | None = None
    """A window of Spark among the groups."""
    flushes: bool = False
    """Can its results be held back?"""


def window(rnd: random.Random, feed: Feed) -> Window:
    """A window over a feed, at random."""
    kinds = [
        _sliding,
        _sliding,
        _sliding,
        _several,
        _session,
        _landmark,
        _rows,
        _rows,
        _by_tuple,
        _user,
        _cumulate,
        _ranked,
    ]
    kinds += [_days] * 5 if feed.clock.kind == "hour" else []
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
    clause = f"RANGE {sql(size)}, SLIDE {sql(slide)}, WATTR {_name(feed)}"
    clause += "" if start is None else f", START {feed.clock.literal(start, rnd.choice(['UTC', feed.zone]))}"
    if size == slide and rnd.random() < 0.5:
        del options["slide"]
    table = grouped = None
    if start is None and size % slide == 0:
        lengths = (size,) if size == slide else (slide, size)
        table = _function(feed, "TUMBLE" if size == slide else "HOP", *lengths)
        words = ", ".join(f"'{sql(one)}'" for one in reversed(lengths))
        grouped = f"window({_name(feed)}, {words})" if feed.clock.kind in ("us", "ms", "hour") else None
    return Window(
        options, lambda rows: _slid(feed, rows, size, slide, start), clause, feed.ts, strategies=STRATEGIES,
        table=table, grouped=grouped, flushes=True,
    )  # fmt: skip


def _function(feed: Feed, word: str, *lengths: int) -> str:
    return f"TABLE({word}(TABLE s, DESCRIPTOR({_name(feed)}), {', '.join(map(feed.clock.interval, lengths))}))"


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
        options,
        hold,
        f"{clause}, WATTR {_name(feed)}",
        feed.ts,
        strategies=("wid", "differential", "adaptive"),
        flushes=True,
    )


def _session(rnd: random.Random, feed: Feed) -> Window:
    gap = rnd.choice([1, 2, 5, 12])
    value = feed.clock.value

    def hold(rows: list[Row]) -> list[Held]:
        found = oracle.sessions(rows, TICK, gap)
        return [(None, value(s), value(max(r[TICK] for r in held) + gap), held) for s, held in found.items()]

    clause = f"GAP {feed.clock.sql_span(gap)}, WATTR {_name(feed)}"
    table = _function(feed, "SESSION", gap)
    grouped = None
    if feed.clock.kind in ("us", "ms", "hour"):
        grouped = f"session_window({_name(feed)}, '{feed.clock.sql_span(gap)}')"
    return Window(
        {"gap": feed.clock.span(gap)}, hold, clause, feed.ts, by_group=True, ids=False, table=table, grouped=grouped
    )


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
    return Window(options, None if feed.per else hold, clause, feed.ts, flushes=True)


def _numbered(rows: list[Row], size: int, slide: int) -> list[Held]:
    numbered = [{**row, TICK: i} for i, row in enumerate(rows, 1)]
    found = oracle.sliding(numbered, TICK, size, slide, 1)
    return [(w, 1 + (w + 1) * slide - size, 1 + (w + 1) * slide, held) for w, held in found.items()]


def _rows(rnd: random.Random, feed: Feed) -> Window:
    size = rnd.choice([1, 2, 5, 9])
    slide = rnd.choice([size, 1, 2, 4])
    keys = tuple(rnd.sample([one.name for one in feed.columns], min(len(feed.columns), rnd.choice([0, 0, 1, 2]))))

    def hold(rows: list[Row]) -> list[Held]:
        return _numbered(rows, size, slide)

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
    every, ticks = rnd.choice([5, 8]), feed.clock.ticks
    options = {
        "extent": lambda w: (every * w * ticks, (every * w + 3) * ticks),
        "wids": lambda tick: [tick // ticks // every] if tick // ticks % every < 3 else [],
    }

    def hold(rows: list[Row]) -> list[Held]:
        found: dict[int, list[Row]] = {}
        for row in rows:
            if row[TICK] % every < 3:
                found.setdefault(row[TICK] // every, []).append(row)
        return [(w, feed.clock.value(every * w), feed.clock.value(every * w + 3), held) for w, held in found.items()]

    return Window(options, hold, None, feed.ts)


def _cumulate(rnd: random.Random, feed: Feed) -> Window:
    """Windows that begin together and end a step apart."""
    step = rnd.choice([1, 2, 5])
    parts = rnd.choice([1, 2, 4])
    size, ticks = step * parts, feed.clock.ticks

    def extent(w: int) -> tuple[int, int]:
        return w // parts * size * ticks, (w // parts * size + (w % parts + 1) * step) * ticks

    def wids(tick: int) -> list[int]:
        first = tick // (size * ticks) * parts
        return [w for w in range(first, first + parts) if extent(w)[0] <= tick < extent(w)[1]]

    def hold(rows: list[Row]) -> list[Held]:
        found: dict[tuple[int, int], list[Row]] = {}
        for row in rows:
            begin = row[TICK] // size * size
            for end in range(begin + step, begin + size + 1, step):
                if row[TICK] < end:
                    found.setdefault((begin, end), []).append(row)
        value = feed.clock.value
        return [
            (begin // size * parts + (end - begin) // step - 1, value(begin), value(end), held)
            for (begin, end), held in found.items()
        ]

    options = {"extent": extent, "wids": wids}
    return Window(options, hold, None, feed.ts, table=_function(feed, "CUMULATE", step, size))


def _ranked(rnd: random.Random, feed: Feed) -> Window:
    """Windows of rows in the order of the attribute, ties in order of arrival."""
    size = rnd.choice([1, 2, 5])
    slide = rnd.choice([size, 1, 3])

    def hold(rows: list[Row]) -> list[Held]:
        return _numbered(sorted(rows, key=lambda row: row[TICK]), size, slide)

    clause = f"RANGE {size} rows, SLIDE {slide} rows, WATTR {_name(feed)}"
    return Window({"range": size, "slide": slide, "by": "rows"}, hold, clause, feed.ts, arrival=True)


def _days(rnd: random.Random, feed: Feed) -> Window:
    """Whole days of the engine's time zone, some of which have 23 or 25 hours."""
    every = rnd.choice([1, 1, 2])
    days = rnd.choice([1, every, every * 2, 3])
    zone, span = ZoneInfo(feed.zone), feed.clock.span

    def midnight(day: int) -> dt.datetime:
        local = dt.datetime(1970, 1, 1, tzinfo=zone) + dt.timedelta(days=day)  # by the clock on the wall
        return local.astimezone(dt.UTC)

    def hold(rows: list[Row]) -> list[Held]:
        out: list[Held] = []
        near = {row[TICK] // 24 // every for row in rows}
        for w in sorted({w + more for w in near for more in range(-5, 6)}):
            begin, end = midnight((w + 1) * every - days), midnight((w + 1) * every)
            held = [row for row in rows if begin <= feed.clock.value(row[TICK]) < end]
            out += [(w, begin, end, held)] if held else []
        return out

    clause = f"RANGE {24 * days} hours, SLIDE {every} days, WATTR {_name(feed)}"
    table = None
    if days % every == 0:
        lengths = (24 * days,) if days == every else (24 * every, 24 * days)
        table = _function(feed, "TUMBLE" if days == every else "HOP", *lengths)
    options = {"range": f"{days} days", "slide": span(24 * every)}
    return Window(options, hold, clause, feed.ts, table=table)


def _name(feed: Feed) -> str:
    return quoted(feed.ts)
