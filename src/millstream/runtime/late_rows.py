"""Many late rows are seldom what somebody wants: a run says so at its end, with what can be done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_MANY = 0.01
"""The share of a stream's rows from which on late rows are many."""
REMEDY = (
    "Rows are late if they come in a later epoch than a row that is further on than the declared disorder. For files "
    "that are all there, take more of them per epoch (epoch_files), order them by a column (order_by), or declare a "
    "longer disorder"
)


def late_warnings(report: Mapping[str, Any]) -> Iterator[str]:
    """A sentence for each stream of which many rows were late.

    >>> report = {"sources": {"s": {"rows_in": 1000, "late": 47}, "t": {"rows_in": 1000, "late": 1}}}
    >>> list(late_warnings(report))
    ["47 of 1,000 rows of stream 's' were late"]
    """
    for name, stream in report.get("sources", {}).items():
        if stream["late"] > _MANY * stream["rows_in"]:
            yield f"{stream['late']:,} of {stream['rows_in']:,} rows of stream {name!r} were late"
