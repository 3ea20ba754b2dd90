"""The fuzzer as a command: `python -m fuzz --cases 10000 --seed random --hosts local,disk --minutes 30`."""

from __future__ import annotations

import argparse
import logging
import random
import sys
import time

from fuzz.case import case
from fuzz.check import failures, reproduction


def main() -> int:
    """Play cases until there are enough or time is up; 1 if any failed."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", default="random", help="the number of the first case, or random")
    parser.add_argument("--hosts", default="local,disk", help="of local, disk and spark")
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--show", action="store_true", help="print each case")
    given = parser.parse_args()
    hosts = tuple(given.hosts.split(","))
    first = random.SystemRandom().randrange(10**9) if given.seed == "random" else int(given.seed)
    logging.disable(logging.WARNING)  # late rows are meant
    session = None
    if "spark" in hosts:
        from support.spark_driver import session as spark_session  # noqa: PLC0415 - starts Java

        session = spark_session()
    print(f"cases from {first} on {', '.join(hosts)}", flush=True)  # noqa: T201
    until, passed, failed = time.monotonic() + 60 * given.minutes, 0, 0
    for seed in range(first, first + given.cases):
        if time.monotonic() > until:
            break
        made = case(seed)
        if given.show:
            print(made)  # noqa: T201
        wrong = failures(made, hosts, session)
        failed, passed = failed + bool(wrong), passed + (not wrong)
        if (passed + failed) % 500 == 0:
            print(f"{passed} passed, {failed} failed, up to case {seed}", flush=True)  # noqa: T201
        if wrong:
            print(f"\nFAILED case {seed}", *wrong, reproduction(seed, hosts), sep="\n", flush=True)  # noqa: T201
    print(f"{passed} passed, {failed} failed")  # noqa: T201
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
