"""The end of all streams: what it sets apart is still read by those who read late and rejected rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from millstream.ops.turn import Let
from millstream.runtime.outputs.handed import HandedOn, ending
from millstream.runtime.trigger import Trigger

if TYPE_CHECKING:
    from millstream.runtime.durable.host import DurableHost


def end_streams(host: DurableHost, report: Callable[[dict[str, Any]], None], trigger: Trigger, let: Let) -> None:
    """End every stream; one of rows that were set apart, after it has read what the others' end set apart."""
    for names in ending(host.queries.values(), host.stream_ledgers()):
        handed = {name: source for name in names if isinstance(source := host.sources[name], HandedOn)}
        read = {name: source.read(host.storage, host.ledger.handed.get(name, ())) for name, source in handed.items()}
        waiting = {name: batch for name, batch in read.items() if batch is not None}
        if waiting:
            host.step(host.arrivals(waiting), host.ledger.epoch, report, trigger)
        host.flush(report, end=names, let=let)
