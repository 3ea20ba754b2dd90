"""Doomed results in tasks: what a stop has found out after an epoch goes to the driver among its facts."""

from __future__ import annotations

from millstream.ops.feedback.sweep import doomed, doomed_in_store
from millstream.ops.operator import Operator
from millstream.runtime.plain_progress import records_plain
from millstream.runtime.tasks.flow import Order
from millstream.runtime.tasks.program import Program

DOOMED = "doomed"
"""A fact: by node key, partial results that can only become such as nobody reads."""


def note_doomed(program: Program, order: Order, i: int, operator: Operator) -> None:
    """Sweep what a stop holds, for itself or for those who read its outlets, where that is asked for."""
    found = {}
    guards = order.guards.get(i)
    if guards is not None and guards.sweeps:
        found[order.keys[i]] = doomed(operator, guards.sweeps, guards.groups)
    outlets = program.outlets.get(i, {})
    readers = {at: some[0] for at, some in outlets.items() if some and some[0] in order.guards}
    asked = {at: (order.guards[one].sweeps, order.guards[one].groups) for at, one in readers.items()}
    asked = {at: one for at, one in asked.items() if one[0]}
    if asked:
        for at, records in doomed_in_store(operator, asked, lambda _, rows: [rows]).items():
            found[order.keys[readers[at]]] = records
    facts = operator.stores[0].facts
    if found or DOOMED in facts:
        facts[DOOMED] = {key: records_plain(records) for key, records in found.items()}
