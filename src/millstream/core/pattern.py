"""Patterns: which rows a punctuation or a feedback speaks of, attribute by attribute.

Six forms: any, equal, up-to, from, between, one-of. Ranges are half-open: `UpTo(v)` is every value
below v. A null matches only `Any`. Integers are discrete, so `Between(3, 4)` and `Equal(3)` are the same
set and `subsumes` knows it; tests/laws/test_pattern.py holds all three questions to enumeration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from millstream.core.errors import PatternError
from millstream.core.key import canonical


@dataclass(frozen=True, slots=True)
class AnyValue:
    """Every value, and null."""

    def __str__(self) -> str:
        """As written in a transcript."""
        return "*"


@dataclass(frozen=True, slots=True)
class Equal:
    """Just this value."""

    value: Any

    def __post_init__(self) -> None:
        """Keep the value that stands for its equals."""
        object.__setattr__(self, "value", canonical(self.value))

    def __str__(self) -> str:
        """As written in a transcript."""
        return f"= {self.value}"


@dataclass(frozen=True, slots=True)
class UpTo:
    """Every value below `bound`."""

    bound: Any

    def __str__(self) -> str:
        """As written in a transcript."""
        return f"< {self.bound}"


@dataclass(frozen=True, slots=True)
class From:
    """Every value at or above `bound`."""

    bound: Any

    def __str__(self) -> str:
        """As written in a transcript."""
        return f">= {self.bound}"


@dataclass(frozen=True, slots=True)
class Between:
    """Every value at or above `low` and below `high`."""

    low: Any
    high: Any

    def __post_init__(self) -> None:
        """Refuse the empty range: a pattern that matches nothing says nothing."""
        if not self.low < self.high:
            raise PatternError(
                f"between {self.low} and {self.high} is empty",
                hint="Ranges are half-open: the high end must be above the low end.",
            )

    def __str__(self) -> str:
        """As written in a transcript."""
        return f"in [{self.low}, {self.high})"


@dataclass(frozen=True, slots=True)
class OneOf:
    """Any of these values."""

    values: frozenset[Any]

    def __post_init__(self) -> None:
        """Refuse the empty set, for the same reason."""
        if not self.values:
            raise PatternError("one-of has no values", hint="Name at least one value.")
        object.__setattr__(self, "values", frozenset(map(canonical, self.values)))

    def __str__(self) -> str:
        """As written in a transcript."""
        return f"in ({', '.join(sorted(map(str, self.values)))})"


ValuePattern: TypeAlias = AnyValue | Equal | UpTo | From | Between | OneOf
ANY = AnyValue()


def value_matches(pattern: ValuePattern, value: Any) -> bool:
    """Does `value` belong to the pattern?

    >>> value_matches(UpTo(5), 4), value_matches(UpTo(5), 5), value_matches(UpTo(5), None)
    (True, False, False)
    """
    if isinstance(pattern, AnyValue):
        return True
    if value is None:
        return False
    value = canonical(value)
    points = _points(pattern)
    if points is not None:
        return value in points
    low, high = _range(pattern)
    return (low is None or value >= low) and (high is None or value < high)


def value_subsumes(outer: ValuePattern, inner: ValuePattern) -> bool:
    """Is every value of `inner` also one of `outer`?

    >>> value_subsumes(OneOf(frozenset({1, 2, 3})), Between(1, 3)), value_subsumes(UpTo(3), Equal(3))
    (True, False)
    """
    if isinstance(outer, AnyValue):
        return True
    if isinstance(inner, AnyValue):
        return False
    points = _points(inner)
    if points is not None:
        return all(value_matches(outer, value) for value in points)
    wanted = _points(outer)
    low, high = _range(inner)
    if wanted is not None:
        # Only a finite discrete range can hide inside a finite set.
        if type(low) is not int or type(high) is not int or high - low > len(wanted):
            return False
        return all(value in wanted for value in range(low, high))
    outer_low, outer_high = _range(outer)
    above = outer_low is None or (low is not None and low >= outer_low)
    below = outer_high is None or (high is not None and high <= outer_high)
    return above and below


def value_intersects(a: ValuePattern, b: ValuePattern) -> bool:
    """Is some value in both?

    >>> value_intersects(UpTo(5), From(4)), value_intersects(UpTo(5), From(5))
    (True, False)
    """
    if isinstance(a, AnyValue) or isinstance(b, AnyValue):
        return True
    for one, other in ((a, b), (b, a)):
        points = _points(one)
        if points is not None:
            return any(value_matches(other, value) for value in points)
    (a_low, a_high), (b_low, b_high) = _range(a), _range(b)
    lows = [low for low in (a_low, b_low) if low is not None]
    highs = [high for high in (a_high, b_high) if high is not None]
    return not lows or not highs or max(lows) < min(highs)


def value_meet(a: ValuePattern, b: ValuePattern) -> ValuePattern | None:
    """The values that are in both; None if none is.

    >>> value_meet(UpTo(5), From(3)), value_meet(UpTo(5), OneOf(frozenset({4, 7}))), value_meet(UpTo(5), Equal(5))
    (Between(low=3, high=5), Equal(value=4), None)
    """
    if isinstance(a, AnyValue) or isinstance(b, AnyValue):
        return b if isinstance(a, AnyValue) else a
    for one, other in ((a, b), (b, a)):
        points = _points(one)
        if points is not None:
            left = frozenset(value for value in points if value_matches(other, value))
            return None if not left else Equal(*left) if len(left) == 1 else OneOf(left)
    if not value_intersects(a, b):
        return None
    (a_low, a_high), (b_low, b_high) = _range(a), _range(b)
    low = a_low if b_low is None else b_low if a_low is None else max(a_low, b_low)
    high = a_high if b_high is None else b_high if a_high is None else min(a_high, b_high)
    if low is None or high is None:
        return UpTo(high) if low is None else From(low)
    return Between(low, high)


@dataclass(frozen=True, slots=True)
class Pattern:
    """One pattern per attribute; attributes not named match anything.

    >>> early = Pattern({"ts": UpTo(5), "sensor": Equal("a")})
    >>> early.matches({"ts": 3, "sensor": "a"}), early.matches({"ts": 3, "sensor": None})
    (True, False)
    >>> Pattern({"ts": UpTo(9)}).subsumes(early)
    True
    """

    attributes: Mapping[str, ValuePattern] = field(default_factory=dict[str, ValuePattern])

    def __post_init__(self) -> None:
        """Drop `Any`: two patterns that say the same are equal."""
        named = sorted(self.attributes.items()) if len(self.attributes) > 1 else self.attributes.items()
        kept = {name: p for name, p in named if not isinstance(p, AnyValue)}
        object.__setattr__(self, "attributes", kept)

    def __hash__(self) -> int:
        """Equal patterns hash alike."""
        return hash(tuple(self.attributes.items()))

    def on(self, attribute: str) -> ValuePattern:
        """The pattern of one attribute."""
        return self.attributes.get(attribute, ANY)

    def matches(self, row: Mapping[str, Any]) -> bool:
        """Does the row satisfy every attribute's pattern?"""
        return all(value_matches(p, row.get(name)) for name, p in self.attributes.items())

    def subsumes(self, other: Pattern) -> bool:
        """Does every row that matches `other` match this one too?"""
        return all(value_subsumes(p, other.on(name)) for name, p in self.attributes.items())

    def intersects(self, other: Pattern) -> bool:
        """Can one row match both?"""
        shared = self.attributes.keys() & other.attributes.keys()
        return all(value_intersects(self.on(name), other.on(name)) for name in shared)

    def meet(self, other: Pattern) -> Pattern | None:
        """The pattern of the rows that match both; None if no row can.

        >>> both = Pattern({"a": UpTo(5)}).meet(Pattern({"a": From(3), "b": Equal(1)}))
        >>> str(both), Pattern({"a": UpTo(5)}).meet(Pattern({"a": From(5)}))
        ('a in [3, 5), b = 1', None)
        """
        out = dict(self.attributes)
        for name, value in other.attributes.items():
            found = value_meet(self.on(name), value)
            if found is None:
                return None
            out[name] = found
        return Pattern(out)

    def renamed(self, names: Mapping[str, str]) -> Pattern | None:
        """The same of other columns; None if it speaks of one that has no other name.

        Two columns may be copies of one: then both patterns hold of that one.

        >>> both = Pattern({"x": UpTo(5), "y": From(3)}).renamed({"x": "a", "y": "a"})
        >>> str(both), both.renamed({"b": "c"})
        ('a in [3, 5)', None)
        """
        out: Pattern | None = Pattern()
        for name, value in self.attributes.items():
            if name not in names or out is None:
                return None
            out = out.meet(Pattern({names[name]: value}))
        return out

    def __str__(self) -> str:
        """As written in a transcript; `*` is the pattern of every row."""
        return ", ".join(f"{name} {p}" for name, p in self.attributes.items()) or "*"


def ends_of(pattern: ValuePattern) -> tuple[int | None, int | None] | None:
    """The whole numbers of a pattern as a range, from the first to below the last; None if they are none.

    >>> ends_of(OneOf(frozenset({3, 4}))), ends_of(From(3)), ends_of(OneOf(frozenset({3, 5}))), ends_of(ANY)
    ((3, 5), (3, None), None, (None, None))
    """
    points = _points(pattern)
    if points is not None:
        if not all(type(one) is int for one in points) or max(points) - min(points) >= len(points):
            return None
        return min(points), max(points) + 1
    low, high = _range(pattern)
    return (low, high) if all(one is None or type(one) is int for one in (low, high)) else None


def _points(pattern: ValuePattern) -> frozenset[Any] | None:
    match pattern:
        case Equal(value):
            return frozenset((value,))
        case OneOf(values):
            return values
        case _:
            return None


def _range(pattern: ValuePattern) -> tuple[Any, Any]:
    match pattern:
        case UpTo(bound):
            return None, bound
        case From(bound):
            return bound, None
        case Between(low, high):
            return low, high
        case _:
            return None, None
