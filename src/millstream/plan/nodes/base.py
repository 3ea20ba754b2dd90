"""What a node is: everything that anybody asks of one, with what holds for most. A kind of node is one class.

Only `words` must be written. A node that keeps rows says `stateful`, its contract `form` and what rows `meets_on`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import pyarrow as pa

from millstream.core.contract import form
from millstream.core.contract.scheme import Scheme
from millstream.core.domain import Domain
from millstream.core.expression import Expression
from millstream.core.feedback import NOTHING, Response
from millstream.core.pattern import Pattern
from millstream.core.progress import Progress, meet
from millstream.core.settings import PLAIN
from millstream.core.window import Window
from millstream.plan.cost import Choice
from millstream.plan.horizon import Horizon, Lag, Part
from millstream.plan.lag import Promises, through, until_over, used
from millstream.plan.refusal import Refusal

if TYPE_CHECKING:
    from millstream.plan.hints import Hints
    from millstream.plan.nodes.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table that stands still beside the streams: its name, by which a host finds the rows, and its columns."""

    name: str
    schema: pa.Schema


@dataclass(frozen=True, slots=True)
class HoldsBack:
    """Results stay though they could leave, by the windows on an attribute."""

    attribute: str
    reach: int
    """The most ticks by which the bound passes the end of a window whose results are held."""
    lazy: bool
    """Do they wait for rows that push them out?"""


class Node(ABC):
    """What to compute: immutable, with its inputs, its parameters and its schema."""

    __slots__ = ()

    schema: pa.Schema
    """The columns of the rows that leave."""
    stateful: ClassVar[bool] = False
    """Does it remember rows from one epoch to the next?"""
    selective: ClassVar[bool] = False
    """Does it take only the columns it names, so that it carries no other?"""

    makes_rows: ClassVar[bool] = False
    """Does it make other rows of those that come? Then the books of a stream end at it."""

    # --- in the plan

    @abstractmethod
    def reads(self) -> tuple[Node, ...]:
        """The nodes that it reads."""

    @abstractmethod
    def over(self, below: tuple[Node, ...]) -> Node:
        """The same node over other inputs."""

    def meets_on(self, port: int = 0) -> tuple[str, ...]:
        """The columns of an input whose values must meet in one partition; none: all rows must meet."""
        return ()

    def heard(self) -> tuple[Node, ...]:
        """The nodes whose promises it hears: those that it reads, unless they only pass on what they hear."""
        return self.reads()

    def reads_outlet(self) -> int | None:
        """The outlet of its input that it reads, where what leaves is for one reader each; None: it reads all rows."""
        return None

    def spans(self) -> tuple[Window, ...]:
        """The windows that it computes."""
        return ()

    def tables(self) -> tuple[Table, ...]:
        """The tables that stand beside the streams and that it looks into."""
        return ()

    def holds_back(self) -> HoldsBack | None:
        """How it holds results back; None: what can leave does."""
        return None

    def settled(self) -> Node:
        """The same with nothing left to decide by a look at rows."""
        return self

    # --- in words

    @abstractmethod
    def words(self) -> list[str]:
        """What it does, in a line or a few: equal for nodes that do the same."""

    def title(self) -> str:
        """What it is called, in a few words."""
        return self.words()[0]

    def kept(self) -> str:
        """What it remembers, in words."""
        return "rows that punctuation has not let go"

    def asked(self) -> list[str]:
        """What was asked for besides, which changes what it keeps and not what it answers."""
        return []

    def evaluated(self, choice: Choice | None) -> Iterator[str]:
        """How it is computed, in words; `choice` was made when rows came."""
        yield from ()

    def expressions(self) -> Iterator[Expression]:
        """What it computes of a row."""
        yield from ()

    def describe(self) -> list[str]:
        """What it does, and the settings of its expressions, if they are not what holds where nothing was said."""
        found = {str(one.settings) for one in self.expressions() if one.plain is None and one.settings != PLAIN}
        return [*self.words(), *(f"with {one}" for one in sorted(found))]

    # --- its contract

    def form(self, *, ends: bool = False) -> form.Form:
        """What its operator offers; with `ends`, sources promise to end."""
        return form.Select()

    def outgoing(self, incoming: Sequence[Promises], out: Scheme, *, ends: bool) -> Promises:
        """How far punctuation lags behind the rows that leave, for each template that leaves."""
        if not self.stateful:
            return through(self.form(ends=ends), incoming[0], out)
        # Answers leave when the bound passes them, so that the bound is ahead of what has left.
        return {one: self.held_back(one.up_to[0]) if one.up_to else (until_over(one),) for one in out}

    def held_back(self, column: str) -> Lag:
        """How far what is said of a column stays behind, because rows are held back that could leave."""
        return ()

    def own(self) -> tuple[Lag, int]:
        """What it adds to the lag of its input, and how many entries of state a row makes."""
        return (), 1

    def horizon(self, incoming: Sequence[Promises]) -> Horizon:
        """How far back it remembers, by the simplest promise that it can use."""
        found = [one for one, _ in used(self.form(), incoming)]
        timed = [one for one in found if one.up_to] or [one for one in found if not one.ends]
        if not timed:
            return Horizon(parts=(Part("the end of the stream"),))
        best = timed[0]
        if not best.up_to:
            return Horizon(parts=(until_over(best),))
        own, entries = self.own()
        lag = next(lag for one, lag in used(self.form(), incoming) if one == best)
        domain = self.reads()[0].domain_at(best.up_to[0])
        return Horizon.over(best.up_to[0], (*own, *lag), domain, entries=entries)

    def refuse(self, inputs: Sequence[Scheme], say: Hints) -> Refusal:
        """Why it cannot keep any contract with inputs that promise no more than this, and what would help."""
        fact = f"{self.title()} keeps rows for ever: no punctuation that reaches it lets it forget"
        return Refusal(self.title(), "", fact, f"Declare progress of the streams that it reads; {say.end}.")

    def asks(self) -> Iterator[tuple[Node, str, bool]]:
        """The columns on which its memory depends: of which input, which, and does it ask for their order?"""
        yield from ()

    def window_hint(self, column: str, say: Hints) -> str | None:
        """What to do if a column is one of windows, in whose order they do not leave; None if it is not."""
        found = self.copied(column)
        return found[0][0].window_hint(found[0][1], say) if len(found) == 1 else None

    # --- progress

    def promised(self, inputs: Sequence[Progress]) -> Progress:
        """The progress of the output, from that of the inputs.

        What an operator holds back may make it promise less for a while (see `runtime.stops`).
        """
        return inputs[0] if len(inputs) == 1 else meet(inputs)

    def responds(self, ignored: Pattern) -> Response:
        """What its operator does if all who read it ignore these rows of its output.

        What it says must be right whichever of the rows it names do not come: see `core.feedback`.
        """
        return NOTHING

    def dooms(self, ignored: Pattern) -> bool:
        """Is a partial answer that matches sure to match when it is complete? Then nobody needs to complete it."""
        return False

    def ahead(self, column: str, high: Callable[[Source], int]) -> int | None:
        """A tick that a column of no row that came so far reaches, from the greatest of each stream.

        None if nobody can know.
        """
        found = [at.ahead(name, high) for at, name in self.copied(column)]
        known = [one for one in found if one is not None]
        return max(known) if known and len(known) == len(found) else None

    def copied(self, column: str) -> list[tuple[Node, str]]:
        """The columns of the inputs that a column copies, or whose bound it takes over; none for a computed one."""
        return [(one, column) for one in self.reads()]

    def progressing(self) -> tuple[str, ...]:
        """The columns that punctuation speaks of."""
        first, *others = (one.progressing() for one in self.reads())
        return tuple(name for name in first if all(name in other for other in others))

    def domain_at(self, column: str) -> Domain | None:
        """How a column becomes ticks; None if it is not ordered."""
        return next((at.domain_at(name) for at, name in self.copied(column)), None)

    def origins(self, column: str) -> list[tuple[Source, str]]:
        """The columns of streams that a column goes back to, each once."""
        return list(dict.fromkeys(one for at, name in self.copied(column) for one in at.origins(name)))

    def never_null(self, column: str) -> bool:
        """Is it, in every row that leaves, the attribute that its stream progresses by?

        Rows without a value for it are rejected where they enter, so none is left to reject here.
        """
        return False

    # --- for rewrites

    def needs(self, needed: set[str]) -> set[str]:
        """The columns that it reads of its inputs to give the `needed` ones: all, unless it says otherwise."""
        return {name for below in self.reads() for name in below.schema.names}

    def narrowed(self, needed: set[str]) -> Node:
        """The same without columns that nobody asks for."""
        return self

    def says(self) -> Iterator[Any]:
        """Everything about it but its inputs: nodes that say the same over the same inputs are one."""
        for one in fields(cast(Any, self)):
            if one.name not in ("input", "inputs"):
                value = getattr(self, one.name)
                yield meaning(value) if isinstance(value, Expression) else value


def meaning(expression: Expression | None) -> Any:
    """What an expression computes, however it was spelled."""
    if expression is None or expression.plain is not None:
        return None if expression is None else expression.term
    return expression.term, expression.settings


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unary(Node):
    """A node with one input."""

    input: Node

    def reads(self) -> tuple[Node, ...]:
        """The one."""
        return (self.input,)

    def over(self, below: tuple[Node, ...]) -> Self:
        """The same over another."""
        return replace(self, input=below[0])

    def by_groups(self, ignored: Pattern) -> Response:
        """The response where whole groups are ignored, by the columns that tell them apart.

        A group that has lost some of its rows must not be answered, so it must be known which have.
        """
        settles = next((name for name in self.meets_on() if self.input.ahead(name, lambda _: 0) is not None), None)
        return NOTHING if settles is None else Response(inputs={0: ignored}, settles=settles)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Passing(Unary):
    """A node that some rows of its input leave, as they came."""

    @property
    def schema(self) -> pa.Schema:
        """That of the input."""
        return self.input.schema

    def never_null(self, column: str) -> bool:
        """As in the input."""
        return self.input.never_null(column)


def alike(names: Iterable[tuple[str, str]], here: pa.Schema, below: pa.Schema) -> dict[str, str]:
    """By column that leaves: the column of an input that it is, if both have one type, so that ticks are the same."""
    known = {name: there for name, there in names if name in here.names and there in below.names}
    return {name: there for name, there in known.items() if here.field(name).type == below.field(there).type}


def row_by_row(ignored: Pattern) -> Response:
    """The response of a node from which each row leaves as it came, or does not, whatever other rows there are."""
    return Response(inputs={0: ignored}, whole=True)
