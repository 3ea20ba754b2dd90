"""Where a column comes from: the streams and columns it is a plain copy of, and its domain."""

from __future__ import annotations

from typing import TypeAlias

from millstream.core.domain import Domain, Kind
from millstream.plan import nodes

Origin: TypeAlias = tuple[nodes.Source, str]
_ENDS = ("window_start", "window_end")


def below(node: nodes.Node, column: str) -> list[tuple[nodes.Node, str]]:
    """The columns of the inputs that a column copies, or whose bound it takes over; none for a computed one."""
    match node:
        case nodes.Source():
            return []
        case nodes.Project():
            if column in (found := nodes.extremes(node)):
                return [(node.input, part) for part in found[column][1]]
            plain = dict(node.columns).get(column)
            return [] if plain is None or plain.plain is None else [(node.input, plain.plain)]
        case nodes.Union():
            return [(one, column) for one in node.inputs]
        case nodes.Aggregate():
            return [(node.input, column if column in node.groups else node.attribute)]
        case nodes.Join() | nodes.AsOf():
            return [(node.inputs[one.side], one.column) for one in node.columns if one.name == column]
        case nodes.Enrich():
            return [(node.input, one.column) for one in node.columns if one.name == column and not one.side]
        case _:
            return [(node.input, column)]


def origins(node: nodes.Node, column: str) -> list[Origin]:
    """The columns of streams that a column of a node goes back to, each once."""
    if isinstance(node, nodes.Source):
        return [(node, column)] if column in node.schema.names else []
    return list(dict.fromkeys(one for at, name in below(node, column) for one in origins(at, name)))


def progressing(node: nodes.Node) -> tuple[str, ...]:
    """The columns of a node that punctuation speaks of."""
    match node:
        case nodes.Source():
            attribute = None if node.progress is None else node.progress.attribute
            return () if attribute is None else (attribute,)
        case nodes.Project():
            below, found = progressing(node.input), nodes.extremes(node)
            moving = {
                name
                for name, (which, parts) in found.items()
                if (any if which == "greatest" else all)(part in below for part in parts)
            }
            return tuple(name for name, one in node.columns if one.plain in below or name in moving)
        case nodes.Union():
            first, *others = (progressing(one) for one in node.inputs)
            return tuple(name for name in first if all(name in other for other in others))
        case nodes.Aggregate():
            return ("window_end", "window_start", "window_id")
        case nodes.Join():
            below = [progressing(one) for one in node.inputs]
            leaving = node.schema.names
            return tuple(one.name for one in node.columns if one.column in below[one.side] and one.name in leaving)
        case nodes.AsOf():
            below = progressing(node.inputs[0])
            found = [one.name for one in node.columns if not one.side and one.column in below]
            # A partner's time is near, if every row has one.
            partner = [one.name for one in node.columns if one.side and one.column == node.time[1]]
            near = node.how == "inner" and node.within is not None and node.time[0] in below
            return tuple([*found, *partner] if near else found)
        case nodes.Enrich():
            below, leaving = progressing(node.input), node.schema.names
            return tuple(
                one.name for one in node.columns if not one.side and one.column in below and one.name in leaving
            )
        case _:
            return progressing(node.input)


def domain_at(node: nodes.Node, column: str) -> Domain | None:
    """How a column of a node becomes ticks; None if it is not ordered."""
    match node:
        case nodes.Source():
            return node.domains.get(column)
        case nodes.Aggregate() if column in _ENDS:
            return node.domain
        case nodes.Aggregate() if column == "window_id":
            return Domain(kind=Kind.INTEGER)
        case _:
            return next((domain_at(at, name) for at, name in below(node, column)), None)
