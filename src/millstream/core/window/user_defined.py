"""Windows by two functions of the user, and the one window there is without windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from millstream.core.domain import Domain
from millstream.core.errors import WindowError
from millstream.core.fingerprint import fingerprint
from millstream.core.window.base import Length, Window


@runtime_checkable
class Labelled(Protocol):
    """Makes the functions of a window, and can say in words which."""

    def label(self, span: Callable[[int], str]) -> str:
        """The windows in words; `span` shows a length."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class UserDefined(Window):
    """Windows given by two functions that must be inverse: `extent` and `wids`.

    >>> hours = UserDefined(extent_of=lambda w: (w * 10, w * 10 + 3), wids_of=lambda a: [a // 10] if a % 10 < 3 else [])
    >>> hours.wids(12), hours.wids(15), hours.extent(1)
    ([1], [], (10, 13))
    """

    kind: ClassVar = "a user-defined window"

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

    @property
    def keeps(self) -> str | None:
        """A group that is not over."""
        return "one partial" if self == WHOLE else None

    def words(self, attribute: str, domain: Domain) -> str:
        """The windows in words."""
        if self == WHOLE:
            return "none: a group is answered when it is over"
        return f"{self.label(domain.show_span)} on {attribute}"

    def lasts(self, *, holistic: bool) -> tuple[Length, ...]:
        """Nobody knows how long a window is."""
        return () if self == WHOLE else (("the extent of a window", None),)


def _all_there_is(_wid: int) -> tuple[int, int]:
    return 0, 1


def _only_one(_value: int) -> tuple[int, ...]:
    return (0,)


WHOLE = UserDefined(extent_of=_all_there_is, wids_of=_only_one)
"""One window that nothing but the end of its group closes: grouping without a window, over the constant 0."""


def _failed(function: str, value: int, error: Exception) -> WindowError:
    return WindowError(
        f"{function}({value}) of a user-defined window failed: {type(error).__name__}: {error}",
        hint="`extent` must answer a pair of numbers, `wids` some numbers.",
    )
