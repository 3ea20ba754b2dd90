"""Which experiments there are: the files of this folder, by their ids."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from lab.outcome import Outcome

_PREFIX = "experiment_"


def ids() -> list[str]:
    """The ids, in order.

    >>> ids()[:3]
    ['6.1', '6.2', '6.3']
    """
    return sorted(
        path.stem.removeprefix(_PREFIX).replace("_", ".") for path in Path(__file__).parent.glob(f"{_PREFIX}*.py")
    )


def find(name: str) -> Callable[[float], Outcome]:
    """The program of one experiment: from a scale to an outcome."""
    return import_module(f"lab.{_PREFIX}{name.replace('.', '_')}").run
