"""Flink SQL in PyFlink's mini-cluster: window functions and interval joins over bounded files, in streaming mode.

Its store is `heap` without checkpoints, or `RocksDB` with a checkpoint every second. Time is what Flink says of the
job, and CPU is counted once it is submitted: planning, and the cluster that PyFlink makes for each job, are left out.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pyflink.common import Configuration  # pyright: ignore[reportMissingImports]  in an environment of its own
from pyflink.table import EnvironmentSettings, TableEnvironment  # pyright: ignore[reportMissingImports]

from peers.digest import KEYLESS, count_and_max, median_and_distinct, pair_row_sql, window_row_sql
from peers.driver import Answer, Job, serve
from peers.meter import Meter
from peers.workloads import COLUMNS, CORES, DISORDER, Workload

JAR = "PEERS_FLINK_JAR"
"""The variable that names the jar of bench/peers/flink."""
_CHECKPOINTS = "1 s"
_VALUES = {
    "max": "MAX(price)",
    "count and max": f"{count_and_max(1, 0)} * COUNT(*) + MAX(price)",
    "median and distinct": f"CAST(2 * PERCENTILE(price, 0.5) AS BIGINT)"
    f" + {median_and_distinct(0, 1)} * COUNT(DISTINCT bidder)",
}
# Windows end on whole seconds, and Flink's own functions give them as text or as parts only.
_END = "(TIMESTAMPDIFF(SECOND, TIMESTAMP '1970-01-01 00:00:00', window_end))"


class Flink:
    """A JVM; a table environment for each job, since a store belongs to one."""

    name = "flink"

    def __init__(self) -> None:
        # A collection in the thread that looks at memory would finalize Java objects over a second connection, and
        # the planner, whose metadata are bound to a thread, would then fail now and then.
        gc.disable()
        os.environ["JVM_ARGS"] = "-Xmx4g"
        self.versions = {"apache-flink": version("apache-flink")}
        self._environment("heap", Path(tempfile.gettempdir()))

    def answer(self, job: Job, meter: Meter) -> Answer:
        """All queries of the workload as one job, which reads each stream once."""
        asked = job.asked
        texts = [*(_windows(asked, *one) for one in asked.windows), *(_pairs(band) for band in asked.bands)]
        place = Path(tempfile.mkdtemp(prefix="peers-"))
        try:
            tables = self._environment(job.store, place)
            for name in asked.streams:
                tables.execute_sql(_source(name, job.folder))
            statements = tables.create_statement_set()
            for i, text in enumerate(texts):
                tables.execute_sql(f"CREATE TABLE out{i} (digest BIGINT) WITH ('connector'='peers-sum', 'query'='{i}')")
                statements.add_insert_sql(f"INSERT INTO out{i} {text}")
            began = time.perf_counter()
            submitted = statements.execute()
            notes = {"submit_seconds": time.perf_counter() - began}
            meter.begin()
            result = submitted.get_job_client().get_job_execution_result().result()
        finally:
            shutil.rmtree(place, ignore_errors=True)
        sums = result.get_all_accumulator_results()
        out = Answer(seconds=result.get_net_runtime() / 1000, notes=notes)
        for i in range(len(texts)):
            out.add(sums[f"rows-{i}"], sums[f"digest-{i}"], query=i)
        return out

    def _environment(self, store: str, place: Path) -> Any:
        settings = {
            "pipeline.jars": Path(os.environ[JAR]).resolve().as_uri(),
            "pipeline.object-reuse": "true",
            "parallelism.default": str(CORES),
            "taskmanager.numberOfTaskSlots": str(CORES),
            "python.client.executable": sys.executable,
            "table.local-time-zone": "UTC",
            # The default is too little for the buffers of eight windows.
            "taskmanager.memory.managed.size": "1g",
            "taskmanager.memory.network.min": "256m",
            "taskmanager.memory.network.max": "256m",
            "state.backend.type": "rocksdb" if store == "RocksDB" else "hashmap",
        }
        if store == "RocksDB":
            settings |= {
                "execution.checkpointing.interval": _CHECKPOINTS,
                "execution.checkpointing.incremental": "true",
                "execution.checkpointing.dir": place.resolve().as_uri(),
            }
        configuration = Configuration()
        for key, value in settings.items():
            configuration.set_string(key, value)
        return TableEnvironment.create(
            EnvironmentSettings.new_instance().in_streaming_mode().with_configuration(configuration).build()
        )


def _source(name: str, folder: Path) -> str:
    columns = ", ".join(f"{column} BIGINT" for column in COLUMNS)
    return (
        f"CREATE TABLE {name} ({columns}, event_time AS TO_TIMESTAMP_LTZ(ts, 3),"
        f" WATERMARK FOR event_time AS event_time - {_span(DISORDER)})"
        f" WITH ('connector'='peers-rows', 'path'='{(folder / name / 'binary').as_uri()}')"
    )


def _windows(asked: Workload, length: int, slide: int) -> str:
    shape = f"HOP(TABLE bids, DESCRIPTOR(event_time), {_span(slide)}, {_span(length)})"
    if length == slide:
        shape = f"TUMBLE(TABLE bids, DESCRIPTOR(event_time), {_span(length)})"
    key = "auction" if asked.keyed else f"CAST({KEYLESS} AS BIGINT)"
    groups = "auction, window_start, window_end" if asked.keyed else "window_start, window_end"
    answers = f"SELECT {key} AS k, {_END} AS e, {_VALUES[asked.aggregate]} AS v FROM TABLE({shape}) GROUP BY {groups}"
    return f"SELECT {window_row_sql('k', 'e', 'v')} FROM ({answers})"


def _pairs(band: int) -> str:
    return (
        f"SELECT {pair_row_sql('l.seq', 'r.seq')} FROM bids l, asks r WHERE l.auction = r.auction"
        f" AND l.event_time BETWEEN r.event_time - {_span(band)} AND r.event_time + {_span(band)}"
    )


def _span(milliseconds: int) -> str:
    return f"INTERVAL '{milliseconds // 1000}' SECOND(3)"


if __name__ == "__main__":
    serve(Flink)
