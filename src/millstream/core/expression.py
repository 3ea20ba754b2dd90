"""An SQL expression that has been parsed and checked: what it says, and what it means under which settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from millstream.core import term as terms
from millstream.core.quote import quoted, shown
from millstream.core.settings import PLAIN, Settings
from millstream.core.term import Term


@dataclass(frozen=True, slots=True)
class Expression:
    """As the user wrote it, what it means, and the settings that it means it under.

    >>> str(Expression("x * 2", Term("*", (terms.column("x"), terms.constant("2")))))
    'x * 2'
    """

    text: str
    term: Term
    settings: Settings = PLAIN
    total: bool = False
    """Known to have a value for every row: no row can make it fail. Found out when it is bound to its types."""
    columns: tuple[str, ...] = field(init=False, compare=False)
    """The columns that it reads."""

    def __post_init__(self) -> None:
        """Find its columns, once."""
        object.__setattr__(self, "columns", tuple(dict.fromkeys(terms.names(self.term))))

    def __str__(self) -> str:
        """As the user wrote it."""
        return self.text

    @property
    def plain(self) -> str | None:
        """The column's name, if the expression is nothing but a column."""
        return self.term.value if self.term.op == "column" else None

    @property
    def spark(self) -> str:
        """As Spark's SQL."""
        return terms.render(self.term, quoted)

    @property
    def extreme(self) -> tuple[str, tuple[str, ...]] | None:
        """`greatest` or `least`, and columns, if it is that of these columns: it progresses as they do."""
        term = self.term
        if term.op != "call" or term.value not in ("greatest", "least") or any(p.op != "column" for p in term.parts):
            return None
        return term.value, tuple(part.value for part in term.parts)

    @classmethod
    def column(cls, name: str) -> Expression:
        """Just a column."""
        return cls(name, terms.column(name), total=True)

    @classmethod
    def of(cls, term: Term, settings: Settings = PLAIN, *, total: bool = False) -> Expression:
        """What a term says.

        >>> Expression.of(Term(">", (terms.column("my price"), terms.constant("5")))).spark
        '`my price` > 5'
        """
        if term.op == "column":
            return cls.column(term.value)
        return cls(terms.render(term, shown), term, settings, total)

    def substituted(self, by: Mapping[str, Expression]) -> Expression | None:
        """The same with other expressions in place of its columns; None if it would nest too deeply.

        >>> twice = Expression.of(Term("*", (terms.column("x"), terms.constant("2"))))
        >>> str(twice.substituted({"x": Expression.column("y")}))
        'y * 2'
        """
        if all(by[name].plain == name for name in self.columns):
            return self
        if self.plain is not None:  # with the settings that the other has
            return by[self.plain]
        total = self.total and all(by[name].total for name in self.columns)
        term = terms.substitute(self.term, {name: by[name].term for name in self.columns})
        return None if terms.depth(term) > terms.DEEPEST else Expression.of(term, self.settings, total=total)

    def and_also(self, other: Expression) -> Expression:
        """Both conditions as one.

        >>> str(Expression.column("a").and_also(Expression.column("b")))
        'a AND b'
        """
        both = (*terms.conjuncts(self.term), *terms.conjuncts(other.term))
        settings = other.settings if self.plain is not None else self.settings
        return Expression.of(Term("and", both), settings, total=self.total and other.total)

    def only_where(self, condition: Expression) -> Expression:
        """Computed only where a condition holds, and null elsewhere.

        >>> str(Expression.column("a").only_where(Expression.column("b")))
        'a'
        """
        return replace(self, term=Term("case", (condition.term, self.term)))

    def conjuncts(self) -> tuple[Expression, ...]:
        """The conditions that must all hold, or the expression itself if it is no such conjunction.

        >>> [str(one) for one in Expression.column("a").and_also(Expression.column("b")).conjuncts()]
        ['a', 'b']
        """
        if self.term.op != "and":
            return (self,)
        return tuple(Expression.of(one, self.settings, total=self.total) for one in terms.conjuncts(self.term))
