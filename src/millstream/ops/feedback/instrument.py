"""The instrument: it counts rows, and says after so many what it ignores of its input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from millstream.core.feedback import Records, compact, passed
from millstream.core.pattern import Between, Equal, Pattern
from millstream.core.progress import Progress
from millstream.kernels.ticks import ordered_columns, to_ticks
from millstream.ops.guard import wanted
from millstream.ops.operator import Operator

_ROWS, _SAID = "rows", "said"
MOST = 64
"""Rows whose values it can name at a time; punctuation makes room for others."""


class Instrument(Operator):
    """Rows go on as they come, but those that it has said to ignore."""

    speaks = True

    def __init__(self, every: int, told: Records, on: tuple[str, ...], *, once: bool) -> None:
        """It says what is `told`, or names the values of columns, after `every` so many rows; or `once`."""
        super().__init__()
        self.every = every
        self.told = told
        self.on = on
        self.once = once

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        before = self.store.facts.get(_ROWS, 0)
        keep = wanted(self._records(), rows)
        self.store.facts[_ROWS] = before + rows.num_rows
        if self.on:
            first = (-before - 1) % self.every
            places = pa.array(range(first, rows.num_rows, self.every), pa.int64())
            self._name(rows.select(list(self.on)).take(places))
        if keep is None:
            return [rows]
        left = rows.filter(pa.array(keep))
        self.meter.guarded += rows.num_rows - left.num_rows
        return [left]

    def ignores(self) -> Mapping[int, Records]:
        """What it has said and punctuation has not passed."""
        records = self._records()
        return {0: records} if records else {}

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        said = self.store.facts.get(_SAID, [])
        self.store.facts[_SAID] = [one for one in said if not passed(_pattern(one), now)]
        return []

    def _records(self) -> Records:
        if self.on:
            return compact(_pattern(one) for one in self.store.facts.get(_SAID, []))
        spoke = self.store.facts.get(_ROWS, 0) >= self.every
        return tuple(one for one in self.told if not passed(one, self.progress[0])) if spoke else ()

    def _name(self, rows: pa.Table) -> None:
        """Rows whose values are ignored from now on; a null is no value that can be named."""
        said: list[Any] = list(self.store.facts.get(_SAID, []))
        rows = rows.drop_null()
        ordered = ordered_columns(rows.schema)
        columns = {
            name: to_ticks(rows[name]).tolist() if name in ordered else rows[name].to_pylist() for name in self.on
        }
        for values in zip(*columns.values(), strict=True):
            if len(said) < (1 if self.once else MOST):
                said.append([[name, value, name in ordered] for name, value in zip(columns, values, strict=True)])
        self.store.facts[_SAID] = said


def _pattern(said: Any) -> Pattern:
    return Pattern({name: Between(value, value + 1) if ordered else Equal(value) for name, value, ordered in said})
