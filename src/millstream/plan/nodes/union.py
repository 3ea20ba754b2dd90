"""Union: all rows of several inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from millstream.core.contract import form
from millstream.core.contract.scheme import Scheme
from millstream.core.feedback import Response
from millstream.core.pattern import Pattern
from millstream.plan.lag import SKEW, Promises, implied, longest
from millstream.plan.nodes.base import Node


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Union(Node):
    """All rows of several inputs."""

    inputs: tuple[Node, ...]
    schema: pa.Schema

    def reads(self) -> tuple[Node, ...]:
        """Its inputs."""
        return self.inputs

    def over(self, below: tuple[Node, ...]) -> Node:
        """The same over others."""
        return replace(self, inputs=below)

    def words(self) -> list[str]:
        """How many inputs there are."""
        return [f"{self.title()}: progress is their minimum"]

    def title(self) -> str:
        """How many inputs there are."""
        return f"union of {len(self.inputs)} inputs"

    def form(self, *, ends: bool = False) -> form.Form:
        """What every input promises."""
        return form.Union()

    def outgoing(self, incoming: Sequence[Promises], out: Scheme, *, ends: bool) -> Promises:
        """The longest lag, and how far the inputs are apart."""
        return {one: (*longest([implied(one, promises) for promises in incoming]), SKEW) for one in out}

    def never_null(self, column: str) -> bool:
        """As in every input."""
        return all(one.never_null(column) for one in self.inputs)

    def responds(self, ignored: Pattern) -> Response:
        """By each input whose columns have the types that leave: ticks of another type would be others."""
        ports = [
            port
            for port, one in enumerate(self.inputs)
            if all(one.schema.field(name).type == self.schema.field(name).type for name in ignored.attributes)
        ]
        return Response(inputs=dict.fromkeys(ports, ignored), whole=len(ports) == len(self.inputs))

    def needs(self, needed: set[str]) -> set[str]:
        """What is asked for, or one column to count rows by."""
        return needed or set(self.schema.names[:1])

    def narrowed(self, needed: set[str]) -> Node:
        """Without columns that nobody asks for."""
        kept = self.needs(needed)
        if len(kept) == len(self.schema):
            return self
        return replace(self, schema=pa.schema([field for field in self.schema if field.name in kept]))
