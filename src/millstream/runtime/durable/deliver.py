"""Delivery: after the commit, staged files are renamed and the other sinks are handed their rows.

Folder sinks are exactly-once: a file's name is a function of the step, and renaming again changes nothing. Other
sinks get the step's number and are at-least-once: a kill between commit and delivery delivers again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from millstream.runtime.staging import gather, publish
from millstream.state.files import write_text

if TYPE_CHECKING:
    from millstream.runtime.durable.host import DurableHost


def deliver(host: DurableHost, outputs: list[dict[str, Any]], sequence: int, *, again: bool) -> None:
    """Publish a step's outputs; `again` after a restart, when it may have been done before."""
    publish(outputs, host.id, again=again)
    marker = host.checkpoint / "delivered"
    done = int(marker.read_text()) if marker.exists() else -1
    if again and done >= sequence:
        return
    waiting = [one for one in outputs if one["sink"] == "others" and one["query"] in host.queries]
    for (query, output, numbers), rows in gather(waiting, host.checkpoint).items():
        sinks = host.queries[query].outputs()[output]
        for number in numbers:
            if number < len(sinks):  # else the sink is gone since then
                host.hand_over(sinks[number], rows, sequence)
    if waiting:
        write_text(marker, str(sequence))
