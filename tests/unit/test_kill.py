"""Kills on the durable local host. `MILLSTREAM_LOCAL_KILLS` says how many of each kind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from support.kills import send

pytestmark = pytest.mark.survival
KILLS = int(os.environ.get("MILLSTREAM_LOCAL_KILLS", "4"))


@pytest.mark.parametrize("what", ["windows", "pairs", "ring"])
def test_kills_at_random_instants_lose_and_double_nothing(what: str, tmp_path: Path) -> None:
    assert send(KILLS, what, "local", tmp_path) >= KILLS
