"""Windows: which rows belong together, said in ticks of the windowing attribute.

`extent` says which values a window holds, `wids` which windows a value is in; they are inverse, and
tests/laws/test_window.py holds every kind of window to that. Extents are half-open [low, high), except
slide-by-tuple, whose windows end *at* a row: (low, high]. Floors everywhere: a value before the start
must round down too.

A window that declares a `start` begins with window 0 and has no earlier ones: values before the start
still count in the windows that reach back to them, and in no other. Without a start, windows are aligned to
tick 0 (for a timestamp the epoch) and ids may be negative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from math import gcd
from typing import Literal, Protocol, TypeAlias, assert_never, runtime_checkable

from millstream.core.domain import LONGEST
from millstream.core.errors import WindowError
from millstream.core.fingerprint import fingerprint

_MOST = 10**9  # windows that a row can be in


class Context(Enum):
    """What must be known besides the row itself before its windows are known."""

    FREE = "CF"
    """Nothing: the windows follow from the value."""
    BACKWARD = "FCF"
    """Rows that came before: forward-context free."""
    FORWARD = "FCA"
    """Rows that are still to come: forward-context aware."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliding:
    """A window of `size` ends every `slide`; window w is [start+(w+1)·slide−size, start+(w+1)·slide).

    >>> window = Sliding(size=10, slide=4, start=0)
    >>> list(window.wids(7)), window.extent(1), window.first_open(660)
    ([1, 2, 3], (-2, 8), 165)
    """

    size: int
    slide: int
    start: int | None = None

    def __post_init__(self) -> None:
        """Refuse windows without a length or that do not move."""
        _positive("range", self.size)
        _positive("slide", self.slide)
        if self.size // self.slide > _MOST:
            raise WindowError(
                f"range {self.size} and slide {self.slide} put every row in {self.size // self.slide} windows",
                hint="Give a longer slide.",
            )

    @property
    def base(self) -> int:
        """The tick that windows are counted from."""
        return self.start or 0

    @property
    def first(self) -> int | None:
        """The first window there is, if there is a first."""
        return None if self.start is None else 0

    @property
    def pane(self) -> int:
        """The greatest length that divides size and slide: windows are whole runs of panes."""
        return gcd(self.size, self.slide)

    def wids(self, value: int) -> range:
        """Ids of the windows that hold `value`, ascending."""
        offset = value - self.base
        low = offset // self.slide
        return range(low if self.start is None else max(0, low), (offset + self.size) // self.slide)

    def extent(self, wid: int) -> tuple[int, int]:
        """The half-open interval that window `wid` covers."""
        end = self.base + (wid + 1) * self.slide
        return end - self.size, end

    def first_open(self, bound: int) -> int:
        """The first window that a punctuation up to `bound` leaves open."""
        return (bound - self.base) // self.slide


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Sliding over row numbers, 1-based by arrival, or by rank of an attribute once punctuation fixes it.

    With `partition_by`, rows are numbered within their partition, and each partition has its own windows.

    >>> list(Rows(size=2, slide=1).by_number.wids(1)), list(Rows(size=2, slide=1).by_number.wids(2))
    ([0, 1], [1, 2])
    """

    size: int
    slide: int
    partition_by: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no window can be."""
        _positive("range", self.size)
        _positive("slide", self.slide)

    @property
    def by_number(self) -> Sliding:
        """The same windows, over the number of the row in its partition."""
        return Sliding(size=self.size, slide=self.slide, start=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Landmark:
    """Every window begins at the beginning; one ends each `slide`.

    >>> [Landmark(slide=60, start=0).first_wid(a) for a in (0, 59, 60, 125)]
    [0, 0, 1, 2]
    """

    slide: int
    start: int | None = None

    def __post_init__(self) -> None:
        """Refuse windows that do not move."""
        _positive("slide", self.slide)

    @property
    def base(self) -> int:
        """The tick that windows are counted from."""
        return self.start or 0

    def first_wid(self, value: int) -> int:
        """The first window that holds `value`; all later ones do too."""
        wid = (value - self.base) // self.slide
        return wid if self.start is None else max(0, wid)

    def extent(self, wid: int) -> tuple[None, int]:
        """No lower end, so a value before the start is in every window; below `start + (wid+1)·slide`."""
        return None, self.base + (wid + 1) * self.slide

    def first_open(self, bound: int) -> int:
        """The first window that a punctuation up to `bound` leaves open."""
        return (bound - self.base) // self.slide


@dataclass(frozen=True, slots=True, kw_only=True)
class SlideByTuple:
    """A window ends at rows and reaches back `size`: (w−size, w], w a value of the attribute.

    Which rows: every one, each `every`-th to arrive, or each `every`-th in the attribute's own order.

    >>> window = SlideByTuple(size=10)
    >>> window.windows([0, 4, 7, 12, 1]), window.extent(12), window.holds(12, 4)
    ([0, 1, 4, 7, 12], (2, 12), True)
    >>> SlideByTuple(size=10, every=2).windows([0, 4, 7, 12, 1])
    [4, 12]
    >>> SlideByTuple(size=10, every=2, by="rank").windows([0, 4, 7, 12, 1])
    [1, 7]
    """

    size: int
    every: int = 1
    by: Literal["arrival", "rank"] = "arrival"

    def __post_init__(self) -> None:
        """Refuse what no window can be."""
        _positive("range", self.size)
        _positive("slide", self.every)

    def windows(self, arrivals: Iterable[int]) -> list[int]:
        """The windows there are, given all values in order of arrival: this is why it needs the future."""
        values = list(arrivals)
        ordered = sorted(values) if self.by == "rank" else values
        return sorted(set(ordered[self.every - 1 :: self.every]))

    def extent(self, wid: int) -> tuple[int, int]:
        """The open-closed interval that window `wid` covers."""
        return wid - self.size, wid

    def holds(self, wid: int, value: int) -> bool:
        """Is `value` in window `wid`?"""
        return wid - self.size < value <= wid


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """Rows no more than `gap` apart belong together; a longer silence ends the session.

    >>> Session(gap=5).sessions([1, 14, 6, 20, 19])
    [(1, 11), (14, 25)]
    """

    gap: int

    def __post_init__(self) -> None:
        """Refuse a gap that nothing can exceed or that everything does."""
        _positive("gap", self.gap)

    def sessions(self, values: Iterable[int]) -> list[tuple[int, int]]:
        """The sessions of a set of values as [first, last + gap)."""
        out: list[tuple[int, int]] = []
        for value in sorted(values):
            if out and value <= out[-1][1]:
                out[-1] = (out[-1][0], value + self.gap)
            else:
                out.append((value, value + self.gap))
        return out


@runtime_checkable
class Labelled(Protocol):
    """Makes the functions of a window, and can say in words which."""

    def label(self, span: Callable[[int], str]) -> str:
        """The windows in words; `span` shows a length."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class UserDefined:
    """Windows given by two functions that must be inverse: `extent` and `wids`.

    >>> hours = UserDefined(extent_of=lambda w: (w * 10, w * 10 + 3), wids_of=lambda a: [a // 10] if a % 10 < 3 else [])
    >>> hours.wids(12), hours.wids(15), hours.extent(1)
    ([1], [], (10, 13))
    """

    extent_of: Callable[[int], tuple[int, int]]
    wids_of: Callable[[int], Iterable[int]]

    def __post_init__(self) -> None:
        """Refuse what cannot be called."""
        for name, given in (("extent", self.extent_of), ("wids", self.wids_of)):
            if not callable(given):
                raise WindowError(f"{name} is {given!r}, which cannot be called", hint="Give a function of one number.")

    def label(self, span: Callable[[int], str]) -> str:
        """What tells these windows from others: the words of whoever has made the functions, or a print of their code.

        `span` shows a length.
        """
        maker = getattr(self.extent_of, "__self__", None)
        if isinstance(maker, Labelled):
            return maker.label(span)
        return f"user-defined, code {fingerprint(self.extent_of, self.wids_of)}"

    def wids(self, value: int) -> list[int]:
        """Ids of the windows that hold `value`, checked against `extent`."""
        try:
            found = list(dict.fromkeys(int(wid) for wid in self.wids_of(value)))  # a set: an id twice is one window
        except Exception as error:
            raise _failed("wids", value, error) from error
        for wid in found:
            low, high = self.extent(wid)
            if not low <= value < high:
                raise WindowError(
                    f"wids({value}) has window {wid}, but extent({wid}) is [{low}, {high})",
                    hint="`wids` and `extent` of a user-defined window must be inverse.",
                )
        return found

    def extent(self, wid: int) -> tuple[int, int]:
        """The half-open interval that window `wid` covers."""
        try:
            low, high = self.extent_of(wid)
            return int(low), int(high)
        except Exception as error:
            raise _failed("extent", wid, error) from error


def _all_there_is(_wid: int) -> tuple[int, int]:
    return 0, 1


def _only_one(_value: int) -> tuple[int, ...]:
    return (0,)


WHOLE = UserDefined(extent_of=_all_there_is, wids_of=_only_one)
"""One window that nothing but the end of its group closes: grouping without a window, over the constant 0."""


Window: TypeAlias = Sliding | Rows | Landmark | SlideByTuple | Session | UserDefined


def context(window: Window) -> Context:
    """The context class, derived from what the window has to ask for.

    A window with `wids` or `first_wid` answers from the value alone; one that numbers rows within
    partitions must have counted them; one with neither must wait for the rows to come.

    >>> context(Sliding(size=2, slide=1)), context(Rows(size=2, slide=1, partition_by=("k",)))
    (<Context.FREE: 'CF'>, <Context.BACKWARD: 'FCF'>)
    """
    if hasattr(window, "wids") or hasattr(window, "first_wid"):
        return Context.FREE
    if hasattr(window, "by_number"):
        return Context.BACKWARD if getattr(window, "partition_by", ()) else Context.FREE
    return Context.FORWARD


def common_pane(windows: Iterable[Sliding]) -> int:
    """The greatest length that all windows are whole runs of: the panes that they share.

    >>> common_pane([Sliding(size=10, slide=4), Sliding(size=6, slide=3)])
    1
    """
    return gcd(*(window.pane for window in windows))


def reach(window: Window) -> int:
    """How far from a value the reckoning of its windows can lead.

    >>> reach(Sliding(size=10, slide=4, start=-100)), reach(Session(gap=5))
    (115, 6)
    """
    match window:
        case Sliding():
            return window.size + window.slide + abs(window.base) + 1
        case Landmark():
            return window.slide + abs(window.base) + 1
        case SlideByTuple():
            return window.size + 1
        case Session():
            return window.gap + 1
        case Rows() | UserDefined():
            return 1
        case _:
            assert_never(window)


def _positive(what: str, value: int) -> None:
    if value <= 0:
        raise WindowError(f"{what} {value} is not positive", hint=f"Give a {what} above zero.")
    if value >= LONGEST:
        raise WindowError(f"{what} {value} is too long", hint=f"Give a {what} below {LONGEST}.")


def _failed(function: str, value: int, error: Exception) -> WindowError:
    return WindowError(
        f"{function}({value}) of a user-defined window failed: {type(error).__name__}: {error}",
        hint="`extent` must answer a pair of numbers, `wids` some numbers.",
    )
