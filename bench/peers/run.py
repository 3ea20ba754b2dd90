"""Millstream and its peers, side by side: the same files, the same sums, then wall time and CPU as ratios.

    python bench/peers/run.py [--cells W2-60,W4-5/large] [--engines flink,bytewax] [--rounds 3] [--small | --rows N]
    python bench/peers/run.py --again W2-60/large --rounds 9

`make peers` runs all of it. Environments and inputs are made under .peers, once. Each engine is one process that stays;
in a cell the engines take turns, round after round. No time is shown before every answer of the cell is that of DuckDB
over the whole files; another answer stops everything. Cells that are not asked for keep the figures they had. With
fewer rows than usual figures go to peers-small.json, for they say nothing about speed.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from harness import RESULTS, load, save, show

from peers.matrix import Cell, cells
from peers.ratios import NEAR, Mismatch, apart, costs, ratios
from peers.stage import Stage

ROOT = Path(__file__).parents[2] / ".peers"
_SMALL = 20_000


def table(name: str, cell: dict[str, Any]) -> None:
    """What a cell has shown."""
    by = {(one.label, one.host): one for one in ratios(name, cell)}
    rows: list[tuple[Any, ...]] = []
    for label, cost in costs(cell).items():
        shown = [by.get((label, host)) for host in ("spark", "local")]
        compared = [value for one in shown for value in ((one.wall, one.cpu) if one else ("", ""))]
        rows.append((label, *compared, cost.seconds, cost.cpu_per_row, f"{cost.peak_bytes / 2**20:.0f}"))
    rows += [(label, reason) for label, reason in cell["left_out"].items()]
    show(
        f"{name}: {cell['says']}; {cell['rows_in']:,} rows in, {cell['rows_out']:,} out ({load()})",
        ("", "wall ÷ on Spark", "CPU a row", "wall ÷ local", "CPU a row", "seconds", "µs CPU a row", "peak MB"),
        rows,
    )


def again(stage: Stage, cell: Cell, rounds: int) -> dict[str, Any]:
    """One cell measured twice, and how far the two lie apart; once before, since the processes are new."""
    stage.measure(cell, rounds)
    first, second = (stage.measure(cell, rounds) for _ in range(2))
    table(cell.name, first)
    table(cell.name, second)
    found = apart(first, second)
    shown = [(one["label"], one["host"], f"{one['wall']:.0%}", f"{one['cpu']:.0%}") for one in found]
    show(f"{cell.name} twice ({load()}; at most {NEAR:.0%} is wanted)", ("", "÷ on", "wall apart", "CPU apart"), shown)
    return {"apart": found, "load": os.getloadavg(), "rounds": rounds}


def options() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", default="", help="workloads, or one size of one: W1,W4-5/large")
    parser.add_argument("--engines", default="", help="which peers; Millstream is always there")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, help="no input has more rows a stream")
    parser.add_argument("--small", action="store_true", help=f"as --rows {_SMALL}: are the answers right?")
    parser.add_argument("--again", metavar="CELL", help="measure one cell twice, and compare")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one repetition")
    return parser.parse_args()


def main() -> None:
    """Measure what is asked for."""
    given = options()
    most = _SMALL if given.small else given.rows
    try:
        chosen = list(cells(_words(given.again or given.cells), _words(given.engines), most))
    except ValueError as error:
        sys.exit(f"peers: {error}")
    file = "peers" if most is None else "peers-small"
    path = RESULTS / f"{file}.json"
    kept: dict[str, Any] = json.loads(path.read_text()) if path.exists() else {}
    figures: dict[str, Any] = {key: kept.get(key, {}) for key in ("cells", "again", "versions", "left_out")}
    with Stage(ROOT, given.timeout) as stage:
        stage.make_engines(chosen)
        stage.make_inputs(chosen)
        for cell in chosen:
            print(f"peers: {cell.name}, {cell.data.rows:,} rows a stream", flush=True)
            try:
                if given.again:
                    figures["again"][cell.name] = again(stage, cell, given.rounds)
                else:
                    figures["cells"][cell.name] = stage.measure(cell, given.rounds)
                    table(cell.name, figures["cells"][cell.name])
            except Mismatch as error:
                sys.exit(f"peers: {error}")
            figures["versions"] |= stage.versions
            figures["left_out"] = stage.left_out
            save(file, figures)


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


if __name__ == "__main__":
    main()
