"""Many windows over one set of panes answer as each does alone."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from support.bags import difference
from support.harness import SCHEMA, cut, punctuated, some_rows

CALLS: dict[str, Any] = {"n": ms.count(), "total": ms.sum("v"), "high": ms.max("v"), "mean": ms.avg("f")}


@given(
    seed=st.integers(0, 2**32),
    ranges=st.lists(st.integers(1, 40), min_size=2, max_size=12, unique=True),
    slide=st.none() | st.integers(1, 12),
    start=st.none() | st.integers(-30, 10),
    far=st.booleans(),
    group_wise=st.booleans(),
)
def test_many_windows_answer_as_each_alone(
    *, seed: int, ranges: list[int], slide: int | None, start: int | None, far: bool, group_wise: bool
) -> None:
    rnd = random.Random(seed)
    rows = some_rows(rnd, 40, 60, keys=("a", "b", "c"))
    if far:  # so that almost all windows in between are empty
        rows += [{**row, "ts": row["ts"] + 10_000} for row in rows[:3]]
    rnd.shuffle(rows)
    epochs = punctuated(cut(rows, rnd), rnd, group_wise=group_wise)
    promise = ms.supplied("ts", per="k") if group_wise else ms.supplied("ts")

    def answer(size: Any) -> list[dict[str, Any]]:
        engine = ms.Engine(host="local")
        stream = engine.stream("s", list(epochs), schema=SCHEMA, progress=promise)
        query = stream.window("ts", range=size, slide=slide, start=start).group_by("k").agg(**CALLS).named("q")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        return query.table().to_pylist()

    assert {} == difference([row for size in ranges for row in answer(size)], answer(ranges))
