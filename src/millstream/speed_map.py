"""The speed map: sensors and probes of a city, and a viewport that moves over it.

Two-minute averages of the sensors at each milepost, beside those of the probes that passed. The map shows two freeways
of five, and every few minutes two others. What is out of view is not read on, joined or kept; what is in view is the
same, number for number, as without feedback.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.live import Live
from rich.table import Table

import millstream as ms
from millstream.workload import traffic

MINUTES = 120
_EACH = 900  # rows of an epoch: two minutes of 150 sensors
_IN_VIEW = 2  # freeways
_STAY = 6  # epochs
_BAR = 30  # characters


@dataclass(slots=True)
class MapResult:
    """What a run has shown, and what it has done."""

    shown: dict[tuple[Any, ...], float] = field(default_factory=dict[tuple[Any, ...], float])
    """By window, freeway and milepost: the speed that was in view."""
    operators: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    exact: bool = True
    """Is all that was shown what it is without feedback?"""


def run_speed_map(console: Console, *, minutes: int = MINUTES, pace: float = 0.05) -> MapResult:
    """Run with a viewport, watched, then without; compare, and show what was saved.

    >>> import io
    >>> run_speed_map(Console(file=io.StringIO()), minutes=20, pace=0).exact
    True
    """
    with Live(console=console, auto_refresh=False, transient=True) as live:
        seen = _run(minutes, pace, live)
    full = _run(minutes, 0, None)
    seen.exact = bool(seen.shown) and all(full.shown.get(key) == speed for key, speed in seen.shown.items())
    console.print(_savings(full.operators, seen.operators))
    verdict = "the same as" if seen.exact else "NOT the same as"
    console.print(f"{len(seen.shown)} speeds were shown: {verdict} those of {len(full.shown)} without feedback.")
    return seen


def _run(minutes: int, pace: float, live: Live | None) -> MapResult:
    engine = ms.Engine(host="local")
    rows = traffic.sensors(minutes / 60).rows.join(traffic.locations(), "sensor").sort_by("ts")
    probes = traffic.probes(minutes / 60).rows
    sensors = engine.stream("sensors", rows, progress=ms.ordered("ts"), epoch_rows=_EACH)
    cars = engine.stream(
        "probes", probes, progress=ms.ordered("ts"), epoch_rows=max(1, len(probes) * _EACH // len(rows))
    )
    fixed = _averages(sensors, "speed")
    passing = _averages(cars, "probe")
    keys = ["freeway", "milepost", "window_end"]
    query = fixed.join(passing, on=keys, how="left", within="0 seconds", time="window_end").named("map")
    out, handles = MapResult(), list[Any]()

    def move(report: Mapping[str, Any]) -> None:
        low = 1 + report["epoch"] // _STAY % (traffic.FREEWAYS - _IN_VIEW + 1)
        if report["epoch"] % _STAY == 0:
            for handle in handles:
                handle.cancel()
            said = (f"freeway < {low}", f"freeway >= {low + _IN_VIEW}")
            handles[:] = [query.feedback(ms.assumed(one, ttl=_STAY + 1)) for one in said]
        if live is not None:
            live.update(_screen(report, low), refresh=True)
        time.sleep(pace)

    def keep(table: pa.Table, _: int) -> None:
        for row in table.to_pylist():
            out.shown[row["window_end"], row["freeway"], row["milepost"]] = row["speed"]

    query.to_memory().for_each(keep)
    if live is not None:
        engine.on_epoch(move)
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()
    out.operators = run.progress["queries"]["map"]["operators"]
    return out


def _averages(stream: ms.Stream, name: str) -> ms.Query:
    speeds: dict[str, Any] = {name: ms.avg("speed")}
    return stream.window("ts", range="2 minutes").group_by("freeway", "milepost").agg(**speeds)


def _screen(report: Mapping[str, Any], low: int) -> Table:
    table = Table(title=f"freeways {low} to {low + _IN_VIEW - 1} in view", box=box.SIMPLE)
    for name in ("operator", "rows in", "dropped", "state", "guards"):
        table.add_column(name, justify="left" if name == "operator" else "right")
    for one in report["queries"]["map"]["operators"]:
        figures = (one["rows_in"], one["guarded"] + one["withheld"], one["state_rows"], one["guards"])
        table.add_row(one["operator"], *map(str, figures))
    return table


def _savings(full: list[dict[str, Any]], seen: list[dict[str, Any]]) -> Table:
    table = Table(title="rows that left each operator", box=box.SIMPLE)
    for name in ("operator", "without", "with feedback", ""):
        table.add_column(name, justify="right" if name.startswith("with") else "left")
    most = max(one["rows_out"] for one in full)
    for without, heeding in zip(full, seen, strict=True):
        bar = "█" * (_BAR * heeding["rows_out"] // most) + "░" * (
            _BAR * without["rows_out"] // most - _BAR * heeding["rows_out"] // most
        )
        table.add_row(without["operator"], str(without["rows_out"]), str(heeding["rows_out"]), bar)
    return table
