"""Usable: whether a stream's entrance has already rejected the rows that an operator above would."""

from __future__ import annotations

import pyarrow as pa

from millstream.plan import nodes

# An attribute of so few bits is far from the ends of time, for windows that reach no farther than this.
_SHORT, _NEAR = 32, 2**62


def never_null(node: nodes.Node, attribute: str) -> bool:
    """Is the attribute, in every row that leaves `node`, the one that its stream progresses by?

    Rows without a value for it are rejected where they enter, so none is left to reject here.

    >>> from millstream.core.generator import Ordered
    >>> stream = nodes.Source(name="s", schema=pa.schema({"ts": pa.int64()}), progress=Ordered("ts"))
    >>> never_null(stream, "ts")
    True
    """
    match node:
        case nodes.Source():
            return node.progress is not None and node.progress.attribute == attribute
        case nodes.Project():
            plain = next(one.plain for name, one in node.columns if name == attribute)
            return plain is not None and never_null(node.input, plain)
        case nodes.Union():
            return all(never_null(one, attribute) for one in node.inputs)
        case nodes.AsOf() | nodes.Enrich():
            own = next((one.column for one in node.columns if one.name == attribute and not one.side), None)
            return own is not None and never_null(nodes.inputs(node)[0], own)
        case nodes.Aggregate() | nodes.Join():
            return False
        case _:
            return never_null(node.input, attribute)


def never_rejected(node: nodes.Aggregate, reach: int) -> bool:
    """Does the aggregate reject no row: has each a value for its attribute, `reach` ticks from the ends of time?"""
    kind = node.input.schema.field(node.attribute).type
    short = pa.types.is_date32(kind) or (pa.types.is_integer(kind) and kind.bit_width <= _SHORT)
    return short and reach <= _NEAR and never_null(node.input, node.attribute)
