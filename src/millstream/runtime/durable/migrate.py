"""Going on with changed queries: what of a plan its state depends on, and whose state it is.

A longer disorder, a column that nobody reads, a sink and a name can change without touching state. Everything that
decides what is kept, and of which rows, cannot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from millstream.core.errors import StateError
from millstream.core.generator import BoundedRows, Generator, PerGroup, Supplied
from millstream.plan import nodes
from millstream.plan.plan import Plan
from millstream.state.manifest import Manifest


def state_text(root: nodes.Node) -> str:
    """What the state of a query depends on, as text: equal texts, and the state fits. Empty if it keeps none."""
    if not any(nodes.keeps_state(node) for node in nodes.walk(root)):
        return ""
    return "\n".join(_lines(root, 0))


def shape(root: nodes.Node) -> list[bool]:
    """Of each node, inputs first: is it more than a cut of columns that nobody reads?"""
    return [not _is_cut(node) for node in nodes.walk(root)]


def renamed(asked: Mapping[str, nodes.Node], manifest: Manifest | None) -> dict[str, str]:
    """By query that is new: the one of the checkpoint that it is, under another name.

    A name that is gone and one that is new are one query if their state is the same, and no other fits.
    """
    if manifest is None:
        return {}
    gone = {name: manifest.states.get(name, "") for name in manifest.queries if name not in asked}
    texts = {name: state_text(node) for name, node in asked.items() if name not in manifest.queries}
    out: dict[str, str] = {}
    for name, text in texts.items():
        candidates = [old for old, their in gone.items() if their == text and text]
        rivals = [other for other, their in texts.items() if their == text]
        if len(candidates) == 1 and len(rivals) == 1:
            out[name] = candidates[0]
    return out


def held_by(plan: Plan, manifest: Manifest, formerly: Mapping[str, str]) -> dict[str, list[str]]:
    """By query: the names under which its nodes, inputs first, keep state; "" for a node that is new."""
    out: dict[str, list[str]] = {}
    for root in plan.roots:
        old = formerly.get(root.name, root.name)
        keys, was = manifest.operators.get(old), manifest.shapes.get(old)
        if keys is None:
            continue
        kept = [key for key, there in zip(keys, was or [True] * len(keys), strict=False) if there]
        now = shape(root.node)
        if now == was or sum(now) != len(kept):
            # As it was; or a query that has changed, of which whoever compares the plans will speak.
            out[root.name] = list(keys)
            continue
        some = iter(kept)
        out[root.name] = [next(some) if there else "" for there in now]
    return out


def check_states(plan: Plan, manifest: Manifest, texts: Mapping[str, str], formerly: Mapping[str, str]) -> None:
    """Refuse a query whose state does not fit what it is now. `texts` are the plans, for people."""
    for root in plan.roots:
        old = formerly.get(root.name, root.name)
        if old not in manifest.queries or manifest.states.get(old, "") in ("", state_text(root.node)):
            continue
        raise StateError(
            f"the query {root.name!r} is not the one this checkpoint was made with: "
            f"{_difference(manifest.queries[old], texts[root.name])}",
            hint="What it keeps is of no use to the changed query. Give the changed query another name, and it begins "
            f"with the rows to come. To have the answers of the old one first, run it as it was and call "
            f"engine.drain({old!r}).",
        )


def _difference(before: str, now: str) -> str:
    old, new = before.splitlines(), now.splitlines()
    gone = [line.strip(" └├─│") for line in old if line not in new]
    come = [line.strip(" └├─│") for line in new if line not in old]
    return f"it had `{'; '.join(gone) or 'less'}` and now has `{'; '.join(come) or 'less'}`"


def _lines(node: nodes.Node, depth: int) -> Iterator[str]:
    if _is_cut(node):
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


def _is_cut(node: nodes.Node) -> bool:
    return isinstance(node, nodes.Project) and node.cut


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
