"""Fields of structs, items of arrays, values of maps."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.errors import ExpressionError, nearest
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import Binding, BoundTerm, Result, RowError, Value, by_row, strict
from millstream.kernels.expressions.casts import cast


def field_of(node: BoundTerm, name: str) -> BoundTerm:
    """`x.name`."""
    if not pa.types.is_struct(node.kind):
        raise ExpressionError(
            f"{t.name_of(node.kind)} has no field {name!r}", hint="Only a struct has fields; a map has map['key']."
        )
    fields = [field.name for field in node.kind]
    alike = [one for one in fields if one == name] or [one for one in fields if one.lower() == name.lower()]
    if len(alike) != 1:
        raise ExpressionError(f"there is no field {name!r}", hint=nearest(name, fields))
    kind = node.kind.field(alike[0]).type
    return strict(kind, [node], lambda value: pc.struct_field(value, alike[0]))


def item_of(node: BoundTerm, key: BoundTerm, bound: Binding) -> BoundTerm:
    """`x[key]`: of an array, counted from 0; of a map, by its key."""
    if pa.types.is_map(node.kind):
        return by_key(node, key, bound, "[ ]")
    if not t.is_array(node.kind):
        raise ExpressionError(f"{t.name_of(node.kind)} has no items", hint="Only arrays and maps have.")
    if key.kind not in (t.BYTE, t.SHORT, t.INT):
        raise ExpressionError(f"an item is found by an INT, and not {t.name_of(key.kind)}", hint="Cast it first.")
    return at_place(node, cast(key, t.INT, bound), bound, first=0)


def at_place(node: BoundTerm, place: BoundTerm, bound: Binding, *, first: int) -> BoundTerm:
    """An item by its number, the first being `first`; with 1, negative numbers count from the end."""
    kind = node.kind.value_type

    def one(items: list[Any], at: int) -> Any:
        if first and at == 0:
            raise RowError("item 0: items count from 1")
        index = at - first if at >= first else len(items) + at if first else -1
        if not 0 <= index < len(items):
            if bound.ansi:
                raise RowError(f"item {at} of an array of {len(items)}")
            return None
        return items[index]

    def run(value: Value, at: Value) -> Result:
        return by_row(kind, one, value, at)

    return strict(kind, [node, place], run, total=not bound.ansi and not first)


def by_key(node: BoundTerm, key: BoundTerm, bound: Binding, what: str) -> BoundTerm:
    """A value of a map by its key; null if it is not there."""
    if t.meet(node.kind.key_type, key.kind, ansi=bound.ansi) != node.kind.key_type:
        raise ExpressionError(
            f"{what}: the keys are {t.name_of(node.kind.key_type)}, and not {t.name_of(key.kind)}", hint="Cast the key."
        )
    kind = node.kind.item_type
    return strict(
        kind,
        [node, cast(key, node.kind.key_type, bound)],
        lambda value, wanted: by_row(kind, lambda items, one: dict(items).get(one), value, wanted),
    )
