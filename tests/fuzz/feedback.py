"""Feedback at random: `python -m fuzz.feedback --cases 10000 --seed 7` plays cases against runs without feedback.

A case is made of its number: a query of `support.feedback`, rows in epochs, and what its reader says and takes back.
Every third runs with any part of the ignored rows left out (Def 2), every fourth on a host with a checkpoint.

`--spark` plays them on Spark, over Parquet files: the plug is pulled at some step while feedback comes and goes, and
another start goes on from the checkpoint.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

from support.bags import freeze
from support.crash import STEPS, pulled
from support.disk import rows_of
from support.feedback import (
    QUESTIONS,
    Outcome,
    check_def_1,
    partly,
    run,
    some_case,
)
from support.in_process import engine as engine_on_disk


def play(seed: int) -> None:
    """One case; raises AssertionError if a row is invented, or a wanted one is missing."""
    rnd = random.Random(seed)
    case = some_case(rnd, rnd.choice(list(QUESTIONS)))
    without = run(case, heeding=False)
    heeding: Outcome
    if seed % 4 == 0:
        with tempfile.TemporaryDirectory() as folder:
            heeding = run(case, engine=engine_on_disk(Path(folder), rnd.choice([1, 3])))
    elif seed % 3 == 0:
        with pytest.MonkeyPatch.context() as patch, partly(rnd, patch):
            heeding = run(case)
    else:
        heeding = run(case)
    check_def_1(without.rows, heeding.rows, heeding.said)
    assert heeding.books["unaccounted"] == 0, heeding.books


def play_on_spark(seed: int) -> bool:
    """One case on Spark; the plug is pulled at some step, and Def 1 holds at the end. Was it pulled?"""
    from support.feedback_on_spark import attempt_on_spark, write_epochs  # noqa: PLC0415 - it starts a JVM

    rnd = random.Random(seed)
    case = some_case(rnd, rnd.choice(list(QUESTIONS)))
    step, nth = rnd.choice(list(STEPS)), rnd.randint(0, 8)
    without = run(case, heeding=False)
    said: list[Any] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_epochs(case, folder)
        few = seed % 2 == 0
        with pulled(step, nth) as plug:
            error = attempt_on_spark(case, folder, said, few=few)
        if plug.pulled:
            assert error is not None
            error = attempt_on_spark(case, folder, said, few=few)
        assert error is None, error
        check_def_1(without.rows, [freeze(row) for row in rows_of(folder / "out")], said)
    return plug.pulled


def main() -> int:
    """Play cases until there are enough; 1 if any failed."""
    parser = argparse.ArgumentParser(prog="fuzz.feedback", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", default="random", help="the number of the first case, or random")
    parser.add_argument("--spark", action="store_true", help="on Spark, with kills")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    given = parser.parse_args()
    first = random.SystemRandom().randrange(10**9) if given.seed == "random" else int(given.seed)
    logging.disable(logging.ERROR)
    until, pulls = time.monotonic() + 60 * given.minutes, 0
    played, failed = 0, 0
    for seed in range(first, first + given.cases):
        if time.monotonic() > until:
            break
        played += 1
        try:
            if given.spark:
                pulls += play_on_spark(seed)
                print(f"case {seed} passed, {pulls} kills so far", flush=True)  # noqa: T201
            else:
                play(seed)
        except AssertionError as error:
            failed += 1
            print(f"FAILED case {seed}: {error}\nrepeat: python -m fuzz.feedback --cases 1 --seed {seed}", flush=True)  # noqa: T201
    kills = f", {pulls} of them with a kill" if given.spark else ""
    print(f"feedback: {played - failed} passed{kills}, {failed} failed, from case {first}")  # noqa: T201
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
