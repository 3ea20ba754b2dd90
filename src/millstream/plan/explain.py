"""Explain: a plan as a tree that people read, with the strategy of each aggregate and why it was chosen."""

from __future__ import annotations

from collections.abc import Callable

from millstream.core.domain import Domain
from millstream.core.generator import (
    BoundedDisorder,
    BoundedRows,
    Ordered,
    PerGroup,
    Step,
    Supplied,
    Timer,
)
from millstream.core.window import (
    Landmark,
    Rows,
    Session,
    SlideByTuple,
    Sliding,
    UserDefined,
    Window,
    context,
)
from millstream.plan import nodes
from millstream.plan.cost import Choice

ChoiceOf = Callable[[nodes.Node], Choice | None]


def explain(name: str, root: nodes.Node, choice_of: ChoiceOf) -> str:
    """One query, from its result down to its streams."""
    lines = [f"query {name}"]
    _draw(root, "", lines, choice_of, last=True)
    return "\n".join(lines)


def _draw(node: nodes.Node, indent: str, lines: list[str], choice_of: ChoiceOf, *, last: bool) -> None:
    if isinstance(node, nodes.Project) and node.hidden:
        _draw(node.input, indent, lines, choice_of, last=last)
        return
    head, *more = _describe(node, choice_of)
    lines.append(f"{indent}{'└─ ' if last else '├─ '}{head}")
    inner = indent + ("   " if last else "│  ")
    lines.extend(f"{inner}   {line}" for line in more)
    below = nodes.inputs(node)
    for i, one in enumerate(below):
        _draw(one, inner, lines, choice_of, last=i == len(below) - 1)


def _describe(node: nodes.Node, choice_of: ChoiceOf) -> list[str]:
    match node:
        case nodes.Source():
            return [f"stream {node.name}: {show_progress(node)}"]
        case nodes.Select():
            return [f"select where {node.condition}"]
        case nodes.Project():
            return ["project " + ", ".join(_item(name, str(e)) for name, e in node.columns)]
        case nodes.Union():
            return [f"union of {len(node.inputs)} inputs: progress is their minimum"]
        case nodes.Distinct():
            return [f"distinct on {', '.join(node.columns)}"]
        case nodes.Sort():
            return [f"sort by {node.attribute}, as far as punctuation reaches"]
        case nodes.Top():
            order = ", ".join(f"{name} descending" if down else name for name, down in node.order)
            return [f"top {node.limit} of each window by {order or 'all columns'}"]
        case nodes.Aggregate():
            return _describe_aggregate(node, choice_of(node))


def _describe_aggregate(node: nodes.Aggregate, choice: Choice | None) -> list[str]:
    groups = f" by {', '.join(node.groups)}" if node.groups else ""
    calls = ", ".join(f"{one.name} = {one.call}" for one in node.aggregates)
    lines = [f"aggregate{groups}: {calls}"]
    lines += [f"window {show_window(w, node.attribute, node.domain)} [{context(w).value}]" for w in node.windows]
    if choice is not None:
        lines.append(f"strategy {choice.strategy} (auto: {choice.reason})")
    elif node.strategy == "auto" and isinstance(node.windows[0], Sliding):
        lines.append("strategy auto: chosen by the cost model when the first rows show what they are like")
    elif node.strategy != "auto":
        lines.append(f"strategy {node.strategy} (asked for)")
    return lines


def _item(name: str, text: str) -> str:
    return name if name == text else f"{text} as {name}"


def show_window(window: Window, attribute: str, domain: Domain) -> str:
    """A window in words.

    >>> from millstream.core.domain import Kind
    >>> show_window(Sliding(size=10, slide=5), "a", Domain(kind=Kind.INTEGER))
    'range 10 slide 5 on a'
    """
    span = _Span(domain)
    match window:
        case Sliding():
            start = "" if window.start is None else f" from {domain.show(window.start)}"
            return f"range {span(window.size)} slide {span(window.slide)} on {attribute}{start}"
        case Rows():
            per = f" per {', '.join(window.partition_by)}" if window.partition_by else ""
            return f"range {window.size} rows slide {window.slide} rows{per}"
        case Landmark():
            start = "" if window.start is None else f" from {domain.show(window.start)}"
            return f"range all slide {span(window.slide)} on {attribute}{start}"
        case SlideByTuple():
            which = "row" if window.every == 1 else f"{window.every} rows by {window.by}"
            return f"range {span(window.size)} on {attribute}, one a {which}"
        case Session():
            return f"sessions on {attribute} with gap {span(window.gap)}"
        case UserDefined():
            return f"user-defined on {attribute}"


def show_progress(node: nodes.Source) -> str:
    """A stream's promise in words."""
    generator = node.progress
    if generator is None:
        return "no progress declared: windows close at the end of the stream"
    inner = generator.inner if isinstance(generator, PerGroup) else generator
    domain = node.domains.get(inner.attribute or "")
    span = _Span(domain)
    match inner:
        case Ordered():
            text = f"ordered on {inner.attribute}"
        case BoundedDisorder():
            text = f"{inner.attribute} within {span(inner.span)}"
        case BoundedRows():
            text = f"{inner.attribute} within {inner.rows} rows"
        case Step():
            text = f"ordered on {inner.attribute}, punctuated each {span(inner.every)}"
        case Timer():
            text = f"{inner.attribute} by timer each {span(inner.every)}"
        case Supplied():
            text = "punctuation supplied" if inner.mark is None else f"punctuation marked by {inner.mark}"
        case _:
            text = type(inner).__name__
    return f"{text}, for each {', '.join(generator.keys)}" if isinstance(generator, PerGroup) else text


class _Span:
    """Lengths in words: seconds for timestamps, the attribute's own numbers otherwise."""

    def __init__(self, domain: Domain | None) -> None:
        self.domain = domain

    def __call__(self, ticks: int) -> str:
        return str(ticks) if self.domain is None else self.domain.show_span(ticks)
