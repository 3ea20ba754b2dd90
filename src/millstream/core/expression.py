"""An SQL expression that has been parsed and checked: what it says, and how each engine writes it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Expression:
    """As the user wrote it, for Spark, for DuckDB, and the columns it reads.

    >>> str(Expression("x * 2", "`x` * 2", '"x" * 2', ("x",)))
    'x * 2'
    """

    text: str
    spark: str
    duck: str
    columns: tuple[str, ...]
    plain: str | None = None
    """The column's name, if the expression is nothing but a column."""
    simple: bool = False
    """Made of columns, constants, comparisons, logic, and + - * only: every engine agrees on what it means."""

    def __str__(self) -> str:
        """As the user wrote it."""
        return self.text

    @classmethod
    def column(cls, name: str) -> Expression:
        """Just a column."""
        return cls(name, f"`{name}`", f'"{name}"', (name,), name, simple=True)
