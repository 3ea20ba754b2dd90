"""Push filters: conditions move down, towards where rows enter, and neighbours become one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

from millstream.core.expression import Expression
from millstream.core.window import Session, Sliding
from millstream.plan import nodes
from millstream.plan.nodes import Node, Select, Spare
from millstream.plan.plan import Plan
from millstream.plan.rewrite.at_most import at_most
from millstream.plan.rewrite.usable import never_rejected

Moved = Callable[[Expression], Expression | None]
"""What a condition is below a node; None if it cannot be there."""


def push_filters(plan: Plan) -> Plan:
    """Promise: the same rows are late, rejected and in the results; each is filtered no later than it was.

    A condition moves below a projection, a union, a distinct or a sort, below an aggregate or a top if it speaks of
    groups only, into a join of many streams, and below an as-of join or a look into a table if it speaks of the left
    side only; the parts of an AND each as far as they can. One that bounds the numbers which a top gives becomes its
    limit. It stays above a stream's entrance, where late rows are set apart, above what counts rows of all groups
    together, above whatever it would save from failing, and above the results of an older query that its own goes on
    from. In the books, a row of a group that no result can have is filtered instead of accepted.

    >>> import pyarrow as pa
    >>> stream = nodes.Source(name="s", schema=pa.schema({"a": pa.bool_(), "b": pa.bool_()}))
    >>> low = Select(input=stream, condition=replace(Expression.column("a"), total=True))
    >>> high = Select(input=low, condition=replace(Expression.column("b"), total=True))
    >>> str(push_filters(Plan.of({"q": high}))["q"].condition)
    'a AND b'
    """
    return plan.each_above(_pushed)


def _pushed(root: Node, kept: frozenset[int]) -> Node:
    """One step at a time until there is none."""
    while (moved := _once(root, kept)) is not None:
        root = moved
    return root


def _once(root: Node, kept: frozenset[int]) -> Node | None:
    readers = Counter(id(below) for node in nodes.walk(root) for below in nodes.inputs(node))
    for node in nodes.walk(root):
        if not isinstance(node, Select) or id(node.input) in kept:
            continue
        # What has another reader must stay as it is for that one: to move on would compute it twice.
        if readers[id(node.input)] == 1 and (new := _step(node)) is not None:
            return nodes.rebuilt(root, lambda one, old=node, new=new: new if one is old else one)
    return None


def _step(node: Select) -> Node | None:
    """The same with the condition, or a part of it, one node lower; None if it must stay."""
    below = node.input
    match below:
        case Select():
            return _merged(node, below)
        case nodes.Project():
            return _below_project(node, below)
        case nodes.Union():
            return _below_union(node, below)
        case nodes.Distinct():
            return _below_distinct(node, below)
        case nodes.Sort():
            return _below_sort(node, below)
        case nodes.Top():
            return _limited(node, below) or _below_top(node, below)
        case nodes.Aggregate():
            return _below_aggregate(node, below)
        case nodes.Enrich():
            # A condition of its own might fail on a row that it would no longer see.
            return _past(node, below, _of_left(below), None) if node.spare is below.condition is None else None
        case nodes.AsOf():
            # A row without a time must get there to be rejected.
            usable = node.spare is None and below.inputs[0].never_null(below.time[0])
            return _past(node, below, _of_left(below), None) if usable else None
        case nodes.ManyJoin():
            return _into_many(node, below)
        case _:
            return None


def _into_many(node: Select, below: nodes.ManyJoin) -> Node | None:
    """A join of many streams checks each condition as soon as the rows are there that it speaks of."""
    free = below.how == "inner" and below.rows is None and node.spare is None and node.condition.total
    if not free or (below.condition is not None and not below.condition.total):
        return None
    both = node.condition if below.condition is None else below.condition.and_also(node.condition)
    return replace(below, condition=both)


def _merged(node: Select, below: Select) -> Node | None:
    # Engines compute the parts of an AND on whichever rows they like: neither must be able to fail.
    if not node.condition.total or not below.condition.total or node.spare != below.spare:
        return None
    return replace(below, condition=below.condition.and_also(node.condition))


def _below_project(node: Select, below: nodes.Project) -> Node | None:
    computed = dict(below.columns)
    if below.cut:
        return None
    # What can fail would fail on fewer rows than it did.
    if not all(one.plain is not None or one.total for one in computed.values()):
        return None
    spare = node.spare
    if spare is not None:
        plain = computed[spare.attribute].plain
        if plain is None:
            return None
        spare = replace(spare, attribute=plain)
    return _past(node, below, lambda one: one.substituted(computed), spare)


def _below_union(node: Select, below: nodes.Union) -> Node | None:
    streams = [id(source) for one in below.inputs for source in nodes.sources(one)]
    if len(set(streams)) < len(streams):  # the books would count a row as often as it is filtered
        return None
    return replace(below, inputs=tuple(replace(node, input=one) for one in below.inputs))


def _below_distinct(node: Select, below: nodes.Distinct) -> Node | None:
    columns = set(below.columns)
    if node.spare is not None and node.spare.attribute not in columns:
        return None
    return _past(node, below, _if_total_on(columns), node.spare)


def _below_sort(node: Select, below: nodes.Sort) -> Node | None:
    usable = below.input.never_null(below.attribute)
    if node.spare is not None and not usable and node.spare.attribute != below.attribute:
        return None
    spare = node.spare if usable else node.spare or Spare(attribute=below.attribute)
    return _past(node, below, _if_total_on(set(below.schema.names)), spare)


def _below_top(node: Select, below: nodes.Top) -> Node | None:
    return _past(node, below, _if_total_on(set(below.keys)), None) if node.spare is None else None


def _limited(node: Select, below: nodes.Top) -> Node | None:
    """`number <= 10` above a top that numbers rows is the top ten: no more are held."""
    parts = node.condition.conjuncts()
    if below.number is None or node.spare is not None or not node.condition.total:
        return None
    found = [(part, most) for part in parts if (most := at_most(part, below.number)) is not None]
    if not found:
        return None
    part, most = found[0]
    limit = most if below.limit is None else min(most, below.limit)
    rest = _all([one for one in parts if one is not part])
    top = replace(below, limit=limit)
    return top if rest is None else replace(node, input=top, condition=rest)


def _below_aggregate(node: Select, below: nodes.Aggregate) -> Node | None:
    # Only these windows are each group's own. Landmarks end with the last row of all groups, and row numbers count
    # all rows; a user's window may fail on a row that it would no longer see.
    if node.spare is not None or not all(isinstance(window, Sliding | Session) for window in below.windows):
        return None
    far = max(window.reach for window in below.windows)
    spare = None if never_rejected(below, far) else Spare(attribute=below.attribute, reach=far)
    return _past(node, below, _if_total_on(set(below.groups)), spare)


def _of_left(below: nodes.Enrich | nodes.AsOf) -> Moved:
    """What a condition is of the rows that are given partners; those that it stops would be stopped with any."""
    own = {one.name: Expression.column(one.column) for one in below.columns if not one.side}
    return lambda one: one.substituted(own) if one.total and set(one.columns) <= own.keys() else None


def _if_total_on(columns: set[str]) -> Moved:
    return lambda one: one if one.total and set(one.columns) <= columns else None


def _past(
    node: Select,
    below: nodes.Project | nodes.Distinct | nodes.Sort | nodes.Top | nodes.Aggregate | nodes.Enrich | nodes.AsOf,
    moved: Moved,
    spare: Spare | None,
) -> Node | None:
    """Move those parts of the condition that can; the rows to `spare` get to the operator that rejects them still."""
    parts = node.condition.conjuncts() if node.condition.total else (node.condition,)
    going = [new for part in parts if (new := moved(part)) is not None]
    staying = [part for part in parts if moved(part) is None]
    whole = None if staying else moved(node.condition)  # rather as it was written
    condition, rest = whole or _all(going), _all(staying)
    if condition is None:
        return None
    first, *others = nodes.inputs(below)
    lower = nodes.with_inputs(below, (Select(input=first, condition=condition, spare=spare), *others))
    return lower if rest is None else replace(node, input=lower, condition=rest)


def _all(parts: Sequence[Expression]) -> Expression | None:
    """All conditions as one; None if there is none."""
    return reduce(Expression.and_also, parts) if parts else None
