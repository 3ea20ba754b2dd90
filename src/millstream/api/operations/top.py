"""The first rows of each group: `bids.top(3, per="auction", by="price DESC")`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.core.errors import PlanError, SchemaError, nearest
from millstream.kernels.group import check_groupable
from millstream.plan import nodes

if TYPE_CHECKING:
    from millstream.api.stream import Stream

Columns = str | Sequence[str]


def top_node(stream: Stream, rows: int | None, per: Columns, by: Columns, number: str | None) -> nodes.Top:
    """The node, or what is wrong with it."""
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or rows < 1):
        raise PlanError(f"top {rows!r} is no number of rows", hint="Take at least 1, or None to number all of them.")
    keys = (per,) if isinstance(per, str) else tuple(per)
    if not keys:
        raise PlanError("top has no groups", hint='Say of what it is the top: per="window_end".')
    order = tuple(_ordered(one) for one in ((by,) if isinstance(by, str) else by))
    if not order:
        raise PlanError("top has no order", hint='Say which row is the first: by="price DESC".')
    schema = stream.schema
    for name in (*keys, *(column for column, _ in order)):
        if name not in schema.names:
            raise SchemaError(f"there is no column {name!r}", hint=nearest(name, schema.names))
    for name in keys:
        check_groupable(schema.field(name).type, name)
    for name, _ in order:
        if pa.types.is_nested(schema.field(name).type):
            raise SchemaError(
                f"{name} is {schema.field(name).type}, which has no order", hint="Order by one of its parts."
            )
    if number in schema.names:
        raise PlanError(f"there is a column {number!r} already", hint="Give the number another name.")
    return nodes.Top(input=stream.node, keys=keys, order=order, limit=rows, number=number)


def _ordered(text: str) -> tuple[str, bool]:
    """A column, and whether descending.

    >>> _ordered("price DESC"), _ordered("my price")
    (('price', True), ('my price', False))
    """
    name, _, word = text.rpartition(" ")
    return (name.strip(), word.upper() == "DESC") if name and word.upper() in ("ASC", "DESC") else (text, False)
