"""Restarts with something changed: what can change does, and what cannot is refused with what is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

import millstream as ms
from millstream.core.errors import StateError
from support.crash import pulled
from support.in_process import engine as engine_on_disk

Ask = Any
FIRST = [{"ts": ts, "k": "ab"[ts % 2], "v": ts} for ts in range(12)]
THEN = [{"ts": ts, "k": "ab"[ts % 2], "v": ts} for ts in range(12, 24)]


def life(
    root: Path,
    parts: list[list[dict[str, Any]]],
    *,
    disorder: int = 2,
    name: str = "q",
    ask: Ask = None,
    extra: bool = False,
    sink: str | None = "out",
    end: bool = False,
    more: Ask = None,
) -> ms.Query:
    rows = [[{**row, "extra": "x"} if extra else row for row in part] for part in parts]
    made = engine_on_disk(root / "ck", 2)
    stream = made.stream("s", rows, progress=ms.bounded_disorder("ts", disorder))
    asked = (ask or (lambda s: s.where("v >= 0").window("ts", range=8, slide=4).group_by("k").agg(n=ms.count())))(
        stream
    )
    query = asked.named(name)
    if sink is not None:
        query.to_parquet(root / sink)
    if more is not None:
        more(query)
    made.start(ms.available_now(), end_of_stream=end).await_termination()
    return query


def answers(folder: Path) -> list[Any]:
    rows = ds.dataset(folder, format="parquet").to_table().to_pylist()
    return sorted((row["window_id"], row["k"], row["n"]) for row in rows)


@pytest.fixture
def expected(tmp_path: Path) -> list[Any]:
    life(tmp_path / "quiet", [FIRST, THEN])
    life(tmp_path / "quiet", [FIRST, THEN], end=True)
    return answers(tmp_path / "quiet" / "out")


CHANGES: dict[str, dict[str, Any]] = {
    "a longer disorder": {"disorder": 5},
    "a shorter disorder": {"disorder": 1},
    "a column that nobody reads": {"extra": True},
    "another name": {"name": "renamed"},
    "another name and a column": {"name": "renamed", "extra": True, "disorder": 4},
    "a sink more": {"more": lambda query: query.to_memory()},
    "a late sink": {"more": lambda query: query.late.to_memory()},
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_can_change_does_and_the_state_stays(tmp_path: Path, expected: list[Any], change: str) -> None:
    life(tmp_path, [FIRST])
    life(tmp_path, [FIRST, THEN], end=True, **CHANGES[change])

    assert expected == answers(tmp_path / "out")


def test_a_column_that_is_gone_again_changes_nothing(tmp_path: Path, expected: list[Any]) -> None:
    life(tmp_path, [FIRST], extra=True)
    life(tmp_path, [FIRST, THEN], end=True)

    assert expected == answers(tmp_path / "out")


def test_a_folder_of_another_name_gets_the_rest(tmp_path: Path, expected: list[Any]) -> None:
    life(tmp_path, [FIRST])
    life(tmp_path, [FIRST, THEN], end=True, sink="elsewhere")

    assert expected == sorted([*answers(tmp_path / "out"), *answers(tmp_path / "elsewhere")])


@pytest.mark.parametrize(
    "ask",
    [
        lambda s: s.where("v >= 1").window("ts", range=8, slide=4).group_by("k").agg(n=ms.count()),
        lambda s: s.where("v >= 0").window("ts", range=12, slide=4).group_by("k").agg(n=ms.count()),
        lambda s: s.where("v >= 0").window("ts", range=8, slide=4).group_by("k").agg(n=ms.count("v")),
    ],
)
def test_what_cannot_change_is_refused_with_what_to_do(tmp_path: Path, ask: Ask) -> None:
    life(tmp_path, [FIRST])
    with pytest.raises(StateError, match=r"(?s)is not the one this checkpoint was made with.*engine\.drain\('q'\)"):
        life(tmp_path, [FIRST, THEN], ask=ask)


WINDOW = "window range 8 slide 4 on ts [CF]"


@pytest.mark.parametrize(
    ("type_of_v", "ask", "said"),
    [
        (
            pa.float64(),
            lambda s: s.window("ts", range=8, slide=4).agg(n=ms.sum("v")),
            "`v int64` and now has `v double`",
        ),
        (
            pa.int64(),
            lambda s: s.window("ts", range=12, slide=4).agg(n=ms.sum("v")),
            f"`{WINDOW}` and now has `{WINDOW.replace('8', '12')}`",
        ),
        (
            pa.int64(),
            lambda s: s.window("ts", range=8, slide=4).agg(n=ms.count("v")),
            "`aggregate: n = sum(v)` and now has `aggregate: n = count(v)`",
        ),
        (
            pa.decimal128(10, 2),
            lambda s: s.where("v > 0").window("ts", range=8, slide=4).agg(n=ms.sum("v")),
            "`less` and now has `select where v > 0`",
        ),
    ],
)
def test_what_is_refused_is_named_and_not_what_may_change(
    tmp_path: Path, type_of_v: pa.DataType, ask: Ask, said: str
) -> None:
    def start(kind: pa.DataType, ask: Ask, disorder: int, **more: list[int]) -> None:
        made = engine_on_disk(tmp_path / "ck", 2)
        rows = pa.table({"ts": [*range(9)], "v": pa.array([*range(9)]).cast(pa.decimal128(19, 0)).cast(kind), **more})
        ask(made.stream("s", rows, progress=ms.bounded_disorder("ts", disorder))).named("q").discard()
        made.start(ms.available_now()).await_termination()

    start(pa.int64(), lambda s: s.window("ts", range=8, slide=4).agg(n=ms.sum("v")), 2)
    with pytest.raises(StateError) as caught:
        start(type_of_v, ask, 5, unread=[0] * 9)

    assert caught.value.fact.endswith(f"it had {said}")


def test_a_query_without_state_may_become_any_other(tmp_path: Path) -> None:
    life(tmp_path, [FIRST], ask=lambda s: s.where("v > 3").select("ts"))
    query = life(
        tmp_path, [FIRST, THEN], ask=lambda s: s.where("v > 20").select("ts", "v"), more=lambda q: q.to_memory()
    )

    assert [21, 22, 23] == query.table()["ts"].to_pylist()


def test_two_queries_that_are_alike_are_not_taken_for_each_other(tmp_path: Path) -> None:
    def two(names: tuple[str, str], parts: list[Any]) -> None:
        made = engine_on_disk(tmp_path / "ck", 2)
        stream = made.stream("s", parts, progress=ms.bounded_disorder("ts", 2))
        for name in names:
            stream.window("ts", range=8).group_by("k").agg(n=ms.count()).named(name).to_parquet(tmp_path / name)
        made.start(ms.available_now()).await_termination()

    two(("p", "q"), [FIRST])
    two(("r", "t"), [FIRST, THEN])

    assert answers(tmp_path / "r") == answers(tmp_path / "t")
    assert sum(n for *_, n in answers(tmp_path / "r")) < 12  # they began anew


# --- draining ---------------------------------------------------------------------------------------


def test_a_query_that_is_drained_gives_what_it_has_and_makes_way_for_another(tmp_path: Path) -> None:
    life(tmp_path, [FIRST])
    before = len(answers(tmp_path / "out"))
    made = engine_on_disk(tmp_path / "ck", 2)
    stream = made.stream("s", [FIRST, THEN], progress=ms.bounded_disorder("ts", 2))
    query = stream.where("v >= 0").window("ts", range=8, slide=4).group_by("k").agg(n=ms.count()).named("q")
    query.to_parquet(tmp_path / "out")
    made.drain("q")
    drained = answers(tmp_path / "out")

    alone = life(tmp_path / "alone", [FIRST], end=True)
    assert alone.name == "q"
    assert drained == answers(tmp_path / "alone" / "out")
    assert len(drained) > before

    changed = life(
        tmp_path,
        [FIRST, THEN],
        ask=lambda s: s.window("ts", range=6).group_by("k").agg(n=ms.count()),
        sink=None,
        more=lambda q: q.to_memory(),
        end=True,
    )
    assert 12 == sum(changed.table()["n"].to_pylist())


def test_the_others_go_on_while_one_is_drained(tmp_path: Path) -> None:
    def engine(parts: list[Any]) -> ms.Engine:
        made = engine_on_disk(tmp_path / "ck", 2)
        stream = made.stream("s", parts, progress=ms.bounded_disorder("ts", 2))
        for name in ("p", "q"):
            stream.window("ts", range=8, slide=4).group_by("k").agg(n=ms.count()).named(name).to_parquet(
                tmp_path / name
            )
        return made

    engine([FIRST]).start(ms.available_now()).await_termination()
    engine([FIRST]).drain("p")
    made = engine_on_disk(tmp_path / "ck", 2)
    stream = made.stream("s", [FIRST, THEN], progress=ms.bounded_disorder("ts", 2))
    stream.window("ts", range=8, slide=4).group_by("k").agg(n=ms.count()).named("q").to_parquet(tmp_path / "q")
    made.start(ms.available_now(), end_of_stream=True).await_termination()
    life(tmp_path / "quiet", [FIRST, THEN], end=True)

    assert answers(tmp_path / "quiet" / "out") == answers(tmp_path / "q")


def test_draining_what_is_not_there_is_refused(tmp_path: Path) -> None:
    made = engine_on_disk(tmp_path / "ck", 2)
    with pytest.raises(ms.MillstreamError, match="there is no query 'q'"):
        made.drain("q")
    local = ms.Engine(host="local")
    local.stream("s", pa.Table.from_pylist(FIRST)).select("ts").named("q")
    with pytest.raises(ms.MillstreamError, match="has no checkpoint"):
        local.drain("q")


# --- what is said -----------------------------------------------------------------------------------


def said(caplog: pytest.LogCaptureFixture) -> list[tuple[str, str]]:
    return [(one.levelname, one.getMessage()) for one in caplog.records if one.name.startswith("millstream")]


def test_a_query_that_goes_on_under_another_name_is_told_to_who_follows(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    life(tmp_path, [FIRST])
    caplog.set_level("INFO", "millstream")
    caplog.clear()
    life(tmp_path, [FIRST, THEN], name="renamed")

    assert [("INFO", "the query 'renamed' goes on with what 'q' kept: they are the same but for the name")] == said(
        caplog
    )


def test_state_that_goes_with_a_query_is_told_with_what_to_do(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    life(tmp_path, [FIRST])
    caplog.clear()
    life(tmp_path, [FIRST], name="other", ask=lambda s: s.window("ts", range=6).agg(n=ms.count()), sink="other")

    ((level, text),) = said(caplog)
    assert "WARNING" == level
    assert "the query 'q' is not among the queries of this run" in text
    assert "engine.drain('q')" in text


def test_two_that_are_renamed_at_once_and_alike_are_told_as_gone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def two(names: tuple[str, str], parts: list[Any]) -> None:
        made = engine_on_disk(tmp_path / "ck", 2)
        stream = made.stream("s", parts, progress=ms.bounded_disorder("ts", 2))
        for name in names:
            stream.window("ts", range=8).group_by("k").agg(n=ms.count()).named(name).to_parquet(tmp_path / name)
        made.start(ms.available_now()).await_termination()

    two(("p", "q"), [FIRST])
    two(("r", "t"), [FIRST, THEN])

    assert ["'p'", "'q'"] == [text.split()[2] for level, text in said(caplog) if level == "WARNING"]


def test_a_query_that_kept_nothing_goes_without_a_word(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    life(tmp_path, [FIRST], ask=lambda s: s.where("v > 3").select("ts"))
    life(tmp_path, [FIRST, THEN], name="other", sink="other")

    assert [] == said(caplog)


def test_rows_that_a_kill_kept_from_a_sink_reach_it_under_the_new_name_of_its_query(tmp_path: Path) -> None:
    got: list[int] = []

    def heard(query: ms.Query) -> None:
        query.for_each(lambda rows, _: got.extend(rows["window_id"].to_pylist()))

    with pulled("after the manifest", 1) as plug, pytest.raises(ms.RunError):
        life(tmp_path, [FIRST], sink=None, more=heard)
    assert plug.pulled
    assert [] == got
    life(tmp_path, [FIRST], name="renamed", sink=None, more=heard)

    assert {0, 1} == set(got)
