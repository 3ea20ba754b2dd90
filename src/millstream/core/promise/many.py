"""What a join of many streams promises: the bounds of each stream's time alone, and of all together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from millstream.core.domain import BOTTOM, END
from millstream.core.progress import Progress
from millstream.core.promise.spans import Spans
from millstream.core.punctuation import Punctuation

Group = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ManyShape:
    """As much of a join of many streams as its promise depends on."""

    spans: Spans
    common: tuple[tuple[str, ...], ...]
    """Keys that all streams have: of each, its column in every stream."""
    names: tuple[Mapping[str, str], ...]
    """Of each stream, by column: its name in what leaves, if it is never null for want of a partner."""
    counted: bool = False
    """Are windows counted in rows? Then rows wait for each other, and may be of any age."""

    def out(self, stream: int) -> str | None:
        """What a stream's time is called in what leaves."""
        return self.names[stream].get(self.spans.names[stream])


def promised(shape: ManyShape, inputs: Sequence[Progress]) -> Progress:
    """What follows for the output from what all inputs promise.

    >>> shape = ManyShape(Spans.closed(("t", "t"), {(0, 1): 2, (1, 0): 2}), (), ({"t": "a_t"}, {"t": "b_t"}))
    >>> promised(shape, [Progress({"t": 10}), Progress({"t": 7})]).linear
    {'a_t': 5, 'b_t': 7}
    """
    if all(one.ended for one in inputs):
        return Progress(ended=True)
    out = Progress()
    if shape.counted:
        least = min(one.bound(name) for one, name in zip(inputs, shape.spans.names, strict=True))
        names = [shape.out(i) for i in range(len(inputs))]
        if BOTTOM < least < END and None not in names:
            out.accept(Punctuation.joint(dict.fromkeys(map(str, names), least)))
        return out
    for group in (None, *_groups(shape, inputs)):
        for punctuation in _in_time(shape, inputs, group):
            out.accept(punctuation)
        if group is not None and all(_over(shape, inputs, i, group) for i in range(len(inputs))):
            named = _leaving(shape, group)
            if len(named) == len(group):
                out.accept(Punctuation.over(named))
    return out


def _in_time(shape: ManyShape, inputs: Sequence[Progress], group: Group | None) -> Iterator[Punctuation]:
    spans = shape.spans
    own = [_own(shape, group, i) for i in range(len(inputs))]
    bounds = [one.bound(name, key) for one, name, key in zip(inputs, spans.names, own, strict=True)]
    named = {} if group is None else _leaving(shape, group)
    if group is not None and len(named) < len(group):
        return
    alone: dict[str, int] = {}
    for i in range(len(inputs)):
        name, bound = shape.out(i), spans.leaving(i, bounds)
        if name is not None and bound > BOTTOM:
            alone[name] = bound
            if bound < END:
                yield Punctuation.group_wise(name, bound, named) if named else Punctuation.linear(name, bound)
    joint = spans.joint(bounds)
    names = [shape.out(i) for i in range(len(inputs))]
    if group is None and joint is not None and None not in names and END not in joint:
        parts = dict(zip(map(str, names), joint, strict=True))
        if all(bound > alone.get(name, BOTTOM) for name, bound in parts.items()):
            yield Punctuation.joint(parts)


def _groups(shape: ManyShape, inputs: Sequence[Progress]) -> Iterator[Group]:
    """The groups of common keys that any input speaks of, by the names of the first stream."""
    seen: set[tuple[Any, ...]] = set()
    for i, progress in enumerate(inputs):
        first = {key[i]: key[0] for key in shape.common}
        named = [(names, key) for (_, names), bounds in progress.grouped.items() for key in bounds]
        named += [(names, key) for names, over in progress.over.items() for key in over]
        for names, key in named:
            if names and set(names) <= first.keys():
                group = dict(sorted(zip((first[name] for name in names), key, strict=True)))
                if (known := tuple(group.items())) not in seen:
                    seen.add(known)
                    yield group


def _own(shape: ManyShape, group: Group | None, stream: int) -> Group | None:
    """A group by the names of one stream."""
    there = {key[0]: key[stream] for key in shape.common}
    return None if group is None else {there[name]: value for name, value in group.items()}


def _over(shape: ManyShape, inputs: Sequence[Progress], stream: int, group: Group) -> bool:
    return inputs[stream].bound("", _own(shape, group, stream)) == END


def _leaving(shape: ManyShape, group: Group) -> Group:
    """A group by the names that its keys have in what leaves."""
    out: Group = {}
    for key in shape.common:
        name = next((one[column] for one, column in zip(shape.names, key, strict=True) if column in one), None)
        if key[0] in group and name is not None:
            out[name] = group[key[0]]
    return out
