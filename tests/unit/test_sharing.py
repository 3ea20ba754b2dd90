"""`sharing=` forces a strategy: the answers are the same, and what is kept is what the strategy says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from millstream.plan import nodes
from millstream.plan.sharing import STRATEGIES
from support.bags import difference
from support.in_process import engine as engine_on_disk
from support.joins import streams, table

LONG, SHORT, LAST = 60, 10, 300


def row(ts: int) -> dict[str, Any]:
    return {"ts": ts, "k": "a", "j": 0, "v": ts % 10, "id": ts}


def epochs(name: str) -> list[ms.Epoch]:
    return [
        ms.Epoch(table([row(at + i) for i in range(10)], second=name != "ts"), [ms.punctuation(name, before=at + 10)])
        for at in range(0, LAST, 10)
    ]


def made(engine: ms.Engine) -> dict[str, ms.Query]:
    """Two windows over one stream, and two joins: the long one asks for one left row in five."""
    a, b = streams(engine, epochs("ts"), epochs("ts2"))
    return {
        "short": a.join(b, on=[("k", "k2")], within=SHORT).select("ts", "ts2").named("short"),
        "long": a.where("v > 7").join(b, on=[("k", "k2")], within=LONG).select("ts", "ts2").named("long"),
        "tens": a.window("ts", range=10).agg(n=ms.count()).named("tens"),
        "fifties": a.where("v > 2").window("ts", range=50, slide=10).agg(n=ms.sum("v")).named("fifties"),
    }


def ran(engine: ms.Engine) -> tuple[dict[str, Any], ms.Run]:
    queries = made(engine)
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()
    return {name: query.table().to_pylist() for name, query in queries.items()}, run


def kept(engine: ms.Engine) -> int:
    """The most rows that joins held, counted once."""
    vertices = engine.host.graph.vertices.values()
    return sum(v.operator.meter.peak_rows for v in vertices if isinstance(v.node, nodes.Join | nodes.SharedJoin))


@pytest.mark.parametrize("host", ["memory", "disk"])
@pytest.mark.parametrize("sharing", STRATEGIES)
def test_the_answers_are_the_same_whatever_is_shared(host: str, sharing: str, tmp_path: Path) -> None:
    """Rows 9 and 11 of the checklist, by the engine itself."""
    wanted, _ = ran(ms.Engine(host="local"))
    engine = ms.Engine(host="local", sharing=sharing)
    if host == "disk":
        engine = engine_on_disk(tmp_path, 2)
        engine.host.sharing = ms.Sharing(strategy=sharing)
    found, _ = ran(engine)
    for name, rows in wanted.items():
        assert {} == difference(rows, found[name]), name


def test_each_strategy_keeps_what_it_says() -> None:
    """By the formulas of the laboratory, with a rate of one row a tick and a selectivity of a fifth."""
    engines = {sharing: ms.Engine(host="local", sharing=sharing) for sharing in STRATEGIES}
    for engine in engines.values():
        ran(engine)
    found = {sharing: kept(engine) for sharing, engine in engines.items()}
    pull_up, sliced = 2 * LONG, 2 * SHORT + 1.2 * (LONG - SHORT)

    assert found["auto"] == found["mem-opt"]
    assert found["pull-up"] == pytest.approx(pull_up, rel=0.25)  # and an epoch of ten rows on each side
    assert found["mem-opt"] == pytest.approx(sliced, rel=0.35)
    assert found["mem-opt"] < found["pull-up"] < found["isolated"] + LONG


def test_merged_slices_keep_more_and_answer_the_same() -> None:
    """Row 17: where a slice costs very much, there is one, and a row stays to its end."""
    dear = ms.Engine(host="local", sharing=ms.Sharing(strategy="cpu-opt", overhead=1e12))
    least = ms.Engine(host="local", sharing="mem-opt")
    found, wanted = ran(dear)[0], ran(least)[0]

    assert kept(dear) > kept(least)
    for name, rows in wanted.items():
        assert {} == difference(rows, found[name]), name


def test_a_cpu_opt_chain_has_the_slices_that_cost_least() -> None:
    def ends(sharing: Any) -> tuple[int, ...]:
        engine = ms.Engine(host="local", sharing=sharing)
        a, b = streams(engine, [], [])
        asked = {f"q{w}": a.join(b, on=[("k", "k2")], within=w).node for w in (*range(1, 11), 20, 30)}
        (store,) = {
            one for root in engine.host.plan(asked).roots for one in nodes.walk(root.node)
            if isinstance(one, nodes.SharedJoin)
        }  # fmt: skip
        return store.ends(0)

    twenty = ms.Sharing(strategy="cpu-opt", rate=20, matching=0.025, overhead=0.35)
    assert (10, 20, 30) == ends(twenty)
    assert (*range(1, 11), 20, 30) == ends("mem-opt") == ends("auto")
    assert (30,) == ends("pull-up")


@pytest.mark.parametrize(
    ("sharing", "words"),
    [
        ("auto", "strategy slices: one store, one probe"),
        ("pull-up", "strategy pull-up, as asked: every row stays as long as the widest join asks"),
        ("mem-opt", "strategy mem-opt, as asked: 2 slices, one for each window, keep the fewest rows"),
        ("cpu-opt", "strategy cpu-opt, as asked:"),
    ],
)
def test_explain_names_the_strategy_and_draws_a_shared_join_once(sharing: str, words: str) -> None:
    engine = ms.Engine(host="local", sharing=sharing)
    made(engine)
    text = engine.explain()

    assert words in text
    assert 1 == text.count("strategy " + words.split()[1].rstrip(","))
    assert "shared with long" in text
    assert "for 2 joins: shared, see query short" in text


def test_isolated_queries_share_no_state() -> None:
    engine = ms.Engine(host="local", sharing="isolated")
    made(engine)
    text = engine.explain()

    assert "answered from" not in text
    assert 2 == text.count("inner join on")
    assert 2 == text.count("aggregate:")


@pytest.mark.parametrize("host", ["memory", "disk"])
def test_a_report_has_what_is_shared_once_with_who_reads_it(host: str, tmp_path: Path) -> None:
    _, run = ran(ms.Engine(host="local") if host == "memory" else engine_on_disk(tmp_path, 2))
    shared = run.progress["shared"]

    assert {"sharedjoin": ["short", "long"], "panes": ["tens", "fifties"]} == {
        one["operator"]: one["readers"] for one in shared.values()
    }


def test_check_counts_shared_state_once() -> None:
    engine = ms.Engine(host="local")
    made(engine)
    told = engine.check()

    assert [("short", "long"), ("tens", "fifties")] == [one.readers for one in told.shared]
    assert 1 == str(told).count(
        "keeps    rows of both sides that may still find a partner, once for 2 joins: short, long"
    )
    assert ["short", "long"] == list(told.to_dict()["shared"][0]["readers"])
    apart = ms.Engine(host="local", sharing="isolated")
    made(apart)
    assert () == apart.check().shared


def test_a_strategy_that_there_is_not_is_refused() -> None:
    with pytest.raises(ms.PlanError, match="there is no sharing 'slices-up'"):
        ms.Engine(host="local", sharing="slices-up")
    with pytest.raises(ms.PlanError, match="not negative"):
        ms.Sharing(strategy="cpu-opt", rate=-1)
