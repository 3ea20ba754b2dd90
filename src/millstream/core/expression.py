"""An SQL expression that has been parsed and checked: what it says, and how each engine writes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from millstream.core import term as terms
from millstream.core.term import Term


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
    term: Term | None = None
    """Its meaning, where the plan knows it."""
    repeatable: bool = True
    """The same value for the same row, whenever and wherever it is computed."""
    extreme: tuple[str, tuple[str, ...]] | None = None
    """`greatest` or `least`, and columns, if it is that of these columns: it progresses as they do."""
    total: bool = False
    """Known to have a value for every row: no row can make it fail. Found out when a plan is bound to its types."""

    def __str__(self) -> str:
        """As the user wrote it."""
        return self.text

    @classmethod
    def column(cls, name: str) -> Expression:
        """Just a column."""
        return cls(name, _spark(name), _duck(name), (name,), name, simple=True, term=terms.column(name))

    @classmethod
    def of(cls, term: Term, *, total: bool = False) -> Expression:
        """What a term says.

        >>> Expression.of(Term(">", (terms.column("my price"), terms.constant("5")))).duck
        '"my price" > 5'
        """
        if term.op == "column":
            return replace(cls.column(term.value), total=total)
        return cls(
            terms.render(term, lambda name: name if name.isidentifier() else _spark(name)),
            terms.render(term, _spark),
            terms.render(term, _duck),
            tuple(dict.fromkeys(terms.names(term))),
            simple=True,
            term=term,
            total=total,
        )

    def substituted(self, by: Mapping[str, Expression]) -> Expression | None:
        """The same with other expressions in place of its columns; None if its meaning is not known well enough.

        >>> twice = Expression.of(Term("*", (terms.column("x"), terms.constant("2"))))
        >>> str(twice.substituted({"x": Expression.column("y")}))
        'y * 2'
        """
        if all(by[name].plain == name for name in self.columns):
            return self
        inner = {name: by[name].term for name in self.columns}
        known = {name: one for name, one in inner.items() if one is not None}
        if self.term is None or len(known) < len(inner):
            return None
        made = Expression.of(terms.substitute(self.term, known), total=self.total)
        return None if ambiguous(made.columns) else made

    def and_also(self, other: Expression) -> Expression | None:
        """Both conditions as one; None if no engine could tell their columns apart.

        >>> str(Expression.column("a").and_also(Expression.column("b")))
        'a AND b'
        """
        columns = tuple(dict.fromkeys((*self.columns, *other.columns)))
        if ambiguous(columns):
            return None
        total = self.total and other.total
        if self.term is not None and other.term is not None:
            both = (*terms.conjuncts(self.term), *terms.conjuncts(other.term))
            return Expression.of(Term("and", both), total=total)
        return Expression(
            f"({self.text}) AND ({other.text})",
            f"({self.spark}) AND ({other.spark})",
            f"({self.duck}) AND ({other.duck})",
            columns,
            repeatable=self.repeatable and other.repeatable,
            total=total,
        )

    def conjuncts(self) -> tuple[Expression, ...]:
        """The conditions that must all hold, or the expression itself if it is no such conjunction.

        >>> [str(one) for one in Expression.column("a").and_also(Expression.column("b")).conjuncts()]
        ['a', 'b']
        """
        if self.term is None or self.term.op != "and":
            return (self,)
        return tuple(Expression.of(one, total=self.total) for one in terms.conjuncts(self.term))


def ambiguous(names: tuple[str, ...]) -> bool:
    """Do some names differ in capitals only? DuckDB would take one for the other.

    >>> ambiguous(("k", "K")), ambiguous(("k", "v"))
    (True, False)
    """
    return len({name.lower() for name in names}) < len(names)


def _spark(name: str) -> str:
    return f"`{name}`"


def _duck(name: str) -> str:
    return f'"{name}"'
