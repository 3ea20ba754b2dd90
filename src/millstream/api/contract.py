"""Contracts of an engine's queries: one that would keep rows for ever is refused, with its place in the SQL."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.core.errors import ContractError
from millstream.plan import nodes
from millstream.plan.check_report import Answer, CheckReport
from millstream.plan.refusal import Refusal
from millstream.sql.grammar.text import Piece

Places = Mapping[int, tuple[nodes.Node, Piece]]
"""By identity of a node: where in a statement it was asked for."""


def refuse(report: CheckReport, places: Places) -> None:
    """Stop here if some query would keep rows for ever."""
    refused = [one for one in report.answers if not one.checked.safe]
    if not refused:
        return
    blocks = [_block(answer, places) for answer in refused]
    hints = [refusal.hint for answer in refused for _, refusal in answer.checked.refusals]
    error = ContractError("\n\n".join(blocks), report=report)
    error.hint = next(iter(hints), None)
    raise error


def _block(answer: Answer, places: Places) -> str:
    told = [_told(answer.checked.name, node, refusal, places) for node, refusal in answer.checked.refusals]
    would_do = answer.would_do()
    if would_do:
        told.append("\n".join(("One of these would do:", *(f"  {one}" for one in would_do))))
    return "\n".join(told)


def _told(query: str, node: nodes.Node, refusal: Refusal, places: Places) -> str:
    place = places.get(id(node))
    if place is None:
        return f"query {query!r} is refused: {refusal.fact}\nHint: {refusal.hint}"
    return place[1].problem(refusal.fact, refusal.hint).shown(longest=None)
