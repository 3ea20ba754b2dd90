"""Words that users of data frames expect: filter, with_columns, expressions in group_by, discard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from millstream.api.foreign_words import _OURS
from support import in_process

ROWS = [{"ts": 1, "k": "a", "v": 3}, {"ts": 2, "k": "A", "v": 5}, {"ts": 12, "k": "b", "v": 7}]


def answer(ask: Callable[[ms.Stream], ms.Query], engine: ms.Engine | None = None) -> list[dict[str, Any]]:
    on = engine or ms.Engine(host="local")
    query = ask(on.stream("s", ROWS, progress=ms.ordered("ts"))).named("q")
    on.start(ms.available_now(), end_of_stream=True).await_termination()
    return sorted(query.table().to_pylist(), key=repr)


def test_filter_is_where() -> None:
    assert answer(lambda s: s.where("v > 3")) == answer(lambda s: s.filter("v > 3"))


def test_with_columns_adds_and_replaces() -> None:
    first, *_ = answer(lambda s: s.with_columns(double="v * 2", k="upper(k)"))

    assert {"ts": 1, "v": 3, "double": 6, "k": "A"} == first


@pytest.mark.parametrize(
    "group",
    [
        lambda w: w.group_by("upper(k) AS k"),
        lambda w: w.group_by(k="upper(k)"),
    ],
)
@pytest.mark.parametrize("host", ["local", "spark"])
def test_a_group_may_be_an_expression_and_aggregates_see_the_stream(
    group: Callable[[Any], Any], host: str, tmp_path: Path
) -> None:
    engine = None if host == "local" else in_process.engine(tmp_path / "checkpoint", 2)

    found = answer(lambda s: group(s.window("ts", range=10)).agg(n=ms.count(), least=ms.max("k")), engine)

    assert [("A", 2, "a"), ("B", 1, "b")] == [(row["k"], row["n"], row["least"]) for row in found]
    assert ["window_id", "window_start", "window_end", "k", "n", "least"] == list(found[0])


def test_expressions_and_columns_together_without_a_window() -> None:
    found = answer(lambda s: s.group_by("k", big="v > 4").agg(n=ms.count()))

    assert [("A", True, 1), ("a", False, 1), ("b", True, 1)] == [tuple(row.values()) for row in found]


@pytest.mark.parametrize(
    ("ask", "fact"),
    [
        (lambda s: s.group_by("upper(k)").agg(n=ms.count()), "upper.k. has no name"),
        (lambda s: s.group_by("k", k="upper(k)").agg(n=ms.count()), "the group 'k' is named twice"),
        (lambda s: s.group_by(n="upper(k)").agg(n=ms.count()), "the group 'n' has the name of another result column"),
        (lambda s: s.window("ts", range=5).group_by(window_id="v").agg(n=ms.count()), "'window_id' has the name"),
        (lambda s: s.with_columns(), "with_columns has no columns"),
    ],
)
def test_wrong_groups_are_told(ask: Callable[[ms.Stream], ms.Query], fact: str) -> None:
    with pytest.raises(ms.MillstreamError, match=fact):
        answer(ask)


def test_discard_forgets_rows_and_its_older_name_does_too() -> None:
    for forget in (lambda s: s.where("v > 3").discard(), lambda s: s.where("v > 3").to_nothing()):
        engine = ms.Engine(host="local")
        query = forget(engine.stream("s", ROWS))
        run = engine.start(ms.available_now())
        run.await_termination()
        assert 2 == run.progress["queries"][query.name]["rows_out"]
        with pytest.raises(ms.PlanError, match="not kept in memory"):
            query.table()


@pytest.mark.parametrize(
    ("written", "ours"),
    [
        (lambda s: s.groupBy("k"), '.group_by("k")'),
        (lambda s: s.window("ts", range=5).groupBy("k"), '.group_by("k")'),
        (lambda s: s.where("v > 1").withColumn("w", "v + 1"), ".with_columns("),
        (lambda s: s.withWatermark("ts", "5 seconds"), "progress=ms.bounded_disorder("),
        (lambda s: s.writeStream.start(), ".to_parquet("),
        (lambda s: s.orderBy("ts"), '.sort("ts")'),
    ],
)
def test_a_word_of_spark_that_is_another_one_here_is_told(written: Callable[[Any], Any], ours: str) -> None:
    with pytest.raises(ms.WordError, match="a stream has no ") as caught:
        written(ms.Engine(host="local").stream("s", ROWS))

    assert ours in str(caught.value.hint)


def test_another_unknown_word_is_pythons_own_error() -> None:
    stream = ms.Engine(host="local").stream("s", ROWS)

    assert not hasattr(stream, "groupBy")
    with pytest.raises(AttributeError, match="'Stream' object has no attribute 'wherever'"):
        stream.wherever  # type: ignore[attr-defined]  # the mistake under test  # noqa: B018


@pytest.mark.parametrize("word", sorted(_OURS))
def test_a_word_that_is_told_is_not_there(word: str) -> None:
    assert not hasattr(ms.Stream, word)
