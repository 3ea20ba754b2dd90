"""Feedback at random: `python -m fuzz.feedback --cases 10000 --seed 7` plays cases against runs without feedback.

A case is made of its number: a query of `support.feedback`, rows in epochs, and what its reader says and takes back.
Every third runs with any part of the ignored rows left out (Def 2), every fourth on a host with a checkpoint.
"""

from __future__ import annotations

import argparse
import logging
import random
import sys
import tempfile
import time
from pathlib import Path

import pytest

from support.feedback import QUESTIONS, Outcome, check_def_1, partly, run, some_case
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


def main() -> int:
    """Play cases until there are enough; 1 if any failed."""
    parser = argparse.ArgumentParser(prog="fuzz.feedback", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", default="random", help="the number of the first case, or random")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    given = parser.parse_args()
    first = random.SystemRandom().randrange(10**9) if given.seed == "random" else int(given.seed)
    logging.disable(logging.ERROR)
    until, played, failed = time.monotonic() + 60 * given.minutes, 0, 0
    for seed in range(first, first + given.cases):
        if time.monotonic() > until:
            break
        played += 1
        try:
            play(seed)
        except AssertionError as error:
            failed += 1
            print(f"FAILED case {seed}: {error}\nrepeat: python -m fuzz.feedback --cases 1 --seed {seed}", flush=True)  # noqa: T201
    print(f"feedback: {played - failed} passed, {failed} failed, from case {first}")  # noqa: T201
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
