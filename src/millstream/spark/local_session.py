"""A Spark session for people who have none: local, with settings that suit the engine."""

from __future__ import annotations

import os
import sys
from typing import Any

from pyspark import SparkConf
from pyspark.sql import SparkSession

from millstream.core.settings import PLAIN, Settings
from millstream.runtime.partitions import check_partitions
from millstream.spark.java import ensure_java
from millstream.spark.quiet import quiet_start

ARROW_ROWS = 200_000
"""Rows in an Arrow batch on its way to Python: fewer, larger batches cost less."""
_UTC: dict[str, str] = {"Z": "UTC", "Etc/UTC": "UTC", "+00:00": "UTC"}


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


def settings_of(session: SparkSession | None) -> Settings:
    """What expressions mean in a session: its ANSI mode and its time zone."""
    if session is None:  # an engine may plan without one
        return PLAIN
    conf = session.conf
    zone = str(conf.get("spark.sql.session.timeZone"))
    return Settings(ansi=conf.get("spark.sql.ansi.enabled") == "true", zone=_UTC.get(zone, zone))


def prepare_session(session: SparkSession, partitions: int, settings: Settings) -> None:
    """Have an epoch's shuffles end in just so many partitions, and Spark compute as kernels do.

    The session is the stream's own, and nobody else's.
    """
    wanted = {
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.session.timeZone": settings.zone,
        "spark.sql.ansi.enabled": "true" if settings.ansi else "false",
    }
    for key, value in wanted.items():
        if session.conf.get(key) != value:
            session.conf.set(key, value)


def partitions_of(asked: Any, spark: SparkSession) -> int:
    """How many partitions state is kept in: as asked, or as many as the session has tasks at a time."""
    if asked is None:
        return max(1, spark.sparkContext.defaultParallelism)
    return check_partitions(asked)
