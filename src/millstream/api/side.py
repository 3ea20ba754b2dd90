"""Late and rejected rows of a query: an output with sinks of its own, and on the local host a stream to ask about."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.api.output import Output
from millstream.core.errors import PlanError
from millstream.runtime.batch import Batch, Sink
from millstream.runtime.sinks.memory import MemorySink

if TYPE_CHECKING:
    from millstream.api.query import Query
    from millstream.api.stream import Stream


SAMPLE = 10_000
"""So many late or rejected rows are kept where nobody asked for them."""


class SideOutput(Output):
    """Late or rejected rows of a query. Without a sink the first 10,000 are kept in memory; the books count all."""

    def __init__(self, word: str, schema: pa.Schema, query: Query) -> None:
        """Rows of this schema; `word` is late or rejected."""
        super().__init__(f"the {word} output")
        self.word = word
        self.schema = schema
        self.query = query
        self._stream: Stream | None = None

    @property
    def name(self) -> str:
        """What the output is called beside others."""
        return f"{self.query.name} ({self.word})"

    def stream(self, name: str | None = None, *, progress: Any = None) -> Stream:
        """The rows as a stream of the same engine: those of an epoch come in the next one.

        On the local host only. On Spark rows in flight would be lost with the driver: write them to a folder, and read
        that as a stream. Without `progress`, windows over it close at the end of the stream.

        >>> import millstream as ms
        >>> engine = ms.Engine(host="local")
        >>> rows = [[{"ts": 10, "k": "a"}], [{"ts": 1, "k": "b"}, {"ts": 2, "k": "b"}]]
        >>> counts = engine.stream("s", rows, progress=ms.ordered("ts")).window("ts", range=5).agg(n=ms.count())
        >>> late = counts.late.stream("late").group_by("k").agg(n=ms.count()).named("late_by_k")
        >>> _ = counts.named("counts")
        >>> engine.start(ms.available_now(), end_of_stream=True).await_termination()
        True
        >>> late.table().to_pylist()
        [{'k': 'b', 'n': 2}]
        """
        if self._stream is not None and name in (None, getattr(self._stream.node, "name", None)):
            return self._stream
        engine = self.query.engine
        if engine.spark is not None or not hasattr(engine.host, "graph"):
            raise PlanError(
                f"{self.what} is a stream on the local host only",
                hint="Write it to a folder, .late.to_parquet(path), and read that as a stream.",
            )
        if self.query.name is None:
            engine.register(self.query, None)
        self.query.check_not_started(self.what)
        handed = _HandedOn(self.schema)
        self._add(handed)
        self._stream = engine.stream(name or f"{self.query.name}_{self.word}", handed, progress=progress)
        return self._stream

    def resolved(self) -> list[Sink]:
        """The sinks to write to; without any, a sample is kept in memory, so that a long run does not fill it."""
        if not self.sinks:
            self._memory = MemorySink(SAMPLE, self.what)
            self._add(self._memory)
        return self.sinks

    def _schema(self) -> pa.Schema:
        return self.schema


class _HandedOn:
    """A sink and a source: what was written in an epoch is read in the next."""

    def __init__(self, schema: pa.Schema) -> None:
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
