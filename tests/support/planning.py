"""The host on Spark as far as it plans: frames are sources, and there is no session."""

from __future__ import annotations

from pathlib import Path

import millstream as ms
from millstream.runtime.durable.host import DurableHost
from millstream.spark.host import SparkHost


class Planning(SparkHost):
    """The host on Spark, without a session."""

    def __init__(self, checkpoint: Path, partitions: int) -> None:
        DurableHost.__init__(self, checkpoint, partitions)


def engine(checkpoint: Path, partitions: int) -> ms.Engine:
    """An engine on this host."""
    made = ms.Engine(host="local")
    made.host = Planning(checkpoint, partitions)
    return made
