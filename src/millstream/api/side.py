"""Late and rejected rows and partial results: outputs of a query with their own sinks, and streams for others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from millstream.api.output import Output
from millstream.core.errors import PlanError
from millstream.runtime.batch import Sink
from millstream.runtime.outputs.handed import HandedOn
from millstream.runtime.sinks.memory import MemorySink

if TYPE_CHECKING:
    from millstream.api.query import Query
    from millstream.api.stream import Stream


SAMPLE = 10_000
"""How many rows of a side output are kept in memory if there is no sink."""


class SideOutput(Output):
    """Rows beside a query's results. Without a sink, the first 10,000 are kept in memory."""

    def __init__(self, word: str, schema: pa.Schema, query: Query) -> None:
        """Rows of this schema; `word` is late, rejected or partial."""
        super().__init__(f"the {word} output")
        self.word = word
        self.schema = schema
        self.query = query
        self.finals = False
        """Do complete results go there, too?"""
        self._stream: Stream | None = None

    @property
    def name(self) -> str:
        """What the output is called beside others."""
        return f"{self.query.name} ({self.word})"

    def with_finals(self) -> Self:
        """Of partial results: have the complete ones here too, with `is_final` true, so that one sink has both.

        >>> import millstream as ms
        >>> engine = ms.Engine(host="local")
        >>> rows = [{"ts": ts, "k": "a"} for ts in range(6)]
        >>> stream = engine.stream("s", rows, progress=ms.ordered("ts"), epoch_rows=3)
        >>> query = stream.window("ts", range=4).group_by("k").agg(n=ms.count()).named("q")
        >>> both = query.partial.with_finals()
        >>> handle = query.feedback(ms.demanded(k="a"))
        >>> engine.start(ms.available_now(), end_of_stream=True).await_termination()
        True
        >>> [(row["window_id"], row["n"], row["is_final"]) for row in both.table().to_pylist()]
        [(0, 3, False), (0, 4, True), (1, 2, True)]
        """
        if self.word != "partial":
            raise PlanError(f"{self.what} has no complete results", hint="They are in query.partial.with_finals().")
        self.query.check_not_started(self.what)
        self.finals = True
        return self

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
