"""What an experiment gives: a table, something to plot, and verdicts."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One published claim, and whether it was found again."""

    claim: str
    """Which, as in H3."""
    published: str
    found: str
    agrees: bool
    why: str = ""
    """What is different here: must be said where it does not agree, and may where the numbers are far apart."""

    def __post_init__(self) -> None:
        """A disagreement without a reason is not a finding."""
        if not self.agrees and not self.why:
            raise ValueError(f"{self.claim} does not agree and says not why")


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One picture: lines of (x, y)."""

    title: str
    x: str
    y: str
    lines: dict[str, list[tuple[float, float]]]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Everything that is shown and kept of one run."""

    title: str
    columns: list[str]
    rows: list[list[Any]]
    verdicts: list[Verdict]
    panels: list[Panel]
    notes: list[str] = field(default_factory=list[str])
    """What a reader must know of the set-up, such as what was scaled and how."""

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)
