"""What the state of a node depends on, as text. Disorder, sinks and columns that nobody reads are not part of it."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.core.generator import BoundedRows, Generator, PerGroup, Supplied
from millstream.plan import nodes


def state_text(root: nodes.Node) -> str:
    """What the state of a query depends on, as text: equal texts, and the state fits. Empty if it keeps none."""
    if not any(nodes.keeps_state(node) for node in nodes.walk(root)):
        return ""
    return rows_text(root)


def rows_text(root: nodes.Node) -> str:
    """What the rows that leave a node depend on, as text."""
    return "\n".join(_lines(root, 0))


def is_cut(node: nodes.Node) -> bool:
    """Is it no more than a cut of columns that nobody reads?"""
    return isinstance(node, nodes.Project) and node.cut


def _lines(node: nodes.Node, depth: int) -> Iterator[str]:
    if is_cut(node):
        yield from (line for below in nodes.inputs(node) for line in _lines(below, depth))
        return
    if isinstance(node, nodes.Source):
        yield f"{'  ' * depth}stream {node.name}: {_promise(node.progress)}"
        return
    words = "; ".join([*node.describe(), *node.asked()])
    if nodes.keeps_state(node):
        words += " of " + " and ".join(_columns(below) for below in nodes.inputs(node))
    yield f"{'  ' * depth}{words}"
    for below in nodes.inputs(node):
        yield from _lines(below, depth + 1)


def _columns(node: nodes.Node) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in node.schema)


def _promise(generator: Generator | None) -> str:
    """What a stream's promise is about. How much disorder it allows may change: a bound that was given stays."""
    match generator:
        case None:
            return "nothing"
        case PerGroup():
            return f"per {', '.join(generator.keys)}: {_promise(generator.inner)}"
        case Supplied():
            return f"supplied {generator.attribute} {generator.mark} {', '.join(generator.per)}"
        case BoundedRows():
            return f"{generator.attribute} by {generator.rows} rows"
        case _:
            return f"{type(generator).__name__} {generator.attribute}"
