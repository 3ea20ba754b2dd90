"""Both sides of a rewrite: the plan as text, and a run with some of the rewrites only."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa

import millstream as ms
from millstream.plan import nodes
from millstream.plan.explain import drawn
from millstream.plan.optimize import Rewrite
from millstream.plan.plan import Plan
from millstream.runtime.local.host import LocalHost
from support.bags import freeze
from support.harness import SCHEMA, cut, some_rows, stray

Ask = Callable[..., ms.Query]
"""A query over the streams `s` and `t`, which have the same columns."""
BOUND = 8


class RewritingHost(LocalHost):
    """The local host with rewrites of one's choice."""

    def __init__(self, rewrites: Sequence[Rewrite]) -> None:
        super().__init__()
        self.rewrites = rewrites

    def plan(self, asked: Mapping[str, nodes.Node]) -> Plan:
        return reduce(lambda made, rewrite: rewrite(made), self.rewrites, Plan.of(asked))


def shown(node: nodes.Node) -> str:
    """A plan as a tree, without strategies."""
    return "\n".join(drawn(node, lambda one, _: one.describe()))


def asked(ask: Ask, schema: pa.Schema = SCHEMA, **progress: Any) -> nodes.Node:
    """The plan of a query as it was written, over streams without rows."""
    engine = ms.Engine(host="local")
    promise = progress.get("progress", ms.bounded_disorder(schema.names[0], BOUND))
    return ask(*(engine.stream(name, [], schema=schema, progress=promise) for name in ("s", "t"))).node


def rewritten(ask: Ask, *rewrites: Rewrite, schema: pa.Schema = SCHEMA, **progress: Any) -> str:
    """The plan of a query after some rewrites."""
    plan = Plan.of({"q": asked(ask, schema, **progress)})
    return shown(reduce(lambda made, rewrite: rewrite(made), rewrites, plan)["q"])


def troubled(rnd: random.Random) -> list[list[dict[str, Any]]]:
    """Epochs of rows of which some are late, some have no time, some cannot be read, some are at the end of time."""
    rows: list[Any] = stray(some_rows(rnd, 50, 60), 25, rnd)
    for row in rnd.sample(rows, 5):
        row["ts"] = rnd.choice([None, "noon", -(2**63) + 3, None])
    return cut(rows, rnd)


Side = dict[str, dict[str, Any]]


def run(seed: int, asks: Mapping[str, Ask], rewrites: Sequence[Rewrite]) -> Side:
    """By query: results, late and rejected rows, each with its epoch, and the books at the end."""
    rnd = random.Random(seed)
    engine = ms.Engine(host="local")
    engine.host = RewritingHost(rewrites)
    progress = rnd.choice([ms.bounded_disorder("ts", BOUND), ms.per_group("k", ms.bounded_disorder("ts", BOUND)), None])
    streams = [engine.stream(n, iter(troubled(rnd)), schema=SCHEMA, progress=progress) for n in ("s", "t")]
    left: dict[str, list[Any]] = {name: [] for name in asks}
    queries = {name: ask(*streams).named(name) for name, ask in asks.items()}
    for name, query in queries.items():
        query.for_each(lambda rows, epoch, name=name: left[name].extend((epoch, row) for row in rows.to_pylist()))
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()
    return {
        name: {
            "results": _bag(left[name]),
            "late": _bag(query.late.table().to_pylist()),
            "rejected": _bag(query.rejected.table().to_pylist()),
            "books": run.progress["queries"][name]["books"],
        }
        for name, query in queries.items()
    }


def _bag(rows: Sequence[Any]) -> list[Any]:
    return sorted(map(freeze, rows), key=repr)
