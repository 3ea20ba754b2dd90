"""Queries created while the engine runs: 1, 10 and 50 a second, windows and joins in turn.

Published relatives create queries by the hundred on shared slices. Here a change waits for the end of an epoch; told is
how long that takes, and what it costs the rows that come meanwhile.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator

import pyarrow as pa

import millstream as ms
from lab.many import table
from lab.outcome import Outcome, Panel, Verdict

RATES = (1, 10, 50)
_EPOCH = 2000


def _forever(rows: pa.Table, seconds: float) -> Iterator[pa.Table]:
    """Rows again and again, later each time, as long as there is time."""
    until, at = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        moved = pa.array([at + i for i in range(rows.num_rows)], pa.int64())
        yield rows.set_column(0, rows.column_names[0], moved)
        at += rows.num_rows


def _created(rate: float, seconds: float) -> tuple[list[float], list[float], float, int]:
    """How long each creation took; epochs' times; rows a second; and how many queries there were at the end."""
    left, right = table(_EPOCH), table(_EPOCH, second=True)
    engine = ms.Engine(host="local")
    lasting = seconds + 2
    a = engine.stream("a", _forever(left, lasting), schema=left.schema, progress=ms.ordered("ts"))
    b = engine.stream("b", _forever(right, lasting), schema=right.schema, progress=ms.ordered("ts2"))
    a.window("ts", range=10_000, slide=1000).group_by("k").agg(n=ms.sum("x")).named("window").discard()
    a.join(b, on=[("k", "k2")], within=20).named("join").discard()
    epochs: list[float] = []
    rows: list[int] = []

    @engine.on_epoch
    def note(report: dict[str, object]) -> None:
        took = report["duration_ms"]
        assert isinstance(took, dict)
        epochs.append(sum(took.values()) / 1000)
        came = report["input_rows"]
        assert isinstance(came, int)
        rows.append(came)

    run = engine.start(ms.every("1 ms"))
    took: list[float] = []
    began = time.monotonic()
    number = 0
    while rate and time.monotonic() - began < seconds:
        time.sleep(max(0.0, began + number / rate - time.monotonic()))
        start = time.monotonic()
        with engine.changes():
            if number % 2:
                made = a.join(b, on=[("k", "k2")], within=1 + number % 19)
            else:
                made = a.window("ts", range=1000 * (1 + number % 9), slide=1000).group_by("k").agg(n=ms.sum("x"))
            made.named(f"q{number}").discard()
        took.append(time.monotonic() - start)
        number += 1
    if not rate:
        time.sleep(seconds)
    spent = time.monotonic() - began
    run.stop()
    run.await_termination()
    return took, epochs, sum(rows) / spent, number + 2


def run(scale: float) -> Outcome:
    """Without new queries first, then at each rate."""
    seconds = max(1.0, 8 * scale)
    quiet = _created(0, seconds)
    found = {rate: _created(rate, seconds) for rate in RATES if rate <= max(10, 50 * scale)}
    shown: list[list[object]] = [["none", 0, 0.0, 0.0, statistics.median(quiet[1]), quiet[2], quiet[3]]]
    for rate, (took, epochs, speed, number) in found.items():
        shown.append([rate, len(took), statistics.median(took), max(took), statistics.median(epochs), speed, number])
    waits = {rate: statistics.median(took) for rate, (took, _, _, _) in found.items()}
    kept_up = all(len(took) >= 0.5 * rate * seconds for rate, (took, _, _, _) in found.items())
    return Outcome(
        title=f"queries created under load, {_EPOCH} rows of each stream an epoch, {seconds:.0f} s each",
        columns=["created a second", "created", "median s", "longest s", "median epoch s", "rows a second", "queries"],
        rows=shown,
        panels=[Panel(title="time to create a query", x="a second", y="s", lines={"median": list(waits.items())})],
        verdicts=[
            Verdict(
                claim="queries",
                published="queries are created as fast as they are asked for, at 1, 10 and 50 a second",
                found=", ".join(f"{rate}/s: {len(took)} in {seconds:.0f} s" for rate, (took, _, _, _) in found.items()),
                agrees=kept_up,
                why="" if kept_up else "each change plans all queries again, and waits for the epoch under way.",
            )
        ],
    )
