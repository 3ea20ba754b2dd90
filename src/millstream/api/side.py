"""Late and rejected rows of a query: an output with its own sinks, and a stream for other queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from millstream.api.output import Output
from millstream.runtime.batch import Sink
from millstream.runtime.outputs.handed import HandedOn
from millstream.runtime.sinks.memory import MemorySink

if TYPE_CHECKING:
    from millstream.api.query import Query
    from millstream.api.stream import Stream


SAMPLE = 10_000
"""How many late or rejected rows are kept in memory if there is no sink."""


class SideOutput(Output):
    """Late or rejected rows of a query. Without a sink, the first 10,000 are kept in memory; all are counted."""

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
        """The rows as a stream of the same engine: the rows of an epoch arrive in the next epoch.

        With a checkpoint, the rows wait there, and each is read exactly once. Without `progress`, windows over
        the stream close at its end.

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
        if self.query.name is None:
            engine.register(self.query, None)
        self.query.check_not_started(self.what)
        handed = HandedOn(name or f"{self.query.name}_{self.word}", self.schema)
        self._stream = engine.stream(handed.stream, handed, progress=progress)
        self._add(handed)
        return self._stream

    def resolved(self) -> list[Sink]:
        """The sinks to write to; without any, a sample is kept in memory, so that a long run does not fill it."""
        if not self.sinks:
            self._memory = MemorySink(SAMPLE, self.what)
            self._add(self._memory)
        return self.sinks

    def _schema(self) -> pa.Schema:
        return self.schema
