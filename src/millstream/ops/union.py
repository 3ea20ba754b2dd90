"""Union, as Meld: rows pass at once, nothing is stored, and the output promises what every input promises."""

from __future__ import annotations

import pyarrow as pa

from millstream.core.progress import Progress, meet
from millstream.ops.operator import Operator


class Union(Operator):
    """Any number of inputs with the same columns."""

    def __init__(self, ports: int, schema: pa.Schema) -> None:
        """Rows of every port are brought to one `schema`."""
        super().__init__(ports)
        self.schema = schema

    def _take(self, port: int, rows: pa.Table) -> list[pa.Table]:
        return [rows.select(self.schema.names).cast(self.schema)]

    def promises(self) -> Progress:
        """The minimum over the inputs."""
        return meet(self.progress)
