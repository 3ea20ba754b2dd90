"""The strategy that `auto` takes, and how it changes its mind without a change in the answer."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.plan.cost import Statistics, choose
from support.bags import difference

pytestmark = pytest.mark.slow


def test_sparse_keys_are_not_the_ruin_of_long_windows() -> None:
    # An hour by a minute over a million keys, as the first 50,000 rows show it.
    seen = Statistics(rows=50_000, panes=5, cells=49_000, groups=48_800)
    choice = choose(seen, length=60, step=1, differential=False, holistic=False)

    assert "paned" == choice.strategy


def asked(rows: pa.Table, strategy: str, epoch_rows: int, **aggregates: Any) -> tuple[ms.Engine, ms.Query]:
    engine = ms.Engine(host="local")
    stream = engine.stream("s", rows, progress=ms.bounded_disorder("ts", 30), epoch_rows=epoch_rows)
    query = stream.window("ts", range=600, slide=10).group_by("k").agg(**aggregates, strategy=strategy).named("q")
    return engine, query


@pytest.mark.parametrize("first", ["few", "many"])
def test_a_change_of_mind_changes_no_answer(first: str) -> None:
    rnd = random.Random(7)
    few = [{"k": 1, "v": rnd.randint(-9, 9)} for _ in range(3000)]
    many = [{"k": rnd.randint(0, 10**6), "v": rnd.randint(-9, 9)} for _ in range(3000)]
    mixed = [*few, *many, *few] if first == "few" else [*many, *few, *many]
    rows = pa.Table.from_pylist([{"ts": 10 * (i // 4) + rnd.randint(0, 20), **row} for i, row in enumerate(mixed)])
    expected = None
    for strategy in ("paned", "auto"):
        engine, query = asked(rows, strategy, 500, n=ms.count(), s=ms.sum("v"))
        began = engine.start(ms.once())
        began.await_termination()
        chosen = [engine.explain().count("strategy differential")]
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        chosen.append(engine.explain().count("strategy differential"))
        if expected is None:
            expected = query.table().to_pylist()
            continue
        assert {} == difference(expected, query.table().to_pylist())
        assert "changed from" in engine.explain(), chosen


@pytest.mark.parametrize("flush", [None, 3])
def test_results_that_are_held_back_survive_a_change(flush: int | None) -> None:
    rnd = random.Random(3)
    rows = pa.Table.from_pylist(
        [{"ts": 5 * i + rnd.randint(0, 20), "k": 1 if i < 1500 else rnd.randint(0, 10**6), "v": 1} for i in range(4000)]
    )
    answers = []
    for strategy in ("wid", "auto"):
        engine = ms.Engine(host="local")
        stream = engine.stream("s", rows, progress=ms.bounded_disorder("ts", 30), epoch_rows=250)
        held = None if flush is None else ms.slow_flush(windows=flush, rows=50)
        made = stream.window("ts", range=600, slide=10, flush=held).group_by("k")
        query = made.agg(n=ms.count(), strategy=strategy).named("q")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        answers.append(query.table().to_pylist())

    assert {} == difference(*answers)


def test_few_partials_beside_many_rows_are_no_reason_for_a_slower_strategy() -> None:
    uneven = Statistics(rows=50_000, panes=10, cells=1000, groups=100)  # 11 s by 5 s: panes of 1 s

    assert "paned" == choose(uneven, length=11, step=5, differential=False, holistic=False).strategy


def test_tumbling_windows_are_panes_whatever_is_seen_of_them() -> None:
    """The model has both cost the same there; but `wid` is slower to close windows whose rows came late."""
    seen = [
        Statistics(rows=10_000, panes=panes, cells=cells, groups=100)
        for panes in range(1, 40)
        for cells in range(panes, 100 * panes, 7)
    ]

    assert {"paned"} == {choose(one, length=1, step=1, differential=False, holistic=False).strategy for one in seen}
