"""`millstream run`: a script on an engine, watched while it runs, stopped at an epoch's end by Ctrl-C or SIGTERM."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.status import Status
from rich.table import Table
from rich.text import Text

from millstream.api.engine import Engine
from millstream.api.query import Query
from millstream.api.sql.script import Script
from millstream.api.triggers import available_now, every
from millstream.cli.failure import STOPPED, TERMINATED, print_json
from millstream.core.errors import SqlError
from millstream.core.problem import Problem
from millstream.runtime.run import Run
from millstream.runtime.sinks.console import ConsoleSink


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of a run."""

    every: str | None
    ends: bool
    """Is the end of the input the end of the streams?"""
    allow_unbounded: bool
    limit: int
    as_json: bool


def engine_on(host: str, checkpoint: Path | None) -> Engine:
    """An engine on the host that was asked for."""
    return Engine(host=host, checkpoint=checkpoint)


def run(script: Script, engine: Engine, asked: Asked) -> int:
    """Run every query; returns the exit code."""
    console = Console()
    trigger = available_now() if asked.every is None else every(asked.every)
    if not script.bind(engine, show=_shown(console, asked)):
        nothing = Problem("there is no query to run", script.text, 0, 1, "Add SELECT … or INSERT INTO … SELECT ….")
        raise SqlError([nothing])
    started = engine.start(trigger, end_of_stream=asked.ends, allow_unbounded=asked.allow_unbounded)
    stopped = _watch(started, console, asked)
    if asked.as_json:
        print_json({"ok": True, "stopped": stopped > 0, **_summary(started.progress)})
    else:
        _show_summary(started.progress, stopped=stopped > 0, idle=not started.recent_progress)
    return stopped


def drain(script: Script, engine: Engine, name: str, asked: Asked) -> None:
    """Let a query give what it holds, to the sinks that its statement names, and leave the checkpoint."""
    script.bind(engine, show=_shown(Console(), asked))
    engine.drain(name)
    if asked.as_json:
        print_json({"ok": True, "drained": name})
    else:
        Console(stderr=True, highlight=False).print(Text(f"{name} is drained, and the checkpoint has no state of it"))


def _watch(started: Run, console: Console, asked: Asked) -> int:
    """Wait for the end, or for Ctrl-C or SIGTERM: then the epoch under way is finished first. Returns the exit code."""
    shown = console if console.is_terminal else Console(stderr=True)
    status = Status("starting", console=shown) if shown.is_terminal and not asked.as_json else None
    with interrupts() as interrupted:
        try:
            if status is not None:
                status.start()
            while not started.await_termination(timeout=0.1):
                if interrupted():
                    started.stop()
                    started.await_termination()
                    return TERMINATED if interrupted() == signal.SIGTERM else STOPPED
                if status is not None and started.progress["epoch"] >= 0:
                    status.update(_line(started.progress))
        finally:
            if status is not None:
                status.stop()
    return 0


@contextmanager
def interrupts() -> Iterator[Callable[[], int]]:
    """Which signal asked to stop: that of Ctrl-C, SIGTERM, or 0 for none. A second Ctrl-C interrupts at once.

    Not by KeyboardInterrupt: up to Python 3.12, one that strikes inside `Thread.join` makes the thread look ended.
    """
    asked = 0

    def ask(number: int, _: object) -> None:
        nonlocal asked
        if asked and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked = asked or number

    before = {one: signal.signal(one, ask) for one in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: asked
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _shown(console: Console, asked: Asked) -> Callable[[Query], object]:
    """Where the rows of a plain SELECT go."""

    def as_table(query: Query) -> None:
        query.to(ConsoleSink(console, rows=asked.limit, title=str(query.name)))

    def as_lines(query: Query) -> None:
        def write(rows: pa.Table, epoch: int) -> None:
            for row in rows.to_pylist():
                print_json({"query": query.name, "epoch": epoch, "row": row})

        query.for_each(write)

    return as_lines if asked.as_json else as_table


def _line(progress: dict[str, Any]) -> str:
    rows_in = sum(one["rows_in"] for one in progress["sources"].values())
    rows_out = sum(one["rows_out"] for one in progress["queries"].values())
    return f"epoch {progress['epoch']}: {rows_in:,} rows in, {rows_out:,} results"


def _summary(progress: dict[str, Any]) -> dict[str, Any]:
    streams = {
        name: {key: one[key] for key in ("rows_in", "late", "rejected", "progress")}
        for name, one in progress["sources"].items()
    }
    queries = {
        name: {
            "rows_out": one["rows_out"],
            "rejected": one["books"]["rejected"],
            "results_rejected": one["books"]["results_rejected"],
            "open_windows": _open(one),
        }
        for name, one in progress["queries"].items()
    }
    return {"epochs": progress["epoch"] + 1, "streams": streams, "queries": queries}


def _open(query: dict[str, Any]) -> int:
    return sum(one.get("open_windows", 0) for one in query.get("operators", ()))


def _show_summary(progress: dict[str, Any], *, stopped: bool, idle: bool) -> None:
    """On the error stream: what is printed on the other one is the result. `idle` if no epoch was taken."""
    console = Console(stderr=True, highlight=False)
    summary = _summary(progress)
    view = Table(box=box.SIMPLE_HEAD, show_edge=False)
    view.add_column("stream")
    for heading in ("rows in", "late", "rejected"):
        view.add_column(heading, justify="right")
    view.add_column("complete below")
    for name, one in summary["streams"].items():
        counts = (f"{one[key]:,}" for key in ("rows_in", "late", "rejected"))
        view.add_row(Text(name), *counts, Text(str(one["progress"] or "–")))
    console.print(view)
    for name, one in summary["queries"].items():
        open_windows = f", windows open: {one['open_windows']:,}" if one["open_windows"] else ""
        rejected = f", rows rejected: {one['rejected']:,}" if one["rejected"] else ""
        failed = f", results rejected: {one['results_rejected']:,}" if one["results_rejected"] else ""
        console.print(Text(f"{name}: {one['rows_out']:,} rows{rejected}{failed}{open_windows}"))
    epochs = "1 epoch" if summary["epochs"] == 1 else f"{summary['epochs']:,} epochs"
    said = "stopped after" if stopped else "nothing new after" if idle and summary["epochs"] else "done in"
    console.print(f"{said} {epochs}")
