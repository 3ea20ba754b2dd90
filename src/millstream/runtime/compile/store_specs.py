"""From a store of panes in the plan to what its operator computes."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from types import CodeType
from typing import Any

import pyarrow as pa

from millstream.core.expression import Expression
from millstream.kernels.aggregates.aggregate_registry import build
from millstream.kernels.aggregates.count import Count
from millstream.kernels.partials import Bound
from millstream.kernels.ticks import edge_type
from millstream.ops.panes.store_spec import Reader, StoreAnswer, StoreSpec
from millstream.ops.windowing.aggregate_spec import Spec
from millstream.plan import nodes


def store_spec(node: nodes.Panes) -> StoreSpec:
    """The node with its aggregates bound to kernels, and what they keep once for all that keep the same."""
    schema = node.input.schema
    bound = [
        Bound(one.name, build(one.call, [schema.field(a).type for a in one.arguments]), one.arguments, one.filter)
        for one in node.aggregates
    ]
    kept: dict[Hashable, int] = {}
    stored: list[Bound] = []
    answers: list[StoreAnswer] = []
    for one in bound:
        if isinstance(one.kernel, Count) and not one.arguments and one.filter is None:
            answers.append(StoreAnswer(None, one.kernel))
            continue
        key = one.kernel.kin, one.arguments, one.filter
        if key not in kept:
            kept[key] = len(stored)
            stored.append(replace(one, name=_text(node, one)))
        answers.append(StoreAnswer(kept[key], one.kernel))
    edge = edge_type(schema.field(node.attribute).type)
    return StoreSpec(
        attribute=node.attribute,
        groups=node.groups,
        predicates=node.predicates,
        aggregates=tuple(stored),
        answers=tuple(answers),
        row_schema=schema,
        reach=max(window.reach for one in node.readings for window in one.windows),
        readers=tuple(_reader(node, i, one, bound, schema, edge) for i, one in enumerate(node.readings)),
    )


def _text(node: nodes.Panes, one: Bound) -> str:
    """What partials are, as text: the same whoever else reads the store."""
    computed = {name: str(column.spark) for name, column in _computed(node)}
    call = next(column.call for column in node.aggregates if column.name == one.name)
    kin = one.kernel.kin
    plain = {name: value for name, value in sorted(call.options.items()) if isinstance(value, int | float | str)}
    what = f"{call.function} {plain}{_of_code(call.options)}" if isinstance(kin, int) else str(kin)
    where = "" if one.filter is None else f" where {computed[one.filter]}"
    return f"{what} of {', '.join(computed[name] for name in one.arguments)}{where}"


def _of_code(options: Mapping[str, Any]) -> str:
    """Functions that a user gave, told apart by what they do: many have the same name, or none."""
    codes = (getattr(value, "__code__", None) for _, value in sorted(options.items()) if callable(value))
    texts = [f"{code.co_code!r} {code.co_names} {_constants(code)}" for code in codes if code is not None]
    return f" {hashlib.sha1(' '.join(texts).encode()).hexdigest()[:12]}" if texts else ""


def _constants(code: CodeType) -> str:
    """What a function's code mentions; functions within it as their own code, for they have another place each time."""
    return " ".join(
        f"{one.co_code!r} {_constants(one)}" if isinstance(one, CodeType) else repr(one) for one in code.co_consts
    )


def _computed(node: nodes.Panes) -> tuple[tuple[str, Expression], ...]:
    assert isinstance(node.input, nodes.Project)
    return node.input.columns


def _reader(
    node: nodes.Panes,
    outlet: int,
    one: nodes.Reading,
    bound: Sequence[Bound],
    schema: pa.Schema,
    edge: pa.DataType,
) -> Reader:
    named = zip(one.names, one.aggregates, strict=True)
    spec = Spec(
        attribute=node.attribute,
        attribute_type=edge,
        groups=one.groups,
        group_types=tuple(schema.field(name).type for name in one.groups),
        aggregates=tuple(Bound(name, bound[i].kernel, bound[i].arguments, bound[i].filter) for name, i in named),
        row_schema=schema,
        windows=one.windows,
    )
    return Reader(
        outlet=outlet,
        windows=one.windows,
        groups=one.groups,
        answers=one.aggregates,
        predicate=one.predicate,
        part=one.part,
        spec=spec,
        since=one.since,
        what=one.what,
    )
