"""What leaves our own operator epoch by epoch, with many groups, with and without a flush; and what an epoch takes."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv

import millstream as ms
from lab.measure import must_equal
from millstream.runtime.batch import Batch
from millstream.runtime.local.epoch import step
from millstream.runtime.local.graph import Graph

WINDOWS, EPOCHS = 4, 10
"""Windows of a stream, and epochs of a window."""
_SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.int64())])


@dataclass(frozen=True, slots=True)
class Epochs:
    """How many rows left in each epoch, and the least CPU time that it took."""

    left: list[int]
    seconds: list[float]
    rows: int
    """That came, in each."""

    @property
    def rate(self) -> float:
        """Rows a second that can come on and on: in no epoch may more come than it takes time."""
        return self.rows / max(self.seconds)


def bursts(groups: int, flush: Any, rounds: int) -> Epochs:
    """A count in tumbling windows, each group once a window in any order; results are written as CSV, to memory."""
    each = groups // EPOCHS
    rnd = np.random.default_rng(groups)
    order = [rnd.permutation(groups)[: each * EPOCHS] for _ in range(WINDOWS)]
    left: list[int] = []
    seconds = [float("inf")] * (WINDOWS * EPOCHS)
    for _ in range(rounds + 1):
        stream = ms.Engine(host="local").stream("s", [], schema=_SCHEMA, progress=ms.ordered("ts"))
        asked = stream.window("ts", range=EPOCHS, flush=flush).group_by("k")
        query = asked.agg(n=ms.count(), strategy="paned")
        graph, left, seen = Graph(), [], Counter[int]()
        graph.add(query.node)
        for number in range(WINDOWS * EPOCHS):
            key = order[number // EPOCHS][number % EPOCHS * each :][:each]
            rows = pa.table({"ts": np.full(each, number), "k": key}, schema=_SCHEMA)
            began = time.process_time()
            out = step(graph, {"s": Batch(rows)}).rows.get(id(query.node), [])
            for table in out:
                csv.write_csv(table, pa.BufferOutputStream())
            seconds[number] = min(seconds[number], time.process_time() - began)
            left.append(sum(table.num_rows for table in out))
            for table in out:
                seen.update(table["window_id"].to_pylist())
        for table in step(graph, {}, end=True).rows.get(id(query.node), []):
            seen.update(table["window_id"].to_pylist())
        must_equal(str(flush), dict.fromkeys(range(WINDOWS), each * EPOCHS), dict(sorted(seen.items())))
    return Epochs(left, seconds, each)
