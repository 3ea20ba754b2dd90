"""Rings of 2 to 1000 nodes by the cost model: response time and output, and where the best length lies."""

from __future__ import annotations

import itertools

from comparators.ring.model import Setting
from lab.outcome import Outcome, Panel, Verdict

NODES = (2, 3, 5, 8, 12, 20, 32, 50, 80, 125, 200, 320, 500, 800, 1000)
WORK = {"light": 1e-6, "middle": 1e-5, "heavy": 1e-3}
"""Seconds to compare a pair."""


def setting(compare: float) -> Setting:
    """Three streams of 500 rows a window."""
    return Setting(
        rates=(50.0,) * 3, windows=(10.0,) * 3, matching=(0.05,) * 3, compare=compare, send=1e-6, hop=1e-4
    )  # fmt: skip


def run(_: float) -> Outcome:
    """By formula: it does not get finer with the scale."""
    found = {name: setting(compare) for name, compare in WORK.items()}
    exact = all(abs(one.response(one.best()) / one.response(one.scanned()) - 1) < 1e-9 for one in found.values())
    monotone = all(one.output(a) <= one.output(b) for one in found.values() for a, b in itertools.pairwise(NODES))
    return Outcome(
        title="rings of up to 1000 nodes",
        columns=["cost of a pair", "best nodes", "response ÷ that of one node", "response of 1000 ÷ that of one"],
        rows=[
            [name, one.best(), one.response(one.best()) / one.response(1), one.response(1000) / one.response(1)]
            for name, one in found.items()
        ],
        panels=[
            Panel(
                title="response time",
                x="nodes",
                y="ms",
                lines={name: [(n, 1000 * one.response(n)) for n in NODES] for name, one in found.items()},
                log_x=True,
                log_y=True,
            ),
            Panel(
                title="output, in times of one node",
                x="nodes",
                y="times",
                lines={name: [(n, one.output(n)) for n in NODES] for name, one in found.items()},
                log_x=True,
                log_y=True,
            ),
        ],
        verdicts=[
            Verdict(
                claim="theorem 9",
                published="the best number of nodes in closed form",
                found="the same as trying all up to 2000" if exact else "another than trying all",
                agrees=exact,
                why="" if exact else "rounding.",
            ),
            Verdict(
                claim="output",
                published="grows with the nodes, up to a ceiling",
                found="it never falls" if monotone else "it falls",
                agrees=monotone,
                why="" if monotone else "the formula is wrong.",
            ),
        ],
    )
