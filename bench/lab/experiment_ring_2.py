"""Ring 6.5, experiment 4: the rate goes from 50 to 100 and to 150 rows a second, with adaptation and without.

Published: with adaptation the response time stays stable.
"""

from __future__ import annotations

import random

from comparators.ring.loop import responses, settled
from comparators.ring.model import Setting
from lab.outcome import Outcome, Panel, Verdict

RATES = (50.0, 100.0, 150.0)
SETTING = Setting(
    rates=(50.0,) * 3, windows=(10.0,) * 3, matching=(0.005,) * 3, compare=0.5e-6, send=1e-6, hop=1e-4
)  # fmt: skip


def run(scale: float) -> Outcome:
    """Phases of 60 seconds at scale one."""
    each = max(20.0, 60 * scale)
    on, off = (responses(SETTING, RATES, each, random.Random(1), adapt=adapt) for adapt in (True, False))
    late = {name: [settled(times) for times in found] for name, found in (("on", on), ("off", off))}
    stable = late["on"][-1] < 10 * late["on"][0] and late["off"][-1] > 10 * late["on"][-1]
    return Outcome(
        title="response times, in times of that at 50 rows a second, when the rate rises",
        columns=["adaptation", *(f"{rate:g} rows a second" for rate in RATES)],
        rows=[[name, *(one / late["on"][0] for one in times)] for name, times in late.items()],
        panels=[
            Panel(
                title="response time at the end of a phase",
                x="rows a second",
                y="ms",
                lines={
                    name: [(r, 1000 * t) for r, t in zip(RATES, times, strict=True)] for name, times in late.items()
                },
                log_y=True,
            )
        ],
        verdicts=[
            Verdict(
                claim="ring 4",
                published="adaptation keeps the response time stable",
                found=f"at 150 rows a second {late['on'][-1] / late['on'][0]:.2f} times that at 50 with it, "
                f"{late['off'][-1] / late['on'][0]:.0f} times without",
                agrees=stable,
                why="" if stable else "the rate is not high enough to overload the short ring.",
            )
        ],
        notes=[
            "Selectivity 0.005 instead of 0.05 and 0.2: with more, no sequential ring keeps up with 150 rows a second."
        ],
    )
