"""Questions with windows: random windows, groups, filters and aggregates, fluent and in SQL."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import millstream as ms
from fuzz.aggregates import Aggregate, aggregate
from fuzz.compare import key_of
from fuzz.conditions import Condition, condition
from fuzz.feed import TICK, Feed
from fuzz.question import Question, Streams
from fuzz.values import Row
from fuzz.windows import Window, window

EDGES = ("window_id", "window_start", "window_end")


def windows(rnd: random.Random, feed: Feed) -> Question:
    """A window, its groups and its aggregates."""
    chosen = window(rnd, feed)
    free = [one.name for one in feed.columns if one.name not in (*chosen.partition, *EDGES)]
    groups = tuple(rnd.sample(free, min(len(free), rnd.choice([0, 1, 1, 2, 3]))))
    only = condition(rnd, feed.columns) if rnd.random() < 0.4 else None
    made = {f"a{i}": aggregate(rnd, feed.columns) for i in range(rnd.randint(1, 4))}
    keys = (*chosen.partition, *groups)
    ids = EDGES if chosen.ids else EDGES[1:]
    every = rnd.choice(chosen.strategies) if chosen.strategies and rnd.random() < 0.4 else "auto"
    fluent = _fluent(chosen, groups, only, made)
    other = rnd.choice(chosen.strategies) if chosen.strategies and rnd.random() < 0.4 else None
    return Question(
        what=f"window {_told(chosen)} by {keys} of {[one.sql for one in made.values()]} "
        f"if {only and only.text} ({every})",
        ask=fluent(every),
        sql=_statement(chosen, feed, groups, only, made),
        others=() if other is None else (fluent(other),),
        answer=None if chosen.hold is None else _answer(chosen, keys, only, made),
        columns=(*ids, *keys, *made),
        near=frozenset(name for name, one in made.items() if one.near),
        arrival=chosen.arrival,
    )


def _told(chosen: Window) -> dict[str, Any]:
    return {name: "…" if callable(value) else value for name, value in chosen.options.items()}


def _fluent(
    chosen: Window, groups: tuple[str, ...], only: Condition | None, made: dict[str, Aggregate]
) -> Callable[[str], Callable[[ms.Engine, Streams], ms.Query]]:
    def by(strategy: str) -> Callable[[ms.Engine, Streams], ms.Query]:
        def ask(_: ms.Engine, streams: Streams) -> ms.Query:
            rows = streams["s"] if only is None else streams["s"].where(only.text)
            cut = rows.window(chosen.attribute, **chosen.options).group_by(*groups)
            return cut.agg(**{name: one.call for name, one in made.items()}, strategy=strategy)

        return ask

    return by


def _statement(
    chosen: Window, feed: Feed, groups: tuple[str, ...], only: Condition | None, made: dict[str, Aggregate]
) -> str | None:
    if chosen.clause is None:
        return None
    quoted = [one.sql for name in groups for one in feed.columns if one.name == name]
    items = ", ".join([*quoted, *(f"{one.sql} AS {name}" for name, one in made.items())])
    where = "" if only is None else f" WHERE {only.text}"
    grouped = f" GROUP BY {', '.join(quoted)}" if quoted else ""
    return f"SELECT {items} FROM s [{chosen.clause}]{where}{grouped}"


def _answer(
    chosen: Window, keys: tuple[str, ...], only: Condition | None, made: dict[str, Aggregate]
) -> Callable[[dict[str, list[Row]]], list[Row]]:
    within = keys if not chosen.partition else chosen.partition

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        rows = [row for row in accepted["s"] if only is None or only.test(row)]
        if chosen.attribute is not None:
            rows = [row for row in rows if row[TICK] is not None]
        hold = chosen.hold
        assert hold is not None
        parts = split(rows, within) if chosen.by_group else [rows]
        out: list[Row] = []
        for part in parts:
            for wid, start, end, held in hold(part):
                for group in split(held, keys):
                    edges = dict(zip(EDGES, (wid, start, end), strict=True))
                    values = {name: one.define(group) for name, one in made.items()}
                    out.append({**edges, **{name: group[0][name] for name in keys}, **values})
        return out

    return answer


def split(rows: list[Row], keys: tuple[str, ...]) -> list[list[Row]]:
    """The rows of each group; null is a value of its own."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(key_of(row[name]) for name in keys), []).append(row)
    return list(found.values())


def chain(rnd: random.Random, feed: Feed) -> Question:
    """An aggregate over an aggregate: counts of a window, and how many of them end in a greater one."""
    small, large = rnd.choice([(5, 20), (3, 9), (10, 10)])
    keys = tuple(rnd.sample([one.name for one in feed.columns], min(len(feed.columns), 1)))
    span, value = feed.clock.span, feed.clock.value
    late = rnd.random() < 0.5

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        counts = streams["s"].window(feed.ts, range=span(small)).group_by(*keys).agg(n=ms.count(), top=ms.max("id"))
        counts = counts.where("n > 1") if late else counts
        return counts.window("window_end", range=span(large)).agg(
            windows=ms.count(), rows=ms.sum("n"), top=ms.max("top")
        )

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        found: dict[int, list[list[Row]]] = {}
        rows = [row for row in accepted["s"] if row[TICK] is not None]
        for group in split([{**row, "__w": row[TICK] // small} for row in rows], ("__w", *keys)):
            if not late or len(group) > 1:
                found.setdefault((group[0]["__w"] + 1) * small // large, []).append(group)
        return [
            {
                "window_id": w, "window_start": value(w * large), "window_end": value((w + 1) * large),
                "windows": len(groups), "rows": sum(map(len, groups)), "top": max(r["id"] for g in groups for r in g),
            }
            for w, groups in found.items()
        ]  # fmt: skip

    return Question(what=f"chain of {small} and {large} by {keys}, late={late}", ask=ask, answer=answer)


def whole(rnd: random.Random, feed: Feed) -> Question:
    """Groups without a window: one answer each, at the end."""
    keys = tuple(rnd.sample([one.name for one in feed.columns], min(len(feed.columns), rnd.randint(1, 2))))
    made = {f"a{i}": aggregate(rnd, feed.columns, ends=False) for i in range(rnd.randint(1, 3))}

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        return streams["s"].group_by(*keys).agg(**{name: one.call for name, one in made.items()})

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        return [
            {**{name: group[0][name] for name in keys}, **{name: one.define(group) for name, one in made.items()}}
            for group in split(accepted["s"], keys)
        ]

    quoted = ", ".join(one.sql for name in keys for one in feed.columns if one.name == name)
    items = ", ".join(f"{one.sql} AS {name}" for name, one in made.items())
    return Question(
        what=f"groups {keys} of {[one.sql for one in made.values()]}", ask=ask, answer=answer,
        sql=f"SELECT {quoted}, {items} FROM s GROUP BY {quoted}",
        near=frozenset(name for name, one in made.items() if one.near),
    )  # fmt: skip


def limited(rnd: random.Random, feed: Feed) -> Question:
    """ORDER BY … LIMIT in SQL: hosts and orders of arrival agree."""
    size, n = rnd.choice([5, 10, 40]), rnd.randint(1, 3)
    groups = rnd.sample(feed.columns, min(len(feed.columns), rnd.randint(1, 2)))
    made = aggregate(rnd, feed.columns)
    names = ", ".join(one.sql for one in groups)
    ts = "`" + feed.ts.replace("`", "``") + "`"
    direction = rnd.choice(["", " DESC"])
    text = (
        f"SELECT window_end, {names}, {made.sql} AS a0 FROM s [RANGE {feed.clock.sql_span(size)}, WATTR {ts}] "
        f"GROUP BY {names} ORDER BY a0{direction} LIMIT {n}"
    )
    near = frozenset(["a0"]) if made.near else frozenset[str]()
    return Question(what=text, ask=lambda engine, _: engine.sql(text), near=near)
