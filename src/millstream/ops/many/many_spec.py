"""What a join of many streams computes: which columns must be equal, how near rows must be, and what else must hold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from millstream.core.expression import Expression
from millstream.core.promise.many import ManyShape
from millstream.core.promise.near import Near, Reach
from millstream.core.promise.spans import Spans
from millstream.ops.join.join_spec import Partners
from millstream.state.slices import Slices

Key = Mapping[int, str]
"""Columns that must all be equal: of each stream that has one, its name there."""


@dataclass(frozen=True, slots=True)
class KeyLink:
    """Keys that the same streams have: rows of these streams find each other by one hash of all."""

    streams: frozenset[int]
    keys: tuple[Key, ...]

    def columns(self, stream: int) -> list[str]:
        """The columns of a stream."""
        return [key[stream] for key in self.keys]


@dataclass(frozen=True, kw_only=True)
class ManySpec:
    """Which rows of many streams belong together, and what leaves."""

    schemas: tuple[pa.Schema, ...]
    spans: Spans
    keys: tuple[Key, ...]
    condition: Expression | None
    """Over the columns of a combination."""
    columns: tuple[tuple[str, int, str], ...]
    """Of a combination: the name, the stream, and the name there."""
    schema: pa.Schema
    anchored: bool = False
    """Do rows of the first stream leave, too, that are part of no combination?"""
    rows: tuple[int, ...] | None = None
    """Of each stream, how many rows its window has, where windows are counted; None: by time."""

    @property
    def streams(self) -> int:
        """How many."""
        return len(self.schemas)

    @cached_property
    def links(self) -> tuple[KeyLink, ...]:
        """Keys by the streams that they tie, those of the most streams first."""
        found: dict[frozenset[int], list[Key]] = {}
        for key in self.keys:
            found.setdefault(frozenset(key), []).append(key)
        links = [KeyLink(streams, tuple(keys)) for streams, keys in found.items()]
        return tuple(sorted(links, key=lambda one: (-len(one.streams), sorted(one.streams))))

    @cached_property
    def links_of(self) -> tuple[tuple[int, ...], ...]:
        """Of each stream, the links that tie it; its rows are sorted by the first."""
        return tuple(
            tuple(n for n, link in enumerate(self.links) if stream in link.streams) for stream in range(self.streams)
        )

    @cached_property
    def source(self) -> dict[str, tuple[int, str]]:
        """By column of a combination: the stream, and the name there."""
        return {name: (stream, column) for name, stream, column in self.columns}

    @cached_property
    def conditions(self) -> tuple[tuple[frozenset[int], Expression], ...]:
        """Conditions that can be checked as soon as some streams' rows are there, because no row can make them fail."""
        if self.condition is None or not self.condition.total:
            return ()
        return tuple(
            (frozenset(self.source[name][0] for name in part.columns), part) for part in self.condition.conjuncts()
        )

    @property
    def last(self) -> Expression | None:
        """The condition, where it may fail: then it is checked of whole combinations only."""
        return None if self.condition is None or self.condition.total else self.condition

    @cached_property
    def at_entry(self) -> tuple[tuple[Expression, ...], ...]:
        """Of each stream, conditions on its rows alone."""
        return tuple(
            tuple(part for streams, part in self.conditions if streams <= {stream} and (streams or not stream))
            for stream in range(self.streams)
        )

    def checked_at(self, there: frozenset[int], stream: int) -> Iterator[Expression]:
        """The conditions that can be checked when rows of a stream come to rows that are there."""
        for streams, part in self.conditions:
            if stream in streams and len(streams) > 1 and streams <= there | {stream}:
                yield part

    def key_columns(self, stream: int) -> list[str]:
        """All columns of a stream that must be equal to another's."""
        return [key[stream] for key in self.keys if stream in key]

    @cached_property
    def pairs(self) -> dict[tuple[int, int], Partners]:
        """By stream and another: what ties the first to the second, as in a join of two."""
        names, most = self.spans.names, self.spans.most
        out: dict[tuple[int, int], Partners] = {}
        for i in range(self.streams):
            for j in range(self.streams):
                low = most[j][i]
                near = Near((names[i], names[j]), Reach(None if low is None else -low, most[i][j]))
                keys = tuple((key[i], key[j]) for key in self.keys if i in key and j in key)
                out[i, j] = Partners(keys=keys, near=near)
        return out

    @cached_property
    def slices(self) -> tuple[Slices, ...]:
        """Of each stream, where its rows are cut."""
        return tuple(Slices.across(self.spans.lasting(stream)) for stream in range(self.streams))

    @cached_property
    def shape(self) -> ManyShape:
        """As much of it as its promise depends on."""
        return ManyShape(self.spans, self.common, self.names, counted=self.rows is not None)

    @cached_property
    def common(self) -> tuple[tuple[str, ...], ...]:
        """Keys that all streams have."""
        every = range(self.streams)
        return tuple(tuple(key[i] for i in every) for key in self.keys if len(key) == self.streams)

    @cached_property
    def names(self) -> tuple[dict[str, str], ...]:
        """Of each stream, by column: its name in what leaves, if it is never null for want of partners."""
        kept = range(1) if self.anchored else range(self.streams)
        leaving = set(self.schema.names)
        return tuple(
            {column: name for name, of, column in self.columns if of == stream and name in leaving and stream in kept}
            for stream in range(self.streams)
        )
