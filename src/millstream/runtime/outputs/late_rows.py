"""Many late or rejected rows are seldom what somebody wants: a run says so at its end, with what can be done."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_MANY = 0.01
"""The share of the rows from which on late or rejected rows are many."""
_LATE = (
    "Rows are late if they come in a later epoch than a row that is further on than the declared disorder. For files "
    "that are all there, take more of them per epoch (epoch_files), order them by a column (order_by), or declare a "
    "longer disorder."
)
_REJECTED = "Each has its reason in the rejected output: .rejected of the query, in SQL REJECTED(…)."


def warnings(report: Mapping[str, Any]) -> Iterator[str]:
    """What is to be said of each stream with many late rows, and of each query with many rejected ones.

    >>> report = {"sources": {"s": {"rows_in": 1000, "late": 47}, "t": {"rows_in": 1000, "late": 1}}}
    >>> [said.partition(". ")[0] for said in warnings(report)]
    ["47 of 1,000 rows of stream 's' were late"]
    >>> report = {"queries": {"q": {"books": {"rows_in": 1000, "rejected": 340}}}}
    >>> [said.partition(". ")[0] for said in warnings(report)]
    ["340 of 1,000 rows of query 'q' were rejected"]
    >>> report = {"queries": {"q": {"books": {"rows_in": 9, "rejected": 1, "results_rejected": 1}, "rows_out": 1}}}
    >>> [said.partition(". ")[0] for said in warnings(report)]
    ["1 of 9 rows of query 'q' was rejected", "1 result of query 'q' was rejected"]
    """
    for name, stream in report.get("sources", {}).items():
        if stream["late"] > _MANY * stream["rows_in"]:
            late = stream["late"]
            yield f"{late:,} of {stream['rows_in']:,} rows of stream {name!r} {_were(late)} late. {_LATE}"
    for name, query in report.get("queries", {}).items():
        books = query["books"]
        if books["rejected"] > _MANY * books["rows_in"]:
            bad = books["rejected"]
            yield f"{bad:,} of {books['rows_in']:,} rows of query {name!r} {_were(bad)} rejected. {_REJECTED}"
        if (failed := books.get("results_rejected", 0)) > _MANY * query.get("rows_out", 0):
            results = "result" if failed == 1 else "results"
            yield f"{failed:,} {results} of query {name!r} {_were(failed)} rejected. {_REJECTED}"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"
