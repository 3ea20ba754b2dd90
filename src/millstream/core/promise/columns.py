"""What operators promise that hand on rows with some columns: renamed, cut, or only those that tell groups apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from millstream.core.domain import BOTTOM, END
from millstream.core.expression import Expression
from millstream.core.pattern import ANY, Pattern, UpTo
from millstream.core.progress import Progress
from millstream.core.punctuation import Punctuation

Extremes = Mapping[str, tuple[str, tuple[str, ...]]]
"""By column that is the greatest or the least of some columns: which of the two, and of which columns."""


def plain_names(columns: Iterable[tuple[str, Expression]]) -> dict[str, list[str]]:
    """By column that goes on as it is: the names that it has then."""
    names: dict[str, list[str]] = {}
    for name, expression in columns:
        if expression.plain is not None:
            names.setdefault(expression.plain, []).append(name)
    return names


def projected(now: Progress, names: Mapping[str, Sequence[str]], extremes: Extremes) -> Progress:
    """A punctuation goes on if every attribute it speaks of does, under its new names."""
    out = Progress()
    for punctuation in now.punctuations():
        parts = punctuation.pattern.attributes
        if all(part in names for part in parts):
            first = {new: parts[old] for old in parts for new in names[old][:1]}
            out.accept(Punctuation(Pattern(first)))
            # The same column under two names: both progress.
            for old in parts:
                for new in names[old][1:]:
                    out.accept(Punctuation(Pattern({**first, names[old][0]: ANY, new: parts[old]})))
    for name, (which, parts) in extremes.items():
        bound = _greatest(now, parts) if which == "greatest" else min(now.bound(part) for part in parts)
        if BOTTOM < bound < END:
            out.accept(Punctuation.linear(name, bound))
    return out


def renamed(now: Progress, names: Mapping[str, str]) -> Progress:
    """The promises whose attributes all have a name in the result, under those names.

    >>> renamed(Progress({"ts": 5, "n": 3}), {"ts": "at"}).linear
    {'at': 5}
    """
    out = Progress()
    for punctuation in now.punctuations():
        parts = punctuation.pattern.attributes
        if parts.keys() <= names.keys():
            out.accept(Punctuation(Pattern({names[name]: part for name, part in parts.items()})))
    return out


def of_columns(now: Progress, columns: Collection[str]) -> Progress:
    """Only what is said of these columns: other promises may speak of rows that are still held."""
    there = set(columns)
    return Progress(
        {name: bound for name, bound in now.linear.items() if name in there},
        {one: bounds for one, bounds in now.grouped.items() if {one[0], *one[1]} <= there},
        {names: over for names, over in now.over.items() if set(names) <= there},
        tuple(one for one in now.others if one.pattern.attributes.keys() <= there),
        ended=now.ended,
    )


def of_attribute(now: Progress, attribute: str) -> Progress:
    """An attribute's own bound and no more."""
    bound = now.bound(attribute)
    return Progress(ended=True) if now.ended else Progress({attribute: bound} if bound > BOTTOM else {})


def _greatest(progress: Progress, parts: Sequence[str]) -> int:
    """The greatest of some columns is at least what any of them is; and if not all are below some bounds, the least."""
    bounds = [progress.bound(part) for part in parts]
    for punctuation in progress.others:
        joint = punctuation.pattern.attributes
        if joint.keys() <= set(parts) and all(isinstance(one, UpTo) for one in joint.values()):
            bounds.append(min(one.bound for one in joint.values() if isinstance(one, UpTo)))
    return max(bounds)
