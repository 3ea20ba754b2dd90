"""Every case, on every host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from support.transcripts import Case, Driver, Left, compare, play

CASES = sorted(Path(__file__).parent.glob("cases/*.yaml"))


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_transcript(path: Path, host: Callable[[Case], Driver]) -> None:
    case = yaml.safe_load(path.read_text())

    assert [] == play(case, host(case)), case["name"]


class Recorded:
    """A driver that says what it was told to say."""

    def __init__(self, *left: Left) -> None:
        self.left = list(left)

    def epoch(self, rows: Any, punctuation: Any, clock: Any) -> Left:
        return self.left.pop(0)

    def end(self) -> Left:
        return self.left.pop(0)

    def refresh(self, tables: Any) -> None:
        """It has none."""


def left(*rows: dict[str, Any]) -> Left:
    return {"results": list(rows), "late": [], "rejected": []}


ONE = {"name": "x", "streams": {"s": {"columns": {"ts": "int64"}}}}


def test_output_that_nobody_expected_fails_before_the_next_event() -> None:
    case = {**ONE, "events": [{"rows": [1]}, {"rows": [2]}]}

    assert ["before event 2: results: not expected: {'n': 1}"] == play(case, Recorded(left({"n": 1}), left()))


def test_output_that_nobody_expected_fails_at_the_end() -> None:
    case = {**ONE, "events": [{"rows": [1]}]}

    assert ["event 2: results: not expected: {'n': 1}"] == play(case, Recorded(left({"n": 1})))


def test_output_that_was_expected_and_did_not_come_fails() -> None:
    case = {**ONE, "events": [{"rows": [1]}, {"expect": {"results": [{"n": 1}]}}]}

    assert ["event 2: results: missing: {'n': 1}"] == play(case, Recorded(left()))


def test_an_expected_row_names_only_the_columns_it_is_about_and_takes_one_row() -> None:
    assert ["not expected: {'n': 1, 'k': 'b'}"] == compare([{"n": 1}], [{"n": 1, "k": "a"}, {"n": 1, "k": "b"}])
