"""What a join promises: the bounds of each side alone, of both together, and what holds of keys."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from millstream.core.domain import BOTTOM, END
from millstream.core.pattern import Pattern, UpTo
from millstream.core.progress import Progress
from millstream.core.promise.near import Near
from millstream.core.punctuation import Punctuation

LEFT, RIGHT = 0, 1
_PRESERVED = {"left": (LEFT,), "right": (RIGHT,), "full": (LEFT, RIGHT), "semi": (LEFT,), "anti": (LEFT,)}

Group = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JoinShape:
    """As much of a join as its promise depends on."""

    keys: tuple[tuple[str, str], ...]
    near: Near | None
    leaving: tuple[Mapping[str, str], Mapping[str, str]]
    """Of each side, by column: its name in what leaves, if it is never null for want of a partner."""

    def names(self, side: int) -> Mapping[str, str]:
        """The columns of a side that leave, and their names there."""
        return self.leaving[side]


def leaving(
    how: str, columns: Iterable[tuple[str, int, str]], names: Container[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Of each side, by column: its name in what leaves, if it is never null for want of a partner."""
    pairs = how not in ("semi", "anti")
    found = list(columns)
    made: list[dict[str, str]] = []
    for side in (LEFT, RIGHT):
        alone = pairs and preserved(how, 1 - side)
        made.append({} if alone else {column: name for name, of, column in found if of == side and name in names})
    return made[0], made[1]


def preserved(how: str, side: int) -> bool:
    """Must it be known which of a side's rows have had a partner?"""
    return side in _PRESERVED.get(how, ())


def promised(spec: JoinShape, sides: Sequence[Progress]) -> Progress:
    """What follows for the output from what both inputs promise."""
    if all(one.ended for one in sides):
        return Progress(ended=True)
    out = Progress()
    for group in (None, *_groups(spec, sides)):
        for punctuation in (*_in_time(spec, sides, group), *_of_keys(spec, sides, group)):
            out.accept(punctuation)
    for group in _groups(spec, sides):
        named = _leaving(spec, group)
        # A key that may be missing in what leaves cannot be spoken of, and what speaks of nothing means everything.
        if len(named) == len(group) and all(_over(sides[side], _own(spec, group, side)) for side in (LEFT, RIGHT)):
            out.accept(Punctuation.over({name: group[key] for key, name in named.items()}))
    return out


def _in_time(spec: JoinShape, sides: Sequence[Progress], group: Group | None) -> Iterator[Punctuation]:
    """Bounds on the attributes that must be near: individual, and joint where that says more."""
    near = spec.near
    if near is None:
        return
    bounds = [sides[side].bound(near.names[side], _own(spec, group, side)) for side in (LEFT, RIGHT)]
    of_group = {} if group is None else {name: group[key] for key, name in _leaving(spec, group).items()}
    if group is not None and len(of_group) < len(group):
        return
    alone: dict[str, int] = {}
    for side in (LEFT, RIGHT):
        name = spec.names(side).get(near.names[side])
        bound = near.leaving(side, own=bounds[side], other=bounds[1 - side])
        if name is not None and bound > BOTTOM:
            alone[name] = bound
            if bound < END:
                yield Punctuation.group_wise(name, bound, of_group) if of_group else Punctuation.linear(name, bound)
    joint = near.joint(bounds[LEFT], bounds[RIGHT])
    both = [spec.names(side).get(near.names[side]) for side in (LEFT, RIGHT)]
    if group is None and joint is not None and None not in both and END not in joint:
        parts = dict(zip(map(str, both), joint, strict=True))
        if all(bound > alone.get(name, BOTTOM) for name, bound in parts.items()):
            yield Punctuation(Pattern({name: UpTo(bound) for name, bound in parts.items()}))


def _of_keys(spec: JoinShape, sides: Sequence[Progress], group: Group | None) -> Iterator[Punctuation]:
    """Bounds on columns that must be equal: what both sides promise holds under either name, else for both together."""
    if group is not None:
        return
    bounds = [
        {pair: sides[side].bound(pair[side]) for pair in spec.keys if sides[side].bound(pair[side]) > BOTTOM}
        for side in (LEFT, RIGHT)
    ]
    for pair in spec.keys:
        lowest = min(bounds[side].get(pair, BOTTOM) for side in (LEFT, RIGHT))
        if BOTTOM < lowest < END:
            names = (spec.names(side).get(pair[side]) for side in (LEFT, RIGHT))
            yield from (Punctuation.linear(name, lowest) for name in names if name is not None)
    for (left, low), (right, high) in product(bounds[LEFT].items(), bounds[RIGHT].items()):
        names = spec.names(LEFT).get(left[LEFT]), _name_of_key(spec, right)
        if left != right and None not in names and END not in (low, high):
            yield Punctuation(Pattern({str(names[0]): UpTo(low), str(names[1]): UpTo(high)}))


def _groups(spec: JoinShape, sides: Sequence[Progress]) -> Iterator[Group]:
    """The groups of keys that either side speaks of, by the names of the left side."""
    seen: set[tuple[Any, ...]] = set()
    for side, progress in enumerate(sides):
        left = {pair[side]: pair[LEFT] for pair in spec.keys}
        named = [(names, key) for (_, names), bounds in progress.grouped.items() for key in bounds]
        named += [(names, key) for names, over in progress.over.items() for key in over]
        for names, key in named:
            if set(names) <= left.keys():
                group = dict(sorted(zip((left[name] for name in names), key, strict=True)))
                if (known := tuple(group.items())) not in seen:
                    seen.add(known)
                    yield group


def _own(spec: JoinShape, group: Mapping[str, Any] | None, side: int) -> Group | None:
    """A group by the names of one side."""
    there = {pair[LEFT]: pair[side] for pair in spec.keys}
    return None if group is None else {there[name]: value for name, value in group.items()}


def _over(progress: Progress, group: Group | None) -> bool:
    return group is not None and progress.bound("", group) == END


def _leaving(spec: JoinShape, group: Group) -> dict[str, str]:
    """By the left names of a group's keys, what they are called in what leaves."""
    pairs = {pair[LEFT]: pair for pair in spec.keys}
    named = {key: _name_of_key(spec, pairs[key]) for key in group}
    return {key: name for key, name in named.items() if name is not None}


def _name_of_key(spec: JoinShape, pair: tuple[str, str]) -> str | None:
    return spec.names(LEFT).get(pair[LEFT]) or spec.names(RIGHT).get(pair[RIGHT])
