"""Questions about rows: filters, distinct, sort, the first of each group, unions, tables, and set differences."""

from __future__ import annotations

import random
from collections.abc import Callable

import pyarrow as pa

import millstream as ms
from fuzz.aggregate_questions import split
from fuzz.compare import key_of
from fuzz.conditions import condition, order_of
from fuzz.feed import Feed
from fuzz.question import Question, Streams
from fuzz.values import TICK, Column, Row
from millstream.core.quote import quoted


def filtered(rnd: random.Random, feed: Feed) -> Question:
    """WHERE and SELECT; a condition, its negation and where it is unknown are all rows together."""
    only = condition(rnd, feed.columns, 3)
    chosen = rnd.sample(feed.columns, rnd.randint(0, len(feed.columns)))
    texts = [*(f"{one.sql} AS `c {i}`" for i, one in enumerate(chosen)), "id"]

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        return streams["s"].where(only.text).select(*texts)

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        rows = [row for row in accepted["s"] if only.test(row)]
        return [{**{f"c {i}": row[one.name] for i, one in enumerate(chosen)}, "id": row["id"]} for row in rows]

    return Question(
        what=f"where {only.text}", ask=ask, answer=answer, sql=f"SELECT {', '.join(texts)} FROM s WHERE {only.text}"
    )


def distinct(rnd: random.Random, feed: Feed) -> Question:
    """Each combination once."""
    chosen = rnd.sample(feed.columns, rnd.randint(1, len(feed.columns))) if feed.columns else []
    if not chosen:
        return filtered(rnd, feed)
    names = tuple(one.name for one in chosen)

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        return streams["s"].select(*(one.sql for one in chosen)).distinct()

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        return [{name: group[0][name] for name in names} for group in split(accepted["s"], names)]

    text = f"SELECT DISTINCT {', '.join(one.sql for one in chosen)} FROM s"
    return Question(what=f"distinct {names}", ask=ask, answer=answer, sql=text)


def in_order(_: random.Random, feed: Feed) -> Question:
    """Rows sorted by time: the same rows."""

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        return streams["s"].sort(feed.ts)

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        return [_shown(feed, row) for row in accepted["s"] if row[TICK] is not None]

    return Question(what="sort", ask=ask, answer=answer)


def _shown(feed: Feed, row: Row) -> Row:
    out = {name: value for name, value in row.items() if name != TICK}
    return {**out, feed.ts: feed.clock.value(row[TICK])}


def firsts(rnd: random.Random, feed: Feed) -> Question:
    """The first rows of each group, numbered; the id settles ties."""
    if not feed.columns:
        return filtered(rnd, feed)
    one, n, down = rnd.choice(feed.columns), rnd.randint(1, 3), rnd.random() < 0.5
    keys = (feed.ts, *rnd.sample([c.name for c in feed.columns], rnd.randint(0, 1)))

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        return streams["s"].top(n, per=keys, by=[f"{one.name}{' DESC' if down else ''}", "id"], number="place")

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        out: list[Row] = []
        for group in split([_shown(feed, row) for row in accepted["s"]], keys):
            there = [row for row in group if row[one.name] is not None]
            ordered = sorted(there, key=lambda row: row["id"])
            ordered.sort(key=lambda row: order_of(row[one.name]), reverse=down)  # a reversed sort is stable, too
            ordered += sorted((row for row in group if row[one.name] is None), key=lambda row: row["id"])
            out += [{**row, "place": i} for i, row in enumerate(ordered[:n], 1)]
        return out

    order = f"{one.sql}{' DESC' if down else ''}, id"
    number = f"ROW_NUMBER() OVER (PARTITION BY {', '.join(map(quoted, keys))} ORDER BY {order})"
    sql = f"SELECT * FROM (SELECT *, {number} AS place FROM s) WHERE place <= {n}"
    return Question(what=f"top {n} per {keys} by {one.name} down={down}", ask=ask, answer=answer, sql=sql)


def enriched(rnd: random.Random, feed: Feed) -> Question:
    """Rows looked up in a table: inner or left, with a condition that may be a constant."""
    if not feed.columns:
        return filtered(rnd, feed)
    keys = rnd.sample(feed.columns, min(len(feed.columns), rnd.randint(1, 2)))
    known = [
        {**{f"t{i}": rnd.choice(one.pool) for i, one in enumerate(keys)}, "tid": n} for n in range(rnd.randint(0, 8))
    ]
    schema = pa.schema([*((f"t{i}", one.type) for i, one in enumerate(keys)), ("tid", pa.int64())])
    table = pa.Table.from_pylist(known, schema=schema)
    how = rnd.choice(["inner", "left"])
    where, test = rnd.choice(CONDITIONS)
    where = where.replace("other", "tid").replace("mine", "id")

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        on = [(one.name, f"t{i}") for i, one in enumerate(keys)]
        return streams["s"].enrich(table, on=on, how=how, where=where or None).select("id", "tid")

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        out: list[Row] = []
        for row in accepted["s"]:
            partners = [one for one in known if _meet(row, one, keys) and test(row["id"], one["tid"])]
            out += [{"id": row["id"], "tid": one["tid"]} for one in partners]
            if not partners and how == "left":
                out.append({"id": row["id"], "tid": None})
        return out

    parts = [f"s.{one.sql} = known.t{i}" for i, one in enumerate(keys)] + ([f"({where})"] if where else [])
    text = f"SELECT id, tid FROM s {'LEFT ' if how == 'left' else ''}JOIN known ON {' AND '.join(parts)}"

    def by_statement(engine: ms.Engine, _: Streams) -> ms.Query:
        engine.table("known", table)
        return engine.sql(text)

    what = f"enrich {how} on {[one.name for one in keys]} where {where!r}"
    return Question(what=what, ask=ask, answer=answer, others=(by_statement,))


CONDITIONS: tuple[tuple[str, Callable[[int, int], bool]], ...] = (
    ("", lambda *_: True),
    ("", lambda *_: True),
    ("TRUE", lambda *_: True),
    ("1 = 2", lambda *_: False),
    ("cast(NULL AS BOOLEAN)", lambda *_: False),
    ("(mine + other) % 3 <> 0", lambda mine, other: (mine + other) % 3 != 0),
    ("mine > other AND TRUE", lambda mine, other: mine > other),
    ("mine > 4", lambda mine, _: mine > 4),
    ("other < 5 OR 1 = 0", lambda _, other: other < 5),
)
"""Conditions of a pair, by the ids of its rows; some are constants."""


def _meet(row: Row, other: Row, keys: list[Column]) -> bool:
    pairs = [(row[one.name], other[f"t{i}"]) for i, one in enumerate(keys)]
    return all(a is not None and b is not None and key_of(a) == key_of(b) for a, b in pairs)


KINDS = (filtered, distinct, in_order, firsts, enriched)
