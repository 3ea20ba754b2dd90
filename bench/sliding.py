"""Sliding windows on the local host: against DuckDB's batch answer, strategy against strategy.

    python bench/sliding.py [--rows 2000000] [--quick] [--grid]

Prints ratios of runs interleaved in this process; every answer is compared before any time is printed. Times are the
clock's, but those of the panes grid are CPU times, the least of five, as in experiment 6.4, which asks the same.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Mapping
from datetime import timedelta
from os import getloadavg
from typing import Any

import duckdb
import pyarrow as pa
from harness import RESULTS, interleave, load, save, show

import millstream as ms
from millstream.workload import auction, disorder, packets

SECOND = timedelta(seconds=1)
EPOCH = 500_000


def bids(rows: int, keys: int) -> pa.Table:
    """A hundred seconds of disordered bids."""
    return disorder.bounded(auction.bids(rows, keys=keys, seed=1, rate=rows / 100, hot=0.0), "ts", SECOND, seed=2)


def run(table: pa.Table, ratio: int, strategy: str = "auto") -> ms.Query:
    """Maximum and count by auction, over `ratio` seconds each second."""
    engine = ms.Engine(host="local")
    stream = engine.stream("bids", table, progress=ms.bounded_disorder("ts", SECOND), epoch_rows=EPOCH)
    query = (
        stream.window("ts", range=f"{ratio} seconds", slide="1 second")
        .group_by("auction")
        .agg(top=ms.max("price"), n=ms.count(), strategy=strategy)
        .named("top")
    )
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return query


def duck(table: pa.Table, ratio: int) -> pa.Table:
    """The same answer by batch: reduced to panes first, then each pane given to its windows."""
    connection = duckdb.connect()
    connection.register("bids", table)
    return connection.sql(
        f"""WITH panes AS (SELECT auction, epoch_us(ts) // 1000000 AS pane, max(price) AS top, count(*) AS n
                           FROM bids GROUP BY ALL)
            SELECT auction, wid, max(top) AS top, sum(n)::BIGINT AS n
            FROM (SELECT auction, unnest(range(pane, pane + {ratio})) AS wid, top, n FROM panes) GROUP BY ALL"""
    ).to_arrow_table()


def duck_window(table: pa.Table, ratio: int) -> pa.Table:
    """The same by window functions over panes: each (auction, pane) looks back; gaps are filled first."""
    connection = duckdb.connect()
    connection.register("bids", table)
    return connection.sql(
        f"""WITH panes AS (SELECT auction, epoch_us(ts) // 1000000 AS pane, max(price) AS top, count(*) AS n
                           FROM bids GROUP BY ALL),
            every AS (SELECT auction, pane FROM (SELECT DISTINCT auction FROM panes),
                      (SELECT unnest(range(min(pane), max(pane) + {ratio})) AS pane FROM panes)),
            filled AS (SELECT auction, pane, top, coalesce(n, 0) AS n FROM every LEFT JOIN panes USING (auction, pane))
            SELECT auction, pane AS wid, max(top) OVER w AS top, (sum(n) OVER w)::BIGINT AS n FROM filled
            WINDOW w AS (PARTITION BY auction ORDER BY pane ROWS BETWEEN {ratio - 1} PRECEDING AND CURRENT ROW)
            QUALIFY sum(n) OVER w > 0"""
    ).to_arrow_table()


def checksum(rows: pa.Table, wid: str) -> Any:
    """A sum over all rows that any difference would change."""
    connection = duckdb.connect()
    connection.register("answer", rows)
    return connection.sql(
        f"SELECT count(*), sum((auction + 1) * ({wid} % 1000 + 7) * (top % 9973 + n)) FROM answer"
    ).fetchall()


def against_duckdb(rows: int) -> dict[str, Any]:
    """How much longer than a batch query, and how little the ratio of range to slide matters."""
    out: dict[str, Any] = {}
    table_rows = []
    for keys in (100, 10_000):
        data = bids(rows, keys)
        assert checksum(run(data, 60).table(), "window_id") == checksum(duck(data, 60), "wid")
        assert checksum(duck_window(data, 60), "wid") == checksum(duck(data, 60), "wid")
        times = interleave(
            {
                "millstream": lambda data=data: run(data, 60),
                "duckdb": lambda data=data: duck(data, 60),
                "duckdb window functions": lambda data=data: duck_window(data, 60),
            }
        )
        best = min(times["duckdb"], times["duckdb window functions"])
        out[f"{keys} keys"] = times
        table_rows.append((keys, times["millstream"] / best, times["millstream"] / times["duckdb"]))
    show(
        f"time ÷ DuckDB batch, range/slide 60, {rows:,} rows ({load()})",
        ("keys", "÷ better DuckDB query", "÷ panes query"),
        table_rows,
    )
    return out


def by_ratio(rows: int) -> dict[str, Any]:
    """Throughput against range/slide at 100 keys."""
    data = bids(rows, 100)
    ratios = (1, 5, 20, 60)
    times = interleave({str(ratio): lambda ratio=ratio: run(data, ratio) for ratio in ratios})
    show(
        f"time by range/slide ÷ that of 1, 100 keys ({load()})",
        ("range/slide", "÷ ratio 1"),
        [(ratio, times[str(ratio)] / times["1"]) for ratio in ratios],
    )
    return times


def grid(rows: int) -> dict[str, Any]:
    """The panes grid: each strategy's time and peak state ÷ those of wid."""
    out: dict[str, Any] = {}
    shown = []
    strategies = ("wid", "paned", "differential", "buffered")
    for per_pane, length in ((20, 5), (5, 5), (1, 5), (20, 10), (20, 2), (20, 1), (100, 10)):
        data = pa.table({"ts": pa.array(range(rows)), "price": auction.bids(rows, seed=3)["price"]})
        peaks: dict[str, int] = {}

        def one(strategy: str, data: pa.Table = data, per_pane: int = per_pane, length: int = length,
                peaks: dict[str, int] = peaks) -> Any:  # fmt: skip
            engine = ms.Engine(host="local")
            stream = engine.stream("s", data, progress=ms.ordered("ts"), epoch_rows=EPOCH)
            query = (
                stream.window("ts", range=per_pane * length, slide=per_pane)
                .agg(top=ms.max("price"), strategy=strategy)
                .named("q")
            )
            handle = engine.start(ms.available_now(), end_of_stream=True)
            handle.await_termination()
            peaks[strategy] = handle.progress["queries"]["q"]["operators"][-1]["peak_bytes"]
            return query.table()

        def scan(data: pa.Table = data) -> None:
            engine = ms.Engine(host="local")
            engine.stream("s", data, progress=ms.ordered("ts"), epoch_rows=EPOCH).for_each(_ignore)
            engine.start(ms.available_now(), end_of_stream=True).await_termination()

        answers = {strategy: one(strategy).sort_by("window_id") for strategy in strategies}
        assert all(answer.equals(answers["wid"]) for answer in answers.values())
        times = least_cpu({"scan": scan, **{s: lambda s=s, one=one: one(s) for s in strategies}}, rounds=5)
        net = {s: times[s] - times["scan"] for s in strategies}
        out[f"{per_pane} x {length}"] = {"seconds": times, "peak_bytes": dict(peaks)}
        cells = [f"{net[s] / net['wid']:.2f} / {peaks[s] / peaks['wid']:.2f}" for s in strategies[1:]]
        shown.append((f"{per_pane} × {length}", *cells))
    show(
        f"CPU time less scan / peak state ÷ wid, max, one group, {rows:,} rows ({load()})",
        ("rows a pane × panes a window", *strategies[1:]),
        shown,
    )
    return out


def least_cpu(contenders: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least CPU seconds of each contender, run in turn, one warm-up round before: as experiment 6.4 takes them."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(rounds + 1):
        for name, run in contenders.items():
            began = time.process_time()
            run()
            times[name].append(time.process_time() - began)
    return {name: min(taken[1:]) for name, taken in times.items()}


def _ignore(_rows: pa.Table, _epoch: int) -> None:
    """A sink that reads nothing."""


def adaptive(rows: int) -> dict[str, Any]:
    """AdaptWID's peak state on skewed data ÷ the smaller of eager and lazy."""
    out: dict[str, Any] = {}
    shown = []
    for name in ("DS1", "DS2", "DS3", "DS4", "DS5"):
        data = packets.packets(rows, skew=getattr(packets, name), seed=5, rate=rows / 0.9)
        peaks: dict[str, int] = {}
        for strategy in ("wid", "buffered", "adaptive"):
            engine = ms.Engine(host="local")
            stream = engine.stream("p", data, progress=ms.ordered("ts"), epoch_rows=rows // 20)
            (
                stream.window("ts", range="1 second")
                .group_by("srcIP")
                .agg(bytes=ms.sum("len"), strategy=strategy)
                .named("q")
            )
            handle = engine.start(ms.available_now(), end_of_stream=True)
            handle.await_termination()
            peaks[strategy] = handle.progress["queries"]["q"]["operators"][-1]["peak_bytes"]
        out[name] = peaks
        least = min(peaks["wid"], peaks["buffered"])
        shown.append((name, peaks["wid"] / least, peaks["buffered"] / least, peaks["adaptive"] / least))
    show(f"peak state ÷ smaller of eager and lazy ({load()})", ("set", "eager", "lazy", "AdaptWID"), shown)
    return out


def main() -> None:
    """All tables, and the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    parser.add_argument("--grid", action="store_true", help="the panes grid alone; other figures stay as they were")
    options = parser.parse_args()
    rows = options.rows // 10 if options.quick else options.rows
    save("sliding", _grid_again(rows) if options.grid else _everything(rows))


def _everything(rows: int) -> dict[str, Any]:
    return {
        "rows": rows,
        "against_duckdb": against_duckdb(rows),
        "by_ratio": by_ratio(rows),
        "grid_rows": rows,
        "grid": grid(rows),
        "adaptive": adaptive(rows // 10),
    }


def _grid_again(rows: int) -> dict[str, Any]:
    """The figures of the last run with another grid, and how busy the machine was with it."""
    kept = json.loads((RESULTS / "sliding.json").read_text())
    made = grid(rows)
    return {**kept, "grid_rows": rows, "grid": made, "grid_machine": {**kept["machine"], "load_average": getloadavg()}}


if __name__ == "__main__":
    main()
