"""Late and rejected rows that are read as a stream: those of an epoch are handed on to the next one.

The local host keeps them in memory meanwhile. A host with a checkpoint keeps them in files that its manifest names, so
that each is read exactly once, whatever happens in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from millstream.plan import nodes
from millstream.runtime.batch import Batch
from millstream.runtime.query import HostQuery
from millstream.state.files import Written, read_table
from millstream.state.storage import Storage


class HandedOn:
    """A sink and a source: what was written in an epoch is read in the next."""

    live = True
    """It never hands over a row a second time."""

    def __init__(self, stream: str, schema: pa.Schema) -> None:
        """The rows of the stream of that name."""
        self.stream = stream
        self.schema = schema
        self._waiting: deque[pa.Table] = deque()

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Keep the rows for the next epoch."""
        del epoch
        self._waiting.append(rows)

    def close(self) -> None:
        """Nothing to let go of."""

    def batches(self) -> Iterator[Batch]:
        """Itself: it may have more after it had none."""
        return self

    def __iter__(self) -> Iterator[Batch]:
        return self

    def __next__(self) -> Batch:
        if not self._waiting:
            raise StopIteration
        tables = [self._waiting.popleft() for _ in range(len(self._waiting))]
        return Batch(pa.concat_tables(tables))

    def read(self, storage: Storage, files: Sequence[Written]) -> Batch | None:
        """The rows of some files, as the columns are now; None if there is no file."""
        tables = [self._fitted(read_table(storage, written.key)) for written in files]
        return Batch(pa.concat_tables(tables)) if tables else None

    def _fitted(self, rows: pa.Table) -> pa.Table:
        """Rows that an earlier run may have set apart: a column that was not there is null."""
        columns = [
            rows[field.name].cast(field.type) if field.name in rows.schema.names else pa.nulls(len(rows), field.type)
            for field in self.schema
        ]
        return pa.Table.from_arrays(columns, schema=self.schema)


def ending(queries: Iterable[HostQuery], streams: Iterable[str]) -> list[list[str]]:
    """The streams in rounds, in which they end: rows set apart at the end of one round are read before the next ends.

    Where no late or rejected rows are read, all end in one round.
    """
    below = {
        sink.stream: [source.name for source in nodes.sources(query.node)]
        for query in queries
        for sink in (*query.late, *query.rejected)
        if isinstance(sink, HandedOn)
    }

    def round_of(stream: str) -> int:
        return 1 + max(map(round_of, below[stream])) if stream in below else 0

    rounds: dict[int, list[str]] = {}
    for stream in streams:
        rounds.setdefault(round_of(stream), []).append(stream)
    return [rounds[number] for number in sorted(rounds)]
