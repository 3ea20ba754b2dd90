"""What left in an epoch."""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from millstream.ops.operator import Late, Operator, Rejected
from millstream.plan import nodes


@dataclass(slots=True)
class Outcome:
    """What left in an epoch, by node."""

    rows: dict[int, list[pa.Table]] = field(default_factory=dict[int, list[pa.Table]])
    late: dict[int, list[Late]] = field(default_factory=dict[int, list[Late]])
    rejected: dict[int, list[Rejected]] = field(default_factory=dict[int, list[Rejected]])
    unreadable: dict[int, list[tuple[str, str]]] = field(default_factory=dict[int, list[tuple[str, str]]])

    @property
    def clean(self) -> bool:
        """Was nothing set apart?"""
        return not (self.late or self.rejected or self.unreadable)

    def deliver(self, node: nodes.Node, table: pa.Table) -> None:
        """Keep what leaves a node."""
        self.rows.setdefault(id(node), []).append(table)

    def collect(self, node: nodes.Node, operator: Operator) -> None:
        """Take what an operator set apart."""
        if operator.rejected:
            self.rejected.setdefault(id(node), []).extend(operator.rejected)
            operator.rejected.clear()
        if operator.late:
            self.late.setdefault(id(node), []).extend(operator.late)
            operator.late.clear()
