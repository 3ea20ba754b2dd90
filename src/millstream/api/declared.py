"""What is checked when a stream is declared: its name, its columns, and that its promise speaks of them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from millstream.core.domain import Domain
from millstream.core.errors import PlanError, SchemaError, WindowError, nearest
from millstream.core.generator import Supplied
from millstream.core.quote import check_reserved
from millstream.kernels.group import check_groupable
from millstream.kernels.ticks import domain_of


def is_frame(source: Any) -> bool:
    """Is it a Spark data frame? Told by its ways, so that the local host need not know Spark."""
    return hasattr(source, "mapInArrow") and hasattr(source, "isStreaming")


def bound_progress(progress: Any, schema: pa.Schema) -> Any:
    """The generator with its attribute checked and its lengths in ticks."""
    if progress is None:
        return None
    if not hasattr(progress, "step"):
        raise PlanError(
            f"{progress!r} is not a way to progress",
            hint='Use ms.ordered("ts"), ms.bounded_disorder("ts", "5 seconds"), ms.supplied() …',
        )
    for key in (*progress.keys, *(progress.per if isinstance(progress, Supplied) else ())):
        check_known(key, schema, "progress")
        check_groupable(schema.field(key).type, key)
    if progress.attribute is None and isinstance(progress, Supplied):
        return progress
    attribute: Any = progress.attribute
    check_known(attribute, schema, "progress")
    return progress.bind(domain_of(schema.field(attribute).type, attribute))


def domains_of(schema: pa.Schema) -> dict[str, Domain]:
    """By column that can be counted in ticks: how."""
    found: dict[str, Domain] = {}
    for field in schema:
        try:
            found[field.name] = domain_of(field.type, field.name)
        except WindowError:
            continue
    return found


def check_name(name: object, what: str) -> None:
    """Refuse a name that is no text, or empty."""
    if not isinstance(name, str) or not name:
        raise PlanError(f"{name!r} is not the name of a {what}", hint="Give a word in quotes.")


def check_columns(schema: pa.Schema) -> None:
    """Refuse names that are there twice or are the engine's own, and types that no operator reads."""
    check_reserved(schema.names)
    twice = [name for name in schema.names if schema.names.count(name) > 1]
    if twice:
        raise SchemaError(f"there are {len(twice)} columns {twice[0]!r}", hint="Rename or drop all but one.")
    for field in schema:
        if pa.types.is_union(field.type):
            raise SchemaError(f"{field.name!r} is {field.type}, which no operator reads", hint="Leave the column out.")


def check_mark(name: str, kind: pa.DataType) -> None:
    """Refuse a mark that cannot mark."""
    types = pa.types
    if not (types.is_boolean(kind) or types.is_string(kind) or types.is_large_string(kind) or types.is_null(kind)):
        raise SchemaError(
            f"the mark {name!r} is {kind}, which cannot mark a row",
            hint="A mark is true where the row is a punctuation, or holds the pattern as text.",
        )


def check_known(name: str, schema: pa.Schema, what: str) -> None:
    """Refuse a column that is not there."""
    if name not in schema.names:
        raise SchemaError(f"{what} names the unknown column {name!r}", hint=nearest(name, schema.names))
