"""Where engines take turns: it makes what they need, starts each when it is first needed, and checks what they say."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from peers import data, environments, oracle
from peers.environments import Missing
from peers.matrix import Cell, Contender
from peers.process import Failed, Process
from peers.ratios import check

_MODULES = {
    "millstream-spark": "millstream_spark",
    "millstream-local": "millstream_local",
    "spark": "spark_native",
    "flink": "flink_sql",
    "bytewax": "bytewax_flow",
    "duckdb": "duckdb_batch",
    "polars": "polars_batch",
}
_QUICK = 1.5
"""A repetition below so many seconds is taken a few times in a round: one alone would be mostly chance."""
_TIMES = 7
_SLOW = 15
"""One that takes longer is left out of every other round: it is far behind, and minutes count."""
_KEPT = ("seconds", "cpu_seconds", "peak_bytes", "startup_seconds", "submit_seconds", "load")


class Stage:
    """The engines that are running, and why others are not."""

    def __init__(self, root: Path, timeout: float) -> None:
        """Everything that is made is under `root`."""
        self._root, self._timeout = root, timeout
        self._running: dict[str, Process] = {}
        self._variables: dict[str, str] = {}
        self.versions: dict[str, dict[str, str]] = {}
        self.left_out: dict[str, str] = {}
        """Engines that this machine cannot run, and the reasons."""

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._running.values():
            process.end()

    def make_engines(self, cells: Iterable[Cell]) -> None:
        """Environments and the jar; what cannot be had is left out."""
        for engine in sorted({one.engine for cell in cells for one in cell.contenders}):
            try:
                if engine in environments.ENVIRONMENT:
                    environments.make(environments.ENVIRONMENT[engine], self._root)
                if engine == "flink":
                    self._variables["PEERS_FLINK_JAR"] = str(environments.flink_jar(self._root))
            except Missing as reason:
                print(f"peers: {engine} is left out: {reason}", flush=True)
                self.left_out[engine] = str(reason)

    def make_inputs(self, cells: Iterable[Cell]) -> None:
        """All files, and the oracle's answers, before anything is measured."""
        for cell in cells:
            data.make(cell.warm, self._root / "data")
            self.expected(cell)

    def measure(self, cell: Cell, rounds: int) -> dict[str, Any]:
        """All contenders in turn, so many rounds; an answer that is not the oracle's raises."""
        expected = self.expected(cell)
        present = [one for one in cell.contenders if one.engine not in self.left_out]
        runs: dict[str, list[dict[str, Any]]] = {one.label: [] for one in present}
        failed = {one.label: self.left_out[one.engine] for one in cell.contenders if one.engine in self.left_out}
        for turn in range(rounds):
            first = turn % len(present)
            for one in present[first:] + present[:first]:
                if one.label in failed or (turn % 2 and _is_slow(runs[one.label])):
                    continue
                try:
                    runs[one.label] += self._repeat(cell, one, expected)
                except Failed as reason:
                    print(f"peers: {cell.name} without {one.label}: {reason}", flush=True)
                    failed[one.label] = str(reason)
        return {
            "workload": cell.workload,
            "says": cell.asked.says,
            "rows": cell.data.rows,
            "keys": cell.data.keys,
            "rows_in": cell.data.rows_in,
            "rows_out": expected[0],
            "checksum": expected[1],
            "rounds": rounds,
            "runs": {label: lines for label, lines in runs.items() if label not in failed},
            "left_out": failed,
        }

    def expected(self, cell: Cell) -> tuple[int, int]:
        """What the oracle answers; it is asked once for each input and workload."""
        folder = data.make(cell.data, self._root / "data")
        path = folder / f"{cell.workload}.json"
        if not path.exists():
            path.write_text(json.dumps(oracle.answer(cell.asked, folder)))
        rows, checksum = json.loads(path.read_text())
        return rows, checksum

    def _repeat(self, cell: Cell, one: Contender, expected: tuple[int, int]) -> list[dict[str, Any]]:
        kept: list[dict[str, Any]] = []
        while not kept or (kept[0]["seconds"] < _QUICK and len(kept) < _TIMES):
            line = self._ask(cell, one)
            check(cell.name, one.label, line, expected)
            self.versions[one.engine] = line["versions"]
            kept.append({key: line[key] for key in _KEPT if key in line})
        return kept

    def _ask(self, cell: Cell, one: Contender) -> dict[str, Any]:
        job = {
            "workload": cell.workload,
            "store": one.store,
            "rows": cell.data.rows,
            "folder": str(self._root / "data" / cell.data.name),
            "warm": str(self._root / "data" / cell.warm.name),
        }
        if one.engine not in self._running:
            python = environments.python_of(one.engine, self._root)
            log = self._root / "logs" / f"{one.engine}-{time.strftime('%H%M%S')}.log"
            self._running[one.engine] = Process(python, f"peers.engines.{_MODULES[one.engine]}", log, self._variables)
        try:
            return self._running[one.engine].ask(job, self._timeout)
        except Failed:
            del self._running[one.engine]
            raise


def _is_slow(runs: list[dict[str, Any]]) -> bool:
    return bool(runs) and runs[0]["seconds"] > _SLOW
