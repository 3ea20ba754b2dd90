"""Feedback in the words of a user: what a reader of a query ignores, wants first, or needs now."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.core.contract.feedback import expires
from millstream.core.contract.scheme import Scheme
from millstream.core.domain import Domain, Kind
from millstream.core.errors import PatternError, PlanError, SchemaError, WindowError, nearest
from millstream.core.feedback import Feedback, Intent
from millstream.core.pattern import Between, Equal, From, OneOf, Pattern, UpTo, ValuePattern, value_meet
from millstream.kernels.ticks import domain_of
from millstream.plan import nodes
from millstream.plan.check import offered
from millstream.sql.conditions import conditions

if TYPE_CHECKING:
    from millstream.api.query import Query
    from millstream.api.stream import Stream
    from millstream.runtime.changes import Change


LEASE = 1000
"""For so many epochs feedback holds that no punctuation can pass, if its reader names no number."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition on a column, in the user's own values."""

    column: str
    sign: str
    """`<`, `<=`, `>`, `>=`, `=` or `in`."""
    value: Any


@dataclass(frozen=True, slots=True)
class Said:
    """Feedback in the user's own values, not yet bound to a query."""

    intent: Intent
    conditions: tuple[Condition, ...]
    ttl: int | None = None

    def __post_init__(self) -> None:
        """Refuse what says nothing, and a time that is none."""
        if not self.conditions:
            raise PatternError(
                f"this {self.intent.value} feedback has no condition, so it speaks of every row",
                hint='Say which rows: ms.assumed("segment < 4"). To want no row at all, drop the query.',
            )
        if self.ttl is not None and (type(self.ttl) is not int or self.ttl < 1):
            raise PatternError(f"ttl={self.ttl!r} is no number of epochs", hint="Give a whole number of at least 1.")


def assumed(text: str = "", *, ttl: int | None = None, **equal: Any) -> Said:
    """Rows that the reader will ignore: those that satisfy all conditions.

    Conditions are text, as in SQL: columns compared with values, joined by AND; or columns and their values.
    `ttl` is for how many epochs it holds. Without it, until punctuation has passed it; what no punctuation can pass
    holds for 1,000 epochs. Send it again to renew it.

    >>> assumed("segment < 4", road="I-5").conditions[1]
    Condition(column='road', sign='=', value='I-5')
    """
    return _said(Intent.ASSUMED, text, ttl, equal)


def desired(text: str = "", *, ttl: int | None = None, **equal: Any) -> Said:
    """Rows that the reader wants before the others; conditions as in `assumed`.

    >>> desired(segment=3).intent.value
    'desired'
    """
    return _said(Intent.DESIRED, text, ttl, equal)


def demanded(text: str = "", *, ttl: int | None = None, **equal: Any) -> Said:
    """Results that the reader needs now, even if they are partial; conditions as in `assumed`.

    They are in `query.partial`, with `is_final` false, after the next epoch, or after each of the next `ttl` ones.

    >>> demanded(segment=3).intent.value
    'demanded'
    """
    return _said(Intent.DEMANDED, text, ttl, equal)


def _said(intent: Intent, text: str, ttl: int | None, equal: dict[str, Any]) -> Said:
    written = [Condition(*one) for one in conditions(text)] if text.strip() else []
    named = [Condition(name, "in" if isinstance(one, list | set | tuple) else "=", one) for name, one in equal.items()]
    return Said(intent, (*written, *named), ttl)


class Sent:
    """Feedback that was sent to a query. It is in force until it expires or is withdrawn with `cancel`."""

    def __init__(self, query: Query, bound: tuple[Feedback, ...]) -> None:
        """What was `bound` to the query's columns."""
        self.query = query
        self.bound = bound
        self._told: tuple[Change, int] | None = None

    def told(self, change: Change, at: int) -> None:
        """It goes to the host with a change, in which it is `at` a place; a run makes it between two epochs."""
        self._told = change, at

    @property
    def numbers(self) -> list[int]:
        """What the host calls it, once it is in force."""
        if self._told is None:
            return []
        change, at = self._told
        return change.numbers[at : at + len(self.bound)]

    @property
    def in_force(self) -> bool:
        """Is it heeded now?"""
        return any(self.query.engine.host.feedback.in_force(number) for number in self.numbers)

    def cancel(self) -> None:
        """Withdraw it: rows leave again from the next epoch on, and results as soon as they are whole again."""
        self.query.engine._live.withdraw(self)


def bind(said: Said, query: Query) -> tuple[Feedback, ...]:
    """The feedback in ticks, one message for each combination of separate times.

    What no punctuation can pass, by the contracts of the plan, gets a limit if it has none.
    """
    patterns = patterns_of(said, query.node.schema)
    ttl = said.ttl
    if ttl is None and said.intent is Intent.DEMANDED:
        ttl = 1
    elif ttl is None and _lasts(patterns, query):
        ttl = LEASE
    return tuple(Feedback(said.intent, one, ttl) for one in patterns)


def patterns_of(said: Said, schema: pa.Schema) -> list[Pattern]:
    """What is said of rows with these columns, in ticks."""
    found: dict[str, list[ValuePattern]] = {}
    for one in said.conditions:
        if one.column not in schema.names:
            raise SchemaError(
                f"the {said.intent.value} feedback names {one.column!r}, which is no column of the query",
                hint=nearest(one.column, schema.names),
            )
        more = _values(one, schema.field(one.column).type)
        met = [both for a in found.get(one.column, more) for b in more if (both := _met(a, b, one.column)) is not None]
        if not met:
            raise PatternError(f"no value of {one.column!r} satisfies what is said of it", hint="Leave one out.")
        found[one.column] = met
    return [Pattern(dict(zip(found, chosen, strict=True))) for chosen in product(*found.values())]


def instrument_node(
    stream: Stream, said: Said | None, on: Sequence[str], every: int, *, once: bool
) -> nodes.Instrument:
    """The node, or what is wrong with it."""
    if (said is None) == (not on) or type(every) is not int or every < 1:
        raise PlanError(
            f"an instrument with said={said!r}, on={list(on)} and every={every!r} does not know what to say, or when",
            hint='Say what it ignores, ms.assumed("ts < 100"), or name columns, on=["sensor"]; every=1 or more.',
        )
    if said is not None and said.intent is not Intent.ASSUMED:
        raise PlanError(f"an instrument says what is assumed, not {said.intent.value}", hint="Use ms.assumed(…).")
    for name in on:
        if name not in stream.schema.names:
            raise SchemaError(f"there is no column {name!r}", hint=nearest(name, stream.schema.names))
    told = () if said is None else tuple(patterns_of(said, stream.schema))
    return nodes.Instrument(input=stream.node, every=every, once=once, told=told, on=tuple(on))


def _met(a: ValuePattern, b: ValuePattern, column: str) -> ValuePattern | None:
    try:
        return value_meet(a, b)
    except TypeError as error:
        raise PatternError(f"values of {column!r} do not compare: {error}", hint="Give values of its type.") from error


def _values(one: Condition, kind: pa.DataType) -> list[ValuePattern]:
    """What a condition says of a column of some type; several where values of a set are told apart by their ticks."""
    try:
        domain: Domain | None = domain_of(kind)
    except WindowError:
        domain = None
    if one.sign == "in":
        values = [_value(item, kind, one.column) for item in one.value]
        if not values:
            raise PatternError(f"{one.column!r} is one of no values", hint="Name at least one.")
        if domain is not None and domain.kind is not Kind.INTEGER:
            return [_within(item, item, domain, one.column) for item in one.value]
        return [OneOf(frozenset(values))]
    if one.sign == "=":
        if domain is not None and domain.kind is not Kind.INTEGER:
            return [_within(one.value, one.value, domain, one.column)]
        return [Equal(_value(one.value, kind, one.column))]
    if domain is not None:
        tick = domain.point(one.value, what=f"bound on {one.column}")
        above = tick + (1 if one.sign in ("<=", ">") else 0)
    else:
        value = _value(one.value, kind, one.column)
        above = _next(value) if one.sign in ("<=", ">") else value
    return [UpTo(above) if one.sign in ("<", "<=") else From(above)]


def _within(low: Any, high: Any, domain: Domain, column: str) -> ValuePattern:
    first = domain.point(low, what=f"value of {column}")
    return Between(first, domain.point(high, what=f"value of {column}") + 1)


def _value(value: Any, kind: pa.DataType, column: str) -> Any:
    if value is None:
        raise PatternError(f"feedback names null as a value of {column!r}", hint="A null is matched by no condition.")
    try:
        return pa.scalar(value, kind).as_py()
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError, OverflowError) as error:
        raise PatternError(f"{value!r} is not a value of {column!r} ({kind})", hint="Give one of its type.") from error


def _next(value: Any) -> Any:
    """The least value above a number or a text."""
    if isinstance(value, float):
        return math.nextafter(value, math.inf)
    if isinstance(value, str):
        return value + "\0"
    raise PatternError(f"values such as {value!r} have no next one", hint="Use `<` or `>=`, or name the values.")


def _lasts(patterns: Iterable[Pattern], query: Query) -> bool:
    """Is there one that no punctuation can pass? It would stay for ever, so it has a limit."""
    schemes = query.promised
    return not all(any(expires(one, scheme) for scheme in schemes) for one in patterns)


def promised(root: nodes.Node) -> frozenset[Scheme]:
    """What may be promised of the rows that leave, by the contracts of the plan."""
    plan = offered(root, {})
    return frozenset(row.out for row in plan.offerings[id(root)])


def send(query: Query, said: Any) -> Sent:
    """Have a query's operators heed what its reader says, from the next epoch on."""
    if not isinstance(said, Said):
        raise PlanError(
            f"{said!r} is no feedback", hint='Use ms.assumed("segment < 4"), ms.desired(…) or ms.demanded(…).'
        )
    sent = Sent(query, bind(said, query))
    query.engine._live.say(sent)
    return sent
