"""feedback.5: restrictive feedback over two conditions united, a look-up with maxima, and a join of averages.

Claimed: rows between operators fall by 10² to 10⁴, and wall time by 12 to 25 % where rows must be read all the same.
"""

from __future__ import annotations

import millstream as ms
from lab import roads
from lab.outcome import Outcome, Panel, Verdict
from lab.roads import Ran, readings


def united(sensors: ms.Stream) -> ms.Query:
    """Readings that are slow, and readings of full roads."""
    return sensors.where("occupancy >= 20").union(sensors.where("speed < 65"))


def maxima(sensors: ms.Stream) -> ms.Query:
    """The greatest speed at each milepost, by minute."""
    placed = sensors.enrich("locations", on="sensor")
    return placed.window("ts", range=60).group_by("freeway", "milepost", "sensor").agg(top=ms.max("speed"))


def joined(sensors: ms.Stream, probes: ms.Stream) -> ms.Query:
    """The averages of two streams, of the same minute."""
    left = sensors.window("ts", range=60).group_by("sensor").agg(speed=ms.avg("speed"))
    right = probes.window("ts", range=60).group_by("sensor").agg(probe=ms.avg("speed"))
    return left.join(right, on=["sensor", "window_end"], within=0, time="window_end")


QUESTIONS = {
    "Q1": (united, ("sensor > 0",), lambda row: row["sensor"] <= 0),
    "Q2": (maxima, ("sensor > 0",), lambda row: row["sensor"] <= 0),
    "Q3": (joined, ("sensor > 0",), lambda row: row["sensor"] <= 0),
}


def run(scale: float) -> Outcome:
    """Each question with and without feedback."""
    minutes = max(20, int(1440 * scale))
    sensors = readings(minutes)
    probes = readings(minutes, seed=16)
    rows, verdicts = [], []
    for name, (ask, said, wanted) in QUESTIONS.items():
        tables = {"sensors": sensors, "probes": probes} if name == "Q3" else {"sensors": sensors}
        plain = roads.best(lambda ask=ask, tables=tables: roads.run(ask, tables), 3)
        told = roads.best(lambda ask=ask, tables=tables, said=said: roads.run(ask, tables, said), 3)
        exact = _bag(told) == sorted(repr(row) for row in plain.results.to_pylist() if wanted(row))
        ratio, faster = plain.between / max(1, told.between), 1 - told.seconds / plain.seconds
        rows.append([name, plain.between, told.between, round(ratio), round(100 * faster)])
        agrees = exact and ratio >= 100
        verdicts.append(
            Verdict(
                claim="H6",
                published="rows between operators ÷ 10² to 10⁴; wall time −12 to −25 %",
                found=f"{name}: ÷ {ratio:.0f}, wall time {-100 * faster:.0f} %, {'exact' if exact else 'wrong'}",
                agrees=agrees,
                why="" if agrees else "see the counts",
            )
        )
    return Outcome(
        title="Rows between operators and wall time, with feedback that leaves one sensor of 150",
        columns=["question", "rows", "rows with feedback", "ratio", "time saved %"],
        rows=rows,
        verdicts=verdicts,
        panels=[
            Panel(
                title="Rows between operators",
                x="question",
                y="rows",
                lines={
                    "without": [(float(i + 1), float(row[1])) for i, row in enumerate(rows)],
                    "with": [(float(i + 1), float(max(1, row[2]))) for i, row in enumerate(rows)],
                },
                log_y=True,
            )
        ],
        notes=["Rows are read and their progress is taken before any is dropped."],
    )


def _bag(ran: Ran) -> list[str]:
    return sorted(map(repr, ran.results.to_pylist()))
