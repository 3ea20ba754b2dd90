"""Benchmarks: programs of the source tree, run as they are."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

import millstream
from millstream.cli.failure import WRONG
from millstream.core.errors import nearest

_NOT_BENCHMARKS = ("harness",)


def run(name: str | None, arguments: Sequence[str]) -> int:
    """Run a benchmark, or list them; returns the exit code."""
    console = Console(stderr=name is not None, highlight=False)
    folder = Path(millstream.__file__).parents[2] / "bench"
    known = sorted(path.stem for path in folder.glob("*.py") if path.stem not in _NOT_BENCHMARKS)
    if not known:
        console.print(
            f"there are no benchmarks in {folder}\nHint: They come with the source tree, not with the package."
        )
        return WRONG
    if name is None:
        console.print("\n".join(known))
        return 0
    if name not in known:
        console.print(f'there is no benchmark "{name}"\nHint: {nearest(name, known)}')
        return WRONG
    done = subprocess.run([sys.executable, str(folder / f"{name}.py"), *arguments], check=False)
    return done.returncode
