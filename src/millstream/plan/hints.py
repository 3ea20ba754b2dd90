"""The words of hints about contracts, in the language of the question: SQL for a statement, Python for methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.core import quote
from millstream.core.contract.template import Sign, Template
from millstream.core.domain import Kind
from millstream.core.generator import Supplied
from millstream.plan import nodes
from millstream.plan.promise import promises_of
from millstream.plan.words import listed

SIDES = ("a", "b")
"""What the sides of a join are called where they have no names."""
_TIMES = (Kind.TIMESTAMP, Kind.DATE)


@dataclass(frozen=True, slots=True)
class Hints:
    """Says what would make an operator safe, in `sql` or in Python."""

    sql: bool
    sides: tuple[str, str] = SIDES
    """In SQL: what the statement calls the two sides of a join."""

    @property
    def end(self) -> str:
        """Let the streams end."""
        told = "with --end (in Python end_of_stream=True)" if self.sql else "with end_of_stream=True"
        return f"or run it {told}"

    @property
    def few(self) -> str:
        """Let it run, if it keeps little."""
        if self.sql:
            return "or run it with --allow-unbounded (in Python allow_unbounded=True) if there are few of them"
        return "or say allow_unbounded=True if there are few of them"

    @property
    def range(self) -> str:
        """A window that lets go."""
        return "a length in place of ALL: RANGE 1 hour" if self.sql else 'a length: range="1 hour" in place of "all"'

    def name(self, column: str) -> str:
        """A column."""
        return quote.shown(column) if self.sql else column

    def names(self, columns: Sequence[str]) -> str:
        """Several."""
        return listed(map(self.name, columns))

    def window(self, node: nodes.Node, attribute: str) -> str:
        """A window on an attribute."""
        if self.sql:
            return f"[RANGE {_sample(node, attribute)}, WATTR {quote.shown(attribute)}]"
        return f'.window("{attribute}", range=…)'

    def distinct(self, columns: Sequence[str]) -> str:
        """Rows told apart by these columns."""
        if self.sql:
            return f"SELECT DISTINCT {self.names(columns)}"
        return f".distinct({_texts(columns)})"

    def both(self, columns: Sequence[str], ordered: str, method: str) -> str:
        """A difference or an intersection that is bounded."""
        among = f"Have {self.name(ordered)} among the columns of both sides"
        if self.sql:
            return f"{among}: SELECT {self.names((*columns, ordered))}"
        return f'{among}; or compare window by window: .{method}(…, window="5 minutes")'

    def pair(self, node: nodes.Node, left: str, right: str) -> str:
        """A join whose pairs are bounded in time."""
        if not self.sql:
            return '.join(…, within="5 minutes")'
        one, other, far = *self._of_sides(left, right), _distance(node, left)
        return f"AND {other} BETWEEN {one} - {far} AND {one} + {far}"

    def other_end(self, node: nodes.Node, left: str, right: str) -> str:
        """A join whose pairs are bounded at both ends."""
        return self.pair(node, left, right) if self.sql else 'within=("0 s", "5 minutes")'

    def as_of(self, node: nodes.Node, left: str, right: str) -> str:
        """An as-of join whose partners are not too old."""
        if not self.sql:
            return '.join_as_of(…, within="5 minutes")'
        one, other = self._of_sides(left, right)
        return f"AND {other} >= {one} - {_distance(node, left)}"

    def _of_sides(self, *columns: str) -> tuple[str, ...]:
        named = zip(self.sides, columns, strict=True)
        return tuple(f"{quote.shown(side)}.{quote.shown(column)}" for side, column in named)

    def declared(self, node: nodes.Node, attribute: str) -> str:
        """A promise on an attribute, of the stream that it comes from."""
        found = node.origins(attribute)
        silent = [(one, name) for one, name in found if Template({name: Sign.UP_TO}) not in promises_of(one)]
        source, name = (silent or found)[0] if found else (next(iter(nodes.sources(node))), attribute)
        if name not in source.schema.names:
            why = f"{name} is computed, and punctuation does not pass a computation"
            return f"progress on a column of {source.name}, and use it as it is: {why}"
        if isinstance(source.progress, Supplied):
            how = f"PROGRESS SUPPLIED ON {quote.shown(name)}" if self.sql else f'progress=ms.supplied("{name}")'
            return f"what is supplied to {source.name}: {how}"
        how = self.promise(Template({name: Sign.UP_TO}))
        return f"progress on {name} of {source.name}: {how if self.sql else f'progress={how}'}"

    def over(self, node: nodes.Node, keys: Sequence[str]) -> tuple[str, ...]:
        """Punctuation that says that each key is over; none where a key is computed, of which no stream can speak."""
        origins = [node.origins(key)[:1] for key in keys]
        if not all(origin and origin[0][1] in origin[0][0].schema.names for origin in origins):
            return ()
        how = self.promise(Template({name: Sign.LITERAL for ((_, name),) in origins}))
        return (f"have each {listed(keys)} end: {how if self.sql else f'progress={how}'}",)

    def promise(self, template: Template) -> str:
        """How a promise of that shape is declared.

        >>> both = Template({"ts": Sign.UP_TO, "my key": Sign.LITERAL})
        >>> Hints(sql=True).promise(both)
        'PROGRESS ON ts WITHIN … PER `my key`'
        >>> Hints(sql=False).promise(both)
        'ms.per_group("my key", ms.bounded_disorder("ts", …))'
        """
        keys = tuple(template.literals)
        if self.sql:
            per = f" PER {self.names(keys)}" if keys else ""
            return (
                f"PROGRESS ON {quote.shown(template.up_to[0])} WITHIN …{per}"
                if template.up_to
                else f"PROGRESS SUPPLIED{per}"
            )
        shown = f"[{_texts(keys)}]" if len(keys) > 1 else _texts(keys)
        if not template.up_to:
            return f"ms.supplied(per={shown})"
        inner = f'ms.bounded_disorder("{template.up_to[0]}", …)'
        return f"ms.per_group({shown}, {inner})" if keys else inner


IN_PYTHON = Hints(sql=False)


def _texts(columns: Sequence[str]) -> str:
    return listed(f'"{name}"' for name in columns)


def _is_timed(node: nodes.Node, attribute: str) -> bool:
    kinds = [source.domains[name].kind for source, name in node.origins(attribute) if name in source.domains]
    return not kinds or kinds[0] in _TIMES


def _sample(node: nodes.Node, attribute: str) -> str:
    """A length to begin with."""
    return "1 minute" if _is_timed(node, attribute) else "10"


def _distance(node: nodes.Node, attribute: str) -> str:
    return "INTERVAL 5 minutes" if _is_timed(node, attribute) else "10"
