"""A node in words: what it does, its windows, what a stream promises."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from millstream.core.domain import Domain
from millstream.core.expression import Expression
from millstream.core.generator import (
    BoundedDisorder,
    BoundedRows,
    IdleDisorder,
    Ordered,
    PerGroup,
    Step,
    Supplied,
    Timer,
)
from millstream.core.settings import PLAIN
from millstream.core.window import (
    WHOLE,
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


def describe(node: nodes.Node) -> list[str]:
    """What a node does, in a line or a few: equal for nodes that do the same."""
    return [*_described(node), *_settings(node)]


def _settings(node: nodes.Node) -> list[str]:
    """What its expressions are computed under, if that is not what holds where nothing was said."""
    found = {str(one.settings) for one in _expressions(node) if one.plain is None and one.settings != PLAIN}
    return [f"with {one}" for one in sorted(found)]


def _expressions(node: nodes.Node) -> Iterator[Expression]:
    match node:
        case nodes.Select():
            yield node.condition
        case nodes.Project():
            yield from (one for _, one in node.columns)
        case nodes.Join() | nodes.Enrich():
            if node.condition is not None:
                yield node.condition
        case nodes.Aggregate():  # its arguments are computed by a projection that is not shown
            yield from _expressions(node.input) if isinstance(node.input, nodes.Project) and node.input.hidden else ()
        case _:
            return


def _described(node: nodes.Node) -> list[str]:
    match node:
        case nodes.Source():
            return [f"stream {node.name}: {show_progress(node)}"]
        case nodes.Select():
            return [f"select where {node.condition}", *_spared(node)]
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
            number = "" if node.number is None else f", numbered as {node.number}"
            return [f"{first_of(node)} by {order or 'all columns'}{number}"]
        case nodes.Join():
            return _describe_join(node)
        case nodes.AsOf():
            return _describe_as_of(node)
        case nodes.Enrich():
            keys = _all_of(node.keys, node.condition)
            return [f"{_KEPT[node.how]}enrich from table {node.table.name} on {keys or 'every row of it'}"]
        case nodes.Aggregate():
            groups = f" by {', '.join(node.groups)}" if node.groups else ""
            calls = ", ".join(f"{one.name} = {one.call}" for one in node.aggregates)
            windows = [
                f"window {show_window(w, node.attribute, node.domain)} [{context(w).value}]" for w in node.windows
            ]
            return [f"aggregate{groups}: {calls}", *windows, *([] if node.flush is None else [str(node.flush)])]


def first_of(node: nodes.Top) -> str:
    """Which rows a top lets go on, in words."""
    groups = "window" if node.windows else ", ".join(node.keys)
    return f"{'all rows' if node.limit is None else f'top {node.limit}'} of each {groups}"


def show_panes(node: nodes.Aggregate) -> str | None:
    """The panes of an aggregate in words, if it has any."""
    if node.pane is None:
        return None
    counts = [window.size // node.pane for window in node.windows if isinstance(window, Sliding)]
    return f"panes of {_Span(node.domain)(node.pane)}, {' and '.join(map(str, counts))} a window"


_KEPT = {"inner": "", "left": "left "}
_WHOLE_ROWS = {"anti": "difference", "semi": "intersection"}


def _all_of(keys: Sequence[tuple[str, str]], condition: Expression | None) -> str:
    """Everything that must hold of a pair."""
    parts = [f"{left} = {right}" for left, right in keys]
    return " and ".join([*parts, *([] if condition is None else [str(condition)])])


def _describe_as_of(node: nodes.AsOf) -> list[str]:
    left, right = node.time
    within = "" if node.within is None else f", no more than {_Span(node.domain)(node.within)} before"
    return [
        f"{_KEPT[node.how]}as-of join on {_all_of(node.keys, None) or 'time alone'}",
        f"the last {right} {'before' if node.strict else 'up to'} {left}{within}",
    ]


def _describe_join(node: nodes.Join) -> list[str]:
    if node.nulls_equal:
        lines = [f"{_WHOLE_ROWS[node.how]} on {', '.join(left for left, _ in node.keys) or 'time alone'}"]
    else:
        lines = [f"{node.how} join on {_all_of(node.keys, node.condition) or 'time alone'}"]
    span = _Span(node.domain)
    match node.time:
        case nodes.Band(left=left, right=right, low=0, high=0) if left == right:
            lines.append(f"of the same {left}")
        case nodes.Band(left=left, right=right, low=low, high=high):
            bounds = [
                f"from {'no bound' if low is None else span(low)}",
                f"to {'no bound' if high is None else span(high)}",
            ]
            lines.append(f"{right} less {left} {' '.join(bounds)}")
        case nodes.SameWindow(left=left, right=right, size=size):
            lines.append(f"{left} and {right} in the same window of {span(size)}")
        case None:
            lines.append("no bound on time: rows are kept until the end of the stream")
    return lines


def _spared(node: nodes.Select) -> list[str]:
    if node.spare is None:
        return []
    return [f"but rows whose {node.spare.attribute} cannot be used go on, to be rejected above"]


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
        case UserDefined() if window == WHOLE:
            return "none: a group is answered when it is over"
        case UserDefined():
            return f"{window.label(span)} on {attribute}"


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
        case IdleDisorder():
            text = f"{inner.attribute} within {span(inner.span)}, by the clock after {span(inner.idle)} without rows"
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
            text += f", for each {', '.join(inner.per)}" if inner.per else ""
        case _:
            text = type(inner).__name__
    return f"{text}, for each {', '.join(generator.keys)}" if isinstance(generator, PerGroup) else text


class _Span:
    """Lengths in words: seconds for timestamps, the attribute's own numbers otherwise."""

    def __init__(self, domain: Domain | None) -> None:
        self.domain = domain

    def __call__(self, ticks: int) -> str:
        return str(ticks) if self.domain is None else self.domain.show_span(ticks)
