"""A million rows through the safe plans: after every epoch, state stays below the horizon that `check` prints."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import millstream as ms

pytestmark = pytest.mark.soak

ROWS, EPOCHS, RATE, DISORDER = 1_000_000, 100, 20, 60
"""Rows in all, cuts, rows a tick, and how far a row may stray, in ticks."""
SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.int64()), ("v", pa.int64())])


def epochs() -> Iterator[pa.Table]:
    """Rows at an even rate that stray by less than the declared disorder; keys come and go."""
    rnd = np.random.default_rng(7)
    ts = np.arange(ROWS) // RATE
    ts = ts[np.argsort(ts + rnd.integers(0, DISORDER, ROWS), kind="stable")]
    keys = ts // 500 * 10 + rnd.integers(0, 10, ROWS)
    table = pa.table({"ts": ts, "k": keys, "v": rnd.integers(0, 100, ROWS)}, schema=SCHEMA)
    for i in range(EPOCHS):
        yield table.slice(i * ROWS // EPOCHS, ROWS // EPOCHS)


def windowed(strategy: str, **window: Any) -> Any:
    return lambda s: s.window("ts", **window).group_by("k").agg(n=ms.count(), top=ms.max("v"), strategy=strategy)


PLANS: dict[str, Any] = {
    "paned": windowed("paned", range=100, slide=20),
    "wid": windowed("wid", range=100, slide=20),
    "buffered": windowed("buffered", range=100, slide=20),
    "adaptive": windowed("adaptive", range=100, slide=20),
    "differential": lambda s: (
        s.window("ts", range=100, slide=20).group_by("k").agg(n=ms.count(), strategy="differential")
    ),
    "tumbling": windowed("auto", range=50),
    "sessions": windowed("auto", gap=5),
    "slide-by-tuple": lambda s: s.window("ts", range=20, per="tuple").agg(n=ms.count()),
    "landmark": lambda s: s.window("ts", range="all", slide=100).agg(n=ms.count()),
    "rows": lambda s: s.window(by="rows", range=1000, slide=100).agg(n=ms.count()),
    "median": lambda s: s.window("ts", range=100, slide=50).group_by("k").agg(m=ms.median("v")),
    "distinct": lambda s: s.distinct("k", "ts"),
    "sort": lambda s: s.sort("ts"),
}  # fmt: skip


@pytest.fixture(scope="module")
def soaked() -> tuple[ms.Engine, dict[str, list[int]]]:
    """Every plan over the same million rows; the state of each after each epoch."""
    engine = ms.Engine(host="local")
    seen: dict[str, list[int]] = {name: [] for name in PLANS}

    def source() -> Iterator[pa.Table]:
        for number, table in enumerate(epochs()):
            if number:  # the source is asked between epochs
                found = engine.host.progress(0, {}, 0)["queries"]
                for name, query in found.items():
                    seen[name].append(sum(one.get("state_rows", 0) for one in query["operators"]))
            yield table

    stream = engine.stream("s", source(), schema=SCHEMA, progress=ms.bounded_disorder("ts", DISORDER))
    for name, ask in PLANS.items():
        ask(stream).named(name).to_nothing()
    engine.start(ms.available_now()).await_termination()
    return engine, seen


@pytest.mark.parametrize("name", PLANS)
def test_state_stays_below_the_printed_horizon(name: str, soaked: tuple[ms.Engine, dict[str, list[int]]]) -> None:
    engine, seen = soaked
    (verdict,) = engine.check()[name].checked.verdicts
    assert verdict.horizon is not None
    most = verdict.horizon.rows(RATE)

    assert most is not None
    assert EPOCHS - 1 == len(seen[name])
    assert 0 < max(seen[name]) <= most
    assert most < ROWS / 20, "a horizon that says nothing"


def test_what_is_refused_grows_with_the_rows() -> None:
    engine = ms.Engine(host="local")
    rows = [pa.table({"ts": range(i * 100, i * 100 + 100), "k": range(i * 100, i * 100 + 100)}) for i in range(20)]
    stream = engine.stream("s", rows, progress=ms.ordered("ts"))
    stream.select("k").distinct().named("q").to_nothing()
    assert not engine.check().safe

    run = engine.start(ms.available_now(), allow_unbounded=True)
    run.await_termination()

    assert 2000 == sum(one.get("state_rows", 0) for one in run.progress["queries"]["q"]["operators"])
