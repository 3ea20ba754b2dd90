"""Functions of arrays and maps."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import Binding, BoundTerm, Failed, Frame, Result, both, rowwise, strict
from millstream.kernels.expressions.casts import cast
from millstream.kernels.expressions.compare import common
from millstream.kernels.expressions.fit import fixed, whole, wrong
from millstream.kernels.expressions.function_registry import function
from millstream.kernels.expressions.nested import at_place, by_key

_FAMILY = "arrays, maps and structs"


@function("size", _FAMILY, (1, 1), "cardinality")
def _size(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    node = parts[0]
    if not t.is_array(node.kind) and not pa.types.is_map(node.kind):
        raise wrong("size", node, "an array or a map")

    def run(frame: Frame) -> Result:
        value, failed = node.run(frame)
        if pa.types.is_map(value.type):
            value = value.cast(pa.list_(pa.struct([("key", value.type.key_type), ("value", value.type.item_type)])))
        lengths = pc.list_value_length(value).cast(t.INT)
        return (lengths if bound.ansi else pc.fill_null(lengths, -1)), failed

    return BoundTerm(t.INT, run, node.total)


@function("array_contains", _FAMILY, (2, 2))
def _contains(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    node, value = parts
    if not t.is_array(node.kind):
        raise wrong("array_contains", node, "an array")
    inner = node.kind.value_type
    if t.meet(inner, value.kind, ansi=bound.ansi) != inner or value.kind == t.NOTHING or t.is_float(inner):
        raise wrong("array_contains", value, f"a value of {t.name_of(inner)}")

    def one(items: list[Any], wanted: Any) -> bool | None:
        return True if wanted in [item for item in items if item is not None] else None if None in items else False

    return strict(t.BOOL, [node, cast(value, inner, bound)], lambda a, b: _rows(one, a, b))


def _rows(fn: Any, a: pa.Array, b: pa.Array) -> pa.Array:
    pairs = zip(a.to_pylist(), b.to_pylist(), strict=True)
    return pa.array([None if x is None or y is None else fn(x, y) for x, y in pairs], t.BOOL)


@function("element_at", _FAMILY, (2, 2))
def _element_at(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    node, key = parts
    if pa.types.is_map(node.kind):
        return by_key(node, key, bound, "element_at")
    if not t.is_array(node.kind):
        raise wrong("element_at", node, "an array or a map")
    return at_place(node, whole(key, bound, "element_at"), bound, first=1)


def _each(values: list[BoundTerm], frame: Frame) -> tuple[list[pa.Array], Failed | None]:
    """The column of each value, and what fails in any."""
    columns: list[pa.Array] = []
    failed = None
    for value in values:
        column, mine = value.run(frame)
        columns.append(column)
        failed = both(failed, mine)
    return columns, failed


@function("array", _FAMILY, (0, None))
def _array(parts: list[BoundTerm], bound: Binding) -> BoundTerm:
    if not parts:
        raise ExpressionError("array() has no values, and so no type", hint="Give at least one.")
    values = common(parts, bound, "array")
    kind = pa.list_(values[0].kind)

    def run(frame: Frame) -> Result:
        columns, failed = _each(values, frame)
        places = [i * frame.n + j for j in range(frame.n) for i in range(len(columns))]
        flat = pa.concat_arrays(columns).take(pa.array(places, pa.int64()))
        offsets = pa.array(range(0, len(flat) + 1, len(columns)), pa.int32())
        return pa.ListArray.from_arrays(offsets, flat, type=kind), failed

    return BoundTerm(kind, run, all(value.total for value in values))


@function("named_struct", _FAMILY, (2, None))
def _named_struct(parts: list[BoundTerm], _bound: Binding) -> BoundTerm:
    if len(parts) % 2:
        raise ExpressionError("named_struct takes names and values in turn", hint="Write named_struct('a', x, 'b', y).")
    names = [str(fixed(part, "named_struct", "a name")) for part in parts[0::2]]
    values = parts[1::2]
    kind = pa.struct([pa.field(name, value.kind) for name, value in zip(names, values, strict=True)])

    def run(frame: Frame) -> Result:
        columns, failed = _each(values, frame)
        return pa.StructArray.from_arrays(columns, fields=list(kind)), failed

    return BoundTerm(kind, run, all(value.total for value in values))


@function("array_join", _FAMILY, (2, 3))
def _array_join(parts: list[BoundTerm], _bound: Binding) -> BoundTerm:
    node, *rest = parts
    if not t.is_array(node.kind) or node.kind.value_type != t.TEXT or any(one.kind != t.TEXT for one in rest):
        raise wrong("array_join", node, "an array of STRING, and STRINGs")
    if len(rest) == 1:
        return rowwise(t.TEXT, [node, rest[0]], lambda a, by: by.join(one for one in a if one is not None))
    return rowwise(t.TEXT, [node, *rest], lambda a, by, gone: by.join(gone if one is None else one for one in a))
