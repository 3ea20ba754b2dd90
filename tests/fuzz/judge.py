"""Which rows are late and which rejected, by the definition of each promise: a bound holds from the next epoch on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fuzz.compare import key_of
from fuzz.values import TICK, Row


@dataclass
class Judge:
    """Takes epochs one after another."""

    promise: str
    span: int
    per: str | None
    now: int
    accepted: list[Row] = field(default_factory=list[Row])
    late: list[Row] = field(default_factory=list[Row])
    rejected: list[Row] = field(default_factory=list[Row])
    bounds: dict[Any, int] = field(default_factory=dict[Any, int])
    seen: list[int] = field(default_factory=list[int])
    """The ticks of accepted rows, in order of arrival."""
    last: int | None = None
    """Where the last step was."""

    def take(self, rows: list[Row], given: list[tuple[Any, int]]) -> None:
        """An epoch: its rows, and the bounds that come with it."""
        here: list[Row] = []
        for row in rows:
            bound = self.bounds.get(self._group(row))
            if self.promise != "none" and (row[TICK] is None or (self.per and row[self.per] is None)):
                self.rejected.append(row)
            elif bound is not None and row[TICK] < bound:
                self.late.append(row)
            else:
                here.append(row)
        self.accepted += here
        self.seen += [row[TICK] for row in here]
        self._learn(here, given)

    def _group(self, row: Row) -> Any:
        return key_of(row[self.per]) if self.per else None

    def _raise(self, group: Any, bound: int) -> None:
        self.bounds[group] = max(bound, self.bounds.get(group, bound))

    def _learn(self, rows: list[Row], given: list[tuple[Any, int]]) -> None:
        match self.promise:
            case "ordered" | "bounded" | "idle" | "group":
                behind = 0 if self.promise == "ordered" else self.span
                for row in rows:
                    self._raise(self._group(row), row[TICK] - behind)
            case "rows":
                if done := self.seen[: max(0, len(self.seen) - self.span)]:
                    self._raise(None, max(done))
            case "step":
                high = max(self.seen, default=None)
                if high is not None and (self.last is None or high - self.last >= max(1, self.span)):
                    self.last = high
                    self._raise(None, high)
            case "timer":
                high = max(self.seen, default=None)
                lull = high is None or self.now - high > self.span
                self._raise(None, self.now - self.span if lull or high is None else high)
            case _:
                for group, bound in given:
                    self._raise(key_of(group), bound)
