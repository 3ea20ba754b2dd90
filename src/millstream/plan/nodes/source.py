"""Source: a stream as it enters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from millstream.core.contract import form
from millstream.core.contract.scheme import Scheme
from millstream.core.domain import Domain
from millstream.core.generator import (
    BoundedDisorder,
    BoundedRows,
    IdleDisorder,
    Ordered,
    PerGroup,
    Step,
    Supplied,
    Timer,
)
from millstream.plan.horizon import show_length
from millstream.plan.lag import Promises
from millstream.plan.nodes.base import Node
from millstream.plan.promise import promises_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Source(Node):
    """A stream as it enters."""

    name: str
    schema: pa.Schema
    progress: Any = None
    """A generator bound to ticks, or None: nothing is promised before the end."""
    domains: Mapping[str, Domain] = field(default_factory=dict[str, Domain])
    raw: bool = False
    """Do rows that could not be read come among the others, as text?"""

    def reads(self) -> tuple[Node, ...]:
        """No other node."""
        return ()

    def over(self, below: tuple[Node, ...]) -> Node:
        """Itself."""
        return self

    def words(self) -> list[str]:
        """Its name, and what it promises."""
        return [f"stream {self.name}: {self.progress_words()}"]

    def title(self) -> str:
        """Its name."""
        return f"stream {self.name}"

    def form(self, *, ends: bool = False) -> form.Form:
        """It promises what was declared of it."""
        return form.Leaf((Scheme(frozenset(promises_of(self, ends=ends))),))

    def outgoing(self, incoming: Sequence[Promises], out: Scheme, *, ends: bool) -> Promises:
        """The disorder that was declared."""
        return promises_of(self, ends=ends)

    def progressing(self) -> tuple[str, ...]:
        """Its attribute."""
        attribute = None if self.progress is None else self.progress.attribute
        return () if attribute is None else (attribute,)

    def domain_at(self, column: str) -> Domain | None:
        """By the type of the column."""
        return self.domains.get(column)

    def origins(self, column: str) -> list[tuple[Source, str]]:
        """Here columns begin."""
        return [(self, column)] if column in self.schema.names else []

    def ahead(self, column: str, high: Callable[[Source], int]) -> int | None:
        """Beyond the greatest value of its attribute; of other columns nobody takes note."""
        return high(self) + 1 if self.progressing() == (column,) else None

    def never_null(self, column: str) -> bool:
        """Rows without a value for the attribute are rejected.

        >>> stream = Source(name="s", schema=pa.schema({"ts": pa.int64()}), progress=Ordered("ts"))
        >>> stream.never_null("ts")
        True
        """
        return self.progress is not None and self.progress.attribute == column

    def needs(self, needed: set[str]) -> set[str]:
        """It reads no node."""
        return set()

    def says(self) -> Iterator[Any]:
        """Streams are told apart by their names."""
        yield self.name

    def promise_text(self) -> str:
        """What it promises, in words and as a scheme."""
        promised = promises_of(self)
        if not promised:
            words = "" if self.progress is None else f" to count on ({self.progress_words()})"
            return f"promises nothing{words}"
        return f"promises {Scheme(frozenset(promised))} ({self.progress_words()})"

    def promise_words(self) -> str:
        """What it promises, in words only."""
        if self.progress is None:
            return "promises nothing"
        return f"promises {'' if promises_of(self) else 'nothing to count on, '}{self.progress_words()}"

    def progress_words(self) -> str:
        """Its disorder in words."""
        generator = self.progress
        if generator is None:
            return "no progress declared: windows close at the end of the stream"
        inner = generator.inner if isinstance(generator, PerGroup) else generator
        text = _disorder(inner, self.domains.get(inner.attribute or ""))
        return f"{text}, for each {', '.join(generator.keys)}" if isinstance(generator, PerGroup) else text


def _disorder(inner: Any, domain: Domain | None) -> str:
    def span(ticks: int) -> str:
        return show_length(ticks, domain)

    match inner:
        case Ordered():
            return f"ordered on {inner.attribute}"
        case IdleDisorder():
            return f"{inner.attribute} within {span(inner.span)}, by the clock after {span(inner.idle)} without rows"
        case BoundedDisorder():
            return f"{inner.attribute} within {span(inner.span)}"
        case BoundedRows():
            return f"{inner.attribute} within {inner.rows} rows"
        case Step():
            return f"ordered on {inner.attribute}, punctuated each {span(inner.every)}"
        case Timer():
            return f"{inner.attribute} by timer each {span(inner.every)}"
        case Supplied():
            text = "punctuation supplied" if inner.mark is None else f"punctuation marked by {inner.mark}"
            return text + (f", for each {', '.join(inner.per)}" if inner.per else "")
        case _:
            return type(inner).__name__
