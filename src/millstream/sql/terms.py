"""From a parsed expression to the term that says what it means, where it is simple enough."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.term import Term, column, constant

_BINARY: dict[type[exp.Expr], str] = {
    exp.And: "and", exp.Or: "or", exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">",
    exp.GTE: ">=", exp.Add: "+", exp.Sub: "-", exp.Mul: "*",
}  # fmt: skip
_UNREPEATABLE = (
    exp.Rand, exp.Randn, exp.Uuid, exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentTime, exp.CurrentDatetime,
    exp.Anonymous,
)  # fmt: skip


def term_of(tree: exp.Expr) -> Term | None:
    """What the expression means; None if it has anything but columns, constants, comparisons, logic and + - *.

    >>> import sqlglot
    >>> term_of(sqlglot.parse_one("a > 5")) == Term(">", (column("a"), constant("5")))
    True
    """
    match tree:
        case exp.Paren():
            return term_of(tree.this)
        case exp.Column():
            return column(tree.name) if not tree.table else None
        case exp.Literal():
            # Engines disagree on how a quote or a backslash is written inside a text.
            clean = not tree.is_string or not ("'" in tree.name or "\\" in tree.name)
            return constant(f"'{tree.name}'" if tree.is_string else tree.name) if clean else None
        case exp.Boolean():
            return constant("TRUE" if tree.this else "FALSE")
        case exp.Null():
            return constant("NULL")
        case exp.Not():
            return _made("not", tree.this)
        case exp.Neg():
            return _made("negative", tree.this)
        case exp.Is() if isinstance(tree.expression, exp.Null):
            return _made("is null", tree.this)
        case exp.Between() if not tree.args.get("symmetric"):
            return _made("between", tree.this, tree.args["low"], tree.args["high"])
        case exp.In() if tree.expressions:
            return _made("in", tree.this, *tree.expressions)
        case _:
            op = _BINARY.get(type(tree))
            return None if op is None else _made(op, tree.this, tree.expression)


def repeatable(tree: exp.Expr) -> bool:
    """Does the expression give the same for the same row each time? A function that is not known may not.

    >>> import sqlglot
    >>> repeatable(sqlglot.parse_one("upper(a)")), repeatable(sqlglot.parse_one("rand() < 0.5"))
    (True, False)
    """
    return tree.find(*_UNREPEATABLE) is None


def _made(op: str, *parts: exp.Expr) -> Term | None:
    inner = [term_of(part) for part in parts]
    known = tuple(part for part in inner if part is not None)
    return Term(op, known) if len(known) == len(inner) else None
