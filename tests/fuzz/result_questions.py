"""Questions about results: results of results, groups without a window, the first of each window, and wide results."""

from __future__ import annotations

import random
from typing import Any

import millstream as ms
from fuzz.aggregate_questions import split
from fuzz.aggregates import UNFIT, aggregate, defined
from fuzz.compare import key_of
from fuzz.conditions import order_of
from fuzz.feed import Feed
from fuzz.question import Question, Streams
from fuzz.values import TICK, Row
from millstream.core.quote import quoted
from support import oracle


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
    made = {f"a{i}": aggregate(rnd, feed.columns, ends=False, odd=False) for i in range(rnd.randint(1, 3))}

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        return streams["s"].group_by(*keys).agg(**{name: one.call for name, one in made.items()})

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        return [
            {**{name: group[0][name] for name in keys}, **defined(made, group)} for group in split(accepted["s"], keys)
        ]

    quoted = ", ".join(one.sql for name in keys for one in feed.columns if one.name == name)
    items = ", ".join(f"{one.sql} AS {name}" for name, one in made.items())
    return Question(
        what=f"groups {keys} of {[one.sql for one in made.values()]}", ask=ask, answer=answer,
        sql=f"SELECT {quoted}, {items} FROM s GROUP BY {quoted}",
        near=frozenset(name for name, one in made.items() if one.near),
    )  # fmt: skip


def limited(rnd: random.Random, feed: Feed) -> Question:
    """ORDER BY … LIMIT or QUALIFY in SQL: the least or greatest of each window; ties may be settled in any way."""
    size, n = rnd.choice([5, 10, 40]), rnd.randint(1, 3)
    groups = rnd.sample(feed.columns, min(len(feed.columns), rnd.randint(1, 2)))
    made = aggregate(rnd, feed.columns, odd=False)
    names = ", ".join(one.sql for one in groups)
    ts = quoted(feed.ts)
    direction = rnd.choice(["", " DESC"])
    cut = f"SELECT window_end, {names}, {made.sql} AS a0 FROM s [RANGE {feed.clock.sql_span(size)}, WATTR {ts}] "
    cut += f"GROUP BY {names}"
    text = f"{cut} ORDER BY a0{direction} LIMIT {n}"
    if rnd.random() < 0.5:
        number = f"ROW_NUMBER() OVER (PARTITION BY window_end ORDER BY a0{direction})"
        text = rnd.choice(
            [
                f"SELECT * FROM ({cut}) QUALIFY {number} <= {n}",
                f"SELECT window_end, {names}, a0 FROM (SELECT *, {number} AS place FROM ({cut})) WHERE place <= {n}",
            ]
        )

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        rows = [row for row in accepted["s"] if row[TICK] is not None]
        out: list[Row] = []
        for w, held in oracle.sliding(rows, TICK, size, size).items():
            every = [defined({"a0": made}, group) for group in split(held, tuple(one.name for one in groups))]
            found = [one["a0"] for one in every if UNFIT not in one]
            out += [one for one in every if UNFIT in one]
            there = sorted((one for one in found if one is not None), key=order_of, reverse=bool(direction))
            first = [*there, *(one for one in found if one is None)][:n]
            out += [{"window_end": feed.clock.value((w + 1) * size), "a0": one} for one in first]
        return out

    near = frozenset(["a0"]) if made.near else frozenset[str]()
    return Question(
        what=text, ask=lambda engine, _: engine.sql(text), near=near, answer=answer, columns=("window_end", "a0")
    )


def wide(rnd: random.Random, feed: Feed) -> Question:
    """Several ranges side by side: a row for each end of a window and each group."""
    sizes = rnd.sample([2, 5, 6, 10, 15, 30], rnd.randint(2, 3))
    slide = rnd.choice([5, 10, 3, None])
    span, value = feed.clock.span, feed.clock.value
    keys = tuple(one.name for one in rnd.sample(feed.columns, min(len(feed.columns), rnd.choice([0, 1, 2]))))
    tame = [one for one in feed.columns if one.tame]  # a sum that does not fit takes the counts of its range with it
    made = {f"a{i}": aggregate(rnd, tame, odd=False) for i in range(rnd.randint(1, 3))}
    options: dict[str, Any] = {"range": [span(size) for size in sizes]}
    options |= {} if slide is None else {"slide": span(slide)}

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        cut = streams["s"].window(feed.ts, **options).group_by(*keys)
        return cut.agg(**{name: one.call for name, one in made.items()}, wide=True)

    def answer(accepted: dict[str, list[Row]]) -> list[Row]:
        rows = [row for row in accepted["s"] if row[TICK] is not None]
        found: dict[tuple[int, int], list[Row]] = {}
        for size in sizes:
            step = slide or size
            for w, held in oracle.sliding(rows, TICK, size, step).items():
                found[(w + 1) * step, size] = held
        out: list[Row] = []
        for end in {end for end, _ in found}:
            every = [row for size in sizes for row in found.get((end, size), [])]
            for group in split(every, keys):
                (mark,) = {tuple(key_of(row[name]) for name in keys) for row in group}
                line = {"window_end": value(end), **{name: group[0][name] for name in keys}}
                for size in sizes:
                    own = [r for r in found.get((end, size), []) if tuple(key_of(r[name]) for name in keys) == mark]
                    line |= {f"{name}_{feed.clock.label(size)}": one.define(own) for name, one in made.items()}
                out.append(line)
        return out

    near = frozenset(f"{name}_{feed.clock.label(size)}" for name, one in made.items() if one.near for size in sizes)
    what = f"wide {options} by {keys} of {[one.sql for one in made.values()]}"
    return Question(what=what, ask=ask, answer=answer, near=near)


KINDS = (chain, whole, limited, limited, wide, wide)
