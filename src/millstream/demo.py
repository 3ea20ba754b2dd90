"""The demo: a sliding window over auction bids that arrive out of order, watched while it runs, then checked.

A minute of bids on each auction, anew each second, from rows up to five seconds out of order. Two minutes of
stream are replayed in five seconds. A few rows are planted that break the promise, and a few without a time:
they must leave by the late and the rejected output. At the end the results are compared, row for row, with a
batch query over the bids in order.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich import box
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

import millstream as ms
from millstream.workload import auction, disorder
from millstream.workload.clock import START

ROWS = 1_500_000
PACE = 0.05
"""Seconds from one epoch to the next, so that there is something to watch."""

_SECONDS = 120  # of stream time, however many rows
_EPOCHS = {"local": 100, "spark": 30}  # an epoch on Spark is a job
_AUCTIONS = 100
_DISORDER = timedelta(seconds=5)
_LATE_BY = timedelta(seconds=30)
_LATE_ROWS = 3  # planted in every tenth epoch, with one row that has no timestamp
_SHOWN = 8  # windows on the screen

# Each row goes to the sixty windows that hold it: slow, and plainly right. The mean is a division of whole
# numbers, because avg() in DuckDB may differ from the nearest float in the last digit.
_BATCH = """
    SELECT window_id, $start + (window_id - 59) * 1000000 AS window_start,
           $start + (window_id + 1) * 1000000 AS window_end,
           auction, count(*) AS bids, max(price) AS top, sum(price)::BIGINT / count(*) AS mean
    FROM (SELECT auction, price, unnest(range(second, second + 60)) AS window_id
          FROM (SELECT auction, price, (epoch_us(ts) - $start) // 1000000 AS second FROM ordered))
    GROUP BY window_id, auction
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoResult:
    """What the demo found."""

    identical: bool
    """Are the results those of the batch query, and did every planted row leave where it should?"""
    rows: int
    """Result rows."""
    late: int
    rejected: int


def run_demo(console: Console, *, rows: int = ROWS, host: str = "local", pace: float = PACE) -> DemoResult:
    """Run the query over `rows` bids on a host, show it on the console, and check it.

    An epoch comes each `pace` seconds; with 0, as soon as the one before it is done.
    """
    console.print(f"{rows:,} bids on {_AUCTIONS} auctions, arriving up to {_DISORDER.seconds} s out of order")
    ordered = auction.bids(rows, keys=_AUCTIONS, rate=rows / _SECONDS)
    epochs, planted = _arrivals(ordered, _EPOCHS[host])
    if host == "local":
        return _run(console, ms.Engine(host=host), epochs, _paced(epochs, pace), planted, ordered)
    console.print("starting Spark in this process: some seconds, once")
    with tempfile.TemporaryDirectory(prefix="millstream-demo-") as folder:
        engine = ms.Engine(checkpoint=Path(folder) / "checkpoint")
        console.print(f"Spark {engine.spark.version}: the bids are a folder of Parquet files, one an epoch")
        return _run(console, engine, epochs, _as_files(engine.spark, epochs, Path(folder) / "bids"), planted, ordered)


def _run(
    console: Console, engine: ms.Engine, epochs: list[pa.Table], source: Any, planted: int, ordered: pa.Table
) -> DemoResult:
    total = sum(epoch.num_rows for epoch in epochs)
    schema = ordered.schema if isinstance(source, Iterator) else None
    bids = engine.stream("bids", source, schema=schema, progress=ms.bounded_disorder("ts", _DISORDER))
    newest = _Newest()
    top = (
        bids.window("ts", range="60 seconds", slide="1 second", start=START)
        .group_by("auction")
        .agg(bids=ms.count(), top=ms.max("price"), mean=ms.avg("price"))
        .to_memory()
        .to(newest)
        .named("top")
    )
    screen = _Screen(console, total, newest)
    run = engine.start(ms.available_now(), end_of_stream=True)
    try:
        with screen:
            while not run.await_termination(timeout=0.1):
                screen.show(run.recent_progress)
            screen.show(run.recent_progress, last=True)
    finally:
        run.stop()
    console.print(engine.explain(), markup=False, highlight=False, soft_wrap=True)
    _show_books(console, run.progress["queries"]["top"]["books"], top.late.table(), top.rejected.table())
    return _check(console, ordered, planted, top)


def _as_files(spark: Any, epochs: list[pa.Table], folder: Path) -> Any:
    """The epochs as a stream of files, in the order of their times of change."""
    folder.mkdir()
    for i, epoch in enumerate(epochs):
        path = folder / f"{i:04d}.parquet"
        pq.write_table(epoch, path)
        os.utime(path, (START.timestamp() + i, START.timestamp() + i))
    schema = spark.read.parquet(str(folder)).schema
    return spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))


def _arrivals(ordered: pa.Table, count: int) -> tuple[list[pa.Table], int]:
    """The bids as they arrive, an epoch a table, and in how many epochs wrong rows were planted."""
    arriving = disorder.bounded(ordered, "ts", _DISORDER)
    size = -(-arriving.num_rows // count)
    epochs = [arriving.slice(at, size) for at in range(0, arriving.num_rows, size)]
    planted = range(9, len(epochs), 10)
    for i in planted:
        # Half a minute back lies below what the epoch before has promised.
        late = _with_ts(epochs[i].slice(0, _LATE_ROWS), pc.subtract(epochs[i]["ts"][:_LATE_ROWS], _LATE_BY))
        missing = _with_ts(epochs[i].slice(0, 1), pa.nulls(1, ordered.schema.field("ts").type))
        epochs[i] = pa.concat_tables([epochs[i], late, missing])
    return epochs, len(planted)


def _paced(epochs: list[pa.Table], pace: float) -> Iterator[pa.Table]:
    due = time.monotonic()
    for epoch in epochs:
        time.sleep(max(0.0, due - time.monotonic()))
        due = max(due + pace, time.monotonic())
        yield epoch


def _with_ts(rows: pa.Table, ts: Any) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index("ts"), rows.schema.field("ts"), ts)


def _check(console: Console, ordered: pa.Table, planted: int, top: ms.Query) -> DemoResult:
    """Compare with the batch answer over the bids in order, and with what was planted."""
    import duckdb  # noqa: PLC0415 - only the demo's own check needs it, and every command would load it

    began = time.monotonic()
    with duckdb.connect() as batch:
        batch.execute("SET enable_progress_bar = false")
        batch.register("ordered", ordered)
        start = int(START.timestamp()) * 1_000_000
        expected = batch.sql(_BATCH, params={"start": start}).to_arrow_table()
    took = time.monotonic() - began
    keys = [("window_id", "ascending"), ("auction", "ascending")]
    found = top.table().sort_by(keys)
    late, rejected = top.late.table().num_rows, top.rejected.table().num_rows
    same = found.combine_chunks().equals(expected.cast(found.schema).sort_by(keys).combine_chunks())
    if not same:
        console.print(f"[bold red]different[/]: {found.num_rows:,} rows, {expected.num_rows:,} by batch query")
    wanted = (_LATE_ROWS * planted, planted)
    if (late, rejected) != wanted:
        console.print(f"[bold red]wrong books[/]: {late} late and {rejected} rejected, not {wanted}")
    identical = same and (late, rejected) == wanted
    if identical:
        console.print(
            f"[bold green]identical: {found.num_rows:,} rows[/], compared with a batch query ({took:.1f} s) "
            "over all bids in order"
        )
    return DemoResult(identical=identical, rows=found.num_rows, late=late, rejected=rejected)


def _show_books(console: Console, books: Mapping[str, int], late: pa.Table, rejected: pa.Table) -> None:
    parts = {"in windows": books["accepted"], "late": books["late"], "rejected": books["rejected"]}
    console.print(
        f"The books: {books['rows_in']:,} rows in = " + " + ".join(f"{count:,} {name}" for name, count in parts.items())
    )
    for row in late.slice(0, 1).to_pylist():
        console.print(f"  a late row: ts {row['ts']:%H:%M:%S.%f}, ruled out by {row['punctuation']}", soft_wrap=True)
    for row in rejected.slice(0, 1).to_pylist():
        console.print(f"  a rejected row: auction {row['auction']}, because {row['reason']}")


class _Newest:
    """The last windows that closed, each with its busiest auctions and its highest bid."""

    def __init__(self) -> None:
        self.windows: list[tuple[str, ...]] = []

    def close(self) -> None:
        """Nothing to let go of."""

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Look at the results of an epoch."""
        del epoch
        last = pc.max(rows["window_id"]).as_py()
        for wid in range(max(pc.min(rows["window_id"]).as_py(), last - _SHOWN + 1), last + 1):
            window = rows.filter(pc.equal(rows["window_id"], wid))
            if window.num_rows:
                self.windows = [_summary(window), *self.windows][:_SHOWN]


def _summary(window: pa.Table) -> tuple[str, ...]:
    busiest = window.sort_by([("bids", "descending"), ("auction", "ascending")]).slice(0, 3).to_pylist()
    (dearest,) = window.sort_by([("top", "descending"), ("auction", "ascending")]).slice(0, 1).to_pylist()
    return (
        f"{dearest['window_start']:%H:%M:%S} – {dearest['window_end']:%H:%M:%S}",
        *(f"#{row['auction']}: {row['bids']:,}" for row in busiest),
        *("" for _ in range(3 - len(busiest))),
        f"#{dearest['auction']}: {dearest['top'] / 100:,.2f}",
    )


class _Screen:
    """A live table on a terminal; elsewhere a line now and then."""

    def __init__(self, console: Console, total: int, newest: _Newest) -> None:
        self.console = console
        self.total = total
        self.newest = newest
        self.live = Live(console=console, auto_refresh=False) if console.is_terminal else None
        self.printed = time.monotonic()
        self.busy: dict[int, float] = {}
        """By epoch: the milliseconds it took."""

    def __enter__(self) -> _Screen:
        if self.live is not None:
            self.live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.live is not None:
            self.live.stop()

    def show(self, reports: Sequence[Mapping[str, Any]], *, last: bool = False) -> None:
        """Where the run stands after its last epoch."""
        if not reports:
            return
        self.busy |= {report["epoch"]: sum(report["duration_ms"].values()) for report in reports}
        facts = _facts(reports[-1], sum(self.busy.values()) / 1000)
        if self.live is not None:
            self.live.update(self._panel(facts, reports[-1]), refresh=True)
        elif last or time.monotonic() - self.printed >= 1:
            self.printed = time.monotonic()
            line = ", ".join(f"{name} {value}" for name, value in facts.items())
            self.console.print(line, soft_wrap=True, highlight=False)

    def _panel(self, facts: Mapping[str, str], report: Mapping[str, Any]) -> RenderableType:
        windows = Table(box=box.SIMPLE_HEAD, title="bids in the last minute, each second", title_justify="left")
        windows.add_column("window")
        for heading in ("most bids", "second", "third", "highest bid"):
            windows.add_column(heading, justify="right", min_width=11)
        for cells in self.newest.windows:
            windows.add_row(*cells)
        grid = Table.grid(padding=(0, 2))
        pairs = [cell for name, value in facts.items() for cell in (Text(name, style="dim"), Text(value))]
        for at in range(0, len(pairs), 4):
            grid.add_row(*pairs[at : at + 4])
        bar = Table.grid()  # by itself a bar does not end its line
        bar.add_row(ProgressBar(total=self.total, completed=report["sources"]["bids"]["rows_in"], width=72))
        return Group(windows, bar, grid)


def _facts(report: Mapping[str, Any], busy: float) -> dict[str, str]:
    """What there is to say of an epoch; `busy` is how many seconds all epochs have taken."""
    stream, query = report["sources"]["bids"], report["queries"]["top"]
    lag = stream["lag_seconds"]
    return {
        "rows": f"{stream['rows_in']:,}",
        "rows/s of work": f"{stream['rows_in'] / max(busy, 1e-9):,.0f}",
        "progress": "none yet" if stream["progress"] is None else f"ts < {_clock(stream['progress'])}",
        "lag": "–" if lag is None else f"{lag:.1f} s",
        "late": f"{stream['late']:,}",
        "rejected": f"{stream['rejected']:,}",
        "results": f"{query['rows_out']:,}",
        "state rows": f"{sum(one['state_rows'] for one in query['operators']):,}",
    }


def _clock(bound: str) -> str:
    """The time of day of a bound; the end of the stream is ∞."""
    return bound.partition("T")[2].partition("+")[0] or bound


def main(host: str = "spark") -> int:
    """Run the demo on this terminal; 0 if its results are those of the batch query."""
    console = Console()
    try:
        return 0 if run_demo(console, host=host).identical else 1
    except KeyboardInterrupt:
        console.print("stopped")
        return 130


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
