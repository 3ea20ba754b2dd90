"""Window queries over one streaming frame on Spark give what each gives alone on the local host, in any company."""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import millstream as ms
from support.disk import rows_of
from support.window_sets import near

pytestmark = pytest.mark.spark
START = datetime(2024, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")),
        ("k", pa.string()),
        ("g", pa.int64()),
        ("v", pa.int64()),
        ("f", pa.float64()),
        ("h", pa.float32()),
        ("d", pa.decimal128(9, 2)),
        ("day", pa.date32()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("ok", pa.bool_()),
    ]
)
FIELDS = (
    "ts timestamp, k string, g bigint, v bigint, f double, h float, d decimal(9,2), day date, at timestamp, ok boolean"
)
FLOATS = [None, math.nan, math.inf, -0.0, 0.0, 0.5, -1.5, 1e6]
Ask = Callable[[Any], Any]


def windows(stream: Any, size: int, slide: int, *groups: str, **calls: Any) -> Any:
    return stream.window("ts", range=f"{size} seconds", slide=f"{slide} seconds").group_by(*groups).agg(**calls)


ASKED: dict[str, Ask] = {
    "doubles": lambda s: windows(
        s, 20, 5, "k", total=ms.sum("f"), mean=ms.avg("f"), low=ms.min("f"), high=ms.max("f"), n=ms.count("f")
    ),
    "floats": lambda s: windows(s, 10, 10, "k", low=ms.min("h"), high=ms.max("h"), total=ms.sum("h"), n=ms.count("h")),
    "spread": lambda s: windows(s, 30, 10, "k", dev=ms.stddev("f"), var=ms.variance("f"), of_all=ms.var_pop("v")),
    "decimals": lambda s: windows(
        s, 20, 10, "k", total=ms.sum("d"), low=ms.min("d"), high=ms.max("d"), mean=ms.avg("d")
    ),
    "words and dates": lambda s: windows(
        s, 15, 5, "g", low=ms.min("k"), high=ms.max("k"), first=ms.min("day"), last=ms.max("at"), any=ms.bool_or("ok")
    ),
    "booleans": lambda s: windows(s, 10, 5, "g", low=ms.min("ok"), high=ms.max("ok"), n=ms.count("ok")),
    "filtered": lambda s: windows(s.where("v > 1"), 10, 5, "k", n=ms.count(), some=ms.sum("f", filter="v > 2")),
    "other filter": lambda s: windows(s.where("f > 0 AND ok"), 20, 10, "k", "g", n=ms.count(), total=ms.sum("v")),
    "computed": lambda s: windows(s, 10, 10, "k", total=ms.sum("v * 2 + g"), high=ms.max("f * 2")),
    "composite": lambda s: windows(s, 20, 20, "k", "g", "ok", n=ms.count(), total=ms.sum("v")),
    "by doubles": lambda s: windows(s, 10, 10, "f", n=ms.count(), total=ms.sum("v")),
    "by decimals": lambda s: windows(s, 10, 10, "d", n=ms.count(), high=ms.max("v")),
    "by nothing": lambda s: windows(s, 10, 5, n=ms.count(), total=ms.sum("v"), mean=ms.avg("f")),
    "every value": lambda s: windows(s, 20, 10, "k", middle=ms.median("v"), kinds=ms.count_distinct("g")),
}


def some_epochs(number: int, each: int, seed: int = 5) -> list[list[dict[str, Any]]]:
    """Disordered rows, some of them late or without a time."""
    rnd = random.Random(seed)
    seconds = sorted(rnd.randint(0, 40 * number) for _ in range(number * each))
    seconds.sort(key=lambda second: second + rnd.randint(0, 5))
    rows = [
        {
            "ts": None
            if rnd.random() < 0.02
            else START + timedelta(seconds=second - (60 if rnd.random() < 0.02 else 0)),
            "k": rnd.choice(["a", "b", "", None]),
            "g": rnd.choice([None, 0, 1]),
            "v": rnd.choice([None, 1, 2, 3, 2**40, -7]),
            "f": rnd.choice(FLOATS),
            "h": rnd.choice(FLOATS),
            "d": rnd.choice([None, Decimal("1.25"), Decimal("-99.99")]),
            "day": rnd.choice([None, date(2024, 2, 29), date(1969, 12, 31)]),
            "at": rnd.choice([None, START, START - timedelta(days=20_000)]),
            "ok": rnd.choice([None, True, False]),
        }
        for second in seconds
    ]
    return [rows[i * each : (i + 1) * each] for i in range(number)]


EPOCHS = some_epochs(4, 60)


def write(folder: Path, *numbers: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for i in numbers:
        hidden = folder / f".{i:04d}.parquet"
        pq.write_table(pa.Table.from_pylist(EPOCHS[i], schema=SCHEMA), hidden)
        os.utime(hidden, (1_700_000_000 + i, 1_700_000_000 + i))  # Spark takes files in the order of their times
        hidden.rename(folder / f"{i:04d}.parquet")


def stream_on(engine: ms.Engine, folder: Path) -> Any:
    rows = engine.spark.readStream.schema(FIELDS).option("maxFilesPerTrigger", 1).parquet(str(folder))
    return engine.stream("s", rows, progress=ms.bounded_disorder("ts", "6 seconds"))


def local(asked: Mapping[str, Ask], epochs: int = len(EPOCHS)) -> dict[str, list[dict[str, Any]]]:
    """Each alone."""
    out: dict[str, list[dict[str, Any]]] = {}
    for name, ask in asked.items():
        engine = ms.Engine(host="local")
        tables = [pa.Table.from_pylist(rows, schema=SCHEMA) for rows in EPOCHS[:epochs]]
        query = ask(engine.stream("s", tables, schema=SCHEMA, progress=ms.bounded_disorder("ts", "6 seconds"))).named(
            "q"
        )
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        out[name] = query.table().to_pylist()
    return out


def test_queries_of_every_type_in_one_engine_give_what_each_gives_on_the_local_host(spark: Any, tmp_path: Path) -> None:
    write(tmp_path / "in", *range(len(EPOCHS)))
    engine = ms.Engine(spark, checkpoint=tmp_path / "checkpoint", partitions=2)
    stream = stream_on(engine, tmp_path / "in")
    queries = {name: ask(stream).named(name.replace(" ", "_")) for name, ask in ASKED.items()}
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    expected = local(ASKED)

    found = {name: near(expected[name], query.table().to_pylist()) for name, query in queries.items()}
    assert {} == {name: one for name, one in found.items() if one}
    assert all(expected.values())


def wait_for(what: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "it did not come to that"
        time.sleep(0.05)


def test_queries_come_and_go_while_spark_runs(spark: Any, tmp_path: Path) -> None:
    def parts(name: str) -> list[dict[str, Any]]:
        return rows_of(tmp_path / name)

    write(tmp_path / "in", 0)
    engine = ms.Engine(spark, checkpoint=tmp_path / "checkpoint", partitions=2)
    stream = stream_on(engine, tmp_path / "in")
    ASKED["doubles"](stream).to_parquet(tmp_path / "old").named("old")
    ASKED["other filter"](stream).to_parquet(tmp_path / "gone").named("gone")
    run = engine.start(ms.every("100 ms"))
    try:
        wait_for(lambda: run.progress["epoch"] >= 0 and bool(parts("old")))
        with engine.changes():
            new = ASKED["filtered"](stream)
            new.to_parquet(tmp_path / "new")
            new.named("new")
        write(tmp_path / "in", 1)
        wait_for(lambda: bool(parts("new")))
        engine.drop("gone")
        before = len(parts("gone"))
        write(tmp_path / "in", 2, 3)
        wait_for(lambda: run.progress["queries"]["old"]["books"]["rows_in"] >= sum(map(len, EPOCHS)))
    finally:
        run.stop()
        run.await_termination()
    assert before == len(parts("gone"))
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    expected = local({name: ASKED[name] for name in ("doubles", "other filter", "filtered")})

    assert {} == near(expected["doubles"], parts("old"))
    assert "unexpected" not in near(expected["other filter"], parts("gone"))
    since = new.complete_from
    assert since is not None
    assert since <= START + timedelta(seconds=60)
    assert {} == near([row for row in expected["filtered"] if row["window_start"] >= since], parts("new"))


def test_a_restart_on_spark_with_other_queries_goes_on_with_the_panes_that_are_there(
    spark: Any, tmp_path: Path
) -> None:
    def life(files: int, names: Mapping[str, str], *, end: bool = False) -> dict[str, Any]:
        write(tmp_path / "in", *(i for i in range(files) if not (tmp_path / "in" / f"{i:04d}.parquet").exists()))
        engine = ms.Engine(spark, checkpoint=tmp_path / "checkpoint", partitions=3 if end else 2)
        stream = stream_on(engine, tmp_path / "in")
        queries = {name: ASKED[ask](stream).to_parquet(tmp_path / name).named(name) for name, ask in names.items()}
        engine.start(ms.available_now(), end_of_stream=end).await_termination()
        return {name: query.complete_from for name, query in queries.items()}

    life(2, {"old": "doubles", "gone": "decimals", "both": "every value"})
    first = life(3, {"both": "every value", "old": "doubles", "new": "computed"})
    last = life(4, {"new": "computed", "old": "doubles", "both": "every value"}, end=True)
    expected = local({name: ASKED[name] for name in ("doubles", "every value", "computed")})

    assert {} == near(expected["doubles"], rows_of(tmp_path / "old"))
    assert {} == near(expected["every value"], rows_of(tmp_path / "both"))
    assert first["new"] == last["new"]
    assert first["new"] is not None
    wanted = [row for row in expected["computed"] if row["window_start"] >= first["new"]]
    assert wanted
    assert {} == near(wanted, rows_of(tmp_path / "new"))
