"""AND, OR, NOT, CASE, coalesce: what decides is computed first, and the rest only for rows that get there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.bound_term import (
    Binding,
    BoundTerm,
    Failed,
    Frame,
    Result,
    both,
    constant,
    folded,
    is_null,
    scattered,
    spread,
    strict,
)  # fmt: skip
from millstream.kernels.expressions.casts import cast
from millstream.kernels.expressions.compare import common


def condition(node: BoundTerm, bound: Binding, what: str) -> BoundTerm:
    """The node as a condition."""
    if node.kind == t.NOTHING:
        return cast(node, t.BOOL, bound)
    if node.kind != t.BOOL:
        raise ExpressionError(
            f"{what} takes conditions, and not {t.name_of(node.kind)}", hint='Compare something: "price > 10".'
        )
    return node


def all_of(parts: Sequence[BoundTerm]) -> BoundTerm:
    """AND of any number."""
    return _connected(parts, decisive=False)


def any_of(parts: Sequence[BoundTerm]) -> BoundTerm:
    """OR of any number."""
    return _connected(parts, decisive=True)


def _connected(parts: Sequence[BoundTerm], *, decisive: bool) -> BoundTerm:
    """A part that has the decisive value settles its row: later parts are not computed there."""
    join = pc.or_kleene if decisive else pc.and_kleene

    def run(frame: Frame) -> Result:
        value, failed = parts[0].run(frame)
        for part in parts[1:]:
            if part.total:
                value = join(value, part.run(frame)[0])
                continue
            settled = pc.fill_null(pc.equal(value, decisive), False).to_numpy(zero_copy_only=False)  # noqa: FBT003
            if failed is not None:
                settled = settled | failed.rows
            if settled.all():
                break
            if not settled.any():
                more, mine = part.run(frame)
            else:
                inner, mine = part.run(frame.some(~settled))
                mine = spread(mine, ~settled)
                more = scattered([(~settled, inner)], frame.n, t.BOOL)
                more = pc.if_else(pa.array(settled), pa.scalar(decisive), more)
            value, failed = join(value, more), both(failed, mine)
        return value, failed

    return folded(BoundTerm(t.BOOL, run, all(part.total for part in parts)), parts)


def negation(node: BoundTerm) -> BoundTerm:
    """NOT."""
    return strict(t.BOOL, [node], pc.invert)


def missing(node: BoundTerm) -> BoundTerm:
    """IS NULL."""

    def run(frame: Frame) -> Result:
        value, failed = node.run(frame)
        return pc.is_null(value), failed

    return folded(BoundTerm(t.BOOL, run, node.total), [node])


def case(parts: Sequence[BoundTerm], bound: Binding) -> BoundTerm:
    """CASE: conditions and values in turn, and what else."""
    conditions = [condition(one, bound, "CASE WHEN") for one in parts[0 : len(parts) - len(parts) % 2 : 2]]
    values = list(parts[1::2]) + ([parts[-1]] if len(parts) % 2 else [])
    values = common(values, bound, "CASE")
    kind = values[0].kind
    if len(parts) % 2 == 0:
        values.append(constant(None, kind))
    total = all(one.total for one in (*conditions, *values))
    if total and len(conditions) == 1:
        made = BoundTerm(kind, lambda frame: _if(conditions[0], values, frame), total)
        return folded(made, [*conditions, *values])

    def run(frame: Frame) -> Result:
        left = np.ones(frame.n, dtype=np.bool_)
        found: list[tuple[np.ndarray, pa.Array]] = []
        failed: Failed | None = None
        for one, value in zip([*conditions, None], values, strict=True):
            here = left
            if one is not None:
                flags, mine = one.run(frame.some(left))
                failed = both(failed, spread(mine, left))
                if mine is not None:
                    flags = pc.if_else(pa.array(mine.rows), pa.scalar(None, t.BOOL), flags)
                here = np.zeros(frame.n, dtype=np.bool_)
                here[left] = pc.fill_null(flags, False).to_numpy(zero_copy_only=False)  # noqa: FBT003
                left = left & ~here if failed is None else left & ~here & ~failed.rows
            if here.any():
                inner, mine = value.run(frame.some(here))
                failed = both(failed, spread(mine, here))
                found.append((here, inner))
        return scattered(found, frame.n, kind), failed

    return folded(BoundTerm(kind, run, total), [*conditions, *values])


def _if(one: BoundTerm, values: Sequence[BoundTerm], frame: Frame) -> Result:
    flags = pc.fill_null(one.run(frame)[0], False)  # noqa: FBT003 - pyarrow's own
    return pc.if_else(flags, values[0].run(frame)[0], values[1].run(frame)[0]), None


def coalesce(parts: Sequence[BoundTerm], bound: Binding) -> BoundTerm:
    """The first that is not null."""
    values = common(list(parts), bound, "coalesce")
    kind = values[0].kind
    if all(one.total for one in values) and not pa.types.is_nested(kind):
        made = BoundTerm(kind, lambda frame: (pc.coalesce(*(one.run(frame)[0] for one in values)), None))
        return folded(made, values)

    def run(frame: Frame) -> Result:
        left = np.ones(frame.n, dtype=np.bool_)
        found: list[tuple[np.ndarray, pa.Array]] = []
        failed: Failed | None = None
        for value in values:
            if not left.any():
                break
            inner, mine = value.run(frame.some(left))
            there = ~is_null(inner)
            if mine is not None:
                there |= mine.rows
                failed = both(failed, spread(mine, left))
            here = np.zeros(frame.n, dtype=np.bool_)
            here[left] = there
            found.append((here, inner.filter(pa.array(there))))
            left = left & ~here
        return scattered(found, frame.n, kind), failed

    return folded(BoundTerm(kind, run, all(one.total for one in values)), values)
