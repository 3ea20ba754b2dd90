"""The document tells what the experiments found, and why where it is not what was published."""

import json
from pathlib import Path
from typing import Any

from report import laboratory
from workload_sections import nexmark, sweeps


def kept(name: str, *verdicts: dict[str, Any]) -> dict[str, Any]:
    machine = {"cores": 2, "python": "3.11", "load_average": [1, 1, 1]}
    return {
        "id": name,
        "title": f"title of {name}",
        "seconds": 3.2,
        "machine": machine,
        "notes": ["a note"],
        "verdicts": list(verdicts),
    }


def verdict(claim: str, *, why: str = "") -> dict[str, Any]:
    return {"claim": claim, "published": "0.3", "found": "0.26", "agrees": not why, "why": why}


def test_every_claim_is_a_row_and_a_difference_has_its_reason(tmp_path: Path) -> None:
    runs = [kept("6.4", verdict("H1"), verdict("H1", why="columns.")), kept("8.5", verdict("H10"))]
    for run in runs:
        (tmp_path / f"lab-{run['id']}.json").write_text(json.dumps(run))
    text = laboratory(tmp_path)

    assert "| 6.4 | title of 6.4 | 3 |" in text
    assert "- 6.4: a note." in text
    assert "2 of 3 claims agree." in text
    assert "| 6.4 | H1 | 0.3 | 0.26 | yes |" in text
    assert "| 8.5 | H10 | 0.3 | 0.26 | yes |" in text
    assert "- 6.4, H1: 0.3. Here: columns." in text


def test_without_experiments_there_is_no_section(tmp_path: Path) -> None:
    assert "" == laboratory(tmp_path)


def test_sweeps_and_queries_are_tables() -> None:
    machine = {"cores": 2, "python": "3.11", "load_average": [1, 1, 1]}
    slide = {"windows": 3, "to_tumbling": 1.5, "to_duckdb": 2.0, "buckets": None, "published": 20.0}
    many = {"windows": 7, "to_one": 1.0, "to_duckdb": 0.5, "apart": 3.0, "published": None}
    figures = {"machine": machine, "rows": 1000, "rounds": 3, "slides": {"500": slide}, "at_once": {"80": many}}
    query = {"machine": machine, "rows": 1000, "epochs": 10, "cells": {"q5": {"rows_out": 9, "ratio": 1.25}}}

    assert "| 0.5 s | 3 | 1.5 | 2 | - | 20 |" in sweeps(figures)
    assert "| 80 | 7 | 1 | 0.5 | 3 | - |" in sweeps(figures)
    assert "| q5 | 9 | 1.25 |" in nexmark(query)
