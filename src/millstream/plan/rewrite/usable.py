"""Usable: whether a stream's entrance has already rejected the rows that an operator above would."""

from __future__ import annotations

import pyarrow as pa

from millstream.plan import nodes

# An attribute of so few bits is far from the ends of time, for windows that reach no farther than this.
_SHORT, _NEAR = 32, 2**62


def never_rejected(node: nodes.Aggregate, reach: int) -> bool:
    """Does the aggregate reject no row: has each a value for its attribute, `reach` ticks from the ends of time?"""
    kind = node.input.schema.field(node.attribute).type
    short = pa.types.is_date32(kind) or (pa.types.is_integer(kind) and kind.bit_width <= _SHORT)
    return short and reach <= _NEAR and node.input.never_null(node.attribute)
