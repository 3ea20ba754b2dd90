"""The host on Spark, where Spark is installed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from millstream.core.errors import PlanError


def spark_host(spark: Any, checkpoint: str | Path | None, partitions: int | None) -> Any:
    """A host on the session that was given, or on a local one made for it."""
    try:
        from millstream.spark.host import SparkHost  # noqa: PLC0415 - the local host runs without pyspark
        from millstream.spark.session import local_session  # noqa: PLC0415
    except ImportError as error:
        raise PlanError(
            f"Spark is not installed: {error}",
            hint='Install millstream[spark], or run in this process with ms.Engine(host="local").',
        ) from error

    return SparkHost(spark if spark is not None else local_session(partitions), checkpoint, partitions)
