"""Progress generators: how a source's disorder becomes punctuation.

A generator is a pure step: from its state, what an epoch showed (`Seen`) and the clock, to a new state and
the punctuations that now hold. Each is grammatical on the disorder it assumes, and only on that.
State is plain JSON so that a checkpoint can hold it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from millstream.core.domain import BOTTOM, Domain
from millstream.core.errors import PlanError
from millstream.core.punctuation import Punctuation

State = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one epoch of a stream (or of one group in it) showed of the progressing attribute."""

    rows: int = 0
    high: int = BOTTOM
    """The greatest tick."""
    high_before_tail: int = BOTTOM
    """The greatest tick, leaving out the last `Generator.tail` rows to arrive."""
    tail: tuple[int, ...] = ()
    """The ticks of those last rows, in order of arrival."""
    groups: Mapping[tuple[Any, ...], Seen] = field(default_factory=dict[tuple[Any, ...], "Seen"])
    supplied: tuple[Punctuation, ...] = ()
    """Punctuation that came from outside: from the caller, or embedded in the data."""


class Generator(Protocol):
    """A source's promise about its own disorder."""

    @property
    def attribute(self) -> str | None:
        """The progressing attribute, if there is one."""
        ...

    @property
    def tail(self) -> int:
        """How many of an epoch's last rows `Seen.tail` must hold."""
        ...

    @property
    def keys(self) -> tuple[str, ...]:
        """The attributes by which `Seen.groups` must be split."""
        ...

    def bind(self, domain: Domain) -> Generator:
        """The same generator with lengths in ticks."""
        ...

    def step(self, state: State, seen: Seen, now: int | None) -> tuple[State, list[Punctuation]]:
        """Advance by one epoch."""
        ...


@dataclass(frozen=True, slots=True)
class _OneAttribute:
    attribute: str

    @property
    def tail(self) -> int:
        """No generator but the row-bounded one looks at single rows."""
        return 0

    @property
    def keys(self) -> tuple[str, ...]:
        """One bound for the whole stream."""
        return ()

    def _bound(self, bound: int) -> list[Punctuation]:
        return [Punctuation.linear(self.attribute, bound)] if bound > BOTTOM else []


@dataclass(frozen=True, slots=True)
class Ordered(_OneAttribute):
    """Rows come in order: the newest value is the bound.

    >>> Ordered("ts").step({}, Seen(rows=2, high=7), None)[1]
    [Punctuation(pattern=Pattern(attributes={'ts': UpTo(bound=7)}))]
    """

    def bind(self, domain: Domain) -> Ordered:
        """Nothing to convert."""
        return self

    def step(self, state: State, seen: Seen, now: int | None) -> tuple[State, list[Punctuation]]:
        """The bound is the greatest value seen."""
        high = max(state.get("high", BOTTOM), seen.high)
        return {"high": high}, self._bound(high)


@dataclass(frozen=True, slots=True)
class BoundedDisorder(_OneAttribute):
    """No row comes more than `span` behind the greatest value seen before it.

    >>> str(BoundedDisorder("ts", 5).step({}, Seen(rows=1, high=20), None)[1][0])
    'ts < 15'
    """

    span: Any

    def bind(self, domain: Domain) -> BoundedDisorder:
        """`span` in ticks."""
        span = domain.span(self.span, what="disorder")
        if span < 0:
            raise PlanError(f"disorder {self.span!r} is negative", hint="Give zero or more.")
        return replace(self, span=span)

    def step(self, state: State, seen: Seen, now: int | None) -> tuple[State, list[Punctuation]]:
        """The bound trails the greatest value by `span`."""
        high = max(state.get("high", BOTTOM), seen.high)
        return {"high": high}, self._bound(high - self.span if high > BOTTOM else BOTTOM)


@dataclass(frozen=True, slots=True)
class IdleDisorder(BoundedDisorder):
    """Bounded disorder that goes on by the clock while no rows come, so that a silent stream holds nobody up.

    After `idle` without a row the bound moves on as fast as the clock: it is what it was, and the time that has passed
    since then. A stream that has shown no row yet is taken to be as far as the clock, less `idle` and `span`.

    >>> silent = IdleDisorder("ts", 5, 30, clock=lambda: 0)
    >>> state, first = silent.step({}, Seen(rows=1, high=100), 1000)
    >>> state, at1030 = silent.step(state, Seen(), 1030)
    >>> state, at1034 = silent.step(state, Seen(), 1034)
    >>> str(first[0]), str(at1030[0]), str(at1034[0])
    ('ts < 95', 'ts < 95', 'ts < 99')
    """

    idle: Any
    clock: Callable[[], Any]
    since: int | None = field(default=None, compare=False, repr=False)
    """When this process began to look: time in which nobody looked is not time without rows."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the clock: the one who sends a generator elsewhere keeps the time."""
        return IdleDisorder, (self.attribute, self.span, self.idle, _stopped, self.since)

    def bind(self, domain: Domain) -> IdleDisorder:
        """Lengths in ticks, and a clock that ticks."""
        span, idle = domain.span(self.span, what="disorder"), domain.span(self.idle, what="idle")
        if span < 0 or idle < 0:
            raise PlanError(f"disorder {self.span!r} with idle {self.idle!r} is negative", hint="Give zero or more.")
        clock = _ticking(self.clock, self.attribute, domain)
        return replace(self, span=span, idle=idle, clock=clock, since=clock())

    def step(self, state: State, seen: Seen, now: int | None) -> tuple[State, list[Punctuation]]:
        """The bound trails the greatest value by `span`, until it is moved by the clock."""
        high = max(state.get("high", BOTTOM), seen.high)
        bound = max(state.get("bound", BOTTOM), high - self.span if high > BOTTOM else BOTTOM)
        if now is None:
            return {**state, "high": high, "bound": bound}, self._bound(bound)
        before = state.get("at", now if self.since is None else self.since)
        last = now if seen.high > BOTTOM else max(before, BOTTOM if self.since is None else self.since)
        silent = now - last - self.idle
        if silent > 0:
            bound = max(bound, high - self.span + silent if high > BOTTOM else now - self.idle - self.span)
        return {"high": high, "bound": bound, "at": last}, self._bound(bound)


@dataclass(frozen=True, slots=True)
class BoundedRows(_OneAttribute):
    """No row is delayed by more than `rows` positions.

    >>> seen = Seen(rows=5, high=6, high_before_tail=4, tail=(6, 5))
    >>> str(BoundedRows("ts", 2).step({}, seen, None)[1][0])
    'ts < 4'
    """

    rows: Any

    @property
    def tail(self) -> int:
        """The last rows may still be overtaken."""
        return self.rows

    def bind(self, domain: Domain) -> BoundedRows:
        """Rows are rows in every domain."""
        if isinstance(self.rows, bool) or not isinstance(self.rows, int):
            raise PlanError(f"{self.rows!r} is not a number of rows", hint="Give a whole number, as in rows=100.")
        if self.rows < 0:
            raise PlanError(f"disorder of {self.rows} rows is negative", hint="Give zero or more.")
        return self

    def step(self, state: State, seen: Seen, now: int | None) -> tuple[State, list[Punctuation]]:
        """The bound is the greatest value among all rows but the last ones."""
        bound = max(state.get("bound", BOTTOM), seen.high_before_tail)
        held = [*state.get("held", ()), *seen.tail]
        out, held = (held[: -self.rows], held[-self.rows :]) if self.rows else (held, [])
        bound = max([bound, *out])
        if not self.rows:
            bound = max(bound, seen.high)
        high = max(state.get("high", BOTTOM), seen.high)
        return {"high": high, "bound": bound, "held": held}, self._bound(bound)


@dataclass(frozen=True, slots=True)
class Step(_OneAttribute):
    """Ordered rows, punctuated only when the value has advanced by `every`.

    >>> step = Step("ts", 5)
    >>> state, first = step.step({}, Seen(rows=1, high=3), None)
    >>> state, second = step.step(state, Seen(rows=1, high=7), None)
    >>> state, third = step.step(state, Seen(rows=1, high=8), None)
    >>> [[str(p) for p in ps] for ps in (first, second, third)]
    [['ts < 3'], [], ['ts < 8']]
    """

    every: Any

    def bind(self, domain: Domain) -> Step:
        """`every` in ticks."""
        every = domain.span(self.every, what="step")
        if every <= 0:
            raise PlanError(f"step {self.every!r} is not positive", hint="Give a step above zero.")
        return replace(self, every=every)

    def step(self, state: State, seen: Seen, now: int | None) -> tuple[State, list[Punctuation]]:
        """A bound whenever the value has moved far enough."""
        high = max(state.get("high", BOTTOM), seen.high)
        last = state.get("last", BOTTOM)
        if high == BOTTOM or (last > BOTTOM and high - last < self.every):
            return {"high": high, "last": last}, []
        return {"high": high, "last": high}, self._bound(high)


@dataclass(frozen=True, slots=True)
class Timer(_OneAttribute):
    """A callback every `every` of the clock inserts the greatest value seen; in a lull, the clock less `lull`.

    `clock` returns a value of the attribute's own type (default: the system's time, for timestamps).

    >>> timer = Timer("ts", 1, 5, clock=lambda: 0)
    >>> state, at103 = timer.step({"high": 100}, Seen(), 103)
    >>> state, at110 = timer.step(state, Seen(), 110)
    >>> str(at103[0]), str(at110[0])
    ('ts < 100', 'ts < 105')
    """

    every: Any
    lull: Any
    clock: Callable[[], Any]

    def __reduce__(self) -> tuple[Any, ...]:
        """Without the clock: the one who sends a generator elsewhere keeps the time."""
        return Timer, (self.attribute, self.every, self.lull, _stopped)

    def bind(self, domain: Domain) -> Timer:
        """Lengths in ticks, and a clock that ticks."""
        clock = _ticking(self.clock, self.attribute, domain)
        every = domain.span(self.every, what="every")
        lull = None if self.lull is None else domain.span(self.lull, what="lull")
        if every < 0 or (lull is not None and lull < 0):
            raise PlanError(f"timer of {self.every!r} with lull {self.lull!r} is negative", hint="Give zero or more.")
        return replace(self, every=every, lull=lull, clock=clock)

    def step(self, state: State, seen: Seen, now: int | None) -> tuple[State, list[Punctuation]]:
        """The greatest value seen, or the clock less the lull when that is greater."""
        high = max(state.get("high", BOTTOM), seen.high)
        fired = state.get("fired")
        if now is None or (fired is not None and now - fired < self.every):
            return {**state, "high": high}, []
        bound = high
        if self.lull is not None and (high == BOTTOM or now - high > self.lull):
            bound = now - self.lull
        return {"high": high, "fired": now}, self._bound(bound)


def _ticking(clock: Callable[[], Any], attribute: str, domain: Domain) -> Callable[[], int]:
    """A clock that says the time in ticks of an attribute."""
    if not callable(clock):
        raise PlanError(f"clock {clock!r} cannot be called", hint="Give a function that returns the time.")

    def tick() -> int:
        try:
            now = clock()
        except Exception as error:
            raise PlanError(
                f"the clock of the timer on {attribute!r} failed: {type(error).__name__}: {error}",
                hint="The cause was raised by the function that was given as the clock.",
            ) from error
        return domain.point(now, what="clock")

    return tick


def _stopped() -> Any:
    raise PlanError("this timer's clock was left behind", hint="Only the driver of a run reads the clock.")


@dataclass(frozen=True, slots=True)
class Supplied:
    """Punctuation comes from outside: the caller hands it over, or the data carries it.

    With `mark`, a column of that name marks the rows that are punctuation. A boolean mark makes the row
    itself the pattern (null is any, `attribute` is a bound, the rest must be equal); a text mark is the pattern.
    With `per`, what will be supplied speaks of one group each: a bound on `attribute` for it, or its end.
    """

    attribute: str | None = None
    mark: str | None = None
    per: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse an attribute that is among the columns of its own groups."""
        _check_apart(self.attribute, self.per)

    @property
    def tail(self) -> int:
        """Rows are not looked at."""
        return 0

    @property
    def keys(self) -> tuple[str, ...]:
        """The punctuation names its own group."""
        return ()

    def bind(self, domain: Domain) -> Supplied:
        """Nothing to convert."""
        return self

    def step(self, state: State, seen: Seen, now: int | None) -> tuple[State, list[Punctuation]]:
        """Just what was supplied."""
        return {"high": max(state.get("high", BOTTOM), seen.high)}, list(seen.supplied)


@dataclass(frozen=True, slots=True)
class PerGroup:
    """Each group of `keys` has its own disorder, and its own punctuation.

    >>> per = PerGroup(("sensor",), Ordered("ts"))
    >>> seen = Seen(groups={("a",): Seen(rows=1, high=9), ("b",): Seen(rows=1, high=4)})
    >>> [str(p) for p in per.step({}, seen, None)[1]]
    ['sensor = a, ts < 9', 'sensor = b, ts < 4']
    """

    keys: tuple[str, ...]
    inner: Any

    def __post_init__(self) -> None:
        """Refuse an attribute that is among the columns of its own groups."""
        _check_apart(self.inner.attribute, self.keys)

    @property
    def attribute(self) -> str | None:
        """The progressing attribute within each group."""
        return self.inner.attribute

    @property
    def tail(self) -> int:
        """As the inner generator needs it."""
        return self.inner.tail

    def bind(self, domain: Domain) -> PerGroup:
        """Bind the inner generator."""
        return replace(self, inner=self.inner.bind(domain))

    def step(self, state: State, seen: Seen, now: int | None) -> tuple[State, list[Punctuation]]:
        """Step the groups that showed rows; all of them when the clock may have moved one."""
        known: dict[Any, State] = dict(state.get("groups", {}))
        moved = seen.groups if now is None else {**dict.fromkeys(known, Seen()), **seen.groups}
        out: list[Punctuation] = []
        for key, one in moved.items():
            known[key], promises = self.inner.step(known.get(key, {}), one, now)
            for promise in promises:
                bound, _ = promise.split(self.inner.attribute)
                out.append(Punctuation.group_wise(self.inner.attribute, bound, dict(zip(self.keys, key, strict=True))))
        return {"groups": known}, out


def high_of(state: State) -> int:
    """The greatest value that a generator has seen, in whichever group.

    >>> high_of({"groups": {("a",): {"high": 3}, ("b",): {"high": 8}}}), high_of({}) == BOTTOM
    (8, True)
    """
    groups: Mapping[Any, State] = state.get("groups", {})
    return max([state.get("high", BOTTOM), *(high_of(one) for one in groups.values())])


def _check_apart(attribute: str | None, keys: tuple[str, ...]) -> None:
    # Each value would be a group of its own, and what is promised of one says nothing of the next.
    if attribute in keys:
        raise PlanError(
            f"{attribute!r} progresses for each {', '.join(keys)}: it cannot be among the columns of its own groups",
            hint=f"Leave {attribute!r} out of the keys, or let the whole stream progress by it.",
        )
