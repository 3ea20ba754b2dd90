"""Ingest: where a stream enters. It sets late and rejected rows apart and turns disorder into punctuation.

Rows of an epoch are judged by the punctuations of earlier epochs only. Every row goes on, is late, or is
rejected; none is lost.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.domain import BOTTOM, END, Domain
from millstream.core.entrance import Fate
from millstream.core.generator import Generator, Seen, Supplied
from millstream.core.pattern import Pattern, UpTo
from millstream.core.progress import Progress
from millstream.core.punctuation import Punctuation
from millstream.kernels.group import encode, tuples
from millstream.kernels.match import matching
from millstream.kernels.ticks import fates, to_ticks
from millstream.ops.operator import Late, Operator


class Ingest(Operator):
    """One stream's entrance."""

    def __init__(self, generator: Generator | None, domains: dict[str, Domain]) -> None:
        """`generator` is bound to ticks; `domains` are those of the ordered attributes."""
        super().__init__()
        self.generator = generator
        self.domains = domains
        self.seen = Seen()
        """What the rows of the epoch show of the progressing attribute."""

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        attribute = self.generator.attribute if self.generator else None
        for name in _named(self.generator):
            if rows[name].null_count:
                self.reject(rows.filter(pc.is_null(rows[name])), f"{name} is null")
                rows = rows.filter(pc.is_valid(rows[name]))
        found = None if attribute is None else fates(to_ticks(rows[attribute]), BOTTOM)
        if found is not None:
            far = found == Fate.REJECTED
            self.reject(rows.filter(pa.array(far)), f"{attribute} is too far out to be a bound")
            rows = rows.filter(pa.array(~far))
        rows = self._set_late_apart(rows)
        if self.generator is not None:
            self.seen = observe(self.generator, rows)
        return [rows]

    def pass_over(self, rows: int, high: int) -> None:
        """Rows that nobody reads came, none of them late, and were not read: how many, and the greatest tick."""
        self.meter.add({"rows_in": rows, "guarded": rows, "unread": rows})
        self.seen = dataclasses.replace(self.seen, rows=self.seen.rows + rows, high=max(self.seen.high, high))

    def _set_late_apart(self, rows: pa.Table) -> pa.Table:
        for punctuation in _forms(self.progress[0], rows):
            if not rows.num_rows:
                break
            mask = matching(punctuation.pattern, rows, set(self.domains))
            if mask.any():
                late = rows.filter(pa.array(mask))
                self.late.append(Late(late, punctuation.show(self.domains)))
                self.meter.late += late.num_rows
                rows = rows.filter(pa.array(~mask))
        return rows

    def learn(self, supplied: tuple[Punctuation, ...], now: int | None) -> Progress:
        """End the epoch: what holds from now on, by the generator and by what was supplied."""
        progress = self.progress[0].copy()
        if self.generator is None:
            promises = list(supplied)
        else:
            seen = dataclasses.replace(self.seen, supplied=supplied)
            state = self.store.facts.get("generator", {})
            self.store.facts["generator"], promises = self.generator.step(state, seen, now)
        self.seen = Seen()
        for promise in promises:
            self.meter.punctuations += progress.accept(promise)
        return progress


def _named(generator: Generator | None) -> tuple[str, ...]:
    """What each row must have a value for: punctuation cannot name a null, so such a row would be kept for ever."""
    if generator is None:
        return ()
    keys = generator.per if isinstance(generator, Supplied) else generator.keys
    return keys if generator.attribute is None else (generator.attribute, *keys)


def observe(generator: Generator, rows: pa.Table) -> Seen:
    """What an epoch's rows show of the progressing attribute, as far as the generator asks."""
    attribute = generator.attribute
    if attribute is None or not rows.num_rows:
        return Seen()
    ticks = to_ticks(rows[attribute])
    if not generator.keys:
        return _summary(ticks, generator.tail)
    names, codes = _keys(rows, generator.keys)
    if generator.tail:
        order = np.argsort(codes, kind="stable")
        parts = np.split(ticks[order], np.cumsum(np.bincount(codes, minlength=len(names)))[:-1])
        return _by_name(names, [_summary(part, generator.tail) for part in parts])
    high = np.full(len(names), BOTTOM)
    np.maximum.at(high, codes, ticks)
    return _by_name(names, [Seen(rows=1, high=top) for top in high.tolist()])


def _by_name(names: list[tuple[Any, ...]], parts: list[Seen]) -> Seen:
    return Seen(groups=dict(zip(names, parts, strict=True)))


def _summary(ticks: np.ndarray, tail: int) -> Seen:
    cut = max(0, len(ticks) - tail)
    return Seen(
        rows=len(ticks),
        high=int(ticks.max()),
        high_before_tail=int(ticks[:cut].max()) if cut else BOTTOM,
        tail=tuple(ticks[cut:].tolist()) if tail else (),
    )


def _forms(progress: Progress, rows: pa.Table) -> list[Punctuation]:
    """The punctuations that could rule out a row of this table."""
    if progress.ended:
        return [Punctuation.end_of_stream()]
    out = [Punctuation(Pattern({name: UpTo(bound)})) for name, bound in progress.linear.items()]
    for (attribute, names), bounds in progress.grouped.items():
        out += [
            Punctuation.group_wise(attribute, bounds[key], dict(zip(names, key, strict=True)))
            for key in _lagging(rows, attribute, names, bounds)
        ]
    for names, over in progress.over.items():
        out += [Punctuation.over(dict(zip(names, key, strict=True))) for key in _keys(rows, names)[0] if key in over]
    return [*out, *progress.others]


def _lagging(
    rows: pa.Table, attribute: str, names: tuple[str, ...], bounds: dict[tuple[Any, ...], int]
) -> list[tuple[Any, ...]]:
    """The groups that have a row below their own bound."""
    keys, codes = _keys(rows, names)
    there = rows[attribute].is_valid().to_numpy()
    low = np.full(len(keys), END)
    np.minimum.at(low, codes[there], to_ticks(rows[attribute].drop_null()))
    return [key for key, least in zip(keys, low, strict=True) if least < bounds.get(key, BOTTOM)]


def _keys(rows: pa.Table, names: tuple[str, ...]) -> tuple[list[tuple[Any, ...]], np.ndarray]:
    """The distinct keys of a table, and the code of each row."""
    found = encode([rows[name] for name in names], rows.num_rows)
    keys = rows.select(list(names)).take(pa.array(found.first))
    return tuples(keys, names), found.codes
