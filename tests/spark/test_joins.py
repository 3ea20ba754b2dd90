"""Joins on Spark equal DuckDB's join of the whole tables: rows that go straight to their task, and those by parcels."""

from __future__ import annotations

import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.kernels.murmur import murmur
from support.bags import difference
from support.harness import stray
from support.join_sets import latest
from support.joins import KINDS, NEAR, SHAPES, STRICT, Case, Row, rows, table

pytestmark = pytest.mark.spark

DISORDER = 6


def written(folder: Path, given: list[Row], name: str, files: int = 3) -> Path:
    """The rows as files, disordered by less than DISORDER."""
    (folder / name).mkdir(parents=True)
    given = stray(given, DISORDER - 1, random.Random(len(given)))
    size = -(-len(given) // files)
    for i in range(files):
        path = folder / name / f"{i:03d}.parquet"
        pq.write_table(table(given[i * size : (i + 1) * size], second=name == "b"), path)
        os.utime(path, (1_700_000_000 + i, 1_700_000_000 + i))
    return folder / name


def frames(spark: Any, folder: Path) -> list[Any]:
    out: list[Any] = []
    for name, tail in (("a", ""), ("b", "2")):
        fields = ", ".join(
            f"{column}{tail} {kind}"
            for column, kind in (("ts", "bigint"), ("k", "string"), ("j", "bigint"), ("v", "bigint"), ("id", "bigint"))
        )
        out.append(spark.readStream.schema(fields).option("maxFilesPerTrigger", 1).parquet(str(folder / name)))
    return out


def both(engine: ms.Engine, sources: list[Any]) -> tuple[ms.Stream, ms.Stream]:
    a = engine.stream("a", sources[0], progress=ms.bounded_disorder("ts", DISORDER))
    b = engine.stream("b", sources[1], progress=ms.bounded_disorder("ts2", DISORDER))
    return a, b


def given(folder: Path, seed: int) -> tuple[list[Row], list[Row]]:
    rnd = random.Random(seed)
    left, right = rows(rnd, 90, span=120), rows(rnd, 80, span=100)
    written(folder, left, "a")
    written(folder, right, "b")
    return left, right


@pytest.mark.parametrize(("how", "partitions"), [*((how, 2) for how in KINDS), ("inner", 1), ("full", 5)])
def test_rows_go_straight_to_where_they_meet(spark: Any, how: str, partitions: int, tmp_path: Path) -> None:
    left, right = given(tmp_path, partitions)
    options, near = list(NEAR.values())[(KINDS.index(how) + partitions) % len(NEAR)]
    keys = (("k",), ("j",), ("k", "j"))[(KINDS.index(how) + partitions) % 3]
    case = Case(how, keys=keys, options=options, near=near)
    engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=partitions)
    a, b = both(engine, frames(spark, tmp_path))
    query = case.query(a, b).named("q")

    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()

    assert case.answer(table(left), table(right, second=True)) == case.got(query.table())
    books = run.progress["queries"]["q"]["books"]
    assert (len(left) + len(right), 0, 0) == (books["rows_in"], books["late"], books["rejected"])
    join = next(one for one in run.progress["queries"]["q"]["operators"] if one["operator"] == "join")
    assert (170, 0) == (join["rows_in"], join["state_rows"])


@pytest.mark.parametrize("partitions", [1, 2, 5])
def test_all_kinds_at_once_over_the_same_streams(spark: Any, partitions: int, tmp_path: Path) -> None:
    left, right = given(tmp_path, 7)
    shapes: list[dict[str, Any]] = [{"keys": ("k", "j")}, {"keys": ()}, {"keys": (), "where": "abs(v - v2) < 3"}]
    engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=partitions)
    a, b = both(engine, frames(spark, tmp_path))
    asked: list[tuple[Case, ms.Query]] = []
    for i, how in enumerate(KINDS):
        for j, (options, near) in enumerate(NEAR.values()):
            case = Case(how, options=options, near=near, **shapes[(i + j) % len(shapes)])
            asked.append((case, case.query(a, b).named(f"q{i}{j}")))

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    for case, query in asked:
        assert case.answer(table(left), table(right, second=True)) == case.got(query.table()), case


STRICT_ONES = [(how, list(STRICT)[i % 3], list(SHAPES.values())[i % 5]) for i, how in enumerate(KINDS)]


def test_strict_ends_in_all_kinds_at_once(spark: Any, tmp_path: Path) -> None:
    left, right = given(tmp_path, 13)
    engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=3)
    a, b = both(engine, frames(spark, tmp_path))
    cases = [Case.of(how, near, **shape) for how, near, shape in STRICT_ONES]
    asked = [(case, case.query(a, b).named(f"q{i}")) for i, case in enumerate(cases)]

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    for case, query in asked:
        assert case.answer(table(left), table(right, second=True)) == case.got(query.table()), case


@pytest.mark.parametrize(("how", "near"), [("inner", "lower end strict"), ("full", "upper end strict")])
def test_rows_that_go_straight_respect_strict_ends(spark: Any, how: str, near: str, tmp_path: Path) -> None:
    left, right = given(tmp_path, 17)
    case = Case.of(how, near)
    engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=2)
    a, b = both(engine, frames(spark, tmp_path))
    query = case.query(a, b).named("q")

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    assert case.answer(table(left), table(right, second=True)) == case.got(query.table())


def test_a_stream_with_itself_and_what_is_above_joins(spark: Any, tmp_path: Path) -> None:
    given(tmp_path, 11)

    def asked(engine: ms.Engine, sources: list[Any]) -> dict[str, Counter[str]]:
        a, b = both(engine, sources)
        itself = a.join(a, on="k", within=3).select("left_id", "right_id").named("itself")
        counts = a.join(b, on=[("k", "k2")], within=(-5, 5)).window("ts", range=20, slide=10).group_by("k")
        again = counts.agg(n=ms.count()).join(b, on=[("k", "k2")], within=(0, 15), time=("window_end", "ts2"))
        again = again.select("k", "n", "id2").named("again")
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        return {str(one.name): Counter(map(repr, one.table().to_pylist())) for one in (itself, again)}

    local = [ms.files(tmp_path / name, "parquet", schema=table([], second=name == "b").schema) for name in "ab"]
    here = asked(ms.Engine(host="local"), local)
    there = asked(ms.Engine(spark, partitions=3), frames(spark, tmp_path))

    assert all(here.values())
    assert here == there


@pytest.mark.parametrize("keys", [("k",), ("j",), ()])
def test_a_restart_with_other_partitions_goes_on(spark: Any, keys: tuple[str, ...], tmp_path: Path) -> None:
    rnd = random.Random(5)
    left, right = rows(rnd, 90, span=120), rows(rnd, 80, span=120)
    case = Case("left", keys=keys, options={"within": (-9, 9)}, near="b.ts2 - a.ts BETWEEN -9 AND 9")
    for name, some in (("a", left), ("b", right)):
        written(tmp_path / "all", some, name, files=4)
        (tmp_path / name).mkdir()
    found: Counter[Any] = Counter()
    for life, partitions in enumerate((2, 5, 1, 3)):
        for name in "ab":
            path = tmp_path / "all" / name / f"{life:03d}.parquet"
            path.rename(tmp_path / name / path.name)
        engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=partitions)
        a, b = both(engine, frames(spark, tmp_path))
        query = case.query(a, b).named("q").to_memory()
        engine.start(ms.available_now(), end_of_stream=life == 3).await_termination()
        found += case.got(query.table())

    assert case.answer(table(left), table(right, second=True)) == found


def test_kernels_hash_whole_numbers_as_spark_does(spark: Any) -> None:
    rnd = random.Random(3)
    ends = [0, -1, 1, 2**63 - 1, -(2**63), None]
    wide = pa.array([*ends, *(rnd.randint(-(2**63), 2**63 - 1) for _ in range(200))], pa.int64())
    narrow = pa.array([rnd.choice([None, -(2**31), rnd.randint(-1000, 1000)]) for _ in wide], pa.int32())
    frame = spark.createDataFrame(pa.table({"wide": wide, "narrow": narrow}))

    found = [row[0] for row in frame.selectExpr("hash(wide, narrow)").collect()]

    assert found == murmur([wide, narrow], len(wide)).tolist()


@pytest.mark.parametrize("shape", ["one key", "no key", "a condition"])
def test_joins_that_share_equal_those_of_whole_tables(spark: Any, tmp_path: Path, shape: str) -> None:
    """One job for all of them; each row is kept once, for the widest."""
    left, right = given(tmp_path, 7)
    engine = ms.Engine(spark, checkpoint=tmp_path / "checkpoint", partitions=2)
    a, b = both(engine, frames(spark, tmp_path))
    cases = [Case.of(how, near, **SHAPES[shape]) for how in KINDS for near in ("closed band", "band of the future")]
    made = [case.query(a, b).named(f"q{i}") for i, case in enumerate(cases)]
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    stops = [type(node).__name__ for _, node in engine.host.program.stops()]
    assert "SharedJoin" in stops
    for case, query in zip(cases, made, strict=True):
        assert case.answer(table(left), table(right, second=True)) == case.got(query.table())


@pytest.mark.parametrize("keys", [("k",), ("j",), ()])
def test_joins_that_come_with_a_restart_share_the_rows_that_are_there(
    spark: Any, keys: tuple[str, ...], tmp_path: Path
) -> None:
    """Row 40 of the checklist, with queries that come: each is as alone from when it is complete."""
    rnd = random.Random(5)
    left, right = rows(rnd, 90, span=120), rows(rnd, 80, span=120)
    band = {"options": {"within": (-9, 9)}, "near": "b.ts2 - a.ts BETWEEN -9 AND 9"}
    narrow = {"options": {"within": (-4, 4)}, "near": "b.ts2 - a.ts BETWEEN -4 AND 4"} if keys else band
    cases = [Case("inner", keys=keys, **band), Case("left", keys=keys, **narrow), Case("anti", keys=keys, **narrow)]
    for name, some in (("a", left), ("b", right)):
        written(tmp_path / "all", some, name, files=4)
        (tmp_path / name).mkdir()
    found: list[list[Any]] = [[], [], []]
    since: list[Any] = [None, None, None]
    for life in range(4):
        for name in "ab":
            path = tmp_path / "all" / name / f"{life:03d}.parquet"
            path.rename(tmp_path / name / path.name)
        engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=2)
        a, b = both(engine, frames(spark, tmp_path))
        made = [case.join(a, b).named(f"q{i}").to_memory() for i, case in enumerate(cases[: life + 1])]
        engine.start(ms.available_now(), end_of_stream=life == 3).await_termination()
        for i, query in enumerate(made):
            found[i] += query.table().to_pylist()
            since[i] = query.complete_from
    for case, got, complete in zip(cases, found, since, strict=True):
        whole = ms.Engine(host="local")
        a = whole.stream("a", [table(left)], progress=ms.supplied("ts"))
        b = whole.stream("b", [table(right, second=True)], progress=ms.supplied("ts2"))
        alone = case.join(a, b).named("q")
        whole.start(ms.available_now(), end_of_stream=True).await_termination()
        wanted = [row for row in alone.table().to_pylist() if complete is None or latest(row) >= complete]
        assert {} == difference(wanted, got)
    assert since[0] is None
    assert None not in since[1:]
