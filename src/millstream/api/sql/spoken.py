"""Inner names never reach a user: what stands for an aggregate or a group is said as the statement says it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from millstream.core.expression import Expression
from millstream.core.problem import Problem
from millstream.plan import nodes
from millstream.sql.grouping import Grouping

Words = Mapping[str, str]
"""By inner name: what it stands for, as SQL says it."""
_INNER = re.compile(r"[`\"]?(__[a-z]+_?\d*)[`\"]?")


def words_of(made: Grouping) -> Words:
    """What the inner names of an aggregate stand for."""
    calls = {one.name: str(one.call) for one in made.calls if one.name.startswith("__")}
    return calls | {one.name: one.text for one in made.computed if one.name.startswith("__")}


def plainly(text: str, words: Words) -> str:
    """A text without inner names.

    >>> plainly("cannot evaluate UPPER(__a0) - 1", {"__a0": "count(*)"})
    'cannot evaluate UPPER(count(*)) - 1'
    """
    return _INNER.sub(lambda found: words.get(found[1], found[0]), text)


def told(problems: Sequence[Problem], words: Words) -> list[Problem]:
    """Problems without inner names."""
    return [
        replace(one, fact=plainly(one.fact, words), hint=None if one.hint is None else plainly(one.hint, words))
        for one in problems
    ]


def spoken(node: nodes.Node, words: Words) -> nodes.Node:
    """The node with its expressions as the statement says them: errors of a run and `explain` show their text."""
    match node:
        case nodes.Select():
            return replace(node, condition=_said(node.condition, words)) if words else node
        case nodes.Project():
            columns = tuple((name, _said(one, words)) for name, one in node.columns)
            return replace(node, columns=columns) if words else node
        case _:
            return node


def _said(expression: Expression, words: Words) -> Expression:
    if expression.plain is not None:
        return expression  # a column is what it is called
    return replace(expression, text=plainly(expression.text, words))
