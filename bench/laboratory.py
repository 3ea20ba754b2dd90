"""The published experiments, one at a time: `python bench/laboratory.py 6.1 [--scale 0.1] [--out FOLDER]`.

Prints the table and the verdicts, and keeps them as JSON with a plot. At scale 1 an experiment takes less than a
minute on two cores; the scale shortens the streams and never changes what is asked.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import psutil
from harness import RESULTS, load, save, show

from lab.outcome import Outcome
from lab.registry import find, ids


def report(name: str, outcome: Outcome, seconds: float) -> None:
    """The table, then each claim with what was found."""
    show(f"{name}  {outcome.title} ({load()})", outcome.columns, outcome.rows)
    for note in outcome.notes:
        print(f"  {note}")
    for verdict in outcome.verdicts:
        word = "agrees" if verdict.agrees else "does not agree"
        print(f"  {verdict.claim} {word}: published {verdict.published}; found {verdict.found}")
        if verdict.why:
            print(f"     {verdict.why}")
    print(f"  {seconds:.1f} s")


def main() -> None:
    """Run one experiment, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("id", choices=[*ids(), "all"], help="which experiment")
    parser.add_argument("--scale", type=float, default=1.0, help="how long the streams are, 1 being the usual length")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the folder that JSON and plots go to")
    parser.add_argument("--no-plot", action="store_true", help="needs no matplotlib")
    options = parser.parse_args()
    if not 0 < options.scale <= 100:
        parser.error(f"scale is {options.scale}, which is not in (0, 100]")
    for name in ids() if options.id == "all" else [options.id]:
        began = time.perf_counter()
        outcome = find(name)(options.scale)
        seconds = time.perf_counter() - began
        report(name, outcome, seconds)
        kept = {
            "id": name,
            "scale": options.scale,
            "seconds": round(seconds, 2),
            "process_bytes": psutil.Process().memory_info().rss,
            **outcome.as_json(),
        }
        save(f"lab-{name}", kept, folder=options.out)
        if not options.no_plot:
            from lab.plot import draw  # noqa: PLC0415 - figures need matplotlib, tables do not

            draw(outcome, options.out / f"lab-{name}")


if __name__ == "__main__":
    sys.exit(main())
