"""From joins in the plan to what their operators compute."""

from __future__ import annotations

import pyarrow as pa

from millstream.core.expression import Expression
from millstream.ops.join.join_spec import JoinSpec
from millstream.ops.join.shared_spec import JoinReader, SharedSpec
from millstream.plan import nodes
from millstream.plan.sharing import PULL_UP


def join_spec(node: nodes.Join) -> JoinSpec:
    """The node with its bounds closed: ticks are whole numbers, so `< 5` is `<= 4`."""
    return JoinSpec(
        how=node.how,
        keys=node.keys,
        near=nodes.near_of(node),
        condition=node.condition,
        columns=tuple(nodes.sided(node.columns)),
        schemas=(node.inputs[0].schema, node.inputs[1].schema),
        schema=node.schema,
        nulls_equal=node.nulls_equal,
        thrifty=node.thrifty,
        impatient=node.impatient,
    )


def shared_spec(node: nodes.SharedJoin) -> SharedSpec:
    """The node with what each of its readings asks for."""
    left, right = (
        pa.schema([field for field in below.schema if field.name not in bits])
        for below, bits in zip(node.inputs, node.predicates, strict=True)
    )
    return SharedSpec(
        near=node.near(),
        keys=node.keys,
        nulls_equal=node.readings[0].join.nulls_equal,
        schemas=(left, right),
        predicates=node.predicates,
        readings=tuple(
            JoinReader(
                outlet=outlet,
                number=one.number,
                spec=join_spec(one.join),
                predicates=one.predicates,
                views=one.views,
                since=one.since,
            )
            for outlet, one in enumerate(node.readings)
        ),
        conditions=(_conditions(node, 0), _conditions(node, 1)),
        ends=(node.ends(0), node.ends(1)),
        pulled_up=node.sharing.strategy == PULL_UP,
    )


def _conditions(node: nodes.SharedJoin, side: int) -> dict[str, Expression]:
    """The conditions whose values a side's rows come with."""
    below = node.inputs[side]
    columns = dict(below.columns) if isinstance(below, nodes.Project) else {}
    return {name: columns[name] for name in node.predicates[side] if name in columns}
