"""Where state lies: in the partitions that a program looks for it in."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame

from millstream.runtime.repartition import repartition
from millstream.spark.reduce import GROUPS, layout

if TYPE_CHECKING:
    from millstream.spark.host import SparkHost

log = logging.getLogger("millstream.spark")


def lay_out(host: SparkHost, partitions: int) -> None:
    """Have the state, which is in so many partitions, where the program looks for it; it stays as it is, if it can."""
    best, ledger = _best(host), host.ledger
    if not ledger.segments and not ledger.facts:
        ledger.layout = best
    elif partitions != host.partitions or ledger.layout not in (GROUPS, best):
        log.info("moving state from %d to %d partitions, by groups", partitions, host.partitions)
        repartition(ledger, host.program, host.checkpoint, partitions)
        host._commit([], ledger.epoch)


def _best(host: SparkHost) -> str:
    streams = [host.sources[source.name] for source in host.source_nodes()]
    streaming = all(isinstance(one, DataFrame) and one.isStreaming for one in streams)
    return layout(host.program, host.spark.version) if streaming else GROUPS
