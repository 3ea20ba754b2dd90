"""Punctuation from outside: what a caller supplies and what data carries, bound to a stream's schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.domain import END
from millstream.core.errors import MillstreamError, PatternError, SchemaError, nearest
from millstream.core.parse import parse_pattern
from millstream.core.pattern import Between, Equal, From, OneOf, Pattern, UpTo, ValuePattern
from millstream.core.progress import Progress
from millstream.core.punctuation import Punctuation
from millstream.kernels.ticks import to_ticks
from millstream.ops.operator import Rejected
from millstream.plan import nodes


@dataclass(frozen=True, slots=True)
class UserPunctuation:
    """A punctuation in the user's own values, not yet bound to a stream."""

    pattern: Pattern


def bind_punctuations(given: Sequence[Any], node: nodes.Source, seen: Progress) -> tuple[Punctuation, ...]:
    """Supplied punctuations in ticks; one that goes backwards is refused."""
    out: list[Punctuation] = []
    so_far = seen.copy()
    for one in given:
        punctuation = bind_one(one, node)
        so_far.check_forward(punctuation, node.domains)
        so_far.accept(punctuation)
        out.append(punctuation)
    return tuple(out)


def bind_one(given: Any, node: nodes.Source) -> Punctuation:
    """One punctuation: ours, text, or a mapping from attribute to bound (or to a constant)."""
    match given:
        case UserPunctuation():
            pattern = given.pattern
        case str():
            pattern = parse_pattern(given)
        case Mapping():
            attribute = node.progress.attribute if node.progress is not None else None
            pattern = Pattern({k: UpTo(v) if k == attribute else Equal(v) for k, v in given.items()})
        case _:
            raise PatternError(f"{given!r} is not a punctuation", hint='Use ms.punctuation("ts", before=15).')
    bound = {name: _bind(name, value, node) for name, value in pattern.attributes.items()}
    same = all(bound[name] is value for name, value in pattern.attributes.items())
    return Punctuation(pattern if same else Pattern(bound))


def _bind(name: str, value: ValuePattern, node: nodes.Source) -> ValuePattern:
    if node.schema.get_field_index(name) < 0 and name not in node.schema.names:
        raise SchemaError(
            f"punctuation on stream {node.name!r} names the unknown column {name!r}",
            hint=nearest(name, node.schema.names),
        )
    match value:
        case Equal(constant):
            own = _constant(name, constant, node)
            return value if own is constant else Equal(own)
        case OneOf(constants):
            return OneOf(frozenset(_constant(name, constant, node) for constant in constants))
        case UpTo(bound):
            if name not in node.domains and not isinstance(bound, int | float):
                raise PatternError(
                    f"{name!r} is {node.schema.field(name).type}, which cannot progress up to {bound!r}",
                    hint="Only numbers, dates and timestamps progress; others are equal to a value, or one of some.",
                )
            return UpTo(_tick(name, bound, node))
        case From(bound):
            return From(_tick(name, bound, node))
        case Between(low, high):
            return Between(_tick(name, low, node), _tick(name, high, node))
        case _:
            return value


def _tick(name: str, value: Any, node: nodes.Source) -> Any:
    domain = node.domains.get(name)
    return value if domain is None else domain.point(value, what=f"bound on {name}")


_PLAIN: dict[pa.DataType, type] = {pa.string(): str, pa.bool_(): bool}
"""By type of a column: the Python type whose values are values of the column as they are."""
_WHOLE = {
    pa.int8(): range(-(2**7), 2**7),
    pa.int16(): range(-(2**15), 2**15),
    pa.int32(): range(-(2**31), 2**31),
    pa.int64(): range(-(2**63), 2**63),
}
"""The values of columns of whole numbers."""


def _constant(name: str, value: Any, node: nodes.Source) -> Any:
    kind = node.schema.field(name).type
    if type(value) is _PLAIN.get(kind) or (type(value) is int and value in _WHOLE.get(kind, ())):
        return value  # most punctuation has such values, and to make a scalar of one costs more than all the rest
    if value is None:
        raise PatternError(
            f"a punctuation names null as a value of {name!r}",
            hint="A punctuation cannot name null: leave the attribute out, or let the end of the stream close it.",
        )
    try:
        return pa.scalar(value, kind).as_py()
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError) as error:
        raise PatternError(
            f"{value!r} is not a value of {name!r} ({kind})", hint="Give a value of the column's own type."
        ) from error


def split_marked(
    rows: pa.Table, node: nodes.Source, seen: Progress
) -> tuple[pa.Table, list[UserPunctuation], list[Rejected]]:
    """Take the rows that are punctuation out of the data, if the stream says which they are.

    A row that means to be a punctuation and cannot be one, or that goes backwards, is rejected with the reason.
    """
    mark = getattr(node.progress, "mark", None)
    if mark is None or not rows.num_rows:
        return rows, [], []
    column = rows[mark]
    is_mark = column.fill_null(False) if pa.types.is_boolean(column.type) else pc.is_valid(column)  # noqa: FBT003
    data, marked = rows.filter(pc.invert(is_mark)).drop_columns([mark]), rows.filter(is_mark)
    found: list[UserPunctuation] = []
    rejected: list[Rejected] = []
    so_far = seen.copy()
    marked = _enough(marked, mark, node, seen)
    for i, row in enumerate(marked.to_pylist()):
        try:
            given = UserPunctuation(_pattern_of(row, mark, node))
            punctuation = bind_one(given, node)
            so_far.check_forward(punctuation, node.domains)
            so_far.accept(punctuation)
            found.append(given)
        except MillstreamError as error:
            rejected.append(Rejected(marked.slice(i, 1).drop_columns([mark]), error.fact))
    return data, found, rejected


def _enough(marked: pa.Table, mark: str, node: nodes.Source, seen: Progress) -> pa.Table:
    """The last of many, if all speak of the progressing attribute alone and each says more than the one before.

    A row of data costs a fraction of a microsecond, a punctuation many: with one for every seven rows, taking each for
    itself would be most of the work.
    """
    attribute = node.progress.attribute
    others = [name for name in marked.column_names if name not in (mark, attribute)]
    if marked.num_rows < 2 or attribute is None or not pa.types.is_boolean(marked.schema.field(mark).type):
        return marked
    if marked[attribute].null_count or any(marked[name].null_count < marked.num_rows for name in others):
        return marked
    ticks = to_ticks(marked[attribute])
    rises = ticks[0] >= seen.bound(attribute) and bool((np.diff(ticks) >= 0).all())
    # One that is beyond all values is rejected, and then those before it count.
    return marked.slice(marked.num_rows - 1) if rises and ticks[-1] < END else marked


def _pattern_of(row: dict[str, Any], mark: str, node: nodes.Source) -> Pattern:
    if isinstance(row[mark], str):
        return parse_pattern(row[mark])
    attribute = node.progress.attribute
    parts = {name: value for name, value in row.items() if name != mark and value is not None}
    return Pattern({name: UpTo(value) if name == attribute else Equal(value) for name, value in parts.items()})
