"""Every mistake a user can make is an error of ours that says the fact and a hint, or a rejected row."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from support.bags import difference

SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("at", pa.timestamp("us")),
        ("day", pa.date32()),
        ("price", pa.float64()),
        ("k", pa.string()),
        ("exact", pa.decimal128(9, 2)),
    ]
)
KNOWN = "Known: ts, at, day, price, k, exact."


def stream(progress: Any = None) -> ms.Stream:
    return ms.Engine(host="local").stream("s", [], schema=SCHEMA, progress=progress)


def agg(**aggregates: Any) -> ms.Query:
    return stream().window("ts", range=5).group_by("k").agg(**aggregates)


def supplied() -> ms.Stream:
    return stream(ms.supplied("ts"))


Mistake = tuple[Callable[[], Any], type[ms.MillstreamError], str, str]

MISTAKES: dict[str, Mistake] = {
    # --- a query or a stream that is another's, or has no state ------------------------------------------
    "a stream of another engine": (
        lambda: ms.Engine(host="local").register(stream().where("price > 1"), "q"), ms.PlanError,
        "'s' is not the stream of that name in this engine",
        "It belongs to another engine, or was declared again since. Use what stream(…) of this engine returned last.",
    ),
    "draining without a checkpoint": (
        lambda: stream().where("price > 1").named("q").engine.drain("q"), ms.PlanError,
        "this engine has no checkpoint, so it keeps no state of 'q' between runs",
        "Start it with end_of_stream=True: all results that it holds then leave.",
    ),
    "replacing a query by one with other columns": (
        lambda: stream().where("price > 1").named("q").to_memory().replace(stream().select("ts")), ms.PlanError,
        "the new query has other columns than 'q', whose sinks it would write to",
        "Give the new query sinks of its own, or the same columns.",
    ),
    # --- a column that is not there ---------------------------------------------------------------------
    "unknown attribute": (
        lambda: stream().window("tss", range=5), ms.SchemaError,
        "there is no column 'tss'", f'Did you mean "ts"? {KNOWN}',
    ),
    "unknown group": (
        lambda: stream().window("ts", range=5).group_by("kk"), ms.SchemaError,
        "there is no column 'kk'", f'Did you mean "k"? {KNOWN}',
    ),
    "unknown partition": (
        lambda: stream().window(by="rows", range=5, partition_by="kk"), ms.SchemaError,
        "there is no column 'kk'", f'Did you mean "k"? {KNOWN}',
    ),
    "unknown argument": (
        lambda: agg(x=ms.sum("prize")), ms.ExpressionError,
        'prize names the unknown column "prize"', f'Did you mean "price"? {KNOWN}',
    ),
    "unknown column in a filter": (
        lambda: agg(x=ms.count(filter="prize > 1")), ms.ExpressionError,
        'prize > 1 names the unknown column "prize"', f'Did you mean "price"? {KNOWN}',
    ),
    "unknown column in where": (
        lambda: stream().where("prize > 1"), ms.ExpressionError,
        'prize > 1 names the unknown column "prize"', f'Did you mean "price"? {KNOWN}',
    ),
    "unknown column in select": (
        lambda: stream().select("prize"), ms.ExpressionError,
        'prize names the unknown column "prize"', f'Did you mean "price"? {KNOWN}',
    ),
    "unknown column in distinct": (
        lambda: stream().distinct("kk"), ms.SchemaError,
        "there is no column 'kk'", f'Did you mean "k"? {KNOWN}',
    ),
    "unknown column in sort": (
        lambda: stream().sort("tss"), ms.SchemaError,
        "there is no column 'tss'", f'Did you mean "ts"? {KNOWN}',
    ),
    "unknown progressing attribute": (
        lambda: stream(ms.ordered("tss")), ms.SchemaError,
        "progress names the unknown column 'tss'", f'Did you mean "ts"? {KNOWN}',
    ),
    "unknown mark": (
        lambda: stream(ms.embedded("marks")), ms.SchemaError,
        "the mark names the unknown column 'marks'", KNOWN,
    ),
    "unknown column in a punctuation": (
        lambda: supplied().punctuate("tss", before=5), ms.SchemaError,
        "punctuation on stream 's' names the unknown column 'tss'", f'Did you mean "ts"? {KNOWN}',
    ),
    # --- windows that cannot be -------------------------------------------------------------------------
    "zero range": (
        lambda: stream().window("ts", range=0), ms.WindowError,
        "range 0 is not positive", "Give a range above zero.",
    ),
    "negative range": (
        lambda: stream().window("ts", range=-5), ms.WindowError,
        "range -5 is not positive", "Give a range above zero.",
    ),
    "zero slide": (
        lambda: stream().window("ts", range=5, slide=0), ms.WindowError,
        "slide 0 is not positive", "Give a slide above zero.",
    ),
    "negative slide": (
        lambda: stream().window("ts", range=5, slide=-1), ms.WindowError,
        "slide -1 is not positive", "Give a slide above zero.",
    ),
    "zero seconds": (
        lambda: stream().window("at", range="0 seconds"), ms.WindowError,
        "range 0 is not positive", "Give a range above zero.",
    ),
    "negative seconds": (
        lambda: stream().window("at", range="-5 seconds"), ms.WindowError,
        "'-5 seconds' is not a duration",
        'Write a number and a unit, as in "5 seconds", "1 minute 30 seconds" or "250 ms".',
    ),
    "zero gap": (
        lambda: stream().window("ts", gap=0), ms.WindowError,
        "gap 0 is not positive", "Give a gap above zero.",
    ),
    "zero rows": (
        lambda: stream().window(by="rows", range=0), ms.WindowError,
        "range 0 is not positive", "Give a range above zero.",
    ),
    "part of a row": (
        lambda: stream().window(by="rows", range=2.5), ms.WindowError,
        "range 2.5 is not a number of rows", "Give a whole number, as in range=1000.",
    ),
    "zero rows of slide": (
        lambda: stream().window("ts", range=5, slide=0, per="tuple"), ms.WindowError,
        "slide 0 is not positive", "Give a slide above zero.",
    ),
    "text attribute": (
        lambda: stream().window("k", range=5), ms.WindowError,
        "k is string, and neither windows nor progress can be on that",
        "Use a timestamp, a date, an integer or a decimal (cast a float to a decimal first).",
    ),
    "float attribute": (
        lambda: stream().window("price", range=5), ms.WindowError,
        "price is double, and neither windows nor progress can be on that",
        "Use a timestamp, a date, an integer or a decimal (cast a float to a decimal first).",
    ),
    "float progress": (
        lambda: stream(ms.ordered("price")), ms.WindowError,
        "price is double, and neither windows nor progress can be on that",
        "Use a timestamp, a date, an integer or a decimal (cast a float to a decimal first).",
    ),
    "duration on an integer": (
        lambda: stream().window("ts", range="5 seconds"), ms.WindowError,
        "range '5 seconds' is not a whole number, and the attribute is an integer",
        "A duration belongs to a timestamp; an integer attribute takes an integer.",
    ),
    "number on a timestamp": (
        lambda: stream().window("at", range=5), ms.WindowError,
        "range 5 has no unit, and the attribute is a timestamp", 'Write a duration such as "5 seconds".',
    ),
    "duration of slide on an integer": (
        lambda: stream().window("ts", range=5, slide="1 second"), ms.WindowError,
        "slide '1 second' is not a whole number, and the attribute is an integer",
        "A duration belongs to a timestamp; an integer attribute takes an integer.",
    ),
    "duration of disorder on an integer": (
        lambda: stream(ms.bounded_disorder("ts", "5 seconds")), ms.WindowError,
        "disorder '5 seconds' is not a whole number, and the attribute is an integer",
        "A duration belongs to a timestamp; an integer attribute takes an integer.",
    ),
    "number of disorder on a timestamp": (
        lambda: stream(ms.bounded_disorder("at", 5)), ms.WindowError,
        "disorder 5 has no unit, and the attribute is a timestamp", 'Write a duration such as "5 seconds".',
    ),
    "hours on a date": (
        lambda: stream().window("day", range="12 hours"), ms.WindowError,
        "range '12 hours' is finer than the attribute's unit (date)",
        "Use a coarser duration, or a finer timestamp type.",
    ),
    "too many digits": (
        lambda: stream().window("exact", range="0.005"), ms.WindowError,
        "range '0.005' is finer than the attribute's scale (2)", "Use at most that many digits after the point.",
    ),
    "a start that is no time": (
        lambda: stream().window("at", range="5 seconds", start="noon"), ms.PatternError,
        "start 'noon' is not a timestamp", "Give a value of the attribute's own type (timestamp[us]).",
    ),
    "no range": (
        lambda: stream().window("ts"), ms.WindowError,
        "a window needs a range", 'Give range="1 minute", or gap= for sessions.',
    ),
    "no ranges": (
        lambda: stream().window("ts", range=[]), ms.WindowError,
        "a list of ranges is empty", 'Give at least one: range=["1 hour", "1 day"].',
    ),
    "no attribute": (
        lambda: stream().window(range=5), ms.WindowError,
        "a window needs an attribute", 'Name it first: window("ts", range="1 minute").',
    ),
    "landmark without slide": (
        lambda: stream().window("ts", range="all"), ms.WindowError,
        'range="all" needs a slide', 'Say how often to report: slide="1 minute".',
    ),
    "unknown by": (
        lambda: stream().window("ts", range=5, by="row"), ms.WindowError,
        "by='row' is not known", 'Use by="range" or by="rows".',
    ),
    "unknown per": (
        lambda: stream().window("ts", range=5, per="row"), ms.WindowError,
        "per='row' is not known", 'Use per="tuple" or per="rank".',
    ),
    "half a user-defined window": (
        lambda: stream().window("ts", extent=lambda w: (w, w + 1)), ms.WindowError,
        "a user-defined window needs both extent and wids", "They must be inverse.",
    ),
    "two kinds of window at once": (
        lambda: stream().window("ts", gap=5, range=5), ms.WindowError,
        "a window with gap has no range", "Leave out range, or gap.",
    ),
    "a start for row numbers": (
        lambda: stream().window(by="rows", range=5, start=3), ms.WindowError,
        'a window by="rows" has no start', 'Leave out start, or by="rows".',
    ),
    # --- progress ---------------------------------------------------------------------------------------
    "negative disorder": (
        lambda: stream(ms.bounded_disorder("ts", -1)), ms.PlanError,
        "disorder -1 is negative", "Give zero or more.",
    ),
    "zero step": (
        lambda: stream(ms.step("ts", 0)), ms.PlanError, "step 0 is not positive", "Give a step above zero.",
    ),
    "no way to progress": (
        lambda: stream("ts"), ms.PlanError, "'ts' is not a way to progress",
        'Use ms.ordered("ts"), ms.bounded_disorder("ts", "5 seconds"), ms.supplied() …',
    ),
    "two kinds of disorder": (
        lambda: ms.bounded_disorder("ts", 5, rows=5), ms.PlanError,
        "bounded_disorder needs either a span or a number of rows",
        'Write bounded_disorder("ts", "5 seconds") or bounded_disorder("ts", rows=100).',
    ),
    "groups without a key": (
        lambda: ms.per_group([], ms.ordered("ts")), ms.PlanError, "per_group([], Ordered) makes no sense",
        "Give at least one key, and ordered(…), bounded_disorder(…), step(…) or timer(…).",
    ),
    "groups of the attribute itself": (
        lambda: ms.per_group(["k", "ts"], ms.ordered("ts")), ms.PlanError,
        "'ts' progresses for each k, ts: it cannot be among the columns of its own groups",
        "Leave 'ts' out of the keys, or let the whole stream progress by it.",
    ),
    "supplied for groups of the attribute itself": (
        lambda: ms.supplied("ts", per="ts"), ms.PlanError,
        "'ts' progresses for each ts: it cannot be among the columns of its own groups",
        "Leave 'ts' out of the keys, or let the whole stream progress by it.",
    ),
    "embedded for groups of the attribute itself": (
        lambda: ms.embedded("m", "ts", per=["ts"]), ms.PlanError,
        "'ts' progresses for each ts: it cannot be among the columns of its own groups",
        "Leave 'ts' out of the keys, or let the whole stream progress by it.",
    ),
    "punctuating what punctuates itself": (
        lambda: stream(ms.ordered("ts")).punctuate("ts", before=5), ms.PlanError,
        "only a source whose progress is supplied can be punctuated",
        "Declare it with engine.stream(…, progress=ms.supplied()).",
    ),
    "a bound of another type": (
        lambda: supplied().punctuate("ts", before="soon"), ms.PatternError,
        "bound on ts 'soon' is not an integer", "Give a value of the attribute's own type (integer).",
    ),
    "a constant of another type": (
        lambda: supplied().punctuate("ts", before=5, day="x"), ms.PatternError,
        "'x' is not a value of 'day' (date32[day])", "Give a value of the column's own type.",
    ),
    "a punctuation that names null": (
        lambda: supplied().punctuate("ts", before=5, k=None), ms.PatternError,
        "a punctuation names null as a value of 'k'",
        "A punctuation cannot name null: leave the attribute out, or let the end of the stream close it.",
    ),
    # --- aggregates -------------------------------------------------------------------------------------
    "unknown strategy": (
        lambda: agg(n=ms.count(), strategy="fast"), ms.PlanError, "there is no strategy 'fast'",
        "Choose one of auto, wid, paned, differential, buffered, adaptive, bins.",
    ),
    "a strategy for other windows": (
        lambda: stream().window("ts", gap=5).agg(n=ms.count(), strategy="wid"), ms.PlanError,
        "strategy 'wid' does not fit Session windows", "For these windows choose one of auto.",
    ),
    "no aggregates": (
        lambda: agg(), ms.PlanError, "agg has no aggregates", "Name at least one: agg(n=ms.count()).",
    ),
    "an aggregate without a name": (
        lambda: stream().window("ts", range=5).agg(ms.max("v")), ms.PlanError, "the aggregate max(v) has no name",
        "Write agg(name=…), as in agg(n=ms.count()).",
    ),
    "no aggregate": (
        lambda: agg(n=3), ms.PlanError, "n=3 is not an aggregate",
        'Write one such as n=ms.count() or t=ms.sum("x").',
    ),
    "an aggregate with the name of a group": (
        lambda: agg(k=ms.count()), ms.PlanError, "the aggregate 'k' has the name of another result column",
        "Results have window_id, window_start, window_end, k; choose another name.",
    ),
    "a group with the name of a result column": (
        lambda: stream().select("ts", "k AS window_id").window("ts", range=5).group_by("window_id").agg(n=ms.count()),
        ms.PlanError, "the group 'window_id' has the name of a result column",
        'Rename it first: select("window_id AS inner_window_id", …).',
    ),
    "a sum of text": (
        lambda: agg(x=ms.sum("k")), ms.AggregateError,
        "sum(k): k is string, and sum takes integers, floats, or decimals of at most 38 digits",
        'Cast it to a number first: "cast(x as double)".',
    ),
    "an average of times": (
        lambda: agg(x=ms.avg("at")), ms.AggregateError,
        "avg(at): at is timestamp[us], and avg takes integers, floats, or decimals of at most 38 digits",
        'Cast it to a number first: "cast(x as double)".',
    ),
    "a share beyond one": (
        lambda: agg(x=ms.quantile("price", 1.5)), ms.AggregateError,
        "quantile(price, 1.5) has q = 1.5, which is not in [0, 1]", "Give q as a number from 0 to 1.",
    ),
    "a filter that is no condition": (
        lambda: agg(x=ms.count(filter="price + 1")), ms.AggregateError,
        "the filter of 'x', price + 1, is double", 'A filter is a condition: filter="price > 10".',
    ),
    # --- SQL --------------------------------------------------------------------------------------------
    "where that is no condition": (
        lambda: stream().where("price + 1"), ms.SchemaError,
        "price + 1 is double, not a condition", 'Compare something: "price > 10".',
    ),
    "an open bracket": (
        lambda: stream().where("(price > 1"), ms.ExpressionError,
        "(price > 1 does not parse: Expecting ). Line 1, Col: 10.", "Use Spark SQL's syntax.",
    ),
    "a statement": (
        lambda: stream().where("SELECT 1"), ms.ExpressionError,
        "SELECT 1 is a statement, not an expression", 'Write a condition or a value: "price > 10".',
    ),
    "an aggregate over one row": (
        lambda: stream().where("sum(price) > 1"), ms.ExpressionError,
        "sum(price) > 1 has SUM(price), which is not an expression over one row",
        "Aggregates go in agg(…); sub-queries are not allowed here.",
    ),
    "no SQL": (
        lambda: stream().where("  "), ms.ExpressionError,
        "'  ' is not an SQL expression", 'Write one as text: "price > 10".',
    ),
    "an unknown function": (
        lambda: stream().where("nosuch(price) > 1"), ms.ExpressionError,
        'nosuch(price) > 1: there is no function "nosuch"',
        "Did you mean cosh? docs/functions.md lists those that there are. Apply it on the data frame before "
        "engine.stream(…), or compute the column where the rows are made.",
    ),
    "a column without a name": (
        lambda: stream().select("price + 1"), ms.ExpressionError,
        "price + 1 has no name", 'Write `price + 1 AS name`, or name="price + 1".',
    ),
    "a name for two columns": (
        lambda: stream().select("ts", "k AS ts"), ms.PlanError,
        "the column 'ts' is named twice", "Give each column a name of its own.",
    ),
    "no columns": (
        lambda: stream().select(), ms.PlanError,
        "select has no columns", 'Name at least one: select("ts", "price").',
    ),
    "a union of unlike streams": (
        lambda: stream().select("ts").union(stream().select("k")), ms.SchemaError,
        "a union of (ts int64) and (k string)", "Select the same columns with the same types on both sides first.",
    ),
    # --- the engine -------------------------------------------------------------------------------------
    "no query to run": (
        lambda: ms.Engine(host="local").start(), ms.PlanError,
        "there is no query to run", 'Name one with .named("q"), or give it a sink.',
    ),
    "an unknown host": (
        lambda: ms.Engine(host="cloud"), ms.PlanError,
        "there is no host 'cloud'", 'Use host="local" or host="spark".',
    ),
    "no time between epochs": (
        lambda: ms.every("0 seconds"), ms.PlanError,
        "interval '0 seconds' is not positive", 'Give one such as "1 second".',
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_an_error_with_a_fact_and_a_hint(name: str) -> None:
    make, kind, fact, hint = MISTAKES[name]
    with pytest.raises(ms.MillstreamError) as caught:
        make()

    assert (kind, fact, hint) == (type(caught.value), caught.value.fact, caught.value.hint)


@pytest.mark.parametrize("text", ["price >", "price > 1; price > 2", "DROP TABLE s", "k * k > 1", "1 +* 2"])
def test_malformed_sql_is_an_error_that_shows_the_text_and_hints(text: str) -> None:
    with pytest.raises(ms.ExpressionError) as caught:
        stream().where(text)

    assert text in caught.value.fact
    assert caught.value.hint


# --- names ------------------------------------------------------------------------------------------


def test_two_queries_cannot_have_one_name() -> None:
    engine = ms.Engine(host="local")
    rows = engine.stream("s", [], schema=SCHEMA)
    rows.where("ts > 1").named("q")
    with pytest.raises(ms.PlanError) as caught:
        rows.where("ts > 2").named("q")

    fact = "there is a query 'q' already, with another plan (select where ts > 1, and now select where ts > 2)"
    assert (fact, "Choose another name.") == (caught.value.fact, caught.value.hint)


def test_two_streams_cannot_have_one_name() -> None:
    engine = ms.Engine(host="local")
    engine.stream("s", [], schema=SCHEMA)
    with pytest.raises(ms.PlanError) as caught:
        engine.stream("s", [{"ts": 1}], schema=SCHEMA, progress=ms.ordered("ts"))

    fact = "there is a stream 's' already, with another source and another promise (none, and now ordered on ts)"
    hint = "Choose another name, or begin with a new engine."
    assert (fact, hint) == (caught.value.fact, caught.value.hint)


def test_an_engine_cannot_be_started_while_it_runs() -> None:
    engine = ms.Engine(host="local")
    engine.stream("s", [], schema=SCHEMA).where("ts > 1").named("q")
    running = engine.start(ms.every("1 hour"))
    try:
        with pytest.raises(ms.PlanError) as caught:
            engine.start()
    finally:
        running.stop()

    assert "the engine is running already" == caught.value.fact
    assert "Stop the run, or wait for its end." == caught.value.hint


# --- punctuation that goes backwards ----------------------------------------------------------------

TS = pa.schema([("ts", pa.int64())])
BACKWARDS = "punctuation `ts < 5` goes backwards: `ts < 10` was already promised"
LEAVE_OUT = "Punctuation on an attribute must not fall; leave this one out."


def test_a_supplied_punctuation_that_goes_backwards_is_refused_at_once() -> None:
    rows = ms.Engine(host="local").stream("s", [], schema=TS, progress=ms.supplied("ts"))
    rows.punctuate("ts", before=10)
    with pytest.raises(ms.PunctuationError) as caught:
        rows.punctuate("ts", before=5)

    assert (BACKWARDS, LEAVE_OUT) == (caught.value.fact, caught.value.hint)


def test_an_epoch_with_a_punctuation_that_goes_backwards_stops_the_run() -> None:
    engine = ms.Engine(host="local")
    epochs = [ms.Epoch([{"ts": 12}], [{"ts": 10}]), ms.Epoch([{"ts": 13}], [{"ts": 5}])]
    query = engine.stream("s", iter(epochs), schema=TS, progress=ms.supplied("ts")).named("q")
    running = engine.start()
    with pytest.raises(ms.PunctuationError) as caught:
        running.await_termination()

    assert (BACKWARDS, LEAVE_OUT) == (caught.value.fact, caught.value.hint)
    assert ["in epoch 1 of 'run'"] == caught.value.__notes__
    assert [12] == query.table()["ts"].to_pylist()


def test_an_embedded_punctuation_that_goes_backwards_is_rejected_and_the_run_goes_on() -> None:
    engine = ms.Engine(host="local")
    rows = [{"ts": 10, "mark": True}, {"ts": 5, "mark": True}, {"ts": 13, "mark": False}]
    marked = engine.stream("s", rows, progress=ms.embedded("mark", "ts"))
    query = marked.window("ts", range=5).agg(n=ms.count()).named("q")
    engine.start(end_of_stream=True).await_termination()

    assert [{"ts": 5, "reason": BACKWARDS, "raw": None, "epoch": 0}] == query.rejected.table().to_pylist()
    assert [(2, 1)] == [(row["window_id"], row["n"]) for row in query.table().to_pylist()]


def test_an_embedded_punctuation_that_is_no_pattern_is_rejected_with_the_reason() -> None:
    engine = ms.Engine(host="local")
    rows = [{"ts": 3, "mark": "soon"}, {"ts": 13, "mark": None}]
    query = engine.stream("s", rows, progress=ms.embedded("mark")).named("q")
    engine.start(end_of_stream=True).await_termination()

    assert ["'soon' is not a pattern of one attribute"] == query.rejected.table()["reason"].to_pylist()
    assert [13] == query.table()["ts"].to_pylist()


# --- one bad row ------------------------------------------------------------------------------------

GOOD = [{"ts": ts, "k": key} for ts in (1, 4, 7, 9) for key in ("a", "b")]


def answers(rows: list[Any], **options: Any) -> dict[str, list[Any]]:
    """The results of three queries over one stream, by name."""
    engine = ms.Engine(host="local")
    schema = pa.schema([("ts", pa.int64()), ("k", pa.string())])
    source = engine.stream("s", rows, schema=schema, **options)
    queries = {
        "sliding": source.window("ts", range=5, slide=2).group_by("k").agg(n=ms.count()),
        "session": source.window("ts", gap=2).agg(n=ms.count()),
        "rows": source.where("k = 'a'"),
    }
    for name, query in queries.items():
        query.named(name)
    engine.start(end_of_stream=True).await_termination()
    return {name: query.table().to_pylist() for name, query in queries.items()}


@pytest.mark.parametrize("progress", [None, ms.supplied("ts"), ms.bounded_disorder("ts", 3)])
def test_results_of_every_query_are_the_same_with_and_without_a_row_that_has_no_time(progress: Any) -> None:
    bad = {"ts": None, "k": "b"}
    without, with_bad = answers(GOOD, progress=progress), answers([*GOOD[:3], bad, *GOOD[3:]], progress=progress)

    assert {} == {name: found for name in without if (found := difference(without[name], with_bad[name]))}


def test_results_of_every_query_are_the_same_with_and_without_a_row_that_cannot_be_read() -> None:
    bad = {"ts": "noon", "k": "b"}
    without, with_bad = answers(GOOD), answers([*GOOD[:3], bad, *GOOD[3:]])

    assert {} == {name: found for name in without if (found := difference(without[name], with_bad[name]))}


def test_a_row_that_cannot_be_read_reaches_the_rejected_output_of_every_query() -> None:
    engine = ms.Engine(host="local")
    source = engine.stream("s", [{"ts": 1}, {"ts": "noon"}], schema=TS)
    queries = [source.where("ts > 0").named("one"), source.window("ts", range=5).agg(n=ms.count()).named("two")]
    engine.start(end_of_stream=True).await_termination()
    rejected = [query.rejected.table().to_pylist() for query in queries]

    assert rejected[0] == rejected[1]
    assert [(None, '{"ts": "noon"}')] == [(row["ts"], row["raw"]) for row in rejected[0]]


def test_a_line_that_cannot_be_read_is_rejected_and_the_rest_of_the_file_is_not(tmp_path: Path) -> None:
    (tmp_path / "in.json").write_text('{"ts": 1}\n{"ts": 2\n{"ts": 3}\n')
    engine = ms.Engine(host="local")
    query = engine.stream("s", str(tmp_path / "in.json"), schema=TS).named("q")
    engine.start(end_of_stream=True).await_termination()

    assert [1, 3] == query.table()["ts"].to_pylist()
    assert ['{"ts": 2'] == query.rejected.table()["raw"].to_pylist()


def test_a_file_that_is_not_there_is_an_error_with_a_fact_and_a_hint(tmp_path: Path) -> None:
    with pytest.raises(ms.SourceError) as caught:
        ms.Engine(host="local").stream("s", str(tmp_path / "nowhere.parquet"))

    assert "nowhere.parquet" in caught.value.fact
    assert caught.value.hint


def test_a_parquet_file_that_is_none_is_an_error_with_a_fact_and_a_hint(tmp_path: Path) -> None:
    (tmp_path / "in.parquet").write_text("not parquet")
    with pytest.raises(ms.SourceError) as caught:
        ms.Engine(host="local").stream("s", str(tmp_path / "in.parquet"))

    assert "in.parquet" in caught.value.fact
    assert caught.value.hint


def test_a_row_rejected_after_a_column_changed_its_type_is_kept_as_text() -> None:
    engine = ms.Engine(host="local")
    source = engine.stream("s", pa.table({"ts": pa.array([1, None], pa.int64()), "k": [1, 2]}))
    changed = source.select("ts", k="concat('x', CAST(k AS STRING))")
    query = changed.window("ts", range=5).group_by("k").agg(n=ms.count()).named("q")
    engine.start(end_of_stream=True).await_termination()

    assert [(None, "ts is null", "{'ts': None, 'k': 'x2'}")] == [
        (row["k"], row["reason"], row["raw"]) for row in query.rejected.table().to_pylist()
    ]
    assert ["x1"] == query.table()["k"].to_pylist()


@pytest.mark.parametrize(
    ("kind", "value", "size", "edges"),
    [
        (pa.int8(), 127, 10, (120, 130)),
        (pa.uint8(), 3, 10, (0, 10)),
        (pa.uint16(), 65535, 4, (65532, 65536)),
        (pa.int64(), -(2**40), 2**20, (-(2**40), 2**20 - 2**40)),
        (pa.decimal128(4, 2), Decimal("99.99"), "1", (Decimal(99), Decimal(100))),
    ],
    ids=str,
)
def test_the_edges_of_a_window_fit_though_they_lie_beyond_the_attribute_s_type(
    kind: pa.DataType, value: Any, size: Any, edges: tuple[Any, Any]
) -> None:
    engine = ms.Engine(host="local")
    query = engine.stream("s", pa.table({"a": pa.array([value], kind)})).window("a", range=size).agg(n=ms.count())
    query.named("q")
    engine.start(end_of_stream=True).await_termination()

    assert [(*edges, 1)] == [(r["window_start"], r["window_end"], r["n"]) for r in query.table().to_pylist()]


def test_a_window_that_ends_beyond_eighteen_digits_is_an_error_not_a_wrong_number() -> None:
    engine = ms.Engine(host="local")
    last = Decimal("9999999999999999.99")
    source = engine.stream("s", pa.table({"d": pa.array([last], pa.decimal128(18, 2))}))
    source.window("d", range="1").agg(n=ms.count()).named("q")
    with pytest.raises(ms.WindowError) as caught:
        engine.start(end_of_stream=True).await_termination()

    assert "a window of 'd' ends at 1000000000000000000, beyond decimal128(18, 2)" == caught.value.fact
    assert "Cast the attribute to fewer digits before the window." == caught.value.hint


def test_an_error_that_is_not_ours_is_chained_to_one_that_is() -> None:
    engine = ms.Engine(host="local")
    query = engine.stream("s", [{"ts": 1}]).named("q")
    query.for_each(lambda _table, _epoch: 1 / 0)
    with pytest.raises(ms.MillstreamError) as caught:
        engine.start().await_termination()

    assert isinstance(caught.value.__cause__, ZeroDivisionError)
