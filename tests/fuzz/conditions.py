"""Conditions that both SQL and plain Python can say: three-valued, NaN the greatest, texts by their bytes."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fuzz.values import Column, Row


@dataclass(frozen=True)
class Condition:
    """An SQL text, and what it means for a row: true, false or unknown (None)."""

    text: str
    test: Callable[[Row], bool | None]


def order_of(value: Any) -> Any:
    """A key to sort values of one type by."""
    if isinstance(value, float):
        return (1, 0.0) if math.isnan(value) else (0, value)
    return value.encode() if isinstance(value, str) else value


def condition(rnd: random.Random, columns: Sequence[Column], depth: int = 2) -> Condition:
    """A condition at random."""
    if depth and rnd.random() < 0.4:
        a, b = condition(rnd, columns, depth - 1), condition(rnd, columns, depth - 1)
        match rnd.choice(["and", "or", "not"]):
            case "and":
                return Condition(f"({a.text}) AND ({b.text})", lambda row: _and(a.test(row), b.test(row)))
            case "or":
                return Condition(
                    f"({a.text}) OR ({b.text})", lambda row: _not(_and(_not(a.test(row)), _not(b.test(row))))
                )
            case _:
                return Condition(f"NOT ({a.text})", lambda row: _not(a.test(row)))
    if not columns or rnd.random() < 0.04:
        return rnd.choice([Condition("TRUE", lambda _: True), Condition("1 = 2", lambda _: False)])
    return _leaf(rnd, rnd.choice(columns))


def _leaf(rnd: random.Random, one: Column) -> Condition:
    name, sql = one.name, one.sql
    there = [value for value in one.pool if value is not None]
    if not there or rnd.random() < 0.2:
        if rnd.random() < 0.5:
            return Condition(f"{sql} IS NULL", lambda row: row[name] is None)
        return Condition(f"{sql} IS NOT NULL", lambda row: row[name] is not None)
    value = rnd.choice(there)
    if rnd.random() < 0.2:
        some = rnd.sample(there, min(len(there), 2))
        keys = [order_of(v) for v in some]
        text = ", ".join(one.literal(v) for v in some)
        return Condition(f"{sql} IN ({text})", lambda row: _known(row[name], lambda key: key in keys))
    sign = rnd.choice(["=", "<>", "<", "<=", ">", ">="])
    right = order_of(value)
    return Condition(
        f"{sql} {sign} {one.literal(value)}", lambda row: _known(row[name], lambda key: SIGNS[sign](key, right))
    )


SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def _known(value: Any, test: Callable[[Any], bool]) -> bool | None:
    return None if value is None else test(order_of(value))


def _and(a: bool | None, b: bool | None) -> bool | None:  # noqa: FBT001 - a truth value
    if a is False or b is False:
        return False
    return None if a is None or b is None else True


def _not(a: bool | None) -> bool | None:  # noqa: FBT001 - a truth value
    return None if a is None else not a
