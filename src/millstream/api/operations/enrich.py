"""Enriching a stream from a table: what must be equal, which rows leave, and what the columns are called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from millstream.api.operations.join import Keys, keys_of, paired, type_in
from millstream.api.table import Table
from millstream.core.errors import PlanError, SchemaError
from millstream.core.expression import Expression
from millstream.kernels.group import check_groupable
from millstream.plan import nodes

if TYPE_CHECKING:
    from millstream.api.stream import Stream

HOW = ("inner", "left")
Condition = Callable[[pa.Schema], Expression]


def enrich_node(stream: Stream, table: Table, on: Keys, how: str, condition: Condition | None) -> nodes.Enrich:
    """The node, with everything about it checked."""
    keys = keys_of(on)
    columns = paired(stream.schema, table.schema, [pair for pair in keys if pair[0] == pair[1]])
    return built_enrich(stream.node, table.node, outer_of(how, "enrich"), keys, columns, condition)


def built_enrich(
    stream: nodes.Node,
    table: nodes.Table,
    how: str,
    keys: Sequence[tuple[str, str]],
    columns: tuple[nodes.JoinColumn, ...],
    condition: Condition | None,
) -> nodes.Enrich:
    """An enrichment whose columns have names already."""
    schemas = stream.schema, table.schema
    for pair in keys:
        here, there = (type_in(schema, name) for schema, name in zip(schemas, pair, strict=True))
        check_groupable(here, pair[0])
        if here != there and not _comparable(here, there):
            raise SchemaError(
                f"{pair[0]} of the stream is {here} and {pair[1]} of the table {table.name!r} is {there}, "
                "so they are never equal",
                hint="Cast the stream's column in a select first, or write the table with the stream's type.",
            )
    fields = [pa.field(one.name, schemas[one.side].field(one.column).type) for one in columns]
    return nodes.Enrich(
        input=stream,
        table=table,
        how=how,
        keys=tuple(keys),
        condition=None if condition is None else condition(pa.schema(fields)),
        columns=columns,
        schema=pa.schema(fields),
    )


def outer_of(how: object, what: str) -> str:
    """Which rows leave: inner or left, in Spark's words too."""
    word = str(how).lower().replace("_", "").replace(" ", "").removesuffix("outer")
    if word not in HOW:
        raise PlanError(
            f"{what} is inner or left, and not {how!r}", hint='Use how="left" to keep rows without a partner.'
        )
    return word


def _comparable(here: pa.DataType, there: pa.DataType) -> bool:
    """Have both types the same values, if not the same widths?"""
    types = pa.types
    whole = all(types.is_integer(one) and one != pa.uint64() for one in (here, there))
    return whole or all(types.is_string(one) or types.is_large_string(one) for one in (here, there))
