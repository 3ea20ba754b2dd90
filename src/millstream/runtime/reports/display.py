"""A run on the terminal: rows, progress, lag and state, brought up to date while it works. Silent when piped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.live import Live
from rich.table import Table

if TYPE_CHECKING:
    from millstream.runtime.run import Run


def watch(run: Run, console: Console | None = None) -> None:
    """Show a run until it ends; a failure is raised, as by `await_termination`."""
    out = console or Console(stderr=True)
    if not out.is_terminal:
        run.await_termination()
        return
    with Live(console=out, auto_refresh=False, transient=True) as live:
        while not run.await_termination(timeout=0.2):
            if run.progress["epoch"] >= 0:
                live.update(panel(run.progress), refresh=True)


def panel(report: Mapping[str, Any]) -> Table:
    """One report as a table: one row per stream, then one row per query."""
    table = Table(title=f"epoch {report['epoch']}, {report['input_rows']:,} rows", title_justify="left")
    for name in ("", "rows in", "late", "rejected", "progress", "rows out", "state rows", "open windows"):
        table.add_column(name, justify="left" if not name else "right")
    for name, stream in report["sources"].items():
        counts = [f"{stream[key]:,}" for key in ("rows_in", "late", "rejected")]
        table.add_row(f"stream {name}", *counts, str(stream["progress"] or "–"), "", "", "")
    for name, query in report["queries"].items():
        state = sum(one["state_rows"] for one in query["operators"])
        windows = sum(one["open_windows"] for one in query["operators"])
        table.add_row(f"query {name}", "", "", "", "", f"{query['rows_out']:,}", f"{state:,}", f"{windows:,}")
    return table
