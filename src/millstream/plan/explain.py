"""Explain: every query as a tree that people read: what runs where, what is shared, and why it is done that way."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from millstream.plan import nodes
from millstream.plan.check import check
from millstream.plan.cost import Choice
from millstream.plan.plan import Plan
from millstream.plan.refusal import Refusal

_NAMED = 5
"""Readers of a shared node that are named."""

ChoiceOf = Callable[[nodes.Node], Choice | None]
"""The strategy that was chosen for a node when its first rows came, if it was."""
PlaceOf = Callable[[nodes.Node], str]
"""Where a node is computed."""
PathOf = Callable[[nodes.Source], str | None]
"""Which way the rows of a stream take to where they are computed, where there are several."""


def explain(
    plan: Plan,
    names: Sequence[str],
    *,
    choice_of: ChoiceOf,
    place_of: PlaceOf,
    path_of: PathOf = lambda _: None,
    unbounded: bool = False,
) -> str:
    """These queries of an optimized plan, each from its result down to its streams.

    With `unbounded`, operators that were let to keep rows for ever are marked.
    """
    readers = plan.readers()
    marks = {name: check(name, plan[name]).refusals if unbounded else () for name in names}
    drawn_in: dict[int, str] = {}
    return "\n\n".join(
        _query(plan[name], name, readers, choice_of, place_of, path_of, marks[name], drawn_in) for name in names
    )


def _query(
    root: nodes.Node,
    name: str,
    readers: Mapping[int, tuple[str, ...]],
    choice_of: ChoiceOf,
    place_of: PlaceOf,
    path_of: PathOf,
    refused: Sequence[tuple[nodes.Node, Refusal]],
    drawn_in: dict[int, str],
) -> str:
    marks = {id(node): f"unbounded: {refusal.fact}" for node, refusal in refused}

    def lines(node: nodes.Node, above: nodes.Node | None) -> list[str]:
        head, *more = node.describe()
        shared_above = above is not None and readers[id(above)] is readers[id(node)]
        if len(readers[id(node)]) > 1 and not shared_above:
            more.append(f"shared with {_others(readers[id(node)], name)}")
        more += node.evaluated(choice_of(node))
        if isinstance(node, nodes.Source) and (path := path_of(node)) is not None:
            more.append(path)
        if id(node) in marks:
            more.append(marks[id(node)])
        return [f"{head} [{place_of(node)}]", *more]

    def again(node: nodes.Node) -> str | None:
        """What is said of a store that another query has shown."""
        if not isinstance(node, nodes.Panes | nodes.SharedJoin):
            return None
        first = drawn_in.setdefault(id(node), name)
        return None if first == name else f"{node.words()[0]}: shared, see query {first}"

    return "\n".join((f"query {name}", *drawn(root, lines, again)))


def _others(readers: Sequence[str], name: str) -> str:
    """The other readers of a node: a few by name, so that what is said of a thousand queries stays readable.

    >>> _others(["a", "b", "c"], "b"), _others([f"q{i}" for i in range(9)], "q0")
    ('a, c', 'q1, q2, q3, q4, q5 and 3 more')
    """
    others = list(islice((one for one in readers if one != name), _NAMED))
    left = len(readers) - 1 - len(others)
    return ", ".join(others) + (f" and {left:,} more" if left else "")


Lines = Callable[[nodes.Node, nodes.Node | None], list[str]]
"""What to write of a node, given the node that is drawn above it."""


Again = Callable[[nodes.Node], str | None]
"""What to write of a node in place of its tree, if that has been drawn before; None if not."""


def drawn(root: nodes.Node, lines: Lines, again: Again = lambda _: None) -> Iterator[str]:
    """A plan as a tree; projections made only for an aggregate's arguments are left out, and stores with one reader.

    >>> import pyarrow as pa
    >>> stream = nodes.Source(name="s", schema=pa.schema({"k": pa.int64()}))
    >>> for line in drawn(nodes.Distinct(input=stream, columns=("k",)), lambda node, _: node.describe()):
    ...     print(line)
    └─ distinct on k
       └─ stream s: no progress declared: windows close at the end of the stream
    """
    yield from _drawn(root, None, "", lines, again, last=True)


def _drawn(
    node: nodes.Node, above: nodes.Node | None, indent: str, lines: Lines, again: Again, *, last: bool
) -> Iterator[str]:
    if (isinstance(node, nodes.Project) and node.hidden) or (isinstance(node, nodes.Panes) and len(node.readings) == 1):
        yield from _drawn(node.input, above, indent, lines, again, last=last)
        return
    if (shown := again(node)) is not None:
        yield f"{indent}{'└─ ' if last else '├─ '}{shown}"
        return
    head, *more = lines(node, above)
    yield f"{indent}{'└─ ' if last else '├─ '}{head}"
    inner = indent + ("   " if last else "│  ")
    yield from (f"{inner}   {line}" for line in more)
    below = nodes.inputs(node)
    for i, one in enumerate(below):
        yield from _drawn(one, node, inner, lines, again, last=i == len(below) - 1)
