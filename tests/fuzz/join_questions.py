"""Questions about two streams: joins of all kinds, as-of joins, unions, differences, and windows over joins."""

from __future__ import annotations

import random
from typing import Any

import millstream as ms
from fuzz.aggregate_questions import split
from fuzz.compare import key_of
from fuzz.feed import Feed
from fuzz.question import Question, Streams
from fuzz.row_questions import CONDITIONS
from fuzz.values import TICK, Column, Row
from millstream.core.quote import quoted

BOTH = ("s", "t")
HOW = ("inner", "left", "right", "full", "semi", "anti")


def sides(streams: Streams, feed: Feed, keys: list[Column]) -> tuple[ms.Query, ms.Query]:
    """Both streams with names of their own."""
    ts = quoted(feed.ts)
    both = [
        streams[name].select(f"{ts} AS {p}t", *(f"{one.sql} AS {p}k{i}" for i, one in enumerate(keys)), f"id AS {p}id")
        for name, p in (("s", "l"), ("t", "r"))
    ]
    return both[0], both[1]


def joined(rnd: random.Random, feed: Feed) -> Question:
    """Pairs near in time, or in one window, with keys and a condition that may be a constant."""
    keys = rnd.sample(feed.columns, min(len(feed.columns), rnd.choice([0, 1, 1, 2])))
    how = rnd.choice(HOW)
    low = rnd.choice([-10, -3, 0, 2])
    high = low + rnd.choice([0, 3, 8, 20])
    size = rnd.choice([None, None, 7, 15])
    where, test = rnd.choice(CONDITIONS)
    where = where.replace("other", "rid").replace("mine", "lid")
    near: dict[str, Any] = {"within": (_signed(feed, low), _signed(feed, high))}
    if size is not None:
        near = {"window": feed.clock.span(size)}
    above = rnd.random() < 0.2 and how not in ("semi", "anti", "right", "full")

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        left, right = sides(streams, feed, keys)
        on = [(f"lk{i}", f"rk{i}") for i in range(len(keys))]
        pairs = left.join(right, on=on, how=how, time=("lt", "rt"), where=where or None, **near)
        if above:
            return pairs.window("lt", range=feed.clock.span(10)).agg(n=ms.count(), ids=ms.sum("rid"))
        return pairs.select("lid") if how in ("semi", "anti") else pairs.select("lid", "rid")

    def meets(a: Row, b: Row) -> bool:
        if a[TICK] is None or b[TICK] is None:
            return False
        close = low <= b[TICK] - a[TICK] <= high if size is None else a[TICK] // size == b[TICK] // size
        return close and _equal(a, b, keys) and test(a["id"], b["id"])

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        left, right = accepted["s"], accepted["t"]
        pairs = [(a, b) for a in left for b in right if meets(a, b)]
        mine, others = {a["id"] for a, _ in pairs}, {b["id"] for _, b in pairs}
        if how in ("semi", "anti"):
            return [{"lid": a["id"]} for a in left if (a["id"] in mine) == (how == "semi")]
        out = [{"lid": a["id"], "rid": b["id"], TICK: a[TICK]} for a, b in pairs]
        if how in ("left", "full"):
            out += [{"lid": a["id"], "rid": None, TICK: a[TICK]} for a in left if a["id"] not in mine]
        if how in ("right", "full"):
            out += [{"lid": None, "rid": b["id"], TICK: None} for b in right if b["id"] not in others]
        return _windowed(feed, out) if above else [{"lid": one["lid"], "rid": one["rid"]} for one in out]

    what = f"{how} join on {[one.name for one in keys]} {near} where {where!r}, window above={above}"
    sql = None if above or size is not None else _statement(feed, keys, how, low, high, where)
    return Question(what=what, ask=ask, answer=answer, reads=BOTH, sql=sql)


def _statement(feed: Feed, keys: list[Column], how: str, low: int, high: int, where: str) -> str:
    ts = quoted(feed.ts)
    word = {"full": "FULL OUTER", "semi": "LEFT SEMI", "anti": "LEFT ANTI"}.get(how, how.upper())
    parts = [f"s.{one.sql} = t.{one.sql}" for one in keys]
    parts.append(f"t.{ts} BETWEEN s.{ts} {feed.clock.shift(low)} AND s.{ts} {feed.clock.shift(high)}")
    parts += [f"({where.replace('rid', 't.id').replace('lid', 's.id')})"] if where else []
    items = "s.id AS lid" if how in ("semi", "anti") else "s.id AS lid, t.id AS rid"
    return f"SELECT {items} FROM s {word} JOIN t ON {' AND '.join(parts)}"


def _windowed(feed: Feed, pairs: list[Row]) -> list[Row]:
    out: list[Row] = []
    value = feed.clock.value
    for group in split([{**one, "w": one[TICK] // 10} for one in pairs if one[TICK] is not None], ("w",)):
        w, ids = group[0]["w"], [one["rid"] for one in group if one["rid"] is not None]
        edges = {"window_id": w, "window_start": value(w * 10), "window_end": value(w * 10 + 10)}
        out.append({**edges, "n": len(group), "ids": sum(ids) if ids else None})
    return out


def _signed(feed: Feed, ticks: int) -> Any:
    length = feed.clock.span(abs(ticks))
    return f"-{length}" if ticks < 0 and isinstance(length, str) else -length if ticks < 0 else length


def _equal(a: Row, b: Row, keys: list[Column]) -> bool:
    return all(a[k.name] is not None and b[k.name] is not None and key_of(a[k.name]) == key_of(b[k.name]) for k in keys)


def as_of(rnd: random.Random, feed: Feed) -> Question:
    """Each left row with the latest right row that is not after it; ties by the other columns, null below all."""
    keys = rnd.sample(feed.columns, min(len(feed.columns), rnd.choice([0, 1, 1, 2])))
    how, strict = rnd.choice(["inner", "left"]), rnd.random() < 0.4
    within = rnd.choice([None, 3, 15])

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        left, right = sides(streams, feed, keys)
        on = [(f"lk{i}", f"rk{i}") for i in range(len(keys))]
        old = None if within is None else feed.clock.span(within)
        pairs = left.join_as_of(right, on=on, how=how, time=("lt", "rt"), within=old, strict=strict)
        return pairs.select("lid", "rid")

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        out: list[Row] = []
        for a in accepted["s"]:
            near = [b for b in accepted["t"] if _equal(a, b, keys) and 0 <= a[TICK] - b[TICK] - strict]
            near = [b for b in near if within is None or a[TICK] - b[TICK] <= within]
            best = max(near, key=lambda b: (b[TICK], b["id"]), default=None)
            if best is not None or how == "left":
                out.append({"lid": a["id"], "rid": best and best["id"]})
        return out

    what = f"{how} as-of join on {[one.name for one in keys]} within {within} strict={strict}"
    ts = quoted(feed.ts)
    parts = [f"a.k{i} = b.k{i}" for i in range(len(keys))] + [f"a.at {'>' if strict else '>='} b.at"]
    parts += [] if within is None else [f"b.at >= a.at {feed.clock.shift(-within)}"]
    columns = ", ".join([f"{ts} AS at", *(f"{one.sql} AS k{i}" for i, one in enumerate(keys)), "id"])
    sql = f"SELECT a.id AS lid, b.id AS rid FROM (SELECT {columns} FROM s) a ASOF {'LEFT ' if how == 'left' else ''}"
    sql += f"JOIN (SELECT {columns} FROM t) b ON {' AND '.join(parts)}"
    return Question(what=what, ask=ask, answer=answer, reads=BOTH, sql=sql)


def united(rnd: random.Random, feed: Feed) -> Question:
    """Both streams in one window."""
    size = rnd.choice([5, 20])
    keys = tuple(one.name for one in rnd.sample(feed.columns, min(len(feed.columns), 1)))

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        both = streams["s"].union(streams["t"])
        return both.window(feed.ts, range=feed.clock.span(size)).group_by(*keys).agg(n=ms.count(), ids=ms.sum("id"))

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        rows = [{**row, "__w": row[TICK] // size} for name in BOTH for row in accepted[name] if row[TICK] is not None]
        return [
            {
                "window_id": g[0]["__w"], "window_start": feed.clock.value(g[0]["__w"] * size),
                "window_end": feed.clock.value((g[0]["__w"] + 1) * size), **{name: g[0][name] for name in keys},
                "n": len(g), "ids": sum(row["id"] for row in g),
            }
            for g in split(rows, ("__w", *keys))
        ]  # fmt: skip

    groups = ", ".join(map(quoted, keys))
    sql = f"SELECT {groups}{', ' if groups else ''}count(*) AS n, sum(id) AS ids FROM ({rnd.choice(UNIONS)}) "
    sql += f"[RANGE {feed.clock.sql_span(size)}, WATTR {quoted(feed.ts)}]{' GROUP BY ' if groups else ''}{groups}"
    return Question(what=f"union in windows of {size} by {keys}", ask=ask, answer=answer, reads=BOTH, sql=sql)


UNIONS = ("SELECT * FROM s UNION ALL SELECT * FROM t", "SELECT * FROM s UNION t")


def compared(rnd: random.Random, feed: Feed) -> Question:
    """Rows of one stream that the other has, or has not; null equals null."""
    keys = rnd.sample(feed.columns, min(len(feed.columns), rnd.randint(0, 2)))
    also = rnd.random() < 0.5
    ts = quoted(feed.ts)
    names = tuple(f"k{i}" for i in range(len(keys)))

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        left, right = (
            streams[name].select(f"{ts} AS at", *(f"{one.sql} AS k{i}" for i, one in enumerate(keys))) for name in BOTH
        )
        return left.intersect(right, time="at") if also else left.difference(right, time="at")

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        left, right = (
            [
                {"at": feed.clock.value(row[TICK]), **{f"k{i}": row[one.name] for i, one in enumerate(keys)}}
                for row in rows
            ]
            for rows in (accepted["s"], accepted["t"])
        )
        there = {tuple(key_of(row[name]) for name in ("at", *names)) for row in right}
        every = [group[0] for group in split(left, ("at", *names))]
        return [row for row in every if (tuple(key_of(row[name]) for name in ("at", *names)) in there) == also]

    columns = ", ".join([f"{ts} AS at", *(f"{one.sql} AS k{i}" for i, one in enumerate(keys))])
    sql = f"SELECT {columns} FROM s {'INTERSECT' if also else 'EXCEPT'} SELECT {columns} FROM t"
    what = f"{'intersect' if also else 'difference'} by {names}"
    return Question(what=what, ask=ask, answer=answer, reads=BOTH, sql=sql)


KINDS = (joined, joined, joined, as_of, united, compared)
