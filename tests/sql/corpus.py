"""The corpus: each query as the seeds wrote it, as the fluent API says it, and as the definition answers it."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import duckdb
import pyarrow as pa

import millstream as ms
from support import oracle
from support.oracle import Row

START = datetime(2026, 1, 1, tzinfo=UTC)
NAMES = ("Main", "Main1", "Main2", "Control", "M", "M1", "M2", "A", "B", "C", "D", "S0", "S1", "packets")


def packets(seed: int, n: int = 150) -> list[Row]:
    """Packets of ten minutes, none more than five seconds behind one before it."""
    rnd = random.Random(seed)
    seconds = sorted(rnd.sample(range(600), n))
    rows = [
        {
            "ts": START + timedelta(seconds=second),
            "srcIP": rnd.choice(["202.101.0.0", "202.101.0.1", "10.0.0.1"]),
            "destIP": rnd.choice(["10.0.0.1", "b"]),
            "len": rnd.randint(40, 1500),
            "length": rnd.randint(40, 1500),
            "flag": rnd.choice(["SYN", "SYN_ACK"]),
            "minute": second // 60,
            "second": second,
        }
        for second in seconds
    ]
    return sorted(rows, key=lambda row: row["second"] + rnd.randint(0, 5))


ROWS = {name: packets(seed) for seed, name in enumerate(NAMES)}
BASE = int((START - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds())


def make_engine() -> tuple[ms.Engine, dict[str, ms.Stream]]:
    """An engine with every stream of the corpus, and the streams."""
    out = ms.Engine(host="local")
    promise = ms.bounded_disorder("ts", "5 seconds")
    streams = {name: out.stream(name, ROWS[name], progress=promise, epoch_rows=40) for name in NAMES}
    minutes = [{**row, "ts": row["minute"]} for row in ROWS["Main1"]]
    streams["Minutes"] = out.stream("Minutes", minutes, progress=ms.bounded_disorder("ts", 1), epoch_rows=40)
    bids = [{"timestamp": r["ts"], "item-id": r["destIP"], "bid-price": r["len"]} for r in ROWS["Main"]]
    later = ms.bounded_disorder("timestamp", "5 seconds")
    streams["bids"] = out.stream("bids", bids, progress=later, epoch_rows=40)
    return out, streams


def answer(query: ms.Query) -> list[tuple[Any, ...]]:
    """Run a query to the end; its rows, sorted."""
    query.named("q")
    query.engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return sorted((tuple(row.values()) for row in query.table().to_pylist()), key=repr)


def seconds(*names: str) -> list[Row]:
    """The rows of some streams, with the time as whole seconds since 1970."""
    return [{**row, "t": BASE + row["second"]} for name in names for row in ROWS[name]]


def count(rows: list[Row]) -> int:
    return len(rows)


def most(column: str) -> Callable[[list[Row]], int]:
    return lambda rows: max(row[column] for row in rows)


def total(column: str) -> Callable[[list[Row]], int]:
    return lambda rows: sum(row[column] for row in rows)


Streams = Callable[[str], ms.Stream]
Naive = Callable[[], list[oracle.Answer]]
MINUTE = 60


def sliding(names: tuple[str, ...], size: int, slide: int, groups: tuple[str, ...], **fns: Any) -> Naive:
    return lambda: oracle.answers(oracle.sliding(seconds(*names), "t", size, slide), groups, fns)


def numbered(size: int, slide: int, groups: tuple[str, ...], *, partition: str | None, **fns: Any) -> Naive:
    def naive() -> list[oracle.Answer]:
        seen: dict[Any, int] = {}
        rows: list[Row] = []
        for row in ROWS["Main"]:
            key = None if partition is None else row[partition]
            seen[key] = seen.get(key, 0) + 1
            rows.append({**row, "n": seen[key]})
        return oracle.answers(oracle.sliding(rows, "n", size, slide, 1), groups, fns)

    return naive


def micro(naive: Naive) -> Naive:
    """Slide-by-tuple windows are named by the value of a row: microseconds."""
    return lambda: sorted(((wid * 1_000_000, *rest) for wid, *rest in naive()), key=repr)


def by_tuple(every: int, *, rank: bool, size: int = 5 * MINUTE, **fns: Any) -> Naive:
    return micro(lambda: oracle.answers(oracle.by_tuple(seconds("Main"), "t", size, every, rank=rank), (), fns))


def landmark() -> list[oracle.Answer]:
    rows = seconds("Main1")
    last = max(row["t"] for row in rows) // MINUTE
    return oracle.answers(oracle.landmark(rows, "t", MINUTE, last), ("srcIP",), {"n": count})


def heavy(rows: list[Row]) -> list[dict[str, Any]]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["srcIP"]] = counts.get(row["srcIP"], 0) + 1
    found = [(k, n) for k, n in counts.items() if n >= 0.05 * len(rows)]
    return [{"value": k, "count": n} for k, n in sorted(found, key=lambda one: (-one[1], one[0]))]


def union(stream: Streams, *names: str) -> ms.Query:
    first, *others = map(stream, names)
    return first.union(*others)


RUN: dict[str, tuple[str, Callable[[Streams], ms.Query], Naive]] = {
    "Q1-1": (
        "SELECT srcIP,count(*)[RANGE 10 minutes,SLIDE 1 minute,WA ts] FROM M GROUP BY srcIP",
        lambda s: s("M").window("ts", range="10 minutes", slide="1 minute").group_by("srcIP").agg(count=ms.count()),
        sliding(("M",), 600, 60, ("srcIP",), n=count),
    ),
    "Q1-2": (
        "SELECT count(*)[RANGE 1 minute,SLIDE 1 minute,WA ts] FROM Control UNION Main1 UNION Main2",
        lambda s: union(s, "Control", "Main1", "Main2").window("ts", range="1 minute").agg(count=ms.count()),
        sliding(("Control", "Main1", "Main2"), 60, 60, (), n=count),
    ),
    "Q5-1": (
        "SELECT srcIP,count(*)[RANGE 10 minutes,SLIDE 1 minute,WA ts] FROM Main GROUP BY srcIP",
        lambda s: s("Main").window("ts", range="10 minutes", slide="1 minute").group_by("srcIP").agg(count=ms.count()),
        sliding(("Main",), 600, 60, ("srcIP",), n=count),
    ),
    "Q5-2": (
        "SELECT srcIP,max(length)[RANGE 20 rows,SLIDE 10 rows,WA row-num,PA srcIP] FROM Main",
        lambda s: s("Main").window(by="rows", range=20, slide=10, partition_by="srcIP").agg(m=ms.max("length")),
        numbered(20, 10, ("srcIP",), partition="srcIP", m=most("length")),
    ),
    "Q5-3": (
        "SELECT srcIP,max(length)[RANGE 20 rows,SLIDE 10 rows,WA row-num] FROM Main GROUP-BY srcIP",
        lambda s: s("Main").window(by="rows", range=20, slide=10).group_by("srcIP").agg(m=ms.max("length")),
        numbered(20, 10, ("srcIP",), partition=None, m=most("length")),
    ),
    "Q5-4": (
        "SELECT srcIP,count(*)[RANGE ALL,SLIDE 1 minute,WA ts] FROM Main1 GROUP BY srcIP",
        lambda s: s("Main1").window("ts", range="all", slide="1 minute").group_by("srcIP").agg(n=ms.count()),
        landmark,
    ),
    "Q5-5": (
        "SELECT max(length)[RANGE 5 minutes,RATTR ts,SLIDE 1 row,SATTR row-num] FROM Main",
        lambda s: s("Main").window("ts", range="5 minutes", per="tuple").agg(m=ms.max("length")),
        by_tuple(1, rank=False, m=most("length")),
    ),
    "Q5-5 by five": (
        "SELECT max(length)[RANGE 5 minutes,RATTR ts,SLIDE 5 rows,SATTR row-num] FROM Main",
        lambda s: s("Main").window("ts", range="5 minutes", slide=5, per="tuple").agg(m=ms.max("length")),
        by_tuple(5, rank=False, m=most("length")),
    ),
    "Q5-6": (
        "SELECT count(*)[RANGE 5 minutes,RATTR ts,SLIDE 5 rows,SATTR rank(ts)] FROM Main",
        lambda s: s("Main").window("ts", range="5 minutes", slide=5, per="rank").agg(n=ms.count()),
        by_tuple(5, rank=True, n=count),
    ),
    "Q6-2": (
        "SELECT max(length)[RANGE 4 minutes,SLIDE 1 minute,WA ts] FROM Main",
        lambda s: s("Main").window("ts", range="4 minutes", slide="1 minute").agg(m=ms.max("length")),
        sliding(("Main",), 240, 60, (), m=most("length")),
    ),
    "Q6-4": (
        "SELECT heavy_hitters(srcIP, 0.05)[RANGE 10 minutes,SLIDE 1 minute,WA ts] FROM Main",
        lambda s: s("Main").window("ts", range="10 minutes", slide="1 minute").agg(h=ms.heavy_hitters("srcIP", 0.05)),
        sliding(("Main",), 600, 60, (), h=heavy),
    ),
    "Q6-5": (
        "SELECT srcIP,count(*)[RANGE 5 minutes,SLIDE 1 minute,WA ts] FROM M1 GROUP BY srcIP",
        lambda s: s("M1").window("ts", range="5 minutes", slide="1 minute").group_by("srcIP").agg(n=ms.count()),
        sliding(("M1",), 300, 60, ("srcIP",), n=count),
    ),
    "Q6-6": (
        "SELECT srcIP,sum(len)[RANGE 10 seconds,SLIDE 1 second,WA ts] FROM packets GROUPBY srcIP",
        lambda s: s("packets").window("ts", range="10 s", slide="1 s").group_by("srcIP").agg(t=ms.sum("len")),
        sliding(("packets",), 10, 1, ("srcIP",), t=total("len")),
    ),
    "Q6-7": (
        "SELECT srcIP,sum(len)[RANGE 1 second,SLIDE 1 second,WA ts] FROM Main GROUP-BY srcIP",
        lambda s: s("Main").window("ts", range="1 second").group_by("srcIP").agg(t=ms.sum("len")),
        sliding(("Main",), 1, 1, ("srcIP",), t=total("len")),
    ),
    "Q8-1": (
        "SELECT srcIP,destIP,count(*)[RANGE 1 minute,SLIDE 1 minute,WA ts] FROM Main GROUP BY srcIP,destIP",
        lambda s: s("Main").window("ts", range="1 minute").group_by("srcIP", "destIP").agg(n=ms.count()),
        sliding(("Main",), 60, 60, ("srcIP", "destIP"), n=count),
    ),
    "Q8-2": (
        "SELECT srcIP,destIP,count(*)[RANGE 1 minute,SLIDE 1 minute,WA ts] FROM M1 UNION M2 GROUP BY srcIP,destIP",
        lambda s: union(s, "M1", "M2").window("ts", range="1 minute").group_by("srcIP", "destIP").agg(n=ms.count()),
        sliding(("M1", "M2"), 60, 60, ("srcIP", "destIP"), n=count),
    ),
    "Q8-5": (
        "SELECT count(*)[RANGE 5 minutes,SLIDE 1 minute,WA ts] FROM M1 UNION M2 UNION C",
        lambda s: union(s, "M1", "M2", "C").window("ts", range="5 minutes", slide="1 minute").agg(n=ms.count()),
        sliding(("M1", "M2", "C"), 300, 60, (), n=count),
    ),
    "P1": (
        "SELECT max(bid-price) FROM bids [RANGE 4 minutes SLIDE 1 minute WATTR timestamp]",
        lambda s: s("bids").window("timestamp", range="4 minutes", slide="1 minute").agg(m=ms.max("`bid-price`")),
        sliding(("Main",), 240, 60, (), m=most("len")),
    ),
    "P2": (
        "SELECT max(bid-price) FROM bids [RANGE 4 minutes, SLIDE 1 tuple, WATTR timestamp]",
        lambda s: s("bids").window("timestamp", range="4 minutes", per="tuple").agg(m=ms.max("`bid-price`")),
        by_tuple(1, rank=False, size=240, m=most("len")),
    ),
}  # fmt: skip

# Groups that the select list leaves out: the answer is compared without them.
HIDDEN: dict[str, tuple[str, Callable[[Streams], ms.Query], tuple[str, ...], Naive]] = {
    "Q6-3": (
        "SELECT count(*)[RANGE 4 minutes,SLIDE 1 minute,WA ts] FROM packets GROUP BY srcIP",
        lambda s: s("packets").window("ts", range="4 minutes", slide="1 minute").group_by("srcIP").agg(n=ms.count()),
        ("srcIP",),
        sliding(("packets",), 240, 60, ("srcIP",), n=count),
    ),
    "Q6-8": (
        "SELECT count(*)[RANGE 10 sec,SLIDE 1 sec,WA ts] FROM (Main2 ∪ (Main1 ∪ Control)) GROUP-BY srcIP",
        lambda s: union(s, "Main2", "Main1", "Control")
        .window("ts", range="10 sec", slide="1 sec")
        .group_by("srcIP")
        .agg(n=ms.count()),
        ("srcIP",),
        sliding(("Main2", "Main1", "Control"), 10, 1, ("srcIP",), n=count),
    ),
    "P3": (
        "SELECT count(*) FROM bids GROUP BY item-id [WATTR timestamp, RANGE 4 minutes, SLIDE 1 minute]",
        lambda s: s("bids").window("timestamp", range="4 min", slide="1 min").group_by("item-id").agg(n=ms.count()),
        ("item-id",),
        sliding(("Main",), 240, 60, ("destIP",), n=count),
    ),
}  # fmt: skip

CROSSED = "M1.srcIP = M2.destIP and M1.destIP = M2.srcIP"
JOINS = {
    "Q3-1": "SELECT * FROM Main1[WA ts,RANGE 3 min],Main2[WA ts,RANGE 2 min] WHERE Main1.srcIP=Main2.destIP",
    "Q5-7": "SELECT Main1.srcIP,Main1.destIP,Main2.srcIP,Main2.destIP,Main2.ts "
    "FROM Main1,Main2[RANGE TUMBLING 5 minutes,WA ts] WHERE Main1.srcIP=Main2.destIP",
    "Q5-8": "SELECT Main1.srcIP,Main2.destIP,Main2.ts FROM Main1[WA ts,RANGE 3 min],Main2[WA ts,RANGE 2 min] "
    "WHERE Main1.srcIP=Main2.destIP",
    "Q7-1": "SELECT S0.ts,S1.ts,count(*) FROM S0[WA ts,RANGE 2 min],S1[WA ts,RANGE 2 min] WHERE S0.srcIP=S1.destIP and "
    "((S0.ts<S1.ts and S0.flag='SYN' and S1.flag='SYN_ACK') or (S0.ts>S1.ts and S0.flag='SYN_ACK' and S1.flag='SYN')) "
    "GROUP BY S0.ts,S1.ts",
    "Q7-2": "SELECT count(*)[RANGE 1 minute,SLIDE 1 minute,WA M1.ts] FROM M1[RANGE 5 sec,WA ts],M2[RANGE 5 sec,WA ts] "
    f"WHERE {CROSSED}",
    "Q8-3": "SELECT M1.srcIP,M1.destIP,M1.ts FROM A UNION B as M1, C UNION D as M2 [RANGE TUMBLING 10 seconds,WA ts] "
    f"WHERE {CROSSED}",
    "Q8-4": "SELECT M1.srcIP,M1.destIP,M1.ts FROM M1, M2 UNION C as M3 [RANGE TUMBLING 1 minute,WA ts] "
    "WHERE M1.srcIP = M3.destIP",
    "by JOIN": "SELECT a.ts FROM Main1 a LEFT JOIN Main2 [RANGE 1 minute, WATTR ts] AS b ON a.srcIP = b.destIP",
}  # fmt: skip

NEAR = "{1}.ts > {0}.ts - INTERVAL {3} AND {1}.ts < {0}.ts + INTERVAL {2}"
SAME = "time_bucket(INTERVAL {2}, {0}.ts) = time_bucket(INTERVAL {2}, {1}.ts)"
MINUTES = NEAR.format("a", "b", "3 minutes", "2 minutes")
BY_DUCKDB = {
    "Q3-1": f"SELECT a.*, b.* FROM Main1 a, Main2 b WHERE a.srcIP = b.destIP AND {MINUTES}",
    "Q5-7": "SELECT a.srcIP, a.destIP, b.srcIP, b.destIP, b.ts FROM Main1 a, Main2 b WHERE a.srcIP = b.destIP AND "
    + SAME.format("a", "b", "5 minutes"),
    "Q5-8": f"SELECT a.srcIP, b.destIP, b.ts FROM Main1 a, Main2 b WHERE a.srcIP = b.destIP AND {MINUTES}",
    "Q7-1": "SELECT a.ts, b.ts, count(*) FROM S0 a, S1 b WHERE a.srcIP = b.destIP AND "
    "((a.ts < b.ts AND a.flag = 'SYN' AND b.flag = 'SYN_ACK') "
    "OR (a.ts > b.ts AND a.flag = 'SYN_ACK' AND b.flag = 'SYN')) "
    f"AND {NEAR.format('a', 'b', '2 minutes', '2 minutes')} GROUP BY a.ts, b.ts",
    "Q7-2": "SELECT count(*) FROM M1 a, M2 b WHERE a.srcIP = b.destIP AND a.destIP = b.srcIP AND "
    f"{NEAR.format('a', 'b', '5 seconds', '5 seconds')} GROUP BY time_bucket(INTERVAL 1 minute, a.ts)",
    "Q8-3": "SELECT a.srcIP, a.destIP, a.ts FROM (FROM A UNION ALL FROM B) a, (FROM C UNION ALL FROM D) b "
    f"WHERE a.srcIP = b.destIP AND a.destIP = b.srcIP AND {SAME.format('a', 'b', '10 seconds')}",
    "Q8-4": "SELECT a.srcIP, a.destIP, a.ts FROM M1 a, (FROM M2 UNION ALL FROM C) b "
    f"WHERE a.srcIP = b.destIP AND {SAME.format('a', 'b', '1 minute')}",
}
"""The joins over whole tables."""


def by_duckdb(name: str) -> list[tuple[Any, ...]]:
    """A join's rows, sorted."""
    with duckdb.connect() as db:
        db.execute("SET TimeZone = 'UTC'")
        for stream in NAMES:
            db.register(stream, pa.Table.from_pylist(ROWS[stream]))
        table = db.sql(BY_DUCKDB[name]).to_arrow_table()
    columns = [column.to_pylist() for column in table.columns]
    return sorted(zip(*columns, strict=True), key=repr)
