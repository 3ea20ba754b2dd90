"""Pieces of docs/benchmarks.md: tables, and the conditions that figures were taken under."""

from __future__ import annotations

from typing import Any


def table(head: list[str], rows: list[list[Any]]) -> str:
    """A Markdown table; floats with three digits."""
    shown = [[f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *shown])


def conditions(figures: dict[str, Any]) -> str:
    """On what, and how busy it was."""
    machine = figures["machine"]
    load = " ".join(f"{value:.1f}" for value in machine["load_average"])
    return f"{machine['cores']} cores, Python {machine['python']}, load average {load} at the end."
