"""A run to be killed: files in, results out, a checkpoint in between. Says READY, then DONE with the books.

python -m support.kill_target FOLDER PARTITIONS windows|pairs|ring spark|local
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import millstream as ms
from support.disk import SCHEMA, frame

# Rows are in two windows each, so that the windows' counts add up to twice the rows.
RANGE, SLIDE, TIMES = "40 seconds", "20 seconds", 2


def ask(engine: ms.Engine, source: Any) -> Any:
    """A condition, a sliding window, groups."""
    stream = engine.stream("s", source, progress=ms.bounded_disorder("ts", "10 seconds"))
    windowed = stream.where("v > 1 OR v IS NULL").window("ts", range=RANGE, slide=SLIDE)
    return windowed.group_by("k", "g").agg(n=ms.count(), total=ms.sum("v"), high=ms.max("v")).named("q")


def ask_pairs(engine: ms.Engine, first: Any, second: Any) -> Any:
    """A left join by key and time, so that rows leave with and without a partner."""
    streams = (
        engine.stream(name, source, progress=ms.bounded_disorder("ts", "10 seconds"))
        for name, source in (("s", first), ("t", second))
    )
    left, right = streams
    return left.join(right, on=["k", "g"], how="left", within="15 seconds").named("q")


def ask_ring(engine: ms.Engine, *sources: Any) -> Any:
    """Three streams with a key for each two: rows stay in their partitions, and what looks for them travels."""
    streams = (
        engine.stream(name, source, progress=ms.bounded_disorder("ts", "10 seconds"))
        for name, source in zip("stu", sources, strict=True)
    )
    return ms.join(*streams, on=[("s.k", "t.k"), ("t.g", "u.g")], within="6 seconds").named("q")


ASK: dict[str, Callable[..., Any]] = {"windows": ask, "pairs": ask_pairs, "ring": ask_ring}
INPUTS = {"windows": ("in",), "pairs": ("in", "in2"), "ring": ("in", "in2", "in3")}


def local(folder: Path, what: str) -> tuple[Any, dict[str, int]]:
    """The answer and the books of a quiet run on the local host."""
    engine = ms.Engine(host="local")
    sources = [ms.files(folder / name, "parquet", schema=SCHEMA) for name in INPUTS[what]]
    query = ASK[what](engine, *sources)
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()
    return query, run.progress["queries"]["q"]["books"]


def main(folder: Path, partitions: int, what: str, host: str) -> None:
    """One life."""
    engine = ms.Engine(host=host, checkpoint=folder / "ck", partitions=partitions)
    sources = [
        ms.files(folder / name, "parquet", schema=SCHEMA) if host == "local" else frame(engine.spark, folder / name)
        for name in INPUTS[what]
    ]
    query = ASK[what](engine, *sources).to_parquet(folder / "out").to_csv(folder / "csv").to_json(folder / "json")
    query.late.to_parquet(folder / "late")
    query.rejected.to_parquet(folder / "rejected")
    sys.stdout.write("READY\n")
    sys.stdout.flush()
    run = engine.start(ms.available_now(), end_of_stream=True)
    run.await_termination()
    books = run.progress["queries"]["q"]["books"] if run.progress else None
    sys.stdout.write(f"DONE {json.dumps(books)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
