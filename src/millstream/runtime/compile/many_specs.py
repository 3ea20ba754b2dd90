"""From joins of many streams in the plan to what their operators compute."""

from __future__ import annotations

from millstream.ops.many.many_spec import ManySpec
from millstream.plan import nodes


def many_spec(node: nodes.ManyJoin) -> ManySpec:
    """The node bound to the columns of its streams."""
    return ManySpec(
        schemas=tuple(one.schema for one in node.inputs),
        spans=node.apart,
        keys=tuple(dict(key) for key in node.keys),
        condition=node.condition,
        columns=tuple(nodes.sided(node.columns)),
        schema=node.schema,
        anchored=node.how == "left",
        rows=node.rows,
    )
