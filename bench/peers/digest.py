"""Answers as one number: the sum, over all result rows, of a whole number made of each row.

The functions use nothing but + * and %, so they take whole numbers, NumPy arrays and the columns of Polars and Spark
alike; the SQL forms are the same sums as text. Nothing is negative, since engines differ about the remainder of what
is, and no total comes near 2^63. The n-th query of a workload counts n times.
"""

from __future__ import annotations

from typing import Any

KEYLESS = 0
"""The key of windows that have none."""


def window_row(key: Any, end_seconds: Any, value: Any) -> Any:
    """A window's number, from its group, its end and its answer."""
    return (key + 1) * (end_seconds % 10_007 + 1) + value * (key % 13 + 1)


def window_row_sql(key: str, end_seconds: str, value: str) -> str:
    """The same in SQL, of expressions.

    >>> window_row_sql("k", "e", "v")
    '((k) + 1) * ((e) % 10007 + 1) + (v) * ((k) % 13 + 1)'
    """
    return f"(({key}) + 1) * (({end_seconds}) % 10007 + 1) + ({value}) * (({key}) % 13 + 1)"


def pair_row(left_seq: Any, right_seq: Any) -> Any:
    """A pair's number, from the places of its rows in their streams."""
    return (left_seq % 1_009 + 1) * (right_seq % 1_013 + 1)


def pair_row_sql(left_seq: str, right_seq: str) -> str:
    """The same in SQL.

    >>> pair_row_sql("a", "b")
    '((a) % 1009 + 1) * ((b) % 1013 + 1)'
    """
    return f"(({left_seq}) % 1009 + 1) * (({right_seq}) % 1013 + 1)"


def count_and_max(count: Any, greatest: Any) -> Any:
    """The answer of a window that counts and takes the maximum."""
    return count * 31 + greatest


def median_and_distinct(twice_median: Any, distinct: Any) -> Any:
    """The answer of a window with a median, doubled to be whole, and a distinct count."""
    return twice_median + distinct * 31
