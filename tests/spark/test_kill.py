"""Kills on Spark. `MILLSTREAM_KILLS` says how many of each kind: a start of the JVM takes most of the time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.kills import send

pytestmark = [pytest.mark.spark, pytest.mark.survival]
KILLS = {
    what: int(os.environ.get("MILLSTREAM_KILLS", few))
    for what, few in (("windows", "3"), ("pairs", "2"), ("ring", "2"))
}


@pytest.mark.parametrize("what", KILLS)
def test_kills_at_random_instants_lose_and_double_nothing(what: str, tmp_path: Path) -> None:
    assert send(KILLS[what], what, "spark", tmp_path) >= KILLS[what]
