"""Suite 5 of feedback on Spark: a reader ignores all sensors but one, and the guard reaches the scan of Parquet.

`python bench/spark_feedback.py` prints rows read and the wall time of warm runs, with and without feedback, in turns.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import millstream as ms
from millstream.spark.local_session import local_session

FILES, ROWS, SENSORS = 4, 1_500_000, 150


def write(folder: Path) -> None:
    """Files of an hour each, by sensor, ten sensors in a group of rows."""
    rnd = np.random.default_rng(15)
    folder.mkdir()
    each = ROWS // SENSORS
    for f in range(FILES):
        ts = np.tile(np.linspace(f * 3600, (f + 1) * 3600 - 1, each).astype(np.int64), SENSORS)
        columns: dict[str, Any] = {"ts": ts, "sensor": np.repeat(np.arange(SENSORS), each)}
        columns |= {name: rnd.random(ROWS) * 80 for name in ("speed", "occupancy", "volume", "heavy")}
        columns["text"] = pa.array([f"reading {i % 1000}" for i in range(ROWS)])
        pq.write_table(pa.table(columns), folder / f"{f}.parquet", row_group_size=each * 10)


def run(spark: Any, folder: Path, place: Path, *, heeding: bool) -> tuple[float, int, int]:
    """Seconds, rows read, and results of one run."""
    engine = ms.Engine(spark, checkpoint=place / "ck", partitions=2)
    frame = spark.readStream.schema(spark.read.parquet(str(folder)).schema).option("maxFilesPerTrigger", 1)
    stream = engine.stream("sensors", frame.parquet(str(folder)), progress=ms.bounded_disorder("ts", 60))
    query = stream.window("ts", range=60).group_by("sensor").agg(m=ms.median("speed"), o=ms.avg("occupancy"))
    query.to_parquet(place / "out").named("q")
    if heeding:
        query.feedback(ms.assumed("sensor > 0"))
    began = time.perf_counter()
    started = engine.start(ms.available_now(), end_of_stream=True)
    started.await_termination()
    seconds = time.perf_counter() - began
    source = started.progress["queries"]["q"]["operators"][0]
    rows = pq.read_table(place / "out", filters=[("sensor", "<=", 0)]).num_rows
    return seconds, source["rows_in"] - source["unread"], rows


def main(rounds: int) -> None:
    """Runs in turns; the first of each is not counted."""
    spark = local_session()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder / "in")
        found: dict[bool, list[tuple[float, int, int]]] = {False: [], True: []}
        for i in range(rounds + 1):
            for heeding in (False, True):
                found[heeding].append(run(spark, folder / "in", folder / f"{i}{heeding}", heeding=heeding))
        plain, told = (min(found[heeding][1:]) for heeding in (False, True))
        assert plain[2] == told[2]
        print(f"rows read {plain[1]:,} and {told[1]:,}")
        print(f"wall time {plain[0]:.1f} s and {told[0]:.1f} s: {100 * (told[0] / plain[0] - 1):.0f} %")
    spark.stop()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2)
