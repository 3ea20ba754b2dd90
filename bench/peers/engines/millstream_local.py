"""Millstream in this process: Parquet files in, an epoch every few of them."""

from __future__ import annotations

from importlib.metadata import version

import pyarrow as pa

import millstream as ms
from peers.driver import Answer, Job, serve
from peers.engines.millstream_queries import ask
from peers.meter import Meter
from peers.workloads import CORES, EPOCH_FILES


class Local:
    """Nothing to open."""

    name = "millstream-local"

    def __init__(self) -> None:
        pa.set_cpu_count(CORES)
        self.versions = {name: version(name) for name in ("millstream", "pyarrow")}

    def answer(self, job: Job, meter: Meter) -> Answer:
        """A new engine for each run."""
        out = Answer()
        schema = pa.schema([(name, pa.int64()) for name in job.asked.columns])
        sources = {
            name: ms.files(job.folder / name / "parquet", schema=schema, epoch_files=EPOCH_FILES)
            for name in job.asked.streams
        }
        engine = ms.Engine(host="local")
        ask(engine, job, sources, out)
        engine.start(ms.available_now(), end_of_stream=True).await_termination()
        return out


if __name__ == "__main__":
    serve(Local)
