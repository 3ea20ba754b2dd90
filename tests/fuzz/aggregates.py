"""Aggregates as they are called, as SQL says them, and by the definition over plain rows."""

from __future__ import annotations

import math
import random
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa

import millstream as ms
from fuzz.compare import key_of
from fuzz.conditions import Condition, condition, order_of
from fuzz.values import TICK, Column, Row


class DoesNotFitError(Exception):
    """A sum outside its type: the result is rejected, and the others are not."""


UNFIT = "__unfit"
"""Marks a result that is rejected."""


def defined(made: Mapping[str, Aggregate], group: list[Row]) -> Row:
    """All aggregates of a group; only a mark if one of them does not fit."""
    try:
        return {name: one.define(group) for name, one in made.items()}
    except DoesNotFitError:
        return {UNFIT: True}


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a question."""

    call: Any
    sql: str | None
    """None where statements have no word for it."""
    define: Callable[[list[Row]], Any]
    near: bool = False
    """Is it computed in floats, in any order?"""


def aggregate(rnd: random.Random, columns: Sequence[Column], *, ends: bool = True, odd: bool = True) -> Aggregate:
    """An aggregate at random; `ends` allows first and last, for windows on an attribute, `odd` lists and functions."""
    made = own_aggregate(rnd, columns) if odd and rnd.random() < 0.1 else _plain(rnd, columns, ends=ends, odd=odd)
    if rnd.random() < 0.75:
        return made
    only = condition(rnd, columns, 1)
    return Aggregate(
        made.call.where(only.text),
        made.sql and f"{made.sql} FILTER (WHERE {only.text})",
        lambda rows: made.define([row for row in rows if only.test(row)]),
        made.near,
    )


def _plain(rnd: random.Random, columns: Sequence[Column], *, ends: bool, odd: bool) -> Aggregate:
    if not columns or rnd.random() < 0.15:
        return Aggregate(ms.count(), "count(*)", len)
    one, other = rnd.choice(columns), rnd.choice(columns)
    choices = ["count", "min", "max", "count_distinct", "mode", "by", "bool"]
    choices += ["ends"] if ends else []
    choices += ["heavy"] if odd else []
    if one.numeric and (one.tame or (one.kind.startswith("int") and rnd.random() < 0.2)):
        choices += ["sum", "avg", "sum", "avg"]
        if one.tame and one.kind.startswith("int"):
            choices += ["stddev", "stddev_pop", "variance", "var_pop", "quantile", "median"]
    match rnd.choice(choices):
        case "by":
            least = rnd.random() < 0.5
            fn, word = (ms.min_by, "min_by") if least else (ms.max_by, "max_by")
            text = f"{word}({one.sql}, {other.sql})"
            return Aggregate(fn(one.sql, other.sql), text, lambda rows: _by(rows, one.name, other.name, least=least))
        case "ends":
            first = rnd.random() < 0.5
            fn, word = (ms.first, "first") if first else (ms.last, "last")
            return Aggregate(fn(one.sql), f"{word}({one.sql})", lambda rows: _by(rows, one.name, TICK, least=first))
        case "bool":
            return _bool(rnd, condition(rnd, columns, 1))
        case "quantile":
            q = rnd.choice([0.0, 0.1, 0.5, 0.9, 1.0])
            text = f"quantile({one.sql}, {q})"
            return Aggregate(ms.quantile(one.sql, q), text, lambda rows: _quantile(_there(rows, one), q), near=True)
        case "heavy":
            share = rnd.choice([0.2, 0.5, 1.0])
            text = f"heavy_hitters({one.sql}, {share})"
            return Aggregate(ms.heavy_hitters(one.sql, share), text, lambda rows: _heavy(_there(rows, one), share))
        case "count_distinct":
            text = f"count(DISTINCT {one.sql})"
            return Aggregate(ms.count_distinct(one.sql), text, lambda rows: len(set(map(key_of, _there(rows, one)))))
        case word:
            call, define, near = SIMPLE[word]
            return Aggregate(call(one.sql), f"{word}({one.sql})", lambda rows: define(_there(rows, one)), near)


def _there(rows: list[Row], one: Column) -> list[Any]:
    return [row[one.name] for row in rows if row[one.name] is not None]


def _sum(values: list[Any]) -> Any:
    if not values:
        return None
    total = sum(values, type(values[0])(0))
    if isinstance(total, int) and not -(2**63) <= total < 2**63:
        raise DoesNotFitError
    return total


def _avg(values: list[Any]) -> Any:
    if not values:
        return None
    if isinstance(values[0], Decimal):
        exact = Fraction(sum(values)) / len(values) * 10**6
        whole = Decimal(exact.numerator) / Decimal(exact.denominator)
        return whole.quantize(Decimal(1), ROUND_HALF_UP).scaleb(-6)
    if isinstance(values[0], float):
        return sum(values) / len(values)
    return float(Fraction(sum(values), len(values)))


def _variance(values: list[Any]) -> float | None:
    return float(statistics.variance(map(Fraction, values))) if len(values) > 1 else None


def _var_pop(values: list[Any]) -> float | None:
    return float(statistics.pvariance(map(Fraction, values))) if values else None


def _root(value: float | None) -> float | None:
    return None if value is None else math.sqrt(value)


def _heavy(values: list[Any], share: float) -> list[Row]:
    """The most frequent first, and of those the smallest."""
    times = Counter(map(key_of, values))
    firsts = {key_of(value): value for value in reversed(values)}
    heavy = [(n, firsts[key]) for key, n in times.items() if n >= share * len(values)]
    return [{"value": one, "count": n} for n, one in sorted(heavy, key=lambda pair: (-pair[0], order_of(pair[1])))]


def _mode(values: list[Any]) -> Any:
    times = Counter(map(key_of, values))
    most = [value for value in values if times[key_of(value)] == max(times.values())]
    return min(most, key=order_of, default=None)


def _by(rows: list[Row], value: str, key: str, *, least: bool) -> Any:
    there = [row for row in rows if row[value] is not None and row[key] is not None]
    if not there:
        return None
    best = (min if least else max)((row[key] for row in there), key=order_of)
    return min((row[value] for row in there if key_of(row[key]) == key_of(best)), key=order_of)


def _quantile(values: list[Any], q: float) -> float | None:
    if not values:
        return None
    ordered = sorted(map(float, values))
    at = q * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def _bool(rnd: random.Random, of: Condition) -> Aggregate:
    every = rnd.random() < 0.5
    fn, word = (ms.bool_and, "bool_and") if every else (ms.bool_or, "bool_or")

    def define(rows: list[Row]) -> bool | None:
        found = [one for one in map(of.test, rows) if one is not None]
        return (all(found) if every else any(found)) if found else None

    return Aggregate(fn(of.text), f"{word}({of.text})", define)


SIMPLE: dict[str, tuple[Any, Callable[[list[Any]], Any], bool]] = {
    "count": (ms.count, len, False),
    "sum": (ms.sum, _sum, False),
    "avg": (ms.avg, _avg, False),
    "min": (ms.min, lambda values: min(values, key=order_of, default=None), False),
    "max": (ms.max, lambda values: max(values, key=order_of, default=None), False),
    "mode": (ms.mode, _mode, False),
    "stddev": (ms.stddev, lambda values: _root(_variance(values)), True),
    "stddev_pop": (ms.stddev_pop, lambda values: _root(_var_pop(values)), True),
    "variance": (ms.variance, _variance, True),
    "var_pop": (ms.var_pop, _var_pop, True),
    "median": (ms.median, lambda values: _quantile(values, 0.5), True),
}


def own_aggregate(rnd: random.Random, columns: Sequence[Column]) -> Aggregate:
    """An aggregate in Python, holistic or algebraic: the values as one text, or their number and the greatest."""
    if not columns:
        return Aggregate(ms.count(), "count(*)", len)
    one, other = rnd.choice(columns), rnd.choice(columns)
    match rnd.choice(["texts", "pairs", "lifted"]):
        case "texts":
            call = ms.udaf(_texts, one.sql, returns="string")
            return Aggregate(call, None, lambda rows: _joined(map(_text, _there(rows, one))))
        case "pairs":
            call = ms.udaf(_pairs, one.sql, other.sql, returns="string")

            def pairs(rows: list[Row]) -> str | None:
                there = [row for row in rows if row[one.name] is not None and row[other.name] is not None]
                return _joined(_text(row[one.name]) + _text(row[other.name]) for row in there)

            return Aggregate(call, None, pairs)
        case _:
            call = ms.udaf_algebraic(
                one.sql, lift=_lift, combine=_combine, lower=lambda p: f"{p['n']} {p['top']}",
                partial=pa.struct([("n", "int64"), ("top", "string")]), returns="string",
            )  # fmt: skip

            def lifted(rows: list[Row]) -> str | None:
                texts = list(map(_text, _there(rows, one)))
                return f"{len(texts)} {max(texts)}" if texts else None

            return Aggregate(call, None, lifted)


def _text(value: Any) -> str:
    return f"<{key_of(value)}>"


def _joined(texts: Iterable[str]) -> str | None:
    return "|".join(sorted(texts)) or None


def _texts(values: pa.Array) -> str | None:
    return _joined(map(_text, values.to_pylist()))


def _pairs(values: pa.Array, others: pa.Array) -> str | None:
    return _joined(_text(a) + _text(b) for a, b in zip(values.to_pylist(), others.to_pylist(), strict=True))


def _lift(values: pa.Array) -> Row:
    texts = list(map(_text, values.to_pylist()))
    return {"n": len(texts), "top": max(texts)}


def _combine(a: Row, b: Row) -> Row:
    return {"n": a["n"] + b["n"], "top": max(a["top"], b["top"])}
