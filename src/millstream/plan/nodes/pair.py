"""Pairs: what nodes that give rows partners have in common."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import pyarrow as pa

from millstream.core.contract.scheme import Scheme
from millstream.core.domain import Domain
from millstream.core.expression import Expression
from millstream.core.promise.near import Near
from millstream.plan.horizon import Horizon, Lag
from millstream.plan.lag import SKEW, Promises, longest, used
from millstream.plan.nodes.base import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinColumn:
    """A column of a pair of rows: its name there, the side it is from (0 is left) and its name on that side."""

    name: str
    side: int
    column: str


def sided(columns: tuple[JoinColumn, ...]) -> list[tuple[str, int, str]]:
    """As plain tuples: name, side, name there."""
    return [(one.name, one.side, one.column) for one in columns]


def read_columns(
    columns: tuple[JoinColumn, ...], schema: pa.Schema, condition: Expression | None, needed: set[str]
) -> tuple[JoinColumn, ...]:
    """The columns of a pair or combination that somebody asks for, or its condition; one at least that leaves."""
    read = () if condition is None else condition.columns
    kept = tuple(one for one in columns if one.name in needed or one.name in read)
    if any(one.name in schema.names for one in kept):
        return kept
    return (*kept, next(one for one in columns if one.name in schema.names))


def asked_fields(kept: tuple[JoinColumn, ...], schema: pa.Schema, needed: set[str]) -> pa.Schema:
    """What leaves, where these columns are kept: what is asked for, or one column to carry the rows."""
    names = needed & {one.name for one in kept} or {kept[-1].name}
    return pa.schema([field for field in schema if field.name in names])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TwoSided(Node):
    """A node that keeps rows of two inputs until no partner can come for them."""

    stateful: ClassVar[bool] = True

    inputs: tuple[Node, Node]
    keys: tuple[tuple[str, str], ...]
    """Columns that must be equal, left and right."""
    domain: Domain | None = None
    """Of the attributes that must be near."""

    def reads(self) -> tuple[Node, ...]:
        """Left and right."""
        return self.inputs

    def over(self, below: tuple[Node, ...]) -> Self:
        """The same over others."""
        return replace(self, inputs=(below[0], below[1]))

    def meets_on(self, port: int = 0) -> tuple[str, ...]:
        """The keys of a side."""
        return tuple(pair[port] for pair in self.keys)

    def near(self) -> Near | None:
        """How near in time partners must be, where that decides in which partitions rows can meet."""
        return None

    def home(self) -> int | None:
        """The side whose rows must each be in one place, where rows meet by time alone; None: both."""
        return None

    @abstractmethod
    def near_lag(self) -> Lag:
        """How far apart the rows of a pair may be."""

    @abstractmethod
    def times(self) -> tuple[str, str] | None:
        """The attributes of each side that must be near, if they must."""

    def outgoing(self, incoming: Sequence[Promises], out: Scheme, *, ends: bool) -> Promises:
        """The longest lag, how far the rows of a pair are apart, and the inputs."""
        every = [lag for promises in incoming for lag in promises.values()]
        return {one: (*self.near_lag(), *longest(every), SKEW) for one in out}

    def horizon(self, incoming: Sequence[Promises]) -> Horizon:
        """By the lags of both sides."""
        found = used(self.form(), incoming)
        timed = [one for one, _ in found if one.up_to]
        if not timed:
            return Node.horizon(self, incoming)
        attribute, lags = timed[0].up_to[0], [lag for _, lag in found]
        domain = self.domain or self.inputs[0].domain_at(attribute)
        return Horizon.over(attribute, (*self.near_lag(), *longest(lags), SKEW), domain)

    def asks(self) -> Iterator[tuple[Node, str, bool]]:
        """Of each side its time, by order, and its keys, by value."""
        times = self.times()
        for side, at in enumerate(self.inputs):
            if times is not None:
                yield at, times[side], True
            yield from ((at, name, False) for name in self.meets_on(side))
