"""Every error a user can meet, as one tree.

    MillstreamError
    ├── SchemaError        a column is unknown, missing, or of the wrong type
    ├── WindowError        a window that cannot exist (zero slide, unordered attribute, mixed units)
    ├── PatternError       a pattern or punctuation that cannot be read or built
    ├── PunctuationError   a punctuation that contradicts an earlier one
    ├── AggregateError     an aggregate that cannot take its arguments, or a result that does not fit
    ├── ExpressionError    SQL text that does not parse or names an unknown column
    ├── SqlError           a statement with problems, each with its place in the text
    │   └── NotYetError    a right statement that needs an operator which is not there yet; a PlanError too
    ├── PlanError          a query that does not hold together (no such strategy, duplicate name)
    │   ├── ContractError  a query that would keep rows for ever, or never answer
    │   └── WordError      a method of another system that has another name here; an AttributeError too
    ├── SourceError        input that cannot be read
    ├── SinkError          output that cannot be written
    ├── StateError         a checkpoint or segment that cannot be trusted
    └── RunError           a run that stopped; `__cause__` is why

A message is the fact with its values, then a hint: what to do about it.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from millstream.core.problem import Problem

_MOST = 10  # problems that a message tells at length


class MillstreamError(Exception):
    """The root: `except ms.MillstreamError` catches everything that is ours.

    >>> print(WindowError("slide 0 is not positive", hint="Give a slide of at least 1."))
    slide 0 is not positive
    Hint: Give a slide of at least 1.
    """

    def __init__(self, fact: str, *, hint: str | None = None) -> None:
        """Keep the `fact`, and the `hint` that tells what to do about it."""
        super().__init__(fact if hint is None else f"{fact}\nHint: {hint}")
        self.fact = fact
        self.hint = hint


class SchemaError(MillstreamError):
    """A column is unknown, missing, or of a type that does not fit."""


class WindowError(MillstreamError):
    """A window that cannot exist."""


class PatternError(MillstreamError):
    """A pattern that cannot be read or built."""


class PunctuationError(MillstreamError):
    """A punctuation that contradicts an earlier one."""


class AggregateError(MillstreamError):
    """An aggregate that cannot take its arguments, or whose result does not fit its type."""


class ExpressionError(MillstreamError):
    """SQL text that does not parse, or names a column that is not there."""


class PlanError(MillstreamError):
    """A query that does not hold together."""


class WordError(PlanError, AttributeError):
    """A method of another system, which has another name here."""


class ContractError(PlanError):
    """A query that would keep rows for ever, or never answer: refused before anything starts.

    `report` is what `engine.check()` says, with every operator.
    """

    def __init__(self, fact: str, *, hint: str | None = None, report: object = None) -> None:
        """Keep the whole `report` beside the `fact`."""
        super().__init__(fact, hint=hint)
        self.report = report


class SqlError(MillstreamError):
    """A statement with problems: all that were found, each with its place in the text.

    >>> from millstream.core.problem import Problem
    >>> print(SqlError([Problem("there is no column prize", "SELECT prize", 7, 12, "Did you mean price?")]))
    line 1, column 8: there is no column prize
      1 | SELECT prize
        |        ^^^^^
    Hint: Did you mean price?
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        """What is wrong, in the order of the text."""
        self.problems = tuple(sorted(dict.fromkeys(problems), key=lambda one: (one.start, one.end)))
        times = Counter(one.fact for one in self.problems)
        first = {one.fact: one for one in reversed(self.problems)}
        blocks = [one.shown(times[one.fact]) for one in self.problems if first[one.fact] is one]
        head = [f"{len(self.problems)} problems"] if len(blocks) > 1 else []
        rest = [f"… and {len(blocks) - _MOST} more"] if len(blocks) > _MOST else []
        super().__init__("\n\n".join([*head, *blocks[:_MOST], *rest]))
        self.hint = self.problems[0].hint

    def __reduce__(self) -> tuple[object, ...]:
        """From its problems again, not from its text."""
        return type(self), (self.problems,)


class NotYetError(SqlError, PlanError):
    """A statement that is right, but needs an operator that is not there yet."""


class SourceError(MillstreamError):
    """Input that cannot be read."""


class SinkError(MillstreamError):
    """Output that cannot be written."""


class StateError(MillstreamError):
    """A checkpoint or a segment that cannot be trusted."""


class RunError(MillstreamError):
    """A run that stopped before its end; the cause is chained."""


def sql_error(problems: Iterable[Problem]) -> SqlError:
    """The error for some problems: NotYetError if nothing is wrong but that we cannot do it yet."""
    found = tuple(problems)
    return (NotYetError if all(one.not_yet for one in found) else SqlError)(found)


def nearest(name: object, known: Iterable[str]) -> str:
    """A hint that names the nearest known word, and all of them if they are few.

    >>> nearest("prize", ["price", "ts"])
    'Did you mean "price"? Known: price, ts.'
    """
    names = list(known)
    close = difflib.get_close_matches(str(name), names, n=1)
    guess = f'Did you mean "{close[0]}"? ' if close else ""
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    return f"{guess}Known: {shown}."
