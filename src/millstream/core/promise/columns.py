"""What operators promise that hand on rows with some columns: renamed, cut, or only those that tell groups apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from millstream.core.domain import BOTTOM, END
from millstream.core.expression import Expression
from millstream.core.pattern import ANY, Pattern, UpTo
from millstream.core.progress import Key, Progress
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
    out = renamed(now, {old: new[0] for old, new in names.items()})
    if any(len(new) > 1 for new in names.values()):
        _under_other_names(now, names, out)
    for name, (which, parts) in extremes.items():
        bound = _greatest(now, parts) if which == "greatest" else min(now.bound(part) for part in parts)
        if BOTTOM < bound < END:
            out.accept(Punctuation.linear(name, bound))
    return out


def renamed(now: Progress, names: Mapping[str, str]) -> Progress:
    """The promises whose attributes all have a name in the result, under those names, which differ from each other.

    >>> renamed(Progress({"ts": 5, "n": 3}), {"ts": "at"}).linear
    {'at': 5}
    """
    if now.ended:
        return Progress(ended=True)
    out = Progress({names[name]: bound for name, bound in now.linear.items() if name in names})
    # Groups may be many: they are not taken apart into punctuations.
    for (attribute, keys), bounds in now.grouped.items():
        if attribute in names and names.keys() >= set(keys):
            new, order = _new_keys(keys, names)
            out.grouped[names[attribute], new] = {_arranged(key, order): bound for key, bound in bounds.items()}
    for keys, over in now.over.items():
        if names.keys() >= set(keys):
            new, order = _new_keys(keys, names)
            out.over[new] = {_arranged(key, order) for key in over}
    for punctuation in now.others:
        parts = punctuation.pattern.attributes
        if parts.keys() <= names.keys():
            out.accept(Punctuation(Pattern({names[name]: part for name, part in parts.items()})))
    return out


def _new_keys(keys: Sequence[str], names: Mapping[str, str]) -> tuple[tuple[str, ...], list[int] | None]:
    """The new names of key columns, sorted; and where each of them was, unless all are where they were."""
    order = sorted(range(len(keys)), key=lambda i: names[keys[i]])
    return tuple(names[keys[i]] for i in order), None if order == list(range(len(keys))) else order


def _arranged(key: Key, order: Sequence[int] | None) -> Key:
    return key if order is None else tuple(key[i] for i in order)


def _under_other_names(now: Progress, names: Mapping[str, Sequence[str]], out: Progress) -> None:
    """The same column under two names: both progress."""
    for punctuation in now.punctuations():
        parts = punctuation.pattern.attributes
        if not all(part in names for part in parts):
            continue
        first = {new: parts[old] for old in parts for new in names[old][:1]}
        for old in parts:
            for new in names[old][1:]:
                out.accept(Punctuation(Pattern({**first, names[old][0]: ANY, new: parts[old]})))


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
