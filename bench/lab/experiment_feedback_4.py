"""feedback.4: how far feedback goes.

A join of sensors with themselves, averages by minute, and a reader that ignores the first windows.

Claimed: savings appear at exactly the operators that the feedback reached, at least 99.9 % of what is possible, and
the results that are read do not change.
"""

from __future__ import annotations

import millstream as ms
from lab import roads
from lab.outcome import Outcome, Panel, Verdict
from lab.roads import PER_MINUTE, SENSORS, Ran, readings
from millstream.plan import nodes
from millstream.plan.feedback.placing import Knobs


def averages(sensors: ms.Stream) -> ms.Query:
    """Each reading with itself, and the average speed of each minute."""
    other = sensors.select("ts", "sensor", other="speed")
    pairs = sensors.join(other, on=["sensor", "ts"], within=0)
    return pairs.window("ts", range=60).agg(avg=ms.avg("speed"))


def reached(node: nodes.Node) -> Knobs:
    """Feedback stops at the aggregate."""
    return Knobs(propagate=not isinstance(node, nodes.Aggregate))


def run_all(scale: float) -> tuple[int, dict[str, Ran]]:
    """The windows that are ignored, and a run for each depth."""
    minutes = max(40, int(1440 * scale))
    ignored, tables = minutes // 14, {"sensors": readings(minutes)}
    said = (f"window_id < {ignored}",)
    return ignored, {
        "nobody": roads.run(averages, tables),
        "average": roads.run(averages, tables, said, knobs=reached),
        "all": roads.run(averages, tables, said),
    }


def run(scale: float) -> Outcome:
    """Three depths."""
    ignored, runs = run_all(scale)
    ideal = ignored * PER_MINUTE * SENSORS
    rows = [[name, one.out("join"), _taken(one), one.out("aggregate")] for name, one in runs.items()]
    base = runs["nobody"]
    saved = {name: (base.out("join") - one.out("join"), _taken(base) - _taken(one)) for name, one in runs.items()}
    wanted = [row for row in runs["nobody"].results.to_pylist() if row["window_id"] >= ignored]
    same = all(one.results.to_pylist() == wanted for name, one in runs.items() if name != "nobody")
    exact = saved["average"] == (0, ideal) and min(saved["all"]) >= 0.999 * ideal
    return Outcome(
        title="Rows that leave the join and reach the average, by how far feedback goes",
        columns=["exploited by", "pairs", "rows averaged", "results"],
        rows=rows,
        verdicts=[
            Verdict(
                claim="H5",
                published="savings at exactly the operators reached, at least 99.9 % of ideal, results unchanged",
                found=f"{saved} of {ideal}; results {'the same' if same else 'others'}",
                agrees=exact and same,
                why="" if exact and same else "see the counts",
            )
        ],
        panels=[
            Panel(
                title="Rows by depth",
                x="depth",
                y="rows",
                lines={
                    "pairs": [(float(i), float(row[1])) for i, row in enumerate(rows)],
                    "averaged": [(float(i), float(row[2])) for i, row in enumerate(rows)],
                },
            )
        ],
        notes=["A window aggregate assigns windows itself: the published operators BUCKET and AVERAGE are one here."],
    )


def _taken(one: Ran) -> int:
    return sum(op["accepted"] for op in one.operators if op["operator"] == "aggregate")
