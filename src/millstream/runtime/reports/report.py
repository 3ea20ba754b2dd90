"""A report: where a run stands after an epoch, always in the same shape, on both hosts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from millstream.core.domain import BOTTOM, END
from millstream.ops.guard import Guards
from millstream.ops.operator import Meter
from millstream.plan import nodes

ALIASES = {"numInputRows": "input_rows", "batchId": "batch", "durationMs": "duration_ms"}
"""Names of Spark's own progress, which a report answers to as well."""


class ProgressReport(dict[str, Any]):
    """A dictionary that also knows the names of Spark's progress.

    >>> report = ProgressReport(epoch=3, batch=3, input_rows=7, duration_ms={}, sources={}, queries={})
    >>> report["numInputRows"], report["input_rows"], sorted(report)[:2]
    (7, 7, ['batch', 'duration_ms'])
    """

    def __missing__(self, name: str) -> Any:
        """The value under our own name for it."""
        return self[ALIASES[name]] if name in ALIASES else self._unknown(name)

    @staticmethod
    def _unknown(name: str) -> Any:
        raise KeyError(name)


def made(
    epoch: int,
    batch: int,
    rows: int,
    seconds: Mapping[str, float],
    sources: dict[str, Any],
    queries: dict[str, Any],
    shared: dict[str, Any],
) -> ProgressReport:
    """A report from its parts; `seconds` is how long each phase of the epoch took."""
    took = {name: round(1000 * one, 3) for name, one in seconds.items()}
    return ProgressReport(
        epoch=epoch, batch=batch, input_rows=rows, duration_ms=took, sources=sources, queries=queries, shared=shared
    )


def of_stores(
    queries: Mapping[str, Iterable[nodes.Node]], measured: Callable[[nodes.Node], dict[str, Any]]
) -> dict[str, Any]:
    """The stores that several queries read, by name, each once: its figures, and who reads it.

    Queries are given by all their nodes.
    """
    found: dict[str, tuple[nodes.Node, list[str]]] = {}
    for query, every in queries.items():
        for node in every:
            if isinstance(node, nodes.Panes | nodes.SharedJoin):
                found.setdefault(node.name, (node, []))[1].append(query)
    return {
        name: {**measured(node), "readers": list(dict.fromkeys(readers))}
        for name, (node, readers) in found.items()
        if len(set(readers)) > 1
    }


def nothing_yet(queries: Mapping[str, nodes.Node]) -> ProgressReport:
    """The report before the first epoch: the same shape, and zeros."""
    streams = {one.name: one for root in queries.values() for one in nodes.sources(root)}
    accounts = ("rows_in", "late", "rejected", "filtered", "outside", "guarded", "accepted")
    books = dict.fromkeys((*accounts, "unaccounted", "results_rejected"), 0)
    answers = {
        name: {
            "rows_out": 0,
            "books": dict(books),
            "operators": [of_operator(node, Meter(), 0, 0) for node in nodes.walk(root)],
            "feedback": [],
        }
        for name, root in queries.items()
    }
    return made(
        -1, -1, 0, {}, {name: of_stream(one, Meter(), BOTTOM, BOTTOM) for name, one in streams.items()}, answers, {}
    )


def of_operator(
    node: nodes.Node, meter: Meter, state_rows: int, state_bytes: int, guards: Guards | None = None
) -> dict[str, Any]:
    """One operator's meter, its state, how many records of feedback it has, and its name."""
    kind = type(node).__name__.lower()
    records = 0 if guards is None else len(guards.output) + sum(map(len, guards.inputs.values()))
    state = {"state_rows": state_rows, "state_bytes": state_bytes, "guards": records}
    return {"operator": kind, **meter.figures(), **state}


def of_stream(node: nodes.Source, meter: Meter, bound: int, high: int) -> dict[str, Any]:
    """Where a stream stands: its bound on the progressing attribute, and how far that trails the newest row.

    `lag` is in ticks of the attribute, and `lag_unit` is what a tick is; `lag_seconds` is the same, of times and dates.
    """
    attribute = None if node.progress is None else node.progress.attribute
    domain = None if attribute is None else node.domains[attribute]
    lag = max(0, high - bound) if BOTTOM < bound < END and high > BOTTOM else None
    return {
        "rows_in": meter.rows_in,
        "late": meter.late,
        "rejected": meter.rejected,
        "attribute": attribute,
        "progress": None if domain is None or bound == BOTTOM else domain.show(bound),
        "lag": None if domain is None else lag,
        "lag_unit": None if domain is None else domain.tick_unit,
        "lag_seconds": None if domain is None or lag is None else domain.seconds(lag),
    }
