"""What an operator is: it takes rows, learns progress, and says what it promises in turn.

An operator never looks at arrival order to guess progress, does no I/O and reads no clock. Its whole memory is
its `store` and the progress it was last told.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.core.domain import BOTTOM, END
from millstream.core.feedback import Records
from millstream.core.pattern import Pattern, UpTo
from millstream.core.progress import Progress
from millstream.kernels.expressions.evaluate import Computed
from millstream.kernels.group import tuples
from millstream.kernels.lookup import Lookup
from millstream.kernels.match import matching
from millstream.kernels.ticks import ordered_columns
from millstream.ops.guard import Guards, wanted
from millstream.ops.turn import Turn
from millstream.state.store import Segment, Store


@dataclass(slots=True)
class Meter:
    """What an operator has done since it started."""

    rows_in: int = 0
    rows_out: int = 0
    late: int = 0
    rejected: int = 0
    filtered: int = 0
    outside: int = 0
    """Rows that belong to no window: in a gap between windows, or before the declared start."""
    guarded: int = 0
    """Rows that were dropped because all who read what becomes of them ignore it."""
    unread: int = 0
    """Of those, rows that were not even read."""
    withheld: int = 0
    """Results that did not leave, for the same reason."""
    accepted: int = 0
    """Rows that an operator has put into its state or has answered at once; counted where it does so. A row that
    goes on as it came is no longer counted."""
    failed: int = 0
    """Results and pairs that it could not make."""
    punctuations: int = 0
    """Punctuations that let something go."""
    combines: int = 0
    """Partials added to or taken from a window, where the strategy counts them."""
    open_windows: int = 0
    peak_rows: int = 0
    peak_bytes: int = 0

    def add(self, figures: Mapping[str, int]) -> None:
        """Count more of some figures."""
        for name, figure in figures.items():
            setattr(self, name, getattr(self, name) + figure)

    def figures(self) -> dict[str, int]:
        """All of them by name."""
        return {name: getattr(self, name) for name in _FIGURES}


_FIGURES = tuple(one.name for one in fields(Meter))


@dataclass(frozen=True, slots=True)
class Rejected:
    """Rows an operator could not take, or pairs and results that it could not make, and why."""

    rows: pa.Table
    reason: str
    made: bool = False
    """Are they made here, and none of a stream's rows?"""


@dataclass(frozen=True, slots=True)
class Late:
    """Rows that an earlier punctuation had ruled out, and which."""

    rows: pa.Table
    punctuation: str


Find = Callable[[str, tuple[str, ...]], Lookup]
"""The version of a table that holds in this epoch, ready to be looked into by some of its columns."""


class Operator(ABC):
    """A columnar state machine with one or more input ports.

    `decide`, `use` and `release` are hooks: most operators have nothing to decide, to look up or to hold back.
    """

    reducible: bool = False
    """Taking rows only adds segments to the store, so another instance may take them and hand its segments over."""

    in_order: bool = True
    """Does it matter in which order the rows of an epoch come?"""

    guards: Guards | None = None
    """What is left out in this epoch; None: nothing."""

    speaks: bool = False
    """Does it find out itself what it ignores, or wants first, of its inputs? Then a host asks after each epoch."""

    holds_back: bool = False
    """May results stay though they could leave? Then a host lets them go with `release`, and asks for promises anew."""

    def __init__(self, ports: int = 1) -> None:
        """Start with an empty store and no progress on any port."""
        self.store = Store()
        self.meter = Meter()
        self.progress = [Progress() for _ in range(ports)]
        self.rejected: list[Rejected] = []
        self.late: list[Late] = []
        self.sent: list[tuple[int, pa.Table]] = []
        """What leaves by outlets, for one reader each; a host takes it after every call."""
        self.counts: dict[int, dict[str, int]] = {}
        """By outlet: what has become of rows for its reader, where readers differ in that; a host takes it, too."""
        self.open_by_outlet: dict[int, int] = {}
        """By outlet: how many windows are open, as `measure` found."""

        self.apart: list[tuple[int, Rejected]] = []
        """What is set apart for the reader of one outlet alone; it is counted among `counts`."""

    @property
    def stores(self) -> list[Store]:
        """Where its state is: one store, or one a part if it is made of parts."""
        return [self.store]

    @property
    def holds(self) -> bool:
        """Are there results that could leave and have not?"""
        return False

    def adopt(self, before: Operator) -> None:
        """Go on from an operator that did the same for fewer, or for other, readers."""
        self.meter = before.meter
        self.resume(before.progress)

    def opened(self) -> None:
        """Its stores have been filled with what was saved, perhaps when the plan was another."""

    def resume(self, progress: Sequence[Progress]) -> None:
        """Be told what was promised before, which lets nothing go."""
        self.progress = list(progress)

    def decide(self, now: Operator, rows: pa.Table) -> Operator:
        """Which operator is to take these rows: asked of the one that was there first, where `now` is in its place."""
        return now

    def use(self, find: Find) -> None:
        """An epoch begins: look into these versions of tables from now on."""

    def take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        """Rows arrive at a port; what can leave at once is returned."""
        self.meter.rows_in += rows.num_rows
        if self.guards is not None:
            rows = self.let_in(port, rows)
        out = self._take(port, rows) if rows.num_rows else []
        return self._leave(out)

    def let_in(self, port: int, rows: pa.Table) -> pa.Table:
        """The rows that come in at a port and are not ignored; the others are counted as guarded."""
        records = () if self.guards is None else self.guards.inputs.get(port, ())
        keep = wanted(records, rows) if records and rows.num_rows else None
        if keep is None:
            return rows
        left = rows.filter(pa.array(keep))
        self.meter.guarded += rows.num_rows - left.num_rows
        return left

    def ignores(self) -> Mapping[int, Records]:
        """By port: what it will drop from now on, whatever comes. What it once has said stays true."""
        return {}

    def desires(self) -> Mapping[int, Records]:
        """By port: what it could answer at once if it came, so that it is wanted first."""
        return {}

    def purge(self, ignored: Mapping[int, Records]) -> None:
        """Forget, of what is held, rows of a port that nobody has any use for. To keep them is not wrong."""

    def skip_costly(self) -> None:
        """Somebody looks ahead: forget what would cost something to finish. It is all there again afterwards."""

    def advance(self, port: int, progress: Progress) -> list[pa.Table]:
        """A port's progress is now this (never less than before); what it lets go is returned."""
        before = self.progress[port]
        self.progress[port] = progress
        return self._leave(self._advance(port, before, progress))

    def release(self, turn: Turn) -> list[pa.Table]:
        """The epoch is over; what was held back and leaves with it is returned."""
        return self._leave(self._end(turn))

    def reduce(self, port: int, rows: pa.Table) -> tuple[Sequence[Segment], Mapping[str, Any]]:
        """What a reducible operator makes of rows, for another instance to `receive`."""
        self.take(port, rows)
        return self.store.segments, self.store.facts

    def count(self, outlet: int, **figures: int) -> None:
        """Note what has become of rows for the reader of an outlet."""
        mine = self.counts.setdefault(outlet, {})
        for name, figure in figures.items():
            mine[name] = mine.get(name, 0) + figure

    def receive(self, segments: Sequence[Segment], facts: Mapping[str, Any]) -> None:
        """Keep what another instance of a reducible operator made of rows."""
        for segment in segments:
            self.store.add(segment)

    def copied(self, port: int, rows: pa.Table) -> None:
        """Rows that it took are copies of rows that another instance takes, too, and that are counted there."""
        self.meter.accepted -= rows.num_rows

    def reject(self, rows: pa.Table, reason: str) -> None:
        """Set rows apart that cannot be taken."""
        self.rejected.append(Rejected(rows, reason))
        self.meter.rejected += rows.num_rows

    def reject_made(self, rows: pa.Table, reason: str) -> None:
        """Tell of pairs or results that cannot be made; no row that came in is lost by that."""
        self.rejected.append(Rejected(rows, reason, made=True))
        self.meter.failed += rows.num_rows

    def reject_failed(self, rows: pa.Table, made: Computed, spared: np.ndarray | None = None) -> None:
        """Set rows apart that an expression has no value for, but those that are `spared`."""
        for reason, which in made.bad():
            mine = which if spared is None else which & ~spared
            if mine.any():
                self.reject(rows.filter(pa.array(mine)), reason)

    @abstractmethod
    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]: ...

    def _advance(self, port: int, before: Progress, now: Progress) -> list[pa.Table]:
        return []

    def _end(self, turn: Turn) -> list[pa.Table]:
        return []

    def promises(self) -> Progress:
        """The progress of the output, from that of the inputs."""
        return self.progress[0]

    def measure(self) -> None:
        """Bring the meter's gauges up to date; a host calls it when somebody wants to see them."""

    def _leave(self, tables: list[pa.Table]) -> list[pa.Table]:
        if self.guards is not None and self.guards.output:
            tables = [self._let_out(table, self.guards) for table in tables]
        out = [table for table in tables if table.num_rows]
        meter = self.meter
        meter.rows_out += sum(table.num_rows for table in out)
        meter.peak_rows = max(meter.peak_rows, self.store.rows)
        meter.peak_bytes = max(meter.peak_bytes, self.store.nbytes)
        return out

    def _let_out(self, rows: pa.Table, guards: Guards) -> pa.Table:
        keep = wanted(guards.output, rows) if rows.num_rows else None
        if keep is None:
            return rows
        left = rows.filter(pa.array(keep))
        if guards.makes_rows:
            self.meter.withheld += rows.num_rows - left.num_rows
        else:
            self.meter.guarded += rows.num_rows - left.num_rows
        return left


def says_of_groups(progress: Progress, attribute: str, names: tuple[str, ...]) -> bool:
    """Whether the bound on `attribute` may differ from group to group."""
    of_names = any(name in progress.linear for name in names if name != attribute)
    return bool(progress.grouped or progress.over or progress.others or of_names)


def group_bounds(progress: Progress, attribute: str, groups: pa.Table, names: tuple[str, ...]) -> np.ndarray:
    """The bound on `attribute` of each group, from linear and group-wise punctuation.

    `groups` has one row per group and at least the columns `names`. A group that lies below a bound on one of these is
    over.
    """
    out = np.full(groups.num_rows, progress.bound(attribute), dtype=np.int64)
    if progress.ended:
        return out
    for (name, keys), bounds in progress.grouped.items():
        if name == attribute and set(keys) <= set(names):
            own = [bounds.get(key, BOTTOM) for key in tuples(groups, keys)]
            out = np.maximum(out, np.array(own, dtype=np.int64))
    for keys, over in progress.over.items():
        if set(keys) <= set(names):
            out[[i for i, key in enumerate(tuples(groups, keys)) if key in over]] = END
    ordered = ordered_columns(groups.schema)
    for name in names:
        if name != attribute and name in progress.linear and name in ordered:
            out[matching(Pattern({name: UpTo(progress.linear[name])}), groups, ordered)] = END
    for punctuation in progress.others:
        _by_both(punctuation.pattern, attribute, groups, names, out)
    return out


def _by_both(pattern: Pattern, attribute: str, groups: pa.Table, names: tuple[str, ...], out: np.ndarray) -> None:
    """Joint punctuation: a bound on the attribute for the groups that lie below a bound on columns of theirs."""
    parts = dict(pattern.attributes)
    own = parts.pop(attribute, None)
    if not isinstance(own, UpTo) or not parts.keys() <= set(names) or not isinstance(own.bound, int):
        return
    below = matching(Pattern(parts), groups, ordered_columns(groups.schema))
    out[below] = np.maximum(out[below], own.bound)
