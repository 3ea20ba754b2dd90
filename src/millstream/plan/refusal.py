"""A refusal: why an operator would keep rows for ever, and the clause or declaration that would make it safe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Refusal:
    """One operator, the attribute that nothing is promised of, the fact, and what would make it safe."""

    operator: str
    attribute: str
    fact: str
    hint: str

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        return {"operator": self.operator, "attribute": self.attribute, "fact": self.fact, "hint": self.hint}
