"""Is this session one that the engine can run on? Said at the start, in one line, and not by an epoch that fails."""

from __future__ import annotations

import sys
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from millstream.core.errors import PlanError

OLDEST = (4, 3)
"""The oldest Spark that the engine was tried on."""
_tried: set[str] = set()


def check_session(spark: Any) -> None:
    """Refuse what is no classic session, or one of a Spark that is too old."""
    kind = type(spark)
    if kind.__module__.startswith("pyspark.sql.connect"):
        raise PlanError(
            "this is a session of Spark Connect, and the engine needs a classic one: its driver runs in this process",
            hint='Make one with SparkSession.builder.master("…").getOrCreate(), without remote("sc://…").',
        )
    if not isinstance(spark, SparkSession):
        raise PlanError(
            f"{kind.__name__} is no Spark session",
            hint='Give a SparkSession, or none to have one made; host="local" needs no Spark.',
        )
    version = spark.version
    if _numbers(version) < OLDEST:
        needed = ".".join(map(str, OLDEST))
        raise PlanError(
            f"this session runs Spark {version}, and the engine needs {needed} or newer",
            hint=f'Install pyspark {needed} here and on the cluster, or run in this process with host="local".',
        )
    if spark.sparkContext._jsc is None:
        raise PlanError("this Spark session is stopped", hint="Make a new one, and a new engine with it.")


def check_worker(spark: SparkSession) -> None:
    """Try one worker: can it import what the engine's tasks need? Once for each session."""
    application = f"{spark.sparkContext.applicationId} {id(spark.sparkContext)}"
    if application in _tried:
        return
    try:
        # Not over Arrow: a worker without it fails before it is asked, and Spark logs pages of that.
        ((interpreter, missing),) = spark.sparkContext.parallelize([0], 1).map(_looking()).collect()
    except (PySparkException, Py4JError) as error:
        raise PlanError(
            f"no Python worker of this session could be started: {_last_line(error)}",
            hint=_remedy("the workers' Python"),
        ) from error
    if missing:
        raise PlanError(
            f"the workers of this session run {interpreter}, which cannot import Millstream: {missing}",
            hint=_remedy(f"{interpreter} on every worker"),
        )
    _tried.add(application)


def _looking() -> Any:
    """The function that a worker runs; made here, it travels as it is and not as a name in a package."""

    def look(_: int) -> tuple[str, str]:
        import importlib  # noqa: PLC0415 - this runs where the package may be missing
        import sys as worker  # noqa: PLC0415

        missing = ""
        for name in ("pyarrow", "numpy", "millstream.runtime.tasks.task"):
            try:
                importlib.import_module(name)
            except Exception as error:  # noqa: BLE001 - whatever keeps it from being imported
                missing = f"{type(error).__name__}: {error}"
                break
        return f"{worker.executable} (Python {worker.version.split()[0]})", missing

    return look


def _remedy(where: str) -> str:
    return (
        f"Install it for {where}, or set PYSPARK_PYTHON to a Python that has it before the session is made: "
        f"{sys.executable} here; on a cluster, ship one with spark.archives."
    )


def _numbers(version: str) -> tuple[int, ...]:
    """The first two numbers of a version.

    >>> _numbers("4.3.0-SNAPSHOT"), _numbers("3.5.1")
    ((4, 3), (3, 5))
    """
    return tuple(int("".join(filter(str.isdigit, part)) or 0) for part in version.split(".")[:2])


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [line for line in lines if "Error" in line or "Exception" in line]
    return (telling or lines or [type(error).__name__])[-1][:300]
