"""Templates: the shape of a punctuation, one sign an attribute: `+` up to a bound, `#` one value, `-` any.

`[[ts:+, sensor:#]]` is the shape of "sensor 7 has nothing more below 10:00". The template without any sign is the
shape of the end of the stream, which speaks of every row.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from millstream.core.errors import PatternError
from millstream.core.pattern import AnyValue, Equal, Pattern, UpTo, ValuePattern


class Sign(Enum):
    """What a punctuation says of one attribute."""

    UP_TO = "+"
    """Every value below a bound."""
    LITERAL = "#"
    """One value."""
    ANY = "-"
    """Nothing: every value."""


@dataclass(frozen=True, slots=True)
class Template:
    """A sign an attribute; attributes not named have `-`.

    >>> group_wise = Template.of("ts+", "sensor#")
    >>> str(group_wise), group_wise.show(["ts", "sensor", "value"])
    ('[[sensor:#, ts:+]]', '[[ts:+, sensor:#, value:-]]')
    >>> Template.of("ts+", "value-") == Template.of("ts+")
    True
    """

    signs: Mapping[str, Sign] = field(default_factory=dict[str, Sign])

    def __post_init__(self) -> None:
        """Drop `-`: two templates that say the same are equal."""
        kept = {name: sign for name, sign in sorted(self.signs.items()) if sign is not Sign.ANY}
        object.__setattr__(self, "signs", kept)

    def __hash__(self) -> int:
        """Equal templates hash alike."""
        return hash(tuple(self.signs.items()))

    @classmethod
    def of(cls, *words: str) -> Template:
        """From attributes with their signs: `of("ts+", "sensor#")`."""
        signs: dict[str, Sign] = {}
        for word in words:
            if word[-1:] not in {"+", "#", "-"} or len(word) == 1:
                raise PatternError(f"{word!r} has no sign", hint="End the attribute with +, # or -.")
            signs[word[:-1]] = Sign(word[-1])
        return cls(signs)

    @property
    def names(self) -> frozenset[str]:
        """The attributes it speaks of."""
        return frozenset(self.signs)

    @property
    def up_to(self) -> tuple[str, ...]:
        """The attributes with `+`."""
        return tuple(name for name, sign in self.signs.items() if sign is Sign.UP_TO)

    @property
    def literals(self) -> tuple[str, ...]:
        """The attributes with `#`."""
        return tuple(name for name, sign in self.signs.items() if sign is Sign.LITERAL)

    @property
    def ends(self) -> bool:
        """Is it the shape of the end of the stream?"""
        return not self.signs

    def conforms(self, pattern: Pattern) -> bool:
        """Has the pattern this shape, attribute by attribute?

        >>> Template.of("a+", "b#").conforms(Pattern({"a": UpTo(5), "b": Equal(26)}))
        True
        >>> Template.of("a+", "b#").conforms(Pattern({"b": Equal(26)}))
        False
        """
        shape = {name: _sign(value) for name, value in pattern.attributes.items()}
        return shape == dict(self.signs)

    def implies(self, other: Template) -> bool:
        """Does whoever promises this promise the other too? It speaks of no more attributes, and likewise.

        >>> Template.of("ts+").implies(Template.of("ts+", "sensor#"))
        True
        """
        return all(other.signs.get(name) is sign for name, sign in self.signs.items())

    def renamed(self, names: Mapping[str, str]) -> Template:
        """The same of other attributes; those not in `names` keep theirs."""
        return Template({names.get(name, name): sign for name, sign in self.signs.items()})

    def with_signs(self, more: Mapping[str, Sign]) -> Template:
        """The same, speaking of more attributes."""
        return Template({**self.signs, **more})

    def show(self, attributes: Iterable[str]) -> str:
        """With every attribute listed, as the theory writes it."""
        return f"[[{', '.join(f'{name}:{self.signs.get(name, Sign.ANY).value}' for name in attributes)}]]"

    def __str__(self) -> str:
        """With the attributes it speaks of."""
        return self.show(self.signs)


END = Template()
"""The shape of the end of the stream."""


def _sign(value: ValuePattern) -> Sign | None:
    match value:
        case UpTo():
            return Sign.UP_TO
        case Equal():
            return Sign.LITERAL
        case AnyValue():
            return Sign.ANY
        case _:
            return None
