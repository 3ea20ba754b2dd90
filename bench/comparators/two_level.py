"""Two-level aggregation: a small table of partials in front, of fixed size, and the exact aggregate behind it.

Each slot holds one partial (window, group, count). A row whose slot is taken by another partial sends that one on, so
the level behind may get several partials of one group, and adds them up. When a new window begins the table is full of
old partials, and the designs differ in how these leave:

    in order     one old partial with each row; a collision of two new ones must first send on every old one, since the
                 output has to be ordered by window: a burst as long as the table
    lazy         old partials leave when a row wants their slot, and are looked for only when `most` windows old
    slow         the same, and besides one old partial every `every` rows

By a footnote, order may look for another place before that burst: the next slot, if no other new partial is in it.
"""

from __future__ import annotations

from abc import abstractmethod

import pyarrow as pa

from comparators.comparator import END, Comparator, Held

Partial = list[int]  # window, group, count: changed in place, since this is the inner loop
_SLOT_BYTES = 24


class LowTable(Comparator):
    """Counts by window and group; windows come in order. Results are partials, with the row that sent each on.

    `window` and `group` are columns of whole numbers.
    """

    def __init__(self, slots: int) -> None:
        """An empty table."""
        super().__init__()
        self.slots: list[Partial | None] = [None] * slots
        self.window: int | None = None
        self._out: list[tuple[int, int, int, int, int]] = []
        self._number = 0
        self._taken = 0

    def held(self) -> Held:
        """Slots that are taken, of a table whose size never changes."""
        return Held(self._taken, len(self.slots) * _SLOT_BYTES)

    @property
    def bound(self) -> int:
        """No later partial is of a window below it: the least that a slot holds, or the window that is open."""
        held = [slot[0] for slot in self.slots if slot is not None]
        return min(held, default=-END if self.window is None else self.window)

    def _take(self, port: int, rows: pa.Table) -> pa.Table:
        size = len(self.slots)
        for window, group in zip(rows["window"].to_pylist(), rows["group"].to_pylist(), strict=True):
            if window != self.window:
                self._turn(window)
                self.window = window
            self._smooth()
            place = hash((group,)) % size  # of a tuple, since a whole number is its own hash
            slot = self.slots[place]
            if slot is not None and slot[0] == window and slot[1] != group:
                place = self._instead(place, group)
                slot = self.slots[place]
            if slot is not None and slot[0] == window and slot[1] == group:
                slot[2] += 1
            else:
                if slot is not None and slot[0] == window:
                    self._collide()
                self._send(place)
                self.slots[place] = [window, group, 1]
                self._taken += 1
            self._number += 1
        return self._leave()

    def _advance(self, port: int, bound: int) -> pa.Table:
        """Partials of windows below the bound are complete, and leave."""
        for window in sorted({slot[0] for slot in self.slots if slot is not None and slot[0] < bound}):
            self._send_all(window + 1)
        return self._leave()

    @abstractmethod
    def _turn(self, window: int) -> None:
        """A new window begins."""

    @abstractmethod
    def _smooth(self) -> None:
        """A row has come: send on what this design sends on with it."""

    def _instead(self, place: int, group: int) -> int:
        """Where to look for a partial whose slot another one of the open window has; there, if nowhere else."""
        return place

    @abstractmethod
    def _collide(self) -> None:
        """Two partials of the open window want one slot; the resident leaves next."""

    def _send(self, place: int) -> None:
        slot = self.slots[place]
        if slot is not None:
            self._out.append(
                (slot[0], slot[1], slot[2], self._number, self.window if self.window is not None else slot[0])
            )
            self.slots[place] = None
            self._taken -= 1

    def _send_all(self, below: int) -> None:
        """Every partial of a window below this one."""
        for place, slot in enumerate(self.slots):
            if slot is not None and slot[0] < below:
                self._send(place)

    def _leave(self) -> pa.Table:
        """`at` is the number of the row that sent a partial on, `during` the window that was open then."""
        columns = list(zip(*self._out, strict=True)) or [()] * 5
        self._out = []
        names = ("window", "group", "n", "at", "during")
        return pa.table({name: pa.array(column, pa.int64()) for name, column in zip(names, columns, strict=True)})


class InOrderTable(LowTable):
    """Partials leave ordered by window, one old one with each row.

    With `next_slot` a partial whose slot another new one has goes to the slot after it, unless a third is there: an old
    one there leaves, which order allows, and the burst of all old ones waits for a worse collision.
    """

    def __init__(self, slots: int, *, next_slot: bool = False) -> None:
        """An empty table, nothing old in it."""
        super().__init__(slots)
        self.next_slot = next_slot
        self._place = slots
        self._burst_due = False

    def _turn(self, window: int) -> None:
        # Whatever is left of the window before the last goes first; then what was new is old.
        if self.window is not None:
            self._send_all(self.window)
        self._place, self._burst_due = 0, True

    def _smooth(self) -> None:
        size = len(self.slots)
        while self._place < size:
            slot = self.slots[self._place]
            if slot is not None and slot[0] != self.window:
                self._send(self._place)
                return
            self._place += 1

    def _instead(self, place: int, group: int) -> int:
        after = (place + 1) % len(self.slots)
        slot = self.slots[after]
        taken = slot is not None and slot[0] == self.window and slot[1] != group
        return after if self.next_slot and self._burst_due and not taken else place

    def _collide(self) -> None:
        if self._burst_due:
            assert self.window is not None
            self._send_all(self.window)
            self._place, self._burst_due = len(self.slots), False


class LazyTable(LowTable):
    """Old partials leave when their slot is wanted, or when they are more than `most` windows old."""

    def __init__(self, slots: int, most: int = 2) -> None:
        """An empty table."""
        super().__init__(slots)
        self.most = most

    def _turn(self, window: int) -> None:
        self._send_all(window - self.most)

    def _smooth(self) -> None:
        """Nothing: laziness is the point."""

    def _collide(self) -> None:
        """Nothing: the output need not be ordered."""


class SlowTable(LazyTable):
    """Lazy, and besides one old partial every `every` rows."""

    def __init__(self, slots: int, most: int = 2, every: int = 160) -> None:
        """An empty table."""
        super().__init__(slots, most)
        self.every = every
        self._place = 0

    def _turn(self, window: int) -> None:
        super()._turn(window)
        self._place = 0

    def _smooth(self) -> None:
        if self._number % self.every:
            return
        while self._place < len(self.slots):
            slot = self.slots[self._place]
            self._place += 1
            if slot is not None and slot[0] != self.window:
                self._send(self._place - 1)
                return


def total(partials: pa.Table) -> pa.Table:
    """The level behind: counts by window and group, whatever pieces they came in."""
    added = partials.group_by(["window", "group"]).aggregate([("n", "sum")])
    return added.select(["window", "group", "n_sum"]).rename_columns(["window", "group", "n"])
