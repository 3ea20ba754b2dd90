"""Expressions at random over edge values of every type: each function's own cases, and compositions of them.

They are the cases of `support/function_cases.py`, put into each other. What a case means by itself is compared with
Spark's answer in `tests/spark/test_functions.py`; here hosts agree, and a condition, its negation and where it is
unknown are all rows.
"""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pyarrow as pa

import millstream as ms
from fuzz.clock import Clock
from fuzz.feed import Feed
from fuzz.question import Question, Streams
from fuzz.values import TICK
from millstream.core.settings import Settings
from millstream.kernels.expressions.evaluate import type_of
from millstream.sql.expression import expression
from support.function_cases import FUNCTIONS, NEARLY, OPERATORS, table

EDGES = table()
ROWS = EDGES.to_pylist()


class EdgeFeed(Feed):
    """A stream of the edge values of function_cases."""

    @property
    def schema(self) -> pa.Schema:
        """All of their columns."""
        return pa.schema([(self.ts, self.clock.type), *EDGES.schema, ("id", pa.int64())])


def edges(rnd: random.Random) -> Feed:
    """Some of the rows, in some epochs, in order."""
    rows = [{TICK: i // 2, **rnd.choice(ROWS), "id": i} for i in range(rnd.choice([0, 1, 8, 25]))]
    for row in rows:
        for name in rnd.sample(EDGES.schema.names, 8):
            row[name] = rnd.choice(ROWS)[name]
    cuts = sorted(rnd.randint(0, len(rows)) for _ in range(rnd.randint(0, 3)))
    epochs = [rows[a:b] for a, b in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
    return EdgeFeed("s", Clock("int64"), "at", (), epochs, rnd.choice(["ordered", "none"]))


@cache
def by_kind() -> dict[str, list[tuple[str, bool]]]:
    """The cases by the type that they answer, and whether their last bits are uncertain."""
    out: dict[str, list[tuple[str, bool]]] = {}
    for name, texts in {**OPERATORS, **FUNCTIONS}.items():
        for text in texts:
            kind = str(type_of(expression(text, EDGES.schema, Settings()), EDGES.schema))
            out.setdefault(kind, []).append((text, name in NEARLY))
    return out


def _any(rnd: random.Random, kind: str) -> tuple[str, bool]:
    return rnd.choice(by_kind()[kind])


def expressed(rnd: random.Random, depth: int = 2) -> tuple[str, bool]:
    """An expression, and whether it is a float whose last bits are uncertain."""
    kind = rnd.choice(list(by_kind()))
    return _of(rnd, kind, depth)


def _of(rnd: random.Random, kind: str, depth: int) -> tuple[str, bool]:
    if not depth or rnd.random() < 0.3:
        return _any(rnd, kind)
    (a, x), (b, y) = _of(rnd, kind, depth - 1), _of(rnd, kind, depth - 1)
    forms = [f"CASE WHEN {predicate(rnd, depth - 1)} THEN ({a}) ELSE ({b}) END", f"coalesce(({a}), ({b}))"]
    forms += [f"if({predicate(rnd, depth - 1)}, ({a}), ({b}))", f"nvl(({a}), ({b}))"]
    if kind in ("int32", "int64", "double", "float"):
        forms += [f"({a}) {op} ({b})" for op in "+-*"] + [f"abs({a})", f"greatest(({a}), ({b}))", f"-({a})"]
    if kind == "string":
        inner, _ = _any(rnd, rnd.choice(["int32", "int64", "bool", "string"]))
        forms += [f"concat(({a}), ({b}))", f"upper({a})", f"substring(({a}), 2, 3)", f"cast(({inner}) AS STRING)"]
        forms += [f"lpad(({a}), 5, '*')", f"trim({a})", f"reverse({a})", f"replace(({a}), 'a', 'é')"]
    if kind == "bool":
        return predicate(rnd, depth), False
    return rnd.choice(forms), x or y


def predicate(rnd: random.Random, depth: int = 2) -> str:
    """A condition."""
    if not depth or rnd.random() < 0.2:
        return f"({_any(rnd, 'bool')[0]})"
    if rnd.random() < 0.5:
        a, b = predicate(rnd, depth - 1), predicate(rnd, depth - 1)
        return rnd.choice([f"({a} AND {b})", f"({a} OR {b})", f"(NOT {a})", f"({a} IS NULL)", f"({a} IS NOT TRUE)"])
    kind = rnd.choice(["int32", "int64", "double", "string", "date32[day]"])
    (a, x), (b, y) = _of(rnd, kind, depth - 1), _of(rnd, kind, depth - 1)
    if x or y:  # a last bit must not decide
        return f"(({a}) IS NULL)"
    op = rnd.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    return f"(({a}) {op} ({b}))"


def selected(rnd: random.Random, _feed: Feed) -> Question:
    """Computed columns."""
    made = [expressed(rnd) for _ in range(rnd.randint(1, 4))]
    texts = [f"{text} AS x{i}" for i, (text, _) in enumerate(made)]

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        return streams["s"].select("id", *texts)

    near = frozenset(f"x{i}" for i, (_, rough) in enumerate(made) if rough)
    return Question(what=f"select {texts}", ask=ask, near=near, sql=f"SELECT id, {', '.join(texts)} FROM s")


def partitioned(rnd: random.Random, _feed: Feed) -> Question:
    """A condition, its negation and where it is unknown: each row once, or rejected."""
    text = predicate(rnd)

    def where(condition: str) -> Any:
        return lambda _, streams: streams["s"].where(condition).select("id")

    parts = tuple(where(one) for one in (text, f"NOT {text}", f"{text} IS NULL"))
    return Question(what=f"where {text}", ask=parts[0], parts=parts)


def measured(rnd: random.Random, _feed: Feed) -> Question:
    """Aggregates of expressions, with a filter that is one."""
    texts = [expressed(rnd, 1) for _ in range(2)]
    only = predicate(rnd, 1)

    def ask(_: ms.Engine, streams: Streams) -> ms.Query:
        cut = streams["s"].window("at", range=4)
        return cut.agg(
            n=ms.count(texts[0][0], filter=only), d=ms.count(filter=only), c=ms.count(f"nvl2(({texts[1][0]}), 1, NULL)")
        )

    return Question(what=f"count({texts[0][0]}), count({texts[1][0]}) where {only}", ask=ask)


KINDS = (selected, selected, partitioned, measured)
