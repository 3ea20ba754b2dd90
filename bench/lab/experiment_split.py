"""split: one ordered stream, a cheap condition on one branch and an expensive one on the other, and their union.

Claimed: a plan makes disorder of its own. Rows that fail the cheap condition wait for the expensive one, so the union
of both branches is out of order though the input was not; how far rows stray depends on the load, and no slack can be
reckoned from the plan. Punctuation passes through both branches, and the windows above are exact without slack.

What the expensive condition costs is a model: one server, a service time drawn for each row. The union and the windows
run for real.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import millstream as ms
from lab.disordered import Question, Windows
from lab.measure import Input, Side, millstream, must_equal
from lab.outcome import Outcome, Panel, Verdict
from millstream.workload.arrival import Arrival, arrive

SIZE, SLIDE = 10_000, 1_000  # milliseconds
RATE = 200  # rows a second
CHEAP = 0.7  # of the rows pass the cheap condition; half of the others pass the expensive one
SERVICE = 14.0  # milliseconds on average; 60 rows a second keep the server 84 % busy
SLACKS = (0, 50, 100, 250, 500, 1_000, 2_000, 4_000, 8_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """The rows of both branches that leave, with the time at which each does."""

    at: np.ndarray
    value: np.ndarray
    cheap: np.ndarray
    passes: np.ndarray
    done: np.ndarray
    """When a row has been judged: at once, or when the server is through with it."""

    @staticmethod
    def make(seconds: int) -> Split:
        """An ordered stream and what becomes of its rows."""
        rnd = np.random.default_rng(35)
        n = seconds * RATE
        at = np.sort(rnd.integers(0, seconds * 1000, n))
        cheap = rnd.random(n) < CHEAP
        passes = cheap | (rnd.random(n) < 0.5)
        done = at.astype(np.float64)
        costly = np.flatnonzero(~cheap)
        service = rnd.exponential(SERVICE, len(costly))
        free = 0.0
        for i, cost in zip(costly.tolist(), service.tolist(), strict=True):
            free = max(free, float(at[i])) + cost
            done[i] = free
        return Split(at=at, value=rnd.integers(0, 100, n), cheap=cheap, passes=passes, done=done)

    def table(self, chosen: np.ndarray) -> pa.Table:
        """Some of the rows."""
        return pa.table({"ts": self.at[chosen], "value": self.value[chosen]})

    def union(self) -> Arrival:
        """The rows that pass, in the order in which they have been judged."""
        out = np.flatnonzero(self.passes)
        return arrive(self.table(out[np.argsort(self.done[out], kind="stable")]), "ts")

    def branch(self, *, cheap: bool) -> Input:
        """What leaves a branch second by second, and how far it has come: to the oldest row that is not judged yet."""
        mine = np.flatnonzero(self.cheap == cheap)
        epochs: list[tuple[pa.Table, int | None]] = []
        for now in range(1000, int(self.done.max()) + 2000, 1000):
            ready = mine[(self.done[mine] >= now - 1000) & (self.done[mine] < now)]
            waiting = mine[(self.done[mine] >= now) & (self.at[mine] < now)]
            bound = int(self.at[waiting].min()) if len(waiting) else now
            epochs.append((self.table(ready[self.passes[ready]]), bound))
        return Input(epochs=epochs, attribute="ts")


def ours(split: Split) -> Side:
    """Both branches, united, in windows; no slack anywhere."""
    return millstream(
        {"cheap": split.branch(cheap=True), "costly": split.branch(cheap=False)},
        lambda a, b: a.union(b).window("ts", range=SIZE, slide=SLIDE).agg(n=ms.count(), sum=ms.sum("value")),
    )


def run(scale: float) -> Outcome:
    """Punctuation, and slack from nothing to more than the longest wait."""
    split = Split.make(max(40, int(400 * scale)))
    union = split.union()
    question = Question(union, SIZE, SLIDE)
    exact = question.exact()
    side = ours(split)
    found: Windows = {row["window_id"]: (row["n"], row["sum"]) for row in side.answer.to_pylist()}
    must_equal("Millstream", exact, {wid: found[wid] for wid in exact if wid in found})
    times = question.times
    behind = np.maximum.accumulate(times) - times
    shown: list[list[object]] = []
    wrong: dict[int, float] = {}
    latency: dict[int, float] = {}
    for slack in SLACKS:
        theirs, sort = question.by_slack(slack, generous=False)
        wrong[slack] = 100 * sum(theirs.windows.get(wid) != one for wid, one in exact.items()) / len(exact)
        latency[slack] = theirs.latency
        shown.append([f"slack {slack} ms", wrong[slack], latency[slack], sort.peak.rows])
    shown.append(["punctuation", 0.0, question.by_punctuation()[0].latency, 0])
    needed = min((slack for slack in SLACKS if not wrong[slack]), default=None)
    disordered = 100 * float((behind > 0).mean())
    worst = int(behind.max())
    return Outcome(
        title=f"count over the union of a cheap and an expensive branch, {len(split.at):,} rows in order",
        columns=["method", "wrong windows %", "latency ms", "rows held to sort"],
        rows=shown,
        panels=[
            Panel(
                title="consistent slack", x="slack, ms", y="wrong windows %",
                lines={"slack": [(float(slack), wrong[slack]) for slack in SLACKS],
                       "punctuation": [(0.0, 0.0), (float(SLACKS[-1]), 0.0)]},
            )
        ],
        verdicts=[
            Verdict(
                claim="split",
                published="the union of a cheap and an expensive branch of one ordered stream is out of order",
                found=f"{disordered:.0f} % of the rows are behind another, by up to {worst} ms; the input was ordered",
                agrees=disordered > 0 and bool((np.diff(split.at) >= 0).all()),
                why="" if disordered > 0 else "the server was never busy when a row came.",
            ),
            Verdict(
                claim="split",
                published="exact without slack",
                found=f"all {len(exact)} windows are right by punctuation; slack is wrong in "
                f"{wrong[0]:.0f} % of them at 0 ms, and needs {needed or 'more than ' + str(SLACKS[-1])} ms",
                agrees=wrong[0] > 0,
                why="" if wrong[0] > 0 else "so few rows strayed that no window missed one.",
            ),
        ],
        notes=[
            f"the expensive condition takes {SERVICE:g} ms on average, of one server: a model; the longest wait is "
            f"{float((split.done - split.at).max()):.0f} ms",
            "a consistent slack of the longest stray is exact too, but nobody knows it before",
        ],
    )  # fmt: skip
