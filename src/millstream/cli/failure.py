"""What a command says when something is wrong, and the code it exits with."""

from __future__ import annotations

import datetime as dt
import json
import sys
import traceback
from collections.abc import Iterable
from typing import Any

from rich.console import Console
from rich.text import Text

from millstream.core.errors import ContractError, MillstreamError, SqlError
from millstream.core.problem import Problem
from millstream.plan.check_report import CheckReport
from millstream.sql.hints import in_sql

FAILED, WRONG, STOPPED, TERMINATED = 1, 2, 130, 143


_DEBUG = "Add --debug after millstream to see where in the program it came from."
_shown = {"traces": False}


def show_traces(*, show: bool) -> None:
    """Have every error shown with its trace, or none."""
    _shown["traces"] = show


def code_of(error: BaseException) -> int:
    """The exit code for an error: 2 for a wrong statement, 1 for everything else."""
    return WRONG if isinstance(error, SqlError | ContractError) else FAILED


def report(error: BaseException, *, as_json: bool = False) -> None:
    """Say what is wrong: to people on the error stream, to machines as one line of JSON."""
    if _shown["traces"]:
        sys.stderr.write("".join(traceback.format_exception(error)))
    ours = _in_sql(error) if isinstance(error, MillstreamError) else _foreign(error)
    if as_json:
        problems = ours.problems if isinstance(ours, SqlError) else ()
        facts: list[Any] = [as_dict(one) for one in problems] or _refusals(ours)
        facts = facts or [{"fact": ours.fact, "hint": ours.hint}]
        print_json({"ok": False, "error": type(error).__name__, "problems": facts})
        return
    console = Console(stderr=True)
    console.print(Text(str(ours)), soft_wrap=True)
    for note in getattr(error, "__notes__", ()):
        console.print(Text(note, style="dim"), soft_wrap=True)


def _foreign(error: BaseException) -> MillstreamError:
    """An error that is not ours, in a line: what it is, and the first thing it says."""
    said = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    if isinstance(error, OSError) and error.strerror:
        said = error.strerror.lower() + (f': "{error.filename}"' if error.filename else "")
        return MillstreamError(said, hint=_DEBUG)
    return MillstreamError(f"{type(error).__name__}: {said}" if said else type(error).__name__, hint=_DEBUG)


def _in_sql(error: MillstreamError) -> MillstreamError:
    """The error with its hint in SQL: on the command line every question is."""
    hint = in_sql(error.hint)
    if hint == error.hint or isinstance(error, SqlError | ContractError):
        return error
    return MillstreamError(error.fact, hint=hint)


def _refusals(error: MillstreamError) -> list[dict[str, Any]]:
    """The operators that a contract error is about."""
    found = error.report if isinstance(error, ContractError) else None
    answers = found.answers if isinstance(found, CheckReport) else ()
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
