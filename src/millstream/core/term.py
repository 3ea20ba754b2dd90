"""Terms: what an expression means, apart from any engine. A plan can judge, move and merge them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from millstream.core.quote import quoted, text

COMPARISONS = ("=", "<>", "<", "<=", ">", ">=", "<=>")
DEEPEST = 120
"""How deep terms may nest: what walks them does so by itself."""
_LEVELS = {
    "or": 1, "and": 2, "not": 3, "is null": 4, "between": 4, "in": 4, "+": 6, "-": 6, "*": 7, "/": 7, "%": 7,
    "div": 7, "negative": 8, "bit not": 8, "column": 9, "constant": 9, "text": 9, "call": 9, "cast": 9, "try_cast": 9,
    "case": 9, "field": 9, "item": 9, "interval": 9, "binary": 9,
}  # fmt: skip
_COMPARED = 4


@dataclass(frozen=True, slots=True)
class Term:
    """An operation on terms; `value` is the name of a column or function, a constant's text, or the type of a cast.

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
    """A number, TRUE, FALSE or NULL, as SQL writes it."""
    return Term("constant", value=text)


def names(term: Term) -> Iterator[str]:
    """The columns that a term reads, each as often as it does.

    >>> list(names(Term("=", (column("a"), column("b")))))
    ['a', 'b']
    """
    waiting = [term]
    while waiting:
        one = waiting.pop()
        if one.op == "column":
            yield one.value
        waiting += reversed(one.parts)


def depth(term: Term) -> int:
    """How deep a term nests.

    >>> depth(Term("+", (column("a"), column("b"))))
    2
    """
    deepest, level = 0, [term]
    while level:
        deepest += 1
        level = [part for one in level for part in one.parts]
    return deepest


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


def render(term: Term, name: Callable[[str], str] = quoted) -> str:
    r"""The term as Spark's SQL; `name` writes the names of columns.

    >>> render(Term("not", (Term("or", (column("a"), Term("is null", (column("b"),)))),)), str)
    'NOT (a OR b IS NULL)'
    >>> render(Term("call", (column("a b"), Term("text", value="it's")), "concat"))
    "concat(`a b`, 'it\\'s')"
    """
    level = _LEVELS.get(term.op, _COMPARED)

    def inner(part: Term) -> str:
        written, below = render(part, name), _LEVELS.get(part.op, _COMPARED)
        chained = part.op == term.op and term.op in ("and", "or")
        alone = below > level or chained
        if term.op in ("negative", "bit not") and written.startswith("-"):
            alone = False
        return written if alone else f"({written})"

    def left_first() -> str:
        """Operators of one level are read from the left."""
        first, *rest = term.parts
        same = _LEVELS.get(first.op) == level and first.op in ("+", "-", "*", "/", "%", "div")
        head = render(first, name) if same else inner(first)
        return f" {term.op.upper()} ".join([head, *map(inner, rest)])

    match term.op:
        case "column":
            return name(term.value)
        case "constant":
            return term.value
        case "text":
            return text(term.value)
        case "binary":
            return f"X'{term.value}'"
        case "interval":
            return f"INTERVAL {term.value}"
        case "not":
            return f"NOT {inner(term.parts[0])}"
        case "negative":
            return f"-{inner(term.parts[0])}"
        case "bit not":
            return f"~{inner(term.parts[0])}"
        case "is null":
            return f"{inner(term.parts[0])} IS NULL"
        case "between":
            value, low, high = map(inner, term.parts)
            return f"{value} BETWEEN {low} AND {high}"
        case "in":
            value, *those = map(inner, term.parts)
            return f"{value} IN ({', '.join(those)})"
        case "cast" | "try_cast":
            return f"{term.op}({render(term.parts[0], name)} AS {term.value})"
        case "call" if term.value in ("&", "|", "^"):
            return "(" + f" {term.value} ".join(f"({render(part, name)})" for part in term.parts) + ")"
        case "call":
            return f"{term.value}({', '.join(render(part, name) for part in term.parts)})"
        case "case":
            return _case([render(part, name) for part in term.parts])
        case "field":
            return f"{inner(term.parts[0])}.{quoted(term.value)}"
        case "item":
            return f"{inner(term.parts[0])}[{render(term.parts[1], name)}]"
        case "+" | "-" | "*" | "/" | "%" | "div":
            return left_first()
        case op:
            return f" {op.upper()} ".join(map(inner, term.parts))


def _case(parts: list[str]) -> str:
    pairs = zip(parts[0::2], parts[1::2], strict=False)
    whens = "".join(f" WHEN {condition} THEN {value}" for condition, value in pairs)
    return f"CASE{whens}{f' ELSE {parts[-1]}' if len(parts) % 2 else ''} END"
