"""Golden plans: what `engine.explain()` says, as a user reads it. A change here is a change users see."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from textwrap import dedent
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import LongType, StructType, TimestampType

import millstream as ms
from millstream.core.fingerprint import fingerprint
from support import planning

SCHEMA = pa.schema(
    [("ts", pa.timestamp("us", "UTC")), ("seq", pa.int64()), ("auction", pa.int64()), ("price", pa.float64())]
)


def explained(ask: Callable[[ms.Stream], ms.Query], progress: Any = None) -> str:
    engine = ms.Engine(host="local")
    ask(engine.stream("bids", [], schema=SCHEMA, progress=progress)).named("q")
    return engine.explain()


def text(block: str) -> str:
    return dedent(block).strip()


def test_a_query_is_a_tree_from_its_result_down_to_its_stream() -> None:
    expected = """
        query q
        └─ aggregate by auction: top = max(price), n = count(*) [kernel]
              window range 60 s slide 1 s on ts [CF]
              panes of 1 s, 60 per window
              strategy auto: chosen by the cost model when the first rows show what they are like
           └─ select where price > 0 [kernel]
              └─ project ts, auction, price [kernel]
                 └─ stream bids: ts within 5 s [kernel]
    """

    assert text(expected) == explained(
        lambda s: (
            s.where("price > 0")
            .window("ts", range="60 seconds", slide="1 second")
            .group_by("auction")
            .agg(top=ms.max("price"), n=ms.count())
        ),
        ms.bounded_disorder("ts", "5 seconds"),
    )


def test_a_strategy_that_was_asked_for_is_shown_as_such() -> None:
    expected = """
        query q
        └─ aggregate: n = count(*) FILTER (WHERE price > 10) [kernel]
              window range 10 slide 4 on seq from 3 [CF]
              strategy adaptive (asked for)
           └─ stream bids: ordered on seq, for each auction [kernel]
    """

    assert text(expected) == explained(
        lambda s: s.window("seq", range=10, slide=4, start=3).agg(n=ms.count(filter="price > 10"), strategy="adaptive"),
        ms.per_group("auction", ms.ordered("seq")),
    )


def test_a_union_shows_its_inputs_side_by_side() -> None:
    engine = ms.Engine(host="local")
    quiet, busy = (engine.stream(name, [], schema=SCHEMA, progress=ms.supplied("ts")) for name in ("quiet", "busy"))
    both = quiet.select("ts", "price * 2 AS double").union(busy.select("ts", "price AS double"))
    both.distinct("ts").sort("ts").named("q")
    expected = """
        query q
        └─ sort by ts, as far as punctuation reaches [kernel]
           └─ distinct on ts [kernel]
              └─ union of 2 inputs: progress is their minimum [kernel]
                 ├─ project ts, price * 2 as double [kernel]
                 │  └─ stream quiet: punctuation supplied [kernel]
                 └─ project ts, price as double [kernel]
                    └─ stream busy: punctuation supplied [kernel]
    """

    assert text(expected) == engine.explain()


def _extent(wid: int) -> tuple[int, int]:
    return wid, wid + 1


def _wids(value: int) -> list[int]:
    return [value]


WINDOWS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "tumbling": ({"attribute": "seq", "range": 5}, ["window range 5 slide 5 on seq [CF]"]),
    "several": (
        {"attribute": "ts", "range": ["1 hour", "1 day"], "slide": "1 hour"},
        ["window range 3600 s slide 3600 s on ts [CF]", "window range 86400 s slide 3600 s on ts [CF]"],
    ),
    "landmark": (
        {"attribute": "seq", "range": "all", "slide": 60, "start": 7},
        ["window range all slide 60 on seq from 7 [CF]"],
    ),
    "rows": ({"by": "rows", "range": 10, "slide": 2}, ["window range 10 rows slide 2 rows [CF]"]),
    "partitioned": (
        {"by": "rows", "range": 10, "slide": 2, "partition_by": "auction"},
        ["window range 10 rows slide 2 rows per auction [FCF]"],
    ),
    "slide-by-tuple": ({"attribute": "seq", "range": 5, "per": "tuple"}, ["window range 5 on seq, one a row [FCA]"]),
    "slide-by-rank": (
        {"attribute": "seq", "range": 5, "slide": 3, "per": "rank"},
        ["window range 5 on seq, one a 3 rows by rank [FCA]"],
    ),
    "session": ({"attribute": "ts", "gap": "30 seconds"}, ["window sessions on ts with gap 30 s [FCA]"]),
    "user-defined": (
        {"attribute": "seq", "extent": _extent, "wids": _wids},
        [f"window user-defined, code {fingerprint(_extent, _wids)} on seq [CF]"],
    ),
}


def test_windows_that_cumulate_are_shown_with_their_step_and_size() -> None:
    engine = ms.Engine(host="local")
    engine.stream("s", [], schema=pa.schema({"ts": pa.timestamp("us", "UTC")}), progress=ms.ordered("ts"))
    windows = "CUMULATE(TABLE s, DESCRIPTOR(ts), INTERVAL '1' MINUTE, INTERVAL '1' HOUR)"
    engine.sql(f"SELECT count(*) AS n FROM {windows}", name="q")

    assert "window cumulate step 60 s size 3600 s on ts [CF]" in engine.explain()


@pytest.mark.parametrize("kind", WINDOWS)
def test_a_window_is_shown_with_its_context_class(kind: str) -> None:
    window, expected = WINDOWS[kind]
    lines = explained(lambda s: s.window(**window).agg(n=ms.count())).splitlines()

    assert expected == [line.strip() for line in lines if line.strip().startswith("window")]


GENERATORS: dict[str, tuple[Any, str]] = {
    "none": (None, "no progress declared: windows close at the end of the stream"),
    "ordered": (ms.ordered("seq"), "ordered on seq"),
    "time": (ms.bounded_disorder("ts", "5 seconds"), "ts within 5 s"),
    "rows": (ms.bounded_disorder("seq", rows=7), "seq within 7 rows"),
    "step": (ms.step("seq", 5), "ordered on seq, punctuated each 5"),
    "timer": (ms.timer("ts", "1 second", lull="5 seconds"), "ts by timer each 1 s"),
    "supplied": (ms.supplied("ts"), "punctuation supplied"),
}


@pytest.mark.parametrize("kind", GENERATORS)
def test_a_stream_is_shown_with_what_it_promises(kind: str) -> None:
    progress, expected = GENERATORS[kind]

    lines = explained(lambda s: s.where("seq > 0"), progress).splitlines()

    assert f"└─ stream bids: {expected} [kernel]" == lines[-1].strip()


# --- why auto chose what it chose -------------------------------------------------------------------


def chosen(rows: list[dict[str, int]], *, range: int | list[int], slide: int, **aggregates: Any) -> str:  # noqa: A002
    engine = ms.Engine(host="local")
    source = engine.stream("s", rows, progress=ms.ordered("ts"))
    source.window("ts", range=range, slide=slide).group_by("k").agg(**aggregates).named("q")
    engine.start(ms.available_now()).await_termination()
    return next(line.strip() for line in engine.explain().splitlines() if "strategy" in line)


def dense(per_tick: int) -> list[dict[str, int]]:
    return [{"ts": ts, "k": 0, "v": i} for ts in range(10) for i in range(per_tick)]


def test_auto_takes_panes_where_a_window_has_many_rows_and_says_why() -> None:
    expected = (
        "strategy paned (auto: times the best in time or state: paned 1, wid 5; "
        "20 rows and 1 groups per pane, 5 panes per window, 1 per slide)"
    )

    assert expected == chosen(dense(20), range=5, slide=1, top=ms.max("v"))


def test_auto_takes_the_differential_combine_where_results_are_many_and_every_aggregate_has_an_inverse() -> None:
    rows = [{"ts": ts, "k": ts, "v": 1} for ts in range(100)]
    expected = (
        "strategy differential (auto: times the best in time or state: paned 1.43, differential 1.2, wid 59; "
        "1 rows and 1 groups per pane, 60 panes per window, 1 per slide)"
    )

    assert expected == chosen(rows, range=60, slide=1, n=ms.count())
    assert chosen(rows, range=60, slide=1, n=ms.max("v")).startswith("strategy paned ")


def test_auto_takes_panes_where_they_are_nearly_empty_and_where_windows_do_not_overlap() -> None:
    assert chosen(dense(1), range=5, slide=1, top=ms.max("v")).startswith("strategy paned ")
    assert chosen(dense(20), range=5, slide=5, n=ms.count()).startswith("strategy paned ")


def test_auto_shares_panes_among_several_windows() -> None:
    assert "strategy paned (auto: 2 windows share one set of panes)" == chosen(
        dense(20), range=[2, 4], slide=2, n=ms.count()
    )


def test_auto_keeps_rows_where_values_cannot_be_folded_and_panes_save_nothing() -> None:
    call = ms.udaf(lambda values: values[0].as_py(), "v", returns="int64")

    assert chosen(dense(1), range=5, slide=1, x=call).startswith(
        "strategy buffered (auto: values cannot be folded and panes save nothing: "
    )


def test_panes_are_shown_once_they_are_what_was_chosen() -> None:
    def panes(ask: Callable[[ms.Stream], ms.Query]) -> list[str]:
        engine = ms.Engine(host="local")
        ask(engine.stream("s", dense(20), progress=ms.ordered("ts"))).named("q")
        engine.start(ms.available_now()).await_termination()
        return [line.strip() for line in engine.explain().splitlines() if line.strip().startswith("panes")]

    several = panes(lambda s: s.window("ts", range=[4, 6], slide=2).agg(n=ms.count()))
    whole = panes(lambda s: s.window("ts", range=4).agg(n=ms.max("v")))

    assert ["panes of 2, 2 and 3 per window", "panes of 4, 1 per window"] == [*several, *whole]


# --- on Spark ---------------------------------------------------------------------------------------


class Frame(DataFrame):
    """As much of a streaming data frame as a plan asks for, without a session."""

    @property
    def isStreaming(self) -> bool:  # noqa: N802 - Spark's name
        return True

    def __new__(cls, *_: object) -> Frame:
        return object.__new__(cls)

    def __init__(self, schema: StructType) -> None:
        self._fields = schema

    @property
    def schema(self) -> StructType:
        return self._fields


def on_spark(tmp_path: Path, ask: Callable[[ms.Stream], ms.Query], *more: Callable[[ms.Stream], ms.Query]) -> str:
    engine = planning.engine(tmp_path, 2)
    fields = StructType().add("ts", TimestampType()).add("auction", LongType()).add("price", LongType())
    stream = engine.stream("bids", Frame(fields), progress=ms.bounded_disorder("ts", "5 seconds"))
    for i, one in enumerate((ask, *more)):
        one(stream).named(f"q{i}")
    return engine.explain()


def busy(s: ms.Stream) -> ms.Query:
    return s.where("price > 0").window("ts", range="1 minute", slide="1 second").group_by("auction").agg(n=ms.count())


def test_what_spark_reduces_by_its_own_functions_is_shown_as_such(tmp_path: Path) -> None:
    expected = """
        query q0
        └─ aggregate by auction: n = count(*) [spark, then kernel]
              window range 60 s slide 1 s on ts [CF]
              panes of 1 s, 60 per window
              strategy paned (auto: rows are reduced to panes where they are, and only panes move)
           └─ select where price > 0 [spark]
              └─ stream bids: ts within 5 s [spark]
                    rows: reduced by Spark to partials
    """

    assert text(expected) == on_spark(tmp_path, busy)


def test_what_kernels_take_in_is_read_by_spark(tmp_path: Path) -> None:
    expected = """
        query q0
        └─ aggregate by auction: middle = median(price) [kernel]
              window range 60 s slide 60 s on ts [CF]
              panes of 60 s, 1 per window
              strategy paned (auto: rows are reduced to panes where they are, and only panes move)
           └─ stream bids: ts within 5 s [spark, then kernel]
                 rows: taken in by kernels, as Spark has no partials for median(int64)
    """

    assert text(expected) == on_spark(
        tmp_path, lambda s: s.window("ts", range="1 minute").group_by("auction").agg(middle=ms.median("price"))
    )


def test_two_queries_on_spark_share_what_is_equal(tmp_path: Path) -> None:
    lines = on_spark(tmp_path, busy, busy).splitlines()

    assert ["shared with q1", "shared with q0"] == [one.strip() for one in lines if "shared" in one]
    assert 2 == sum(one.endswith("[spark, then kernel]") for one in lines if "aggregate" in one)
