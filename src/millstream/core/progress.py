"""Progress: what the punctuations seen so far promise, folded into bounds.

A port's progress is a bound per attribute, a bound per group, the groups that are over, and the few
punctuations of other shapes. It only grows. Tests: tests/laws/test_progress.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from millstream.core.domain import BOTTOM, END
from millstream.core.errors import PunctuationError
from millstream.core.key import key_of
from millstream.core.pattern import Equal, UpTo
from millstream.core.punctuation import Punctuation

Key = tuple[Any, ...]


@dataclass(slots=True)
class Progress:
    """The promises of one stream at one port.

    >>> seen = Progress()
    >>> seen.accept(Punctuation.linear("ts", 10)), seen.accept(Punctuation.linear("ts", 10))
    (True, False)
    >>> seen.accept(Punctuation.group_wise("ts", 30, {"sensor": "a"}))
    True
    >>> seen.bound("ts"), seen.bound("ts", {"sensor": "a"}), seen.bound("ts", {"sensor": "b"})
    (10, 30, 10)
    """

    linear: dict[str, int] = field(default_factory=dict[str, int])
    grouped: dict[tuple[str, tuple[str, ...]], dict[Key, int]] = field(
        default_factory=dict[tuple[str, tuple[str, ...]], dict[Key, int]]
    )
    """By (attribute, key names): the bound of each group."""
    over: dict[tuple[str, ...], set[Key]] = field(default_factory=dict[tuple[str, ...], set[Key]])
    """By key names: groups that will send nothing more."""
    others: tuple[Punctuation, ...] = ()
    """Joint punctuation, ranges and sets: kept whole."""
    ended: bool = False

    def accept(self, punctuation: Punctuation) -> bool:
        """Fold one punctuation in; True if it says anything new."""
        if self.ended:
            return False
        if punctuation.ends_stream:
            self.ended = True
            return True
        parts = punctuation.pattern.attributes
        for attribute, part in parts.items():
            split = punctuation.split(attribute) if isinstance(part, UpTo) else None
            if split is not None:
                bound, group = split
                return self._raise(attribute, bound, group)
        key = tuple([part.value for part in parts.values() if isinstance(part, Equal)])
        if len(key) == len(parts):
            keys = self.over.setdefault(tuple(parts), set())
            grown = key not in keys
            keys.add(key)
            return grown
        if any(old.pattern.subsumes(punctuation.pattern) for old in self.others):
            return False
        kept = (old for old in self.others if not punctuation.pattern.subsumes(old.pattern))
        self.others = (*kept, punctuation)
        return True

    def check_forward(self, punctuation: Punctuation, show: Mapping[str, Any] | None = None) -> None:
        """Refuse a punctuation whose bound lies below one already given for the same rows."""
        for attribute, part in punctuation.pattern.attributes.items():
            split = punctuation.split(attribute) if isinstance(part, UpTo) else None
            if split is None:
                continue
            bound, group = split
            before = self.bound(attribute, group)
            if bound < before:
                shown = Punctuation.linear(attribute, before).show(show or {})
                raise PunctuationError(
                    f"punctuation `{punctuation.show(show or {})}` goes backwards: `{shown}` was already promised",
                    hint="Punctuation on an attribute must not fall; leave this one out.",
                )

    def bound(self, attribute: str, group: Mapping[str, Any] | None = None) -> int:
        """The greatest tick below which no later row (of that group) will come."""
        if self.ended:
            return END
        best = self.linear.get(attribute, BOTTOM)
        if group:
            for (name, keys), bounds in self.grouped.items():
                if name == attribute and all(key in group for key in keys):
                    best = max(best, bounds.get(key_of(group[key] for key in keys), BOTTOM))
            for keys, over in self.over.items():
                if all(key in group for key in keys) and key_of(group[key] for key in keys) in over:
                    return END
        return best

    def punctuations(self) -> Iterator[Punctuation]:
        """Everything promised, as punctuations again."""
        if self.ended:
            yield Punctuation.end_of_stream()
            return
        for attribute, bound in self.linear.items():
            yield Punctuation.linear(attribute, bound)
        for (attribute, keys), bounds in self.grouped.items():
            for key, bound in bounds.items():
                yield Punctuation.group_wise(attribute, bound, dict(zip(keys, key, strict=True)))
        for keys, over in self.over.items():
            for key in over:
                yield Punctuation.over(dict(zip(keys, key, strict=True)))
        yield from self.others

    def rules_out(self, row: Mapping[str, Any]) -> Punctuation | None:
        """The punctuation that forbids this row, if any does. The slow, plain form."""
        return next((p for p in self.punctuations() if p.rules_out(row)), None)

    def copy(self) -> Progress:
        """An independent copy."""
        return Progress(
            dict(self.linear),
            {name: dict(bounds) for name, bounds in self.grouped.items()},
            {keys: set(over) for keys, over in self.over.items()},
            self.others,
            self.ended,
        )

    def _raise(self, attribute: str, bound: int, group: Mapping[str, Any]) -> bool:
        if bound <= self.bound(attribute, group):
            return False
        if not group:
            self.linear[attribute] = bound
        else:
            names = tuple(sorted(group))
            bounds = self.grouped.setdefault((attribute, names), {})
            bounds[key_of(group[name] for name in names)] = bound
        return True


def meet(inputs: Sequence[Progress]) -> Progress:
    """What holds for the union of several streams: only what every one of them promises.

    >>> a, b = Progress({"ts": 20}), Progress({"ts": 19})
    >>> meet([a, b]).bound("ts")
    19
    """
    result = Progress(ended=all(one.ended for one in inputs))
    if result.ended:
        return result
    for attribute in _union(one.linear for one in inputs):
        lowest = min(one.bound(attribute) for one in inputs)
        if lowest > BOTTOM:
            result.linear[attribute] = lowest
    for (attribute, names), key in _group_keys(inputs):
        group = dict(zip(names, key, strict=True))
        lowest = min(one.bound(attribute, group) for one in inputs)
        if lowest > result.bound(attribute):
            result.accept(Punctuation.group_wise(attribute, lowest, group))
    for names in _union(one.over for one in inputs):
        for key in {key for one in inputs for key in one.over.get(names, ())}:
            if all(one.ended or key in one.over.get(names, ()) for one in inputs):
                result.accept(Punctuation.over(dict(zip(names, key, strict=True))))
    for punctuation in (p for one in inputs for p in one.others):
        if all(_implies(one, punctuation) for one in inputs):
            result.accept(punctuation)
    return result


def _implies(progress: Progress, punctuation: Punctuation) -> bool:
    return any(p.pattern.subsumes(punctuation.pattern) for p in progress.punctuations())


def _union(groups: Iterable[Iterable[Any]]) -> list[Any]:
    return list(dict.fromkeys(item for group in groups for item in group))


def _group_keys(inputs: Sequence[Progress]) -> Iterator[tuple[tuple[str, tuple[str, ...]], Key]]:
    seen: set[tuple[Any, Key]] = set()
    for one in inputs:
        for name, bounds in one.grouped.items():
            for key in bounds:
                if (name, key) not in seen:
                    seen.add((name, key))
                    yield name, key
