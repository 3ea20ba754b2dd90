"""Results of plans with several joins leave before the end: after each epoch, those that are proven and no others."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import duckdb
import pytest

from millstream.core.domain import BOTTOM
from support.harness import cut, stray
from support.joins import SCHEMA, Row, rows, table
from support.spark_driver import TasksDriver
from support.transcripts import LocalDriver

HOSTS: dict[str, Callable[[Any], Any]] = {"local": LocalDriver, "tasks": TasksDriver}
COLUMNS = {field.name: str(field.type) for field in SCHEMA}
STREAMS = {
    "a": {"columns": COLUMNS, "progress": {"supplied": "ts"}},
    "b": {"columns": {f"{name}2": kind for name, kind in COLUMNS.items()}, "progress": {"supplied": "ts2"}},
}
Epoch = tuple[list[Row], int | None]
Answer = Counter[tuple[Any, ...]]


class Played:
    """A query an epoch at a time: the rows that came, the bounds that hold, and what left until now."""

    def __init__(self, host: str, query: Mapping[str, Any], names: Sequence[str]) -> None:
        self.driver = HOSTS[host]({"streams": STREAMS, "query": query})
        self.names = names
        self.came: dict[str, list[Row]] = {"a": [], "b": []}
        self.bounds = {"a": BOTTOM, "b": BOTTOM}
        self.left: Answer = Counter()

    def epoch(self, **given: Epoch) -> None:
        """Rows of streams, and the bounds that hold after them."""
        promises: dict[str, list[str]] = {}
        for name, (some, bound) in given.items():
            self.came[name] += some
            if bound is not None:
                self.bounds[name] = bound
                promises[name] = [f"{'ts' if name == 'a' else 'ts2'} < {bound}"]
        tables = {name: table(some, second=name == "b").to_pylist() for name, (some, _) in given.items()}
        out = self.driver.epoch(tables, promises, None)
        assert ([], []) == (out["late"], out["rejected"])
        self.left += Counter(tuple(row[name] for name in self.names) for row in out["results"])

    def of_those_that_came(self, text: str, **values: int) -> Answer:
        """By DuckDB."""
        with duckdb.connect() as db:
            db.register("a", table(self.came["a"]))
            db.register("b", table(self.came["b"], second=True))
            return Counter(db.execute(text.format(**values)).fetchall())


def epochs_of(rnd: random.Random, given: list[Row], disorder: int) -> list[Epoch]:
    """Disordered rows in epochs, most with the best bound that the rows to come allow."""
    epochs = cut(stray(given, disorder, rnd), rnd, 18)
    later = [min((row["ts"] for one in epochs[i + 1 :] for row in one), default=None) for i in range(len(epochs))]
    bounds = [bound if rnd.random() < 0.7 else None for bound in later]
    held = BOTTOM
    out: list[Epoch] = []
    for some, bound in zip(epochs, bounds, strict=True):
        out.append((some, bound if bound is not None and bound > held else None))
        held = max(held, bound if bound is not None else held)
    return out


def side_by_side(first: list[Epoch], second: list[Epoch], lag: int = 0) -> list[dict[str, Epoch]]:
    """The epochs of both streams together, the second so many epochs behind."""
    out: list[dict[str, Epoch]] = [{} for _ in range(max(len(first), len(second) + lag))]
    for i, one in enumerate(first):
        out[i]["a"] = one
    for i, one in enumerate(second):
        out[i + lag]["b"] = one
    return out


THREE_LEVELS = """
    WITH counts AS (
        SELECT a.k AS k, count(*) AS n [RANGE 20, SLIDE 10, WATTR ts]
        FROM a JOIN b ON a.k = b.k2 AND b.ts2 BETWEEN a.ts - 5 AND a.ts + 5 GROUP BY a.k)
    SELECT c.k, c.window_end, c.n, b.id2 FROM counts c JOIN b
    ON c.k = b.k2 AND b.ts2 BETWEEN c.window_end AND c.window_end + 15
"""
BY_DEFINITION = """
    WITH pairs AS (SELECT a.ts, a.k FROM a JOIN b ON a.k = b.k2 AND b.ts2 - a.ts BETWEEN -5 AND 5),
    counts AS (
        SELECT k, 10 * w + 20 AS window_end, count(*) AS n
        FROM (SELECT k, floor(ts / 10)::BIGINT - unnest([0, 1]) AS w FROM pairs) GROUP BY k, w)
    SELECT k, window_end, n, id2 FROM counts JOIN b ON k = k2 AND ts2 - window_end BETWEEN 0 AND 15
    WHERE window_end <= {done}
"""


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("lag", [0, 4])
def test_a_join_of_counts_of_a_join_leaves_with_the_windows_that_both_sides_have_passed(host: str, lag: int) -> None:
    """A window is over when no pair with a time below its end can come: the left bound, and the right less the band."""
    rnd = random.Random(lag)
    played = Played(host, {"sql": THREE_LEVELS}, ("k", "window_end", "n", "id2"))
    sides = [epochs_of(rnd, rows(rnd, 60, span=90, keys=("a", "b", None)), 6) for _ in range(2)]
    steps = set()
    for epoch in side_by_side(*sides, lag=lag):
        played.epoch(**epoch)
        done = min(played.bounds["a"], played.bounds["b"] - 5)
        assert played.of_those_that_came(BY_DEFINITION, done=done) == played.left
        steps.add(played.left.total())
    assert len(steps) > 3


BY_BOTH = {
    "from": "a",
    "join": {"with": "b", "within": 2, "on": [["k", "k2"]]},
    "window": {"attribute": "ts", "range": 1},
    "group_by": ["ts2"],
}


def by_both_times(came: Mapping[str, list[Row]], first: int, second: int) -> Answer:
    """How many pairs have each two times, of those below both bounds."""
    met = Counter(
        (one["ts"], other["ts"])
        for one in came["a"]
        for other in came["b"]
        if one["k"] == other["k"] and abs(other["ts"] - one["ts"]) <= 2
    )
    return Counter((*times, n) for times, n in met.items() if times[0] < first and times[1] < second)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("lag", [0, 4])
def test_counts_by_both_times_leave_though_a_side_lags(host: str, lag: int) -> None:
    """What either time alone proves has left, and nothing that is not below both bounds."""
    rnd = random.Random(lag)
    played = Played(host, BY_BOTH, ("window_start", "ts2", "n"))
    sides = [epochs_of(rnd, rows(rnd, 60, span=60, keys=("a", "b")), 6) for _ in range(2)]
    for epoch in side_by_side(*sides, lag=lag):
        played.epoch(**epoch)
        first, second = played.bounds["a"], played.bounds["b"]
        assert Counter() == by_both_times(played.came, min(first, second - 2), second) - played.left
        assert Counter() == played.left - by_both_times(played.came, first, second)
    assert played.left.total() > 30


@pytest.mark.parametrize("host", HOSTS)
def test_a_group_below_both_bounds_leaves_at_once_though_a_side_is_far_ahead(host: str) -> None:
    """Spec §3.9: the box is held back to (12, 10), which covers all pairs whose second time is below 10."""
    played = Played(host, BY_BOTH, ("window_start", "ts2", "n"))
    one = {"k": "a", "j": 0, "v": 0, "id": 0}

    played.epoch(
        a=([{**one, "ts": at} for at in (7, 9, 11, 12)], 100), b=([{**one, "ts": at} for at in (8, 9, 10)], 10)
    )

    assert {(7, 8, 1), (7, 9, 1), (9, 8, 1), (9, 9, 1), (11, 9, 1)} == set(played.left)
