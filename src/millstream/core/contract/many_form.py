"""The contract form of joins of many streams: a row goes when every other stream promises that no partner will come.

A template of a stream helps if it lets go the rows of *all* other streams: a bound on its time, where each of them has
a last partner in time, or what it says of keys that all streams have in common.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from millstream.core.contract.contract import Contract, Offering
from millstream.core.contract.scheme import Scheme
from millstream.core.contract.template import END, Sign, Template


@dataclass(frozen=True, slots=True)
class ManyForm:
    """A join of many inputs.

    >>> names = ({"t": "a_t"}, {"t": "b_t"}, {"t": "c_t"})
    >>> form = ManyForm(times=("t", "t", "t"), bounded=(True, True, True), common=(), names=names)
    >>> [str(one.out) for one in form.offers([Scheme.of("t+")] * 3)]
    ['{[[a_t:+]], [[b_t:+]], [[c_t:+]]}']
    >>> form.offers([Scheme.of("t+"), Scheme.of("t+"), Scheme.of("k#")])
    ()
    """

    times: tuple[str, ...]
    bounded: tuple[bool, ...]
    """Of each stream: has every row of every other stream a last partner among its rows?"""
    common: tuple[tuple[str, ...], ...]
    """Keys that all streams have: of each, its column in every stream."""
    names: tuple[Mapping[str, str], ...]
    """Of each stream, the output's name of each attribute that leaves."""
    counted: bool = False

    def offers(self, inputs: Sequence[Scheme]) -> Offering:
        """One contract: all promises that follow from one template of each stream."""
        chosen = list(product(*(self.uses(scheme, port) for port, scheme in enumerate(inputs))))
        if not chosen:
            return ()
        out = frozenset(template for some in chosen for template in self._promises(some))
        return (Contract(tuple(inputs), Scheme(out)),)

    def uses(self, scheme: Scheme, port: int = 0) -> list[Template]:
        """The templates of one stream that let the rows of all others go."""
        return [one for one in scheme if all(self._tied(name, sign, port) for name, sign in one.signs.items())]

    def _tied(self, name: str, sign: Sign, port: int) -> bool:
        if name == self.times[port]:
            return sign is Sign.UP_TO and self.bounded[port]
        return not self.counted and any(key[port] == name for key in self.common)

    def _promises(self, chosen: Sequence[Template]) -> list[Template]:
        """What they say together of the output."""
        if any(one.ends for one in chosen):
            return [END] if all(one.ends for one in chosen) else []
        if self.counted:
            names = [names.get(time) for names, time in zip(self.names, self.times, strict=True)]
            return [] if None in names else [Template(dict.fromkeys(map(str, names), Sign.UP_TO))]
        keys = [self._of_keys(one, port) for port, one in enumerate(chosen)]
        if any(one is None or one != keys[0] for one in keys) or any(
            time not in one.signs for one, time in zip(chosen, self.times, strict=True)
        ):
            return []
        literal = dict.fromkeys(keys[0] or (), Sign.LITERAL)
        times = [names.get(time) for names, time in zip(self.names, self.times, strict=True)]
        return [Template({name: Sign.UP_TO, **literal}) for name in times if name is not None]

    def _of_keys(self, template: Template, port: int) -> frozenset[str] | None:
        """The keys that a template speaks of, by their names in what leaves; None if one of them does not leave."""
        out: set[str] = set()
        for name, sign in template.signs.items():
            if name == self.times[port]:
                continue
            key = next(one for one in self.common if one[port] == name)
            found = [names[column] for names, column in zip(self.names, key, strict=True) if column in names]
            if not found or sign is not Sign.LITERAL:
                return None
            out.add(found[0])
        return frozenset(out)
