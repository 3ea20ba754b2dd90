"""Rows that were not read, in the reports of a step: they are counted, and progress is taken from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from millstream.core.generator import Seen
from millstream.plan import nodes
from millstream.runtime.batch import Batch, Unread
from millstream.runtime.tasks.parcel import Report
from millstream.runtime.tasks.program import Program

_AFTER = 1 << 30
"""The place of what was not read among the partitions of an epoch: behind all of them."""


def of_batches(program: Program, batches: Mapping[str, Batch]) -> list[Report]:
    """What was not read of the sources that the driver reads."""
    return of_streams(program, {name: batch.unread for name, batch in batches.items() if batch.unread is not None})


def of_streams(program: Program, unread: Mapping[str, Unread]) -> list[Report]:
    """A report for each stream of which something was not read."""
    out: list[Report] = []
    for i, node in enumerate(program.nodes):
        one = unread.get(node.name) if isinstance(node, nodes.Source) else None
        if isinstance(node, nodes.Source) and one is not None:
            figures = {"rows_in": one.rows, "guarded": one.rows, "unread": one.rows}
            seen = asdict(Seen(rows=one.rows, high=one.high))
            out.append(Report(meters={i: figures}, seen=[{"stream": node.name, "at": _AFTER, **seen}]))
    return out
