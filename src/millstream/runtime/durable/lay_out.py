"""Where state lies: in the partitions that a program looks for it in."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from millstream.runtime.tasks.repartition import repartition
from millstream.state.manifest import GROUPS

if TYPE_CHECKING:
    from millstream.runtime.durable.host import DurableHost

log = logging.getLogger("millstream.runtime")


def lay_out(host: DurableHost, partitions: int) -> None:
    """Have the state, which is in so many partitions, where the program looks for it; it stays as it is, if it can."""
    ledger = host.ledger
    if not ledger.segments and not ledger.facts:
        ledger.layout = GROUPS
    elif partitions != host.partitions or ledger.layout != GROUPS:
        log.info("moving state from %d to %d partitions, by groups", partitions, host.partitions)
        repartition(ledger, host.program, host.storage, partitions)
        host.commit([], ledger.epoch)
