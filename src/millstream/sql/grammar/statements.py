"""Statements as they were read: immutable, with the place of everything that can be wrong. Nothing is bound yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from millstream.core.flush import Flush
from millstream.sql.grammar.text import Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A name, and where it stands."""

    text: str
    piece: Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class Length:
    """A number of rows, a number of the attribute's own unit, or a duration as text."""

    value: int | str
    piece: Piece
    rows: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Sliding:
    """`[RANGE r, SLIDE s, WATTR a]`, TUMBLE, HOP, `window(…)`."""

    piece: Piece
    attribute: Name
    range: Length
    more: tuple[Length, ...] = ()
    """Further ranges: several windows, with one slide if there is one."""
    slide: Length | None = None
    start: int | str | None = None
    partition: tuple[Name, ...] = ()
    tumbling: bool = False
    """`RANGE TUMBLING r`: after a stream that is joined, the window is that of the join."""
    from_start: bool = False
    """Windows begin, and not end, at multiples of the slide, as Flink and Spark count them."""
    flush: Flush | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ByRows:
    """`[RANGE 1000 rows, SLIDE 10 rows, WATTR row-num, PATTR k]`; with another attribute, by its order."""

    piece: Piece
    attribute: Name | None
    range: Length
    slide: Length | None = None
    partition: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Growing:
    """`[RANGE ALL, SLIDE s, WATTR a]`."""

    piece: Piece
    attribute: Name
    slide: Length
    start: int | str | None = None
    partition: tuple[Name, ...] = ()
    flush: Flush | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ByTuple:
    """`[RANGE r, RATTR a, SLIDE n rows, SATTR row-num]`, or `SATTR rank(a)`."""

    piece: Piece
    attribute: Name
    range: Length
    every: Length
    rank: bool
    partition: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Sessions:
    """`[GAP g, WATTR a]`, SESSION, `session_window(…)`."""

    piece: Piece
    attribute: Name
    gap: Length
    partition: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Cumulating:
    """CUMULATE: windows that begin at multiples of `size` and grow by `step`."""

    piece: Piece
    attribute: Name
    step: Length
    size: Length
    partition: tuple[Name, ...] = ()


Window: TypeAlias = Sliding | ByRows | Growing | ByTuple | Sessions | Cumulating


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """Spark's `WATERMARK ts DELAY OF INTERVAL 5 SECONDS`: a promise made where the stream is read."""

    piece: Piece
    attribute: Name
    delay: Length

    @property
    def word(self) -> str:
        """The word it begins with."""
        return str(self.piece).partition(" ")[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class FromName:
    """A stream, a view or a WITH query, by name."""

    piece: Piece
    name: Name
    alias: Name | None = None
    window: Window | None = None
    delay: Delay | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FromSide:
    """`LATE(q)`, `REJECTED(q)` or `PARTIAL(q)`: what a query has beside its results."""

    piece: Piece
    output: str
    """late or rejected."""
    name: Name
    alias: Name | None = None
    window: Window | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FromQuery:
    """A sub-query."""

    piece: Piece
    query: Query
    alias: Name | None = None
    window: Window | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FromUnion:
    """`A UNION B AS name`: all rows of several streams."""

    piece: Piece
    inputs: tuple[From, ...]
    alias: Name | None = None
    window: Window | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """How an item of FROM is joined to those before it: by a comma, or by JOIN with its condition."""

    piece: Piece
    how: str = "inner"
    condition: Piece | None = None
    using: tuple[Name, ...] = ()
    as_of: bool = False
    match: Piece | None = None
    """The comparison of times, where it stands apart: `MATCH_CONDITION (a.ts >= b.ts)`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FromJoin:
    """Several items; `joins` has one for each item after the first."""

    piece: Piece
    inputs: tuple[From, ...]
    joins: tuple[Joined, ...]
    alias: Name | None = None
    window: Window | None = None


From: TypeAlias = FromName | FromSide | FromQuery | FromUnion | FromJoin


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderItem:
    """An item of ORDER BY."""

    piece: Piece
    descending: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """LIMIT n."""

    piece: Piece
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectQuery:
    """One SELECT. `window` is the clause after an aggregate or after GROUP BY, or `window(…)` in it."""

    piece: Piece
    items: tuple[Piece, ...]
    source: From
    distinct: bool = False
    where: Piece | None = None
    groups: tuple[Piece, ...] = ()
    having: Piece | None = None
    qualify: Piece | None = None
    window: Window | None = None
    order: tuple[OrderItem, ...] = ()
    limit: Limit | None = None
    ctes: tuple[tuple[Name, Query], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PaceClause:
    """`WITH PACE ON max(a.ts, b.ts) 1 MINUTE HEADROOM 10 SECONDS`."""

    piece: Piece
    column: Name
    within: Length
    headroom: Length | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUnion:
    """`… UNION [ALL] …`: rows of both, without ALL each once; with a pace, those that are not too late."""

    piece: Piece
    left: Query
    right: Query
    distinct: bool
    pace: PaceClause | None = None
    ctes: tuple[tuple[Name, Query], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCompare:
    """`… EXCEPT …`, `… INTERSECT …`: rows of the first that the second has not, or has too; each once."""

    piece: Piece
    left: Query
    right: Query
    kind: str
    """except or intersect."""
    ctes: tuple[tuple[Name, Query], ...] = ()


Query: TypeAlias = SelectQuery | SetUnion | SetCompare


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered:
    """`PROGRESS ORDERED ON ts`."""

    piece: Piece
    attribute: Name
    per: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """`PROGRESS ON ts WITHIN 5 seconds [IDLE 30 seconds]`, or `WITHIN 100 ROWS`."""

    piece: Piece
    attribute: Name
    length: Length
    idle: Length | None = None
    per: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Stepped:
    """`PROGRESS ON ts EVERY 1 second STEP`."""

    piece: Piece
    attribute: Name
    every: Length
    per: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Timed:
    """`PROGRESS ON ts TIMER EVERY 1 second LULL 5 seconds`."""

    piece: Piece
    attribute: Name
    every: Length
    lull: Length | None = None
    per: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplied:
    """`PROGRESS SUPPLIED ON ts`, or `MARKED BY column ON ts`."""

    piece: Piece
    attribute: Name | None = None
    mark: Name | None = None
    per: tuple[Name, ...] = ()


Progress: TypeAlias = Ordered | Within | Stepped | Timed | Supplied


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of CREATE STREAM, its type as SQL wrote it."""

    name: Name
    kind: Piece


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateStream:
    """`CREATE STREAM name (columns) FROM format 'path' OPTIONS (…) PROGRESS …`."""

    piece: Piece
    name: Name
    columns: tuple[Column, ...]
    format: Name
    path: Name | None
    options: tuple[tuple[Name, str], ...] = ()
    progress: Progress | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """`CREATE TABLE name (columns) FROM format 'path' OPTIONS (…)`: read whole, to stand beside the streams."""

    piece: Piece
    name: Name
    columns: tuple[Column, ...]
    format: Name
    path: Name
    options: tuple[tuple[Name, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView:
    """`CREATE VIEW name AS SELECT …`."""

    piece: Piece
    name: Name
    query: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """`INSERT INTO format 'path' SELECT …`, or INSERT OVERWRITE; a plain SELECT goes to the console."""

    piece: Piece
    format: Name | None
    path: Name | None
    query: Query
    options: tuple[tuple[Name, str], ...] = ()
    """How a folder is written: its mode, and the columns that name folders in it."""
    replaces: bool = False
    """Is what is in the folder removed first?"""


@dataclass(frozen=True, slots=True, kw_only=True)
class SendFeedback:
    """`FEEDBACK ASSUMED ON query WHERE condition FOR n EPOCHS`."""

    piece: Piece
    intent: str
    """assumed, desired or demanded."""
    query: Name
    condition: Piece
    epochs: int | None = None


Statement: TypeAlias = CreateStream | CreateTable | CreateView | Insert | SendFeedback
