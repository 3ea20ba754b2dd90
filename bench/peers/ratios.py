"""From repetitions to ratios, and from ratios to what is won and lost."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from peers.matrix import HOSTS

_TICK = 0.01
"""CPU time is counted in hundredths of a second: less cannot be told from none."""
NEAR = 0.25
"""How far two measurements of one ratio may lie apart on a quiet machine."""


class Mismatch(Exception):  # noqa: N818 - it says what is wrong, not that something is
    """An engine's answer is not the oracle's: nothing that it took is worth telling."""


def check(cell: str, label: str, line: Mapping[str, Any], expected: tuple[int, int]) -> None:
    """Refuse an answer with other rows or another digest."""
    found = (line["rows_out"], line["checksum"])
    if found != tuple(expected):
        raise Mismatch(
            f"{cell}: {label} answers {found[0]} rows with the sum {found[1]}, "
            f"the oracle {expected[0]} rows with the sum {expected[1]}"
        )


@dataclass(frozen=True, slots=True)
class Cost:
    """Medians over the repetitions of one contender."""

    seconds: float
    cpu_per_row: float
    """Microseconds of the process tree for each row of input."""
    peak_bytes: float

    @classmethod
    def of(cls, runs: Sequence[Mapping[str, Any]], rows_in: int) -> Cost:
        """The medians."""
        seconds = statistics.median(one["seconds"] for one in runs)
        cpu = statistics.median(max(one["cpu_seconds"], _TICK) for one in runs)
        return cls(seconds, cpu * 1e6 / rows_in, statistics.median(one["peak_bytes"] for one in runs))


@dataclass(frozen=True, slots=True)
class Ratio:
    """A contender ÷ Millstream on one host: above 1, Millstream takes less."""

    cell: str
    label: str
    host: str
    wall: float
    cpu: float

    @property
    def ahead(self) -> bool:
        """Whether Millstream takes less in both."""
        return min(self.wall, self.cpu) > 1


def costs(cell: Mapping[str, Any]) -> dict[str, Cost]:
    """By contender, those that were measured."""
    return {label: Cost.of(runs, cell["rows_in"]) for label, runs in cell["runs"].items() if runs}


def ratios(name: str, cell: Mapping[str, Any]) -> Iterator[Ratio]:
    """Each contender by each of Millstream's hosts that was measured on the same input."""
    found = costs(cell)
    for host, ours in HOSTS.items():
        for label, cost in found.items():
            if ours in found and label not in HOSTS.values():
                base = found[ours]
                yield Ratio(name, label, host, cost.seconds / base.seconds, cost.cpu_per_row / base.cpu_per_row)


def apart(first: Mapping[str, Any], second: Mapping[str, Any]) -> list[dict[str, Any]]:
    """How far the ratios of a cell's two measurements differ: 0.1 is a tenth of the smaller."""
    others = {(one.label, one.host): one for one in ratios("", second)}
    out: list[dict[str, Any]] = []
    for one in ratios("", first):
        other = others.get((one.label, one.host))
        if other is not None:
            found = {"wall": _apart(one.wall, other.wall), "cpu": _apart(one.cpu, other.cpu)}
            out.append({"label": one.label, "host": one.host, **found})
    return out


def _apart(one: float, other: float) -> float:
    return max(one, other) / min(one, other) - 1


def judged(ratio: Ratio, wanted: Mapping[str, tuple[str, Sequence[str]]]) -> bool:
    """Whether a target speaks of this ratio; `wanted` gives host and workloads for each engine."""
    engine = ratio.label.split(",")[0]
    if engine not in wanted:
        return False
    host, workloads = wanted[engine]
    return ratio.host == host and ratio.cell.split("/")[0] in workloads
