"""Delivery: after the commit, staged files are renamed and the other sinks are handed their rows.

Folder sinks are exactly-once: a file's name is a function of the step, and renaming again changes nothing. Other
sinks get the step's number and are at-least-once: a kill between commit and delivery delivers again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.runtime.tasks.staging import STAGING, gather, publish

if TYPE_CHECKING:
    from millstream.runtime.durable.host import DurableHost

_MARKER = "delivered"
"""Holds the number of the last step whose rows every sink has been handed."""


def deliver(host: DurableHost, outputs: list[dict[str, Any]], sequence: int, *, again: bool) -> None:
    """Publish a step's outputs; `again` after a restart, when it may have been done before."""
    publish(outputs, host.id, again=again)
    if again and int(host.storage.get(_MARKER) or -1) >= sequence:
        return
    names = {old: now for now, old in host.formerly.items()}
    renamed = [{**one, "query": names.get(one["query"], one["query"])} for one in outputs if one["sink"] == "others"]
    waiting = [one for one in renamed if one["query"] in host.queries]
    for (query, output, numbers), rows in gather(waiting, host.storage).items():
        sinks = host.queries[query].outputs()[output]
        for number in numbers:
            if number < len(sinks):  # else the sink is gone since then
                host.hand_over(sinks[number], rows, sequence)
    if waiting:
        host.storage.put(_MARKER, str(sequence).encode())


def tidy(host: DurableHost) -> None:
    """Clear what nothing names; only between jobs, when nobody is writing."""
    host.manifests.collect(written.key for written in host.ledger.tables.values())
    for key in host.storage.list(STAGING):
        host.storage.delete(key)
    host.storage.sweep(STAGING)
