"""What is lacking: the facts and hints that refusals of several kinds of node have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

from millstream.plan.nodes.walk import sources
from millstream.plan.promise import promises_of
from millstream.plan.refusal import Refusal
from millstream.plan.words import listed

if TYPE_CHECKING:
    from millstream.plan.hints import Hints
    from millstream.plan.nodes.base import Node


def unpunctuated(
    node: Node, source: Node, attribute: str, what: str, say: Hints, groups: tuple[str, ...] | None = None
) -> Refusal:
    """No punctuation on the attribute reaches a node, which therefore never does `what`.

    `groups` are those that it could have more of; None if it has no groups.
    """
    fact = f"{node.title()} {what}: no punctuation on {attribute} reaches it; {said_of(source)}"
    hint = source.window_hint(attribute, say)
    if hint is not None:
        return Refusal(node.title(), attribute, fact, hint)
    # A key that is not grouped on may have been left out on the way, and its punctuation with it.
    for stream, name in source.origins(attribute):
        for template in (one for one in promises_of(stream) if name in one.up_to and one.literals):
            apart = listed(key for key in template.literals if key not in (groups or ()))
            wider = f"or declare {say.declared(source, attribute)}"
            together = f"group by {apart} too, {wider}" if apart and groups is not None else wider[3:]
            hint = f"It comes for each {listed(template.literals)} apart: {together}."
            return Refusal(node.title(), attribute, fact, hint)
    if not source.origins(attribute):
        hint = f"{attribute} is computed, and punctuation does not pass a computation: use the stream's own column."
        return Refusal(node.title(), attribute, fact, hint)
    return Refusal(node.title(), attribute, fact, f"Declare {say.declared(source, attribute)}; {say.end}.")


def said_of(node: Node) -> str:
    """What the streams below a node promise, in words."""
    return ", ".join(f"{source.name} {source.promise_words()}" for source in sources(node))


def likely(node: Node) -> str:
    """An attribute that progresses, or could: for examples in hints."""
    for source in sources(node):
        if source.progress is not None and source.progress.attribute is not None:
            return str(source.progress.attribute)
    ordered = [(source, name) for source in sources(node) for name in source.domains]
    timed = [name for source, name in ordered if source.domains[name].kind.value in ("timestamp", "date")]
    return next(iter([*timed, *(name for _, name in ordered)]), "ts")
