"""A case checked: by the definition, in SQL, by other strategies, in another order, and on other hosts."""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fuzz.aggregates import UNFIT
from fuzz.case import Case
from fuzz.compare import differs
from fuzz.hosts import Ask, FaultError, Left, Played, local, on_disk, on_spark
from fuzz.question import Question
from fuzz.values import Row


def failures(case: Case, hosts: tuple[str, ...] = ("local", "disk"), session: Any = None) -> list[str]:
    """What is wrong with a case, a line or two each; none if all is well."""
    out: list[str] = []
    try:
        _check(case, hosts, session, out)
    except FaultError as error:
        out.append(f"{error}\n{_where(error)}")
    return out


def _where(error: BaseException) -> str:
    """The last calls of the cause."""
    cause = error.__cause__ or error
    return "".join(traceback.format_exception(cause)[-6:])


def _check(case: Case, hosts: tuple[str, ...], session: Any, out: list[str]) -> None:
    judged = {name: one.judged() for name, one in case.feeds.items()}
    alone = [local(case, [question.ask]) for question in case.questions]
    for i, (question, played) in enumerate(zip(case.questions, alone, strict=True)):
        mark = f"q{i}"
        if played.refused is None:
            _by_definition(mark, question, played.left[0], judged, out)
        elif _expected(question, judged) is not None and not played.refused.startswith(REFUSABLE):
            out.append(f"{mark}: refused, and has an answer: {played.refused}")
        _in_other_words(mark, case, question, played, out)
    asks = [question.ask for question in case.questions]
    if "disk" in hosts:
        with TemporaryDirectory(dir=QUICK) as root:
            _same("disk", case, alone, on_disk(case, asks, Path(root) / "ck"), out)
    if "spark" in hosts:
        with TemporaryDirectory(dir=QUICK) as root:
            _same("spark", case, alone, on_spark(case, asks, Path(root) / "ck", session), out)


QUICK = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Checkpoints are for seconds: in memory they need not wait for a disk."""
REFUSABLE = ("PlanError", "SchemaError", "WindowError", "ContractError")


def _expected(question: Question, judged: dict[str, tuple[list[Row], list[Row], list[Row]]]) -> list[Row] | None:
    if question.answer is None:
        return None
    return question.answer({name: accepted for name, (accepted, _, _) in judged.items()})


def _by_definition(mark: str, question: Question, left: Left, judged: dict[str, Any], out: list[str]) -> None:
    expected = _expected(question, judged)
    if expected is not None:
        unfit = sum(UNFIT in row for row in expected)
        rejected = sum("does not fit" in row["reason"] for row in left.rejected)
        if not question.filtered and unfit != rejected:
            out.append(f"{mark}: {unfit} results do not fit, and {rejected} are rejected")
        expected = [row for row in expected if UNFIT not in row]
        columns = question.columns
        cut: Callable[[Row], Row] = lambda row: {name: row[name] for name in columns} if columns else row  # noqa: E731
        wrong = differs(map(cut, expected), map(cut, left.rows), question.near)
        if wrong:
            out.append(f"{mark}: not the answer by the definition: {wrong}")
    late = sum(len(judged[name][1]) for name in question.reads)
    if late != len(left.late):
        out.append(f"{mark}: {len(left.late)} late rows, and not {late}")
    if len(question.reads) == 1:
        ids = {row["id"] for row in judged[question.reads[0]][2]}
        missing = ids - {row["id"] for row in left.rejected}
        if missing:
            out.append(f"{mark}: rows {missing} are not rejected")


def _in_other_words(mark: str, case: Case, question: Question, played: Played, out: list[str]) -> None:
    others: list[tuple[str, Ask]] = [("another strategy", one) for one in question.others]
    if question.sql is not None:
        text = question.sql
        others.append(("SQL", lambda engine, _: engine.sql(text)))
    for what, ask in others:
        again = local(case, [ask])
        if played.refused is not None and again.refused is not None:
            continue
        _one(f"{mark} by {what}", question, played, again, 0, out)
    if question.parts:
        _parts(mark, case, question, out)
    if not question.arrival and not any(one.promise == "rows" for one in case.feeds.values()):
        rnd = random.Random(case.seed)
        again = local(case, [question.ask], lambda rows: rnd.sample(rows, len(rows)))
        if (played.refused is None) != (again.refused is None):
            out.append(f"{mark} in another order: {played.refused} and {again.refused}")
        elif played.refused is None:
            _one(f"{mark} in another order", question, played, again, 0, out)


def _parts(mark: str, case: Case, question: Question, out: list[str]) -> None:
    every = [local(case, [ask]) for ask in question.parts]
    if any(one.refused for one in every):
        return
    accepted, _, rejected = case.feeds["s"].judged()
    found = [row["id"] for one in every for row in one.left[0].rows] + [row["id"] for row in every[0].left[0].rejected]
    if sorted(found) != sorted(row["id"] for row in (*accepted, *rejected)):
        out.append(f"{mark}: a condition, its negation and unknown are not all rows: {sorted(found)}")


def _same(what: str, case: Case, alone: list[Played], together: Played, out: list[str]) -> None:
    """Queries in one engine on a host give what each gives alone in this process."""
    refused = [one.refused for one in alone if one.refused is not None]
    if refused or together.refused is not None:
        if together.refused not in refused:
            out.append(f"{what}: {together.refused}; alone: {refused}")
        return
    for i, (question, played) in enumerate(zip(case.questions, alone, strict=True)):
        _one(f"q{i} on {what}", question, played, together, i, out)


def _one(what: str, question: Question, played: Played, again: Played, at: int, out: list[str]) -> None:
    if played.refused != again.refused:
        out.append(f"{what}: {played.refused} and {again.refused}")
        return
    if played.refused is not None:
        return
    here, there = played.left[0], again.left[at]
    for name, a, b in (("rows", here.rows, there.rows), ("late", here.late, there.late)):
        if wrong := differs(a, b, question.near):
            out.append(f"{what}: other {name}: {wrong}")
    rejected = [
        [{k: v for k, v in row.items() if k not in ("raw", "reason")} for row in one.rejected] for one in (here, there)
    ]
    if wrong := differs(rejected[0], rejected[1]):
        out.append(f"{what}: other rejected rows: {wrong}")
    if here.schema != there.schema:
        out.append(f"{what}: other columns: {here.schema} and {there.schema}")


def reproduction(seed: int, hosts: tuple[str, ...]) -> str:
    """A line to paste."""
    return f"PYTHONPATH=src:tests .venv/bin/python -m fuzz --cases 1 --seed {seed} --hosts {','.join(hosts)} --show"
