"""Questions with windows: random windows, groups, filters and aggregates, fluent and in SQL."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import millstream as ms
from fuzz.aggregates import Aggregate, aggregate, defined
from fuzz.compare import key_of
from fuzz.conditions import Condition, condition
from fuzz.feed import Feed
from fuzz.question import Question, Streams
from fuzz.values import TICK, Row
from fuzz.windows import Window, window
from millstream.core.quote import quoted

EDGES = ("window_id", "window_start", "window_end")
Ask = Callable[[ms.Engine, Streams], ms.Query]


@dataclass(frozen=True)
class Asked:
    """What is asked of a window."""

    window: Window
    columns: tuple[str, ...]
    """The columns that are groups."""
    computed: dict[str, Condition]
    """The groups that are expressions, by their names."""
    only: Condition | None
    made: dict[str, Aggregate]
    having: Condition | None
    """A condition on the groups."""
    least: int
    """How many rows a group must have."""
    by_name: bool
    """Does the statement group by the names of computed groups?"""

    @property
    def keys(self) -> tuple[str, ...]:
        """All that tells results of a window apart."""
        return (*self.window.partition, *self.columns, *self.computed)

    def ask(self, strategy: str) -> Ask:
        """The question in the fluent form."""

        def ask(_: ms.Engine, streams: Streams) -> ms.Query:
            rows = streams["s"] if self.only is None else streams["s"].where(self.only.text)
            cut = rows.window(self.window.attribute, **self.window.options)
            cut = cut.group_by(*self.columns, **{name: one.text for name, one in self.computed.items()})
            calls = {name: one.call for name, one in self.made.items()}
            if self.least:
                kept = [quoted(name) for name in (*EDGES, *self.keys, *calls)]
                query = cut.agg(**calls, rows_there=ms.count(), strategy=strategy)
                query = query.where(f"rows_there > {self.least}").select(*kept)
            else:
                query = cut.agg(**calls, strategy=strategy)
            return query if self.having is None else query.where(self.having.text)

        return ask

    def statements(self) -> list[str]:
        """The question as statements: with a clause, with a table function, and with a window among the groups."""
        if any(one.sql is None for one in self.made.values()):
            return []
        plain = [quoted(name) for name in self.columns]
        named = [f"({one.text}) AS {name}" for name, one in self.computed.items()]
        items = ", ".join([*plain, *named, *(f"{one.sql} AS {name}" for name, one in self.made.items())])
        where = "" if self.only is None else f" WHERE {self.only.text}"
        groups = [*plain, *(name if self.by_name else f"({one.text})" for name, one in self.computed.items())]
        conditions = [f"count(*) > {self.least}"] if self.least else []
        conditions += [f"({self.having.text})"] if self.having else []
        having = f" HAVING {' AND '.join(conditions)}" if conditions else ""
        grouped = f" GROUP BY {', '.join(groups)}" if groups else ""
        out: list[str] = []
        if self.window.clause is not None:
            out.append(f"SELECT {items} FROM s [{self.window.clause}]{where}{grouped}{having}")
        if self.window.table is not None:
            out.append(f"SELECT {items} FROM {self.window.table}{where}{grouped}{having}")
        if self.window.grouped is not None:
            every = ", ".join([self.window.grouped, *groups])
            out.append(f"SELECT {items} FROM s{where} GROUP BY {every}{having}")
        return out

    def answer(self, accepted: dict[str, list[Row]]) -> list[Row]:
        """By the definition."""
        rows = [row for row in accepted["s"] if self.only is None or self.only.test(row)]
        if self.window.attribute is not None:
            rows = [row for row in rows if row[TICK] is not None]
        rows = [{**row, **{name: one.test(row) for name, one in self.computed.items()}} for row in rows]
        hold, within = self.window.hold, self.window.partition or self.keys
        assert hold is not None
        parts = split(rows, within) if self.window.by_group else [rows]
        out: list[Row] = []
        for part in parts:
            for wid, start, end, held in hold(part):
                for group in split(held, self.keys):
                    if len(group) <= self.least or (self.having and not self.having.test(group[0])):
                        continue
                    edges = dict(zip(EDGES, (wid, start, end), strict=True))
                    keys = {name: group[0][name] for name in self.keys}
                    out.append({**edges, **keys, **defined(self.made, group)})
        return out


def windows(rnd: random.Random, feed: Feed) -> Question:
    """A window, its groups and its aggregates."""
    chosen = _held_back(rnd, window(rnd, feed))
    free = [one for one in feed.columns if one.name not in (*chosen.partition, *EDGES)]
    groups = rnd.sample(free, min(len(free), rnd.choice([0, 1, 1, 2, 3])))
    asked = Asked(
        chosen,
        tuple(one.name for one in groups),
        {f"g{i}": condition(rnd, feed.columns, 1) for i in range(rnd.choice([0, 0, 0, 1, 2]))},
        condition(rnd, feed.columns) if rnd.random() < 0.4 else None,
        {f"a{i}": aggregate(rnd, feed.columns) for i in range(rnd.randint(1, 4))},
        condition(rnd, groups, 1) if rnd.random() < 0.15 else None,
        rnd.choice([0, 0, 0, 0, 1, 2]),
        rnd.random() < 0.5,
    )
    ids = EDGES if chosen.ids else EDGES[1:]
    every = rnd.choice(chosen.strategies) if chosen.strategies and rnd.random() < 0.4 else "auto"
    others = [asked.ask(rnd.choice(chosen.strategies))] if chosen.strategies and rnd.random() < 0.4 else []
    texts = asked.statements()
    text = rnd.choice(texts) if texts else None
    return Question(
        what=f"window {_told(chosen)} by {asked.keys} of {[str(one.call) for one in asked.made.values()]} "
        f"if {asked.only and asked.only.text}, computed {[one.text for one in asked.computed.values()]}, "
        f"having {asked.having and asked.having.text}, more than {asked.least} rows ({every})",
        ask=asked.ask(every),
        sql=text,
        others=tuple(others),
        answer=None if chosen.hold is None else asked.answer,
        columns=(*ids, *asked.keys, *asked.made),
        near=frozenset(name for name, one in asked.made.items() if one.near),
        arrival=chosen.arrival,
        filtered=asked.having is not None or asked.least > 0,
    )


def _held_back(rnd: random.Random, chosen: Window) -> Window:
    """Now and then with a flush, which changes no answer."""
    if not chosen.flushes or rnd.random() < 0.75:
        return chosen
    rows, late = rnd.choice([None, 1, 3]), rnd.choice([1, 2, 4])
    flush = ms.lazy_flush(windows=late) if rows is None else ms.slow_flush(rows=rows, windows=late)
    words = "LAZY" if rows is None else f"SLOW {rows} ROWS"
    clause = f"{chosen.clause}, FLUSH {words} WITHIN {late} WINDOWS"
    return replace(chosen, options={**chosen.options, "flush": flush}, clause=clause)


def _told(chosen: Window) -> dict[str, Any]:
    return {name: "…" if callable(value) else value for name, value in chosen.options.items()}


def split(rows: list[Row], keys: tuple[str, ...]) -> list[list[Row]]:
    """The rows of each group; null is a value of its own."""
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(key_of(row[name]) for name in keys), []).append(row)
    return list(found.values())
