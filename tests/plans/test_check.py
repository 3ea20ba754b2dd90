"""Golden checks: what `engine.check()` says, as a user reads it, for every kind of operator and of promise."""

from __future__ import annotations

from collections.abc import Callable
from textwrap import dedent
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from millstream.core.aggregate import Size
from millstream.kernels.aggregates.aggregate_registry import build
from millstream.plan.nodes import Aggregate

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("seq", pa.int64()), ("auction", pa.int64()), ("price", pa.float64())]
)
SECONDS = ms.bounded_disorder("ts", "5 seconds")
Ask = Callable[[ms.Stream], ms.Query]


def made(ask: Ask, progress: Any = None) -> ms.Engine:
    engine = ms.Engine(host="local")
    ask(engine.stream("bids", [], schema=SCHEMA, progress=progress)).named("q")
    return engine


def said(ask: Ask, progress: Any = None) -> str:
    return str(made(ask, progress).check())


def text(block: str) -> str:
    return dedent(block).strip()


def counted(**window: Any) -> Ask:
    return lambda s: s.window(**window).group_by("auction").agg(n=ms.count())


def test_a_safe_query_says_what_it_keeps_what_lets_it_forget_and_how_long_that_takes() -> None:
    expected = """
        query q: safe
          aggregate by auction over range 10 s slide 1 s on ts
            keeps    partials of open windows for each auction
            forgets  on punctuation [[ts:+]]
            horizon  15 s of ts: range 10 s + disorder 5 s
          stream bids promises {[[ts:+]]} (ts within 5 s)
    """

    assert text(expected) == said(counted(attribute="ts", range="10 seconds", slide="1 second"), SECONDS)


def test_a_refused_query_says_what_is_missing_and_what_would_do() -> None:
    expected = """
        query q: refused
          aggregate by auction over range 10 s slide 10 s on ts
            keeps    partials of open windows for each auction
            refused  aggregate by auction over range 10 s slide 10 s on ts never closes a window: no punctuation on ts \
reaches it; bids promises nothing
            hint     Declare progress on ts of bids: progress=ms.bounded_disorder("ts", …); \
or run it with end_of_stream=True.
          stream bids promises nothing
          one of these would do:
            bids: ms.bounded_disorder("ts", …)
            bids: ms.supplied(per="auction")
            bids: ms.per_group("auction", ms.bounded_disorder("ts", …))
    """

    assert text(expected) == said(counted(attribute="ts", range="10 seconds"))


def test_what_reads_a_refused_operator_waits_for_it() -> None:
    engine = made(lambda s: s.distinct("auction").sort("ts"))

    assert "waits    for what it reads" in str(engine.check())
    assert ["distinct on auction"] == [one.operator for _, one in engine.check()["q"].checked.refusals]


def test_a_query_without_memory_keeps_nothing() -> None:
    expected = """
        query q: safe
          keeps nothing
          stream bids promises nothing
    """

    assert text(expected) == said(lambda s: s.where("price > 0").select("ts", "price * 2 AS double"))


HORIZONS: dict[str, tuple[Ask, Any, str]] = {
    "tumbling": (counted(attribute="seq", range=10), ms.ordered("seq"), "10 of seq: range 10"),
    "several": (counted(attribute="seq", range=[10, 30], slide=10), ms.ordered("seq"), "30 of seq: range 30"),
    "within rows": (
        counted(attribute="seq", range=10), ms.bounded_disorder("seq", rows=7), "range 10 of seq + disorder 7 rows",
    ),
    "step": (counted(attribute="seq", range=10), ms.step("seq", 4), "14 of seq: range 10 + step 4"),
    "timer": (
        counted(attribute="ts", range="10 s"), ms.timer("ts", "2 seconds"), "12 s of ts: range 10 s + timer 2 s",
    ),
    "supplied": (
        counted(attribute="seq", range=10), ms.supplied("seq"), "range 10 of seq + what is not punctuated yet",
    ),
    "groups that end": (counted(attribute="seq", range=10), ms.supplied(per="auction"), "until its auction is over"),
    "sessions": (counted(attribute="ts", gap="30 s"), SECONDS, "35 s of ts: gap 30 s + disorder 5 s"),
    "sessions of values": (
        lambda s: s.window("ts", gap="30 s").agg(m=ms.median("price")), SECONDS,
        "gap 30 s of ts + disorder 5 s + length of a session",
    ),
    "landmark": (
        lambda s: s.window("ts", range="all", slide="60 s").agg(n=ms.count()), SECONDS,
        "65 s of ts: slide 60 s + disorder 5 s",
    ),
    "slide-by-tuple": (
        counted(attribute="ts", range="9 s", per="tuple"), SECONDS, "14 s of ts: range 9 s + disorder 5 s",
    ),
    "rows": (lambda s: s.window(by="rows", range=10, slide=2).agg(n=ms.count()), None, "range 10 rows"),
    "partitions that end": (
        counted(by="rows", range=10, slide=2, partition_by="auction"), ms.supplied(per="auction"), "range 10 rows",
    ),
    "user-defined": (
        counted(attribute="seq", extent=lambda w: (w, w + 1), wids=lambda a: [a]), ms.ordered("seq"),
        "the extent of a window",
    ),
    "no window": (
        lambda s: s.group_by("auction").agg(n=ms.count()), ms.supplied(per="auction"), "until its auction is over",
    ),
    "distinct": (lambda s: s.distinct("auction", "ts"), SECONDS, "5 s of ts: disorder 5 s"),
    "distinct, in order": (lambda s: s.distinct("auction", "seq"), ms.ordered("seq"), "the newest value of seq"),
    "sort": (lambda s: s.sort("ts"), SECONDS, "5 s of ts: disorder 5 s"),
    "after a rename": (
        lambda s: s.select("ts AS at", "auction").window("at", range="10 s").agg(n=ms.count()), SECONDS,
        "15 s of at: range 10 s + disorder 5 s",
    ),
    "window of windows": (
        lambda s: counted(attribute="ts", range="5 s")(s).window("window_end", range="10 s").agg(m=ms.max("n")),
        SECONDS, "10 s of window_end: range 10 s",
    ),
    "union": (
        lambda s: s.union(s.where("price > 1")).window("ts", range="10 s").agg(n=ms.count()), SECONDS,
        "range 10 s of ts + disorder 5 s + skew of the inputs",
    ),
    "band join": (
        lambda s: s.join(s, on="auction", within=("-2 s", "8 s")), SECONDS,
        "band 8 s of ts + disorder 5 s + skew of the inputs",
    ),
    "tumbling join": (
        lambda s: s.join(s, on="auction", window="60 s"), SECONDS,
        "window 60 s of ts + disorder 5 s + skew of the inputs",
    ),
    "join of times": (lambda s: s.join(s, on="ts"), SECONDS, "disorder 5 s of ts + skew of the inputs"),
    "join of groups that end": (
        lambda s: s.join(s, on="auction"), ms.supplied(per="auction"), "until its auction is over",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", HORIZONS)
def test_the_horizon_of_every_kind_of_operator(kind: str) -> None:
    ask, progress, expected = HORIZONS[kind]
    report = made(ask, progress).check()

    assert report.safe, str(report)
    assert expected == str(report["q"].checked.verdicts[-1].horizon)


REFUSED: dict[str, tuple[Ask, Any, str]] = {
    "landmark by group": (counted(attribute="ts", range="all", slide="60 s"), SECONDS, "a total of every auction"),
    "landmark of values": (
        lambda s: s.window("ts", range="all", slide="60 s").agg(m=ms.median("price")), SECONDS, "every value for ever",
    ),
    "partitions": (
        counted(by="rows", range=10, slide=2, partition_by="auction"), SECONDS, "last 10 rows of every auction",
    ),
    "a group apart": (
        lambda s: s.window("seq", range=10).agg(n=ms.count()), ms.per_group("auction", ms.ordered("seq")),
        "no punctuation on seq reaches it",
    ),
    "slide-by-tuple by group": (
        counted(attribute="seq", range=10, per="tuple"), ms.per_group("auction", ms.ordered("seq")),
        "no punctuation on seq reaches it",
    ),
    "supplied, but what": (counted(attribute="seq", range=10), ms.supplied(), "promises nothing to count on"),
    "left out": (lambda s: s.select("auction").distinct(), SECONDS, "none of it speaks of auction"),
    "sort by another": (lambda s: s.sort("seq"), SECONDS, "no punctuation on seq reaches it"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_an_operator_that_cannot_forget_is_refused_by_name(kind: str) -> None:
    ask, progress, expected = REFUSED[kind]
    engine = made(ask, progress)

    assert not engine.check().safe
    with pytest.raises(ms.ContractError, match=expected) as caught:
        engine.start()
    assert caught.value.hint
    assert str(engine.check()) == str(caught.value.report)


def test_a_hint_for_groups_apart_says_to_group_too() -> None:
    ask, progress, _ = REFUSED["a group apart"]

    with pytest.raises(ms.ContractError, match="It comes for each auction apart: group by auction too"):
        made(ask, progress).start()


def test_groups_that_are_punctuated_apart_are_said_to_be_taken_for_granted() -> None:
    report = said(counted(attribute="seq", range=10), ms.per_group("auction", ms.ordered("seq")))

    assert "assumes  every auction goes on, or is said to be over" in report


def test_a_report_can_be_read_by_a_machine() -> None:
    found = made(counted(attribute="ts", range="10 seconds"), SECONDS).check().to_dict()

    assert found["safe"]
    (query,) = found["queries"]
    (operator,) = query["operators"]
    assert ["[[ts:+]]"] == operator["forgets"]
    assert 15_000_000 == operator["horizon"]["ticks"]
    assert operator["refusal"] is None
    assert {"bids": ["[[ts:+]]"]} in query["would_do"]


@pytest.mark.parametrize(
    ("how", "known"),
    [("inner", ["left_ts", "right_ts"]), ("left", ["left_ts"]), ("right", ["right_ts"]), ("full", []),
     ("semi", ["ts"]), ("anti", ["ts"])],
)  # fmt: skip
def test_a_join_promises_nothing_of_columns_that_may_be_null(how: str, known: list[str]) -> None:
    engine = ms.Engine(host="local")
    bids = engine.stream("bids", [], schema=SCHEMA, progress=SECONDS)
    joined = bids.join(bids, on="auction", how=how, within="5 s")
    names = [one for one in ("left_ts", "right_ts", "ts") if one in joined.schema.names]
    for name in names:
        joined.distinct(name).named(name)

    assert known == [name for name in names if engine.check()[name].checked.safe]


def test_a_report_has_no_verdict_on_an_unknown_query() -> None:
    with pytest.raises(ms.PlanError, match="there is no query 'nope'"):
        made(lambda s: s.where("price > 1")).check()["nope"]


@pytest.mark.parametrize("promised", [0, 1, 20])
def test_what_would_do_is_told_for_many_streams_too(promised: int) -> None:
    engine = ms.Engine(host="local")
    first, *others = (
        engine.stream(f"s{i}", [], schema=SCHEMA, progress=SECONDS if i < promised else None) for i in range(20)
    )
    first.union(*others).window("ts", range="10 s").agg(n=ms.count()).named("q")

    (query,) = engine.check().to_dict()["queries"]

    assert (promised == 20) == query["safe"]
    assert {f"s{i}": ["[[ts:+]]"] for i in range(20)} == query["would_do"][0]


@pytest.mark.parametrize("ask", [lambda s: s.distinct("seq", "price"), lambda s: s.join(s, on="seq")])
def test_integers_in_order_would_do_where_values_are_asked_about(ask: Ask) -> None:
    found = [one.to_dict() for one in made(ask).check()["q"].remedies]

    assert {"bids": ["[[seq:+]]"]} in found
    assert {"bids": ["[[seq:#]]"]} in found


def test_of_many_streams_only_those_are_asked_that_must_promise() -> None:
    engine = ms.Engine(host="local")
    streams = [engine.stream(f"s{i}", [], schema=SCHEMA) for i in range(15)]
    joined = streams[0].distinct("ts").select("ts")
    for other in streams[1:]:
        joined = joined.union(other.select("ts"))
    joined.named("q")

    assert {"s0": ["[[ts:+]]"]} == {
        name: some for name, some in engine.check()["q"].remedies[0].to_dict().items() if some
    }


def test_the_aggregates_that_are_called_holistic_are_those_whose_kernels_are() -> None:
    calls = [
        ms.count("price"), ms.sum("price"), ms.avg("price"), ms.max("price"), ms.median("price"),
        ms.quantile("price", 0.5), ms.mode("price"), ms.count_distinct("price"), ms.heavy_hitters("price", 0.1),
        ms.approx_distinct("price"), ms.approx_quantile("price", 0.5), ms.approx_heavy_hitters("price", 0.1),
        ms.variance("price"), ms.max_by("price", "price"), ms.udaf(lambda v: len(v), "price", returns="int64"),
        ms.udaf_algebraic("price", lift=len, combine=max, lower=abs, partial="int64", returns="int64"),
    ]  # fmt: skip

    stream = ms.Engine(host="local").stream("s", [], schema=pa.schema({"ts": pa.int64(), "price": pa.float64()}))
    for call in calls:
        kernel = build(call, [pa.float64()] * len(call.arguments))
        node = stream.window("ts", range=10).agg(x=call).node
        assert isinstance(node, Aggregate)
        (column,) = node.aggregates
        assert column.holistic == (kernel.size is Size.HOLISTIC), call


# --- what is let run is marked ----------------------------------------------------------------------


@pytest.mark.parametrize("where", ["engine", "start"])
def test_what_is_allowed_is_marked_at_its_operator(where: str) -> None:
    engine = ms.Engine(host="local", allow_unbounded=where == "engine")
    engine.stream("bids", [], schema=SCHEMA).distinct("auction").named("q")

    engine.start(allow_unbounded=where == "start").await_termination()

    lines = engine.explain().splitlines()
    at = next(i for i, line in enumerate(lines) if "distinct on auction" in line)
    assert "unbounded: distinct on auction keeps every auction for ever" in lines[at + 1]


def test_what_one_start_allows_the_next_does_not() -> None:
    engine = ms.Engine(host="local")
    stream = engine.stream("bids", [], schema=SCHEMA)
    stream.distinct("auction").named("first")
    engine.start(allow_unbounded=True).await_termination()
    stream.distinct("price").named("second")

    with pytest.raises(ms.ContractError, match="'second'"):
        engine.start()
    assert "unbounded: distinct on auction" in engine.explain()


def test_a_refused_query_starts_nothing_and_names_every_query() -> None:
    engine = ms.Engine(host="local")
    stream = engine.stream("bids", [], schema=SCHEMA)
    stream.where("price > 0").named("fine")
    stream.distinct("auction").named("first")
    stream.sort("ts").named("second")

    with pytest.raises(ms.ContractError) as caught:
        engine.start()

    assert "'first'" in str(caught.value)
    assert "'second'" in str(caught.value)
    assert "'fine'" not in str(caught.value)
    assert not engine.host.queries
