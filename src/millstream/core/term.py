"""Terms: the part of SQL whose meaning the plan itself knows, so that conditions can be judged and moved.

Columns, constants, comparisons, logic and + - *. What an expression does besides is opaque, and stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
_NUMERIC = {"integer", "float", "number"}
_LOGICAL = {"boolean", "null"}
_LEVELS = {"or": 1, "and": 2, "not": 3, "+": 5, "-": 5, "*": 6, "negative": 7, "column": 8, "constant": 8}
_COMPARED = 4


@dataclass(frozen=True, slots=True)
class Term:
    """An operation on terms; `column` has a name and `constant` its text as `value`.

    >>> dear = Term("and", (Term(">", (column("price"), constant("5"))), column("open")))
    >>> render(dear, str)
    'price > 5 AND open'
    """

    op: str
    parts: tuple[Term, ...] = ()
    value: str = ""


def column(name: str) -> Term:
    """A column."""
    return Term("column", value=name)


def constant(text: str) -> Term:
    """A constant, as SQL writes it."""
    return Term("constant", value=text)


def names(term: Term) -> Iterator[str]:
    """The columns that a term reads, each as often as it does.

    >>> list(names(Term("=", (column("a"), column("b")))))
    ['a', 'b']
    """
    if term.op == "column":
        yield term.value
    for part in term.parts:
        yield from names(part)


def substitute(term: Term, by: Mapping[str, Term]) -> Term:
    """The same with other terms in place of columns.

    >>> render(substitute(Term("*", (column("x"), constant("2"))), {"x": Term("+", (column("a"), constant("1")))}), str)
    '(a + 1) * 2'
    """
    if term.op == "column":
        return by.get(term.value, term)
    return Term(term.op, tuple(substitute(part, by) for part in term.parts), term.value)


def conjuncts(term: Term) -> Iterator[Term]:
    """The conditions that must all hold.

    >>> [render(one, str) for one in conjuncts(Term("and", (column("a"), Term("and", (column("b"), column("c"))))))]
    ['a', 'b', 'c']
    """
    if term.op == "and":
        for part in term.parts:
            yield from conjuncts(part)
    else:
        yield term


def kind_of(term: Term, kinds: Mapping[str, str]) -> str | None:
    """What kind of value a term has, if no row can make it fail; None if one could. `kinds` are the columns'.

    Whole numbers overflow, and a text may be no number: such terms could fail.

    >>> kind_of(Term(">", (column("a"), constant("5"))), {"a": "integer"})
    'boolean'
    >>> kind_of(Term("*", (column("a"), constant("5"))), {"a": "integer"}) is None
    True
    """
    if term.op == "column":
        return kinds.get(term.value)
    if term.op == "constant":
        return _constant(term.value)
    if term.op == "is null" and term.parts[0].op == "column":
        return "boolean"
    parts = [kind_of(part, kinds) for part in term.parts]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    if term.op in ("+", "-", "*"):
        return "float" if "float" in known and set(known) <= _NUMERIC else None
    if term.op == "negative":
        return known[0] if known[0] == "float" or (term.parts[0].op == "constant" and known[0] in _NUMERIC) else None
    if term.op in ("and", "or", "not"):
        return "boolean" if set(known) <= _LOGICAL else None
    return "boolean" if all(_comparable(known[0], other) for other in known[1:]) else None


def _constant(text: str) -> str | None:
    if text.startswith("'"):
        return "literal"
    if text in ("TRUE", "FALSE"):
        return "boolean"
    if text == "NULL":
        return "null"
    # A number with more digits than this might not meet a column's type in any other.
    return None if len(text) > 15 else "integer" if text.isdecimal() else "number"


def _comparable(one: str, other: str) -> bool:
    both = {one, other}
    if len(both) == 1 or "null" in both or both <= _NUMERIC:
        return True
    return "literal" in both and any(kind == "text" or kind.startswith("time") for kind in both)


def render(term: Term, quoted: Callable[[str], str]) -> str:
    """The term as SQL; `quoted` writes the names of columns.

    >>> render(Term("not", (Term("or", (column("a"), Term("is null", (column("b"),)))),)), str)
    'NOT (a OR b IS NULL)'
    """
    level = _LEVELS.get(term.op, _COMPARED)

    def inner(part: Term) -> str:
        text, below = render(part, quoted), _LEVELS.get(part.op, _COMPARED)
        chained = below == level and part.op == term.op and term.op in ("and", "or")
        return text if below > level or chained else f"({text})"

    match term.op:
        case "column":
            return quoted(term.value)
        case "constant":
            return term.value
        case "not":
            return f"NOT {inner(term.parts[0])}"
        case "negative":
            return f"-{inner(term.parts[0])}"
        case "is null":
            return f"{inner(term.parts[0])} IS NULL"
        case "between":
            value, low, high = map(inner, term.parts)
            return f"{value} BETWEEN {low} AND {high}"
        case "in":
            value, *those = map(inner, term.parts)
            return f"{value} IN ({', '.join(those)})"
        case op:
            return f" {op.upper()} ".join(map(inner, term.parts))
