"""Operators and promises in a few words, as check and its refusals name them."""

from __future__ import annotations

from collections.abc import Iterable

from millstream.core.contract.scheme import Scheme
from millstream.core.window import WHOLE
from millstream.plan import nodes
from millstream.plan.describe import describe, first_of, show_progress, show_window
from millstream.plan.promise import promises_of


def name_of(node: nodes.Node) -> str:
    """What an operator is called."""
    match node:
        case nodes.Source():
            return f"stream {node.name}"
        case nodes.Select():
            return f"select where {node.condition}"
        case nodes.Project():
            return "project " + ", ".join(name for name, _ in node.columns)
        case nodes.Union():
            return f"union of {len(node.inputs)} inputs"
        case nodes.Distinct():
            return f"distinct on {listed(node.columns)}"
        case nodes.Sort():
            return f"sort by {node.attribute}"
        case nodes.Top():
            return first_of(node)
        case nodes.Aggregate():
            groups = f" by {listed(node.groups)}" if node.groups else ""
            if node.windows[0] == WHOLE:
                return f"aggregate{groups} without a window"
            windows = (show_window(one, node.attribute, node.domain) for one in node.windows)
            return f"aggregate{groups} over {' and '.join(windows)}"
        case nodes.Join() | nodes.AsOf() | nodes.Enrich():
            return describe(node)[0]


def promise_text(source: nodes.Source) -> str:
    """What a stream promises, in words and as a scheme."""
    promised = promises_of(source)
    if not promised:
        return (
            "promises nothing" if source.progress is None else f"promises nothing to count on ({show_progress(source)})"
        )
    return f"promises {Scheme(frozenset(promised))} ({show_progress(source)})"


def promised_text(source: nodes.Source) -> str:
    """What a stream promises, in words only."""
    if source.progress is None:
        return "promises nothing"
    return f"promises {'' if promises_of(source) else 'nothing to count on, '}{show_progress(source)}"


def listed(names: Iterable[str]) -> str:
    """Names by commas."""
    return ", ".join(names)
