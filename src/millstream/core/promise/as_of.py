"""What an as-of join promises: the left side's promises, as far as the right side lets left rows go."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from millstream.core.domain import BOTTOM
from millstream.core.progress import Progress, meet
from millstream.core.promise.columns import renamed
from millstream.core.punctuation import Punctuation

LEFT, RIGHT = 0, 1


@dataclass(frozen=True, slots=True, kw_only=True)
class AsOfShape:
    """As much of an as-of join as its promise depends on."""

    keys: tuple[tuple[str, str], ...]
    time: tuple[str, str]
    leaving: tuple[Mapping[str, str], Mapping[str, str]]
    """Of each side, by column that leaves: its name there."""
    outer: bool = False
    strict: bool = False
    within: int | None = None


def named(columns: Iterable[tuple[str, int, str]]) -> tuple[dict[str, str], dict[str, str]]:
    """Of each side, by column that leaves: its name there."""
    found = list(columns)
    left, right = ({column: name for name, of, column in found if of == side} for side in (LEFT, RIGHT))
    return left, right


def promised(shape: AsOfShape, sides: Sequence[Progress]) -> Progress:
    """Later results are of left rows that wait, or are to come.

    What both sides promise of the left time and of keys holds. If the distance is bounded and every row has a partner,
    its time has a bound too.
    """
    both = meet([sides[LEFT], _released(shape, sides[RIGHT])])
    if both.ended:
        return Progress(ended=True)
    out = renamed(both, shape.leaving[LEFT])
    bound, other = both.bound(shape.time[LEFT]), shape.leaving[RIGHT].get(shape.time[RIGHT])
    if shape.within is not None and not shape.outer and other is not None and bound > BOTTOM:
        out.accept(Punctuation.linear(other, max(BOTTOM + 1, bound - shape.within)))
    return out


def _released(shape: AsOfShape, now: Progress) -> Progress:
    """What the right side's promises say of the left rows that wait: those that they rule out have left."""
    left, right = shape.time
    if now.ended:
        return Progress(ended=True)
    out, keys = Progress(), {pair[RIGHT]: pair[LEFT] for pair in shape.keys}
    more = 1 if shape.strict else 0
    if (bound := now.bound(right)) > BOTTOM:
        out.accept(Punctuation.linear(left, bound + more))
    for (attribute, names), bounds in now.grouped.items():
        if attribute == right and set(names) <= keys.keys():
            for key, bound in bounds.items():
                group = {keys[name]: value for name, value in zip(names, key, strict=True)}
                out.accept(Punctuation.group_wise(left, bound + more, group))
    for names, over in now.over.items():
        if set(names) <= keys.keys():
            for key in over:
                out.accept(Punctuation.over({keys[name]: value for name, value in zip(names, key, strict=True)}))
    return out
