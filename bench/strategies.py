"""How far `auto` is from the best strategy, in time and in state: keys × rows in a pane × range/slide × disorder.

Each cell runs every strategy over the same rows on the local host, in turn, three times; a ratio is the median CPU time
of `auto` over the least median, and its peak of state over the least. A cell that is above 1.4 is measured again with
more rounds, since cells last some hundredths of a second. Run it alone on a quiet machine.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import millstream as ms

PANE = 1000
EPOCH = 20_000
AGGREGATES: dict[str, dict[str, Any]] = {
    "sum": {"n": ms.count(), "s": ms.sum("v")},
    "max": {"m": ms.max("v")},
    "avg of doubles": {"a": ms.avg("d")},
}


class Cell(NamedTuple):
    """The least time in seconds, and the ratios of time and state to the least of each strategy."""

    best: float
    ratios: dict[str, tuple[float, float]]

    def __str__(self) -> str:
        shown = ", ".join(f"{name} {took:.2f}/{kept:.2f}" for name, (took, kept) in self.ratios.items())
        return f"{shown} (best {self.best:.3f} s)"


def rows(keys: int, per_pane: float, disorder: int, number: int) -> pa.Table:
    """Rows of so many keys, so many in a pane, each up to `disorder` panes late."""
    rng = np.random.default_rng(1)
    ts = np.sort(rng.integers(0, max(1, int(number / per_pane)) * PANE, number))
    if disorder:
        ts = ts[np.argsort(ts + rng.integers(0, disorder * PANE, number), kind="stable")]
    values = rng.integers(0, 1000, number)
    return pa.table({"ts": ts, "k": rng.integers(0, keys, number), "v": values, "d": values / 7})


def run(table: pa.Table, strategy: str, ratio: int, disorder: int, aggregate: str) -> tuple[float, int]:
    """CPU seconds, and the most bytes of state."""
    engine = ms.Engine(host="local")
    progress = ms.bounded_disorder("ts", disorder * PANE) if disorder else ms.ordered("ts")
    stream = engine.stream("s", table, progress=progress, epoch_rows=EPOCH)
    made = stream.window("ts", range=ratio * PANE, slide=PANE).group_by("k")
    made.agg(**AGGREGATES[aggregate], strategy=strategy).named("q").to_nothing()
    began = time.process_time()
    running = engine.start(ms.available_now(), end_of_stream=True)
    running.await_termination()
    took = time.process_time() - began
    (operator,) = [one for one in running.progress["queries"]["q"]["operators"] if one["operator"] == "aggregate"]
    return took, operator["peak_bytes"]


def measured(table: pa.Table, names: list[str], ratio: int, disorder: int, aggregate: str, rounds: int) -> Cell:
    """Each strategy's median CPU time and its state, over the least of them; all of them in turn in each round."""
    taken: dict[str, list[tuple[float, int]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            taken[name].append(run(table, name, ratio, disorder, aggregate))
    time_of = {name: statistics.median(one[0] for one in some) for name, some in taken.items()}
    state_of = {name: some[0][1] for name, some in taken.items()}
    best, least = min(time_of.values()), max(1, min(state_of.values()))
    return Cell(best, {name: (time_of[name] / max(1e-9, best), state_of[name] / least) for name in names})


def main() -> None:
    """Print a line for each cell, and the worst of `auto`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--again", type=int, default=15, help="rounds of a cell that is above 1.4 at first")
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--only", default="", help="cells whose line begins with this")
    options = parser.parse_args()
    worst: list[tuple[float, float, str]] = []
    for aggregate, keys, per_pane, ratio, disorder in product(
        AGGREGATES, (1, 100, 10_000, 1_000_000), (0.2, 2, 100, 5000), (1, 5, 60), (0, 20)
    ):
        name = f"{aggregate}, {keys} keys, {per_pane} rows a pane, ratio {ratio}, disorder {disorder}"
        if not name.startswith(options.only):
            continue
        number = options.rows // (4 if ratio == 60 and keys > 100 else 1) // (4 if per_pane < 1 else 1)
        table = rows(keys, per_pane, disorder, number)
        names = ["auto", "paned", *(["differential"] if aggregate == "sum" else []), *(["wid"] if ratio < 60 else [])]
        cell = measured(table, names, ratio, disorder, aggregate, options.rounds)
        if cell.ratios["auto"][0] > 1.4:
            print(f"{name}: {cell}, measured again", flush=True)
            cell = measured(table, names, ratio, disorder, aggregate, options.again)
        worst.append((*cell.ratios["auto"], name))
        print(f"{name}: {cell}", flush=True)
    print(f"auto at most {max(worst)[0]:.2f} in time ({max(worst)[2]})")
    print(f"auto at most {max(one[1] for one in worst):.2f} in state; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    main()
