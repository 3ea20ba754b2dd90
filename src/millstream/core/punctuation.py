"""Punctuation: a pattern in the stream that no later row matches.

The bound of the progressing attribute is exclusive: after `ts < 15` every later row has `ts >= 15`. In a
punctuation the ordered attributes are ticks (see `core.domain`), the others plain values.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from millstream.core.domain import Domain
from millstream.core.pattern import Equal, Pattern, UpTo, ValuePattern


@dataclass(frozen=True, slots=True)
class Punctuation:
    """No later row matches `pattern`.

    >>> Punctuation.linear("ts", 15).rules_out({"ts": 14})
    True
    >>> str(Punctuation.group_wise("ts", 15, {"sensor": "a"}))
    'sensor = a, ts < 15'
    >>> Punctuation.end_of_stream().rules_out({"ts": None})
    True
    """

    pattern: Pattern

    @classmethod
    def linear(cls, attribute: str, bound: int) -> Punctuation:
        """Every later row has `attribute >= bound`."""
        return cls(Pattern({attribute: UpTo(bound)}))

    @classmethod
    def group_wise(cls, attribute: str, bound: int, group: Mapping[str, Any]) -> Punctuation:
        """Every later row of this group has `attribute >= bound`; other groups may lag."""
        equal: dict[str, ValuePattern] = {name: Equal(value) for name, value in group.items()}
        return cls(Pattern({attribute: UpTo(bound), **equal}))

    @classmethod
    def joint(cls, bounds: Mapping[str, int]) -> Punctuation:
        """No later row lies below every one of these bounds at once: a box, not slabs.

        >>> both = Punctuation.joint({"a": 2, "b": 1})
        >>> both.rules_out({"a": 1, "b": 0}), both.rules_out({"a": 1, "b": 1})
        (True, False)
        """
        return cls(Pattern({name: UpTo(bound) for name, bound in bounds.items()}))

    @classmethod
    def over(cls, group: Mapping[str, Any]) -> Punctuation:
        """This group will send nothing more.

        >>> str(Punctuation.over({"sensor": "a"}))
        'sensor = a'
        """
        return cls(Pattern({name: Equal(value) for name, value in group.items()}))

    @classmethod
    def end_of_stream(cls) -> Punctuation:
        """No later row at all."""
        return cls(Pattern())

    @property
    def ends_stream(self) -> bool:
        """Does it rule out every row?"""
        return not self.pattern.attributes

    def rules_out(self, row: Mapping[str, Any]) -> bool:
        """Would this row, coming later, break the promise?"""
        return self.pattern.matches(row)

    def split(self, attribute: str) -> tuple[int, dict[str, Any]] | None:
        """Its bound on `attribute` and the group it speaks of, if it has that shape.

        >>> Punctuation.group_wise("ts", 15, {"sensor": "a"}).split("ts")
        (15, {'sensor': 'a'})
        >>> Punctuation.joint({"a": 2, "b": 1}).split("a") is None
        True
        """
        bound: int | None = None
        group: dict[str, Any] = {}
        for name, value in self.pattern.attributes.items():
            match value:
                case UpTo(limit) if name == attribute:
                    bound = limit
                case Equal(constant) if name != attribute:
                    group[name] = constant
                case _:
                    return None
        return None if bound is None else (bound, group)

    def show(self, domains: Mapping[str, Domain]) -> str:
        """Text for people, with ticks turned back into values."""
        shown: dict[str, ValuePattern] = {}
        for name, value in self.pattern.attributes.items():
            domain = domains.get(name)
            shown[name] = UpTo(domain.show(value.bound)) if domain and isinstance(value, UpTo) else value
        return str(Pattern(shown))

    def __str__(self) -> str:
        """As written in a transcript."""
        return str(self.pattern)


def describe(bound: int, *, start: int, step: int) -> int:
    """The greatest multiple of `step` from `start` that `bound` covers: all a consumer of that step can use.

    >>> [describe(v, start=0, step=5) for v in (4, 5, 9, 10)]
    [0, 5, 5, 10]
    """
    return start + (bound - start) // step * step
