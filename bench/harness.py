"""Side-by-side timing: interleaved runs in one process, medians, and the load average beside them."""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


def interleave(contenders: Mapping[str, Callable[[], Any]], rounds: int = 3) -> dict[str, float]:
    """The median seconds of each contender, run in turn, one warm-up round before."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(rounds + 1):
        for name, run in contenders.items():
            began = time.perf_counter()
            run()
            if turn:
                times[name].append(time.perf_counter() - began)
    return {name: statistics.median(taken) for name, taken in times.items()}


def show(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; numbers are ratios unless the column says otherwise."""
    table = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        table.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        table.add_row(*(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row))
    Console(width=120).print(table)


def save(name: str, content: Mapping[str, Any], folder: Path = RESULTS) -> None:
    """Keep the figures as JSON with the machine they come from."""
    folder.mkdir(exist_ok=True, parents=True)
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_average": os.getloadavg(),
    }
    (folder / f"{name}.json").write_text(json.dumps({"machine": machine, **content}, indent=1) + "\n")


def load() -> str:
    """The load average, to be printed with every table."""
    return "load average " + " ".join(f"{value:.2f}" for value in os.getloadavg())
