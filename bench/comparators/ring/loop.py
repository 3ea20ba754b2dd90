"""The statistics and trigger loop: a queue before a ring whose length follows the rate, or does not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from comparators.ring.model import Setting


def responses(
    setting: Setting, rates: Sequence[float], each: float, rnd: random.Random, *, adapt: bool, sample: float = 2.0
) -> list[list[float]]:
    """By phase: the response times of rows, in seconds. Phases have `each` seconds and one rate a stream.

    Rows come at random and wait for the one before; the work of each follows the rows that are in the windows then.
    Every `sample` seconds the rate is measured, and with `adapt` the ring gets the length that is best for it.
    """
    nodes = replace(setting, rates=(rates[0],) * setting.streams).best()
    now = free = last = 0.0
    arrivals: list[float] = []
    out: list[list[float]] = [[] for _ in rates]
    window = setting.windows[0]
    while now < each * len(rates):
        phase = min(len(rates) - 1, int(now / each))
        now += rnd.expovariate(rates[phase] * setting.streams)
        arrivals.append(now)
        if now - last >= sample:
            arrivals = [at for at in arrivals if now - at < window]
            if adapt:
                measured = sum(now - at < sample for at in arrivals) / sample / setting.streams
                nodes = replace(setting, rates=(measured,) * setting.streams).best()
            last = now
        held = len(arrivals) / min(window, max(now, 1e-9)) / setting.streams
        mine = replace(setting, rates=(max(held, 1e-9),) * setting.streams)
        pace = max(mine.work() / nodes + mine.travel, mine.streams * nodes * mine.hop)
        begin = max(now, free)
        free = begin + pace
        out[min(len(rates) - 1, int(now / each))].append(free - now + (nodes - 1) * mine.hop / 2)
    return out


def settled(times: Sequence[float]) -> float:
    """The mean of the last third: when what was under way is over."""
    tail = times[-max(1, len(times) // 3) :]
    return sum(tail) / len(tail)
