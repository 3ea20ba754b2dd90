"""`millstream check` and `millstream explain`: what the statements mean, without running them."""

from __future__ import annotations

from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millstream.api.engine import Engine
from millstream.api.sql.script import Done, Script
from millstream.cli.failure import WRONG, as_dict, print_json, show_problems


def explain(script: Script, engine: Engine) -> dict[str, str]:
    """The plan of each query, by its name."""
    script.bind(engine)
    plans = engine.explain().split("\n\n")
    return {plan.splitlines()[0].removeprefix("query "): plan for plan in plans if plan}


def check(script: Script, engine: Engine, *, ends: bool, as_json: bool) -> int:
    """Say of each statement whether it holds, and of each query whether it forgets; returns the exit code."""
    done = script.check(engine)
    report = engine.check(end_of_stream=ends)
    wrong = not report.safe or any(one.problems for one in done)
    if as_json:
        contracts = report.to_dict()["queries"]
        print_json({"ok": not wrong, "statements": [_as_dict(one) for one in done], "contracts": contracts})
        return WRONG if wrong else 0
    console = Console()
    view = Table(box=box.SIMPLE_HEAD, show_edge=False)
    view.add_column("line", justify="right")
    for heading in ("statement", "name", "result"):
        view.add_column(heading)
    for one in done:
        verdict = Text(_verdict(one), style="red" if one.problems else "")
        view.add_row(str(one.line), one.kind, Text(one.name), verdict)
    console.print(view)
    if report.answers:
        console.print()
        console.print(Text(str(report)), soft_wrap=True)
    show_problems(Console(stderr=True), [problem for one in done for problem in one.problems])
    return WRONG if wrong else 0


def _verdict(done: Done) -> str:
    if done.problems:
        count = len(done.problems)
        return "1 problem" if count == 1 else f"{count} problems"
    assert done.schema is not None
    return ", ".join(f"{field.name} {field.type}" for field in done.schema)


def _as_dict(done: Done) -> dict[str, Any]:
    columns = {} if done.schema is None else {field.name: str(field.type) for field in done.schema}
    return {
        "line": done.line,
        "kind": done.kind,
        "name": done.name,
        "ok": not done.problems,
        "columns": columns,
        "problems": [as_dict(one) for one in done.problems],
    }
