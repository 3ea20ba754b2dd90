"""Benchmarks and experiments: programs of the source tree, run as they are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

import millstream
from millstream.cli.failure import WRONG
from millstream.core.errors import nearest

_NOT_BENCHMARKS = ("auction_house", "harness", "markup", "report", "targets", "workload_sections")
_EXPERIMENT = "experiment_"


def run(name: str | None, arguments: Sequence[str]) -> int:
    """Run a benchmark by its name or an experiment by its id, or list them; returns the exit code."""
    console = Console(stderr=name is not None, highlight=False)
    folder = Path(millstream.__file__).parents[2] / "bench"
    known = _programs(folder)
    if not known:
        console.print(
            f"there are no benchmarks in {folder}\nHint: They come with the source tree, not with the package."
        )
        return WRONG
    if name is None:
        console.print("\n".join(known))
        return 0
    if name not in known:
        console.print(f'there is no benchmark "{name}"\nHint: {nearest(name, list(known))}')
        return WRONG
    done = subprocess.run([sys.executable, *known[name], *arguments], check=False)
    return done.returncode


def _programs(folder: Path) -> dict[str, list[str]]:
    """What to run for each name: a program of the folder, or the laboratory with the id of an experiment."""
    programs = {path.stem: [str(path)] for path in folder.glob("*.py") if path.stem not in _NOT_BENCHMARKS}
    files = (folder / "lab").glob(f"{_EXPERIMENT}*.py")
    ids = sorted(path.stem.removeprefix(_EXPERIMENT).replace("_", ".") for path in files)
    laboratory = str(folder / "laboratory.py")
    return {**dict(sorted(programs.items())), **{one: [laboratory, one] for one in ids}}
