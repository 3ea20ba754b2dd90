"""Is today's code slower than that of an earlier commit?

    python bench/versions.py REVISION [--cells "local, join;Spark, tumbling"] [--rounds 3]

Both versions run in turn, each in a process of its own that stays alive, with the same packages and the same rows. The
first run of each cell is not counted. Prints before ÷ now: above 1, today's code is faster. Run it alone on a quiet
machine.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import load, save, show
from version_cells import CELLS

ROOT = Path(__file__).parents[1]


class Version:
    """A process that measures cells with the sources of one version."""

    def __init__(self, tree: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(ROOT / "bench" / "version_cells.py")],
            env={**os.environ, "PYTHONPATH": str(tree / "src")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def measure(self, cell: str) -> dict[str, float]:
        """The figures of one run."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(cell + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("figures "):
                return json.loads(line.removeprefix("figures "))
        raise SystemExit(f"{cell}: the process ended")

    def end(self) -> None:
        """No more cells."""
        self._process.terminate()
        self._process.wait()


def compare(before: Version, now: Version, cell: str, rounds: int) -> dict[str, float]:
    """Before ÷ now, medians of runs in turn."""
    taken: tuple[list[dict[str, float]], list[dict[str, float]]] = ([], [])
    for turn in range(rounds + 1):
        for version, figures in zip((before, now), taken, strict=True):
            found = version.measure(cell)
            if turn:
                figures.append(found)
    old, new = taken
    return {what: statistics.median(o[what] for o in old) / statistics.median(n[what] for n in new) for what in old[0]}


def main() -> None:
    """All cells."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", help="the earlier commit")
    parser.add_argument("--cells", default=";".join(CELLS))
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        tree = Path(place, "before")
        subprocess.run(["git", "worktree", "add", "--detach", str(tree), options.revision], check=True, cwd=ROOT)
        before, now = Version(tree), Version(ROOT)
        try:
            results = {}
            for cell in options.cells.split(";"):
                results[cell] = compare(before, now, cell, options.rounds)
                print(cell, results[cell], load(), flush=True)
        finally:
            before.end()
            now.end()
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], check=True, cwd=ROOT)
    shown = [(cell, ratios["wall"], ratios.get("cpu", "")) for cell, ratios in results.items()]
    show(f"{options.revision} ÷ now ({load()})", ("cell", "wall", "CPU"), shown)
    save("versions", {"before": options.revision, "rounds": options.rounds, "cells": results})


if __name__ == "__main__":
    main()
