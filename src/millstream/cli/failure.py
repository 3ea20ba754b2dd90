"""What a command says when something is wrong, and the code it exits with."""

from __future__ import annotations

import datetime as dt
import json
import sys
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

from millstream.core.errors import ContractError, MillstreamError, SqlError
from millstream.core.problem import Problem
from millstream.plan.report import Report

FAILED, WRONG, STOPPED, TERMINATED = 1, 2, 130, 143


def report(error: MillstreamError, *, as_json: bool = False) -> None:
    """Say what is wrong: to people on the error stream, to machines as one line of JSON."""
    if as_json:
        problems = error.problems if isinstance(error, SqlError) else ()
        facts: list[Any] = [as_dict(one) for one in problems] or _refusals(error)
        facts = facts or [{"fact": error.fact, "hint": error.hint}]
        print_json({"ok": False, "error": type(error).__name__, "problems": facts})
        return
    console = Console(stderr=True)
    console.print(Text(str(error)), soft_wrap=True)
    for note in getattr(error, "__notes__", ()):
        console.print(Text(note, style="dim"), soft_wrap=True)


def _refusals(error: MillstreamError) -> list[dict[str, Any]]:
    """The operators that a contract error is about."""
    found = error.report if isinstance(error, ContractError) else None
    answers = found.answers if isinstance(found, Report) else ()
    return [{"query": one.checked.name, **refusal.to_dict()} for one in answers for _, refusal in one.checked.refusals]


def as_dict(problem: Problem) -> dict[str, Any]:
    """A problem for machines."""
    return {
        "line": problem.line,
        "column": problem.column,
        "fact": problem.fact,
        "hint": problem.hint,
        "not_yet": problem.not_yet,
    }


def show_problems(console: Console, problems: Iterable[Problem]) -> None:
    """Problems for people."""
    for one in problems:
        console.print(Text(str(one)), soft_wrap=True)
        console.print()


def print_json(value: Any) -> None:
    """One line of JSON on standard output."""
    sys.stdout.write(json.dumps(value, default=_text, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, dt.date | dt.time) else str(value)
