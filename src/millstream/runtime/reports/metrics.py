"""Metrics: what each operator and stream has done, and whether the books balance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from millstream.ops.operator import Meter
from millstream.plan import nodes
from millstream.runtime.local.graph import Vertex
from millstream.runtime.reports.report import of_operator

Since = Callable[[nodes.Node], Meter | None]
"""What a node had done before a query came; None if nothing."""
_LOST = ("late", "rejected", "filtered", "outside", "guarded")
"""Where a row can go besides results."""
_ACCOUNTS = ("rows_in", *_LOST, "accepted")


def operator_metrics(vertex: Vertex) -> dict[str, Any]:
    """One operator's meter, its state, and its name."""
    operator = vertex.operator
    operator.measure()
    for outlet, number in operator.open_by_outlet.items():
        for reader in vertex.outlets.get(outlet, ()):
            reader.operator.meter.open_windows = number
    return of_operator(vertex.node, operator.meter, operator.store.rows, operator.store.nbytes, operator.guards)


class Books:
    """The accounts of one query: every row in, and where it went.

    Each figure is counted where it happens. `accepted` rows are in results or in state; `unaccounted` is what `rows_in`
    has more than all the others together, and is 0 unless a row was lost or counted twice. The books are those of the
    streams up to the first operator above each that makes other rows of those that come. A stream that the query reads
    in several places is counted in each of them. What is rejected above them is no row that came in but a result, or a
    pair: `results_rejected` counts those apart, so that nothing fails unseen.

    Which figure of which node belongs to which account depends on the plan alone: it is found once, not in each epoch.
    """

    def __init__(self, root: nodes.Node) -> None:
        self.root = root
        self.nodes = tuple(nodes.walk(root))
        self._entries = tuple(_entries(root, self.nodes))

    def settle(self, meter_of: Callable[[nodes.Node], Meter], since: Since | None = None) -> dict[str, int]:
        """The accounts now; `since` are the meters when the query came, where it came later."""
        account: dict[str, int] = dict.fromkeys((*_ACCOUNTS, "unaccounted", "results_rejected"), 0)
        for node, entries in self._entries:
            meter, before = meter_of(node), None if since is None else since(node)
            for name, figure, times in entries:
                own = getattr(meter, figure) - (0 if before is None else getattr(before, figure))
                account[name] += times * own
        account["unaccounted"] = account["rows_in"] - sum(account[name] for name in _ACCOUNTS[1:])
        return account


class Accounts:
    """The books of the queries that run, kept from one report to the next."""

    def __init__(self) -> None:
        self._books: dict[int, Books] = {}

    def of(self, roots: Iterable[nodes.Node]) -> Iterator[Books]:
        """Those of some queries, in their order; all others are forgotten."""
        before, self._books = self._books, {}
        for root in roots:
            known = self._books.get(id(root)) or before.get(id(root))
            self._books[id(root)] = Books(root) if known is None else known
            yield self._books[id(root)]


Entry = tuple[str, str, int]
"""An account, the figure of a meter that goes into it, and how many times."""


def _entries(root: nodes.Node, every: Sequence[nodes.Node]) -> Iterator[tuple[nodes.Node, tuple[Entry, ...]]]:
    """What each node adds to the accounts."""
    beyond: set[int] = set()
    readers = Counter(id(below) for node in every for below in nodes.inputs(node))
    found: dict[int, list[Entry]] = {id(node): [] for node in every}
    for node in every:
        mine = found[id(node)]
        inside = [one for one in nodes.inputs(node) if id(one) not in beyond]
        if len(inside) < len(nodes.inputs(node)):
            # Some of its rows are no longer those that came; for the others the books end where it is handed them.
            for one in inside:
                found[id(one)].append(("accepted", "rows_out", 1))
            mine += [("results_rejected", "rejected", 1), ("results_rejected", "failed", 1)]
            beyond.add(id(node))
            continue
        mine += [("accepted", "accepted", 1), ("results_rejected", "failed", 1)]
        if node.makes_rows:
            beyond.add(id(node))
        elif node is root:
            mine.append(("accepted", "rows_out", 1))
        if node is not root and id(node) not in beyond and readers[id(node)] > 1:
            mine.append(("rows_in", "rows_out", readers[id(node)] - 1))
        if isinstance(node, nodes.Source):
            mine.append(("rows_in", "rows_in", 1))
        mine += [(name, name, 1) for name in _LOST]
    yield from ((node, tuple(found[id(node)])) for node in every)
