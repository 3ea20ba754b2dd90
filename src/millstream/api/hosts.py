"""Hosts: in this process, in this process with a checkpoint, or on Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from millstream.core.errors import PlanError
from millstream.plan.sharing import Sharing
from millstream.runtime.durable.host import DurableHost
from millstream.runtime.local.host import LocalHost
from millstream.runtime.partitions import check_partitions


def local_host(spark: Any, checkpoint: str | Path | None, partitions: Any, sharing: Sharing) -> LocalHost | DurableHost:
    """A host in this process: durable where a checkpoint is given, else with its state in memory."""
    if spark is not None:
        raise PlanError("the local host takes no session", hint='Leave host="local" out to run on Spark.')
    if checkpoint is None:
        if partitions is not None:
            raise PlanError(
                "without a checkpoint, the local host keeps its state in one part",
                hint="Leave partitions out, or give a checkpoint.",
            )
        return LocalHost(sharing)
    host = DurableHost(checkpoint, check_partitions(1 if partitions is None else partitions))
    host.sharing = sharing
    return host


def spark_host(spark: Any, checkpoint: str | Path | None, partitions: int | None, sharing: Sharing) -> Any:
    """A host on the session that was given, or on a local one made for it."""
    try:
        from millstream.spark.host import SparkHost  # noqa: PLC0415 - the local host runs without pyspark
        from millstream.spark.local_session import local_session  # noqa: PLC0415
    except ImportError as error:
        raise PlanError(
            f"Spark is not installed: {error}",
            hint='Install millstream[spark], or run in this process with ms.Engine(host="local").',
        ) from error

    host = SparkHost(spark if spark is not None else local_session(partitions), checkpoint, partitions)
    host.sharing = sharing
    return host
