"""A Spark session for people who have none: local, with settings that suit the engine."""

from __future__ import annotations

import os
import sys

from pyspark import SparkConf
from pyspark.sql import SparkSession

from millstream.spark.java import ensure_java
from millstream.spark.quiet import quiet_start

ARROW_ROWS = 200_000
"""Rows in an Arrow batch on its way to Python: fewer, larger batches cost less."""


def local_session(partitions: int | None = None) -> SparkSession:
    """The session that is there, or a new local one on two cores at least."""
    found = SparkSession.getActiveSession()
    if found is not None:
        return found
    ensure_java()
    # Workers must run this interpreter, or they will not find the libraries.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    cores = max(2, os.cpu_count() or 2)
    conf = SparkConf().setMaster(f"local[{cores}]").setAppName("millstream")
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(ARROW_ROWS),
        "spark.sql.shuffle.partitions": str(partitions or cores),
        "spark.driver.memory": "2g",
        # An epoch's job is short and its partitions are fixed: planning it anew between stages only costs time.
        "spark.sql.adaptive.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.streaming.stopTimeout": "60s",
    }
    conf.setAll(list(settings.items()))
    with quiet_start(conf):
        session = SparkSession.builder.config(conf=conf).getOrCreate()
    session.sparkContext.setLogLevel("FATAL")  # failures are raised, once and readably
    return session


def settle_session(session: SparkSession, partitions: int) -> None:
    """Have an epoch's shuffles end in just so many partitions, and times read as UTC, as kernels read them.

    The session is the stream's own, and nobody else's.
    """
    wanted = {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
    }
    for key, value in wanted.items():
        if session.conf.get(key) != value:
            session.conf.set(key, value)
