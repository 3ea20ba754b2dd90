"""From a parsed expression to the term that says what it means; what has no place in one is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from sqlglot import exp

from millstream.core.errors import ExpressionError
from millstream.core.term import Term, column, constant
from millstream.kernels.expressions.function_registry import check_function
from millstream.sql.intervals import interval_of
from millstream.sql.type_names import type_of

Find = Callable[[Sequence[str]], tuple[str, Sequence[str]]]
"""The column that a dotted name means, and what is left of the name: the fields in it."""

_BINARY: dict[type[exp.Expr], str] = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.Add: "+", exp.Sub: "-",
    exp.Mul: "*", exp.Div: "/", exp.Mod: "%", exp.IntDiv: "div", exp.NullSafeEQ: "<=>",
}  # fmt: skip
_CALLS: dict[type[exp.Expr], str] = {
    exp.BitwiseAnd: "&", exp.BitwiseOr: "|", exp.BitwiseXor: "^", exp.BitwiseLeftShift: "shiftleft",
    exp.BitwiseRightShift: "shiftright", exp.RegexpLike: "rlike", exp.DPipe: "concat",
}  # fmt: skip
_BITS = (exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseLeftShift, exp.BitwiseRightShift)
_UNITS = ("dateadd", "date_add", "datediff", "date_diff", "timestampadd", "timestampdiff")
_AT_ONCE = "Apply it on the data frame before engine.stream(…), or compute the column where the rows are made."


def term_of(tree: exp.Expr, find: Find) -> Term:
    """What the expression means.

    >>> import sqlglot
    >>> term_of(sqlglot.parse_one("a > 5"), lambda names: (names[0], names[1:]))
    Term(op='>', parts=(Term(op='column', parts=(), value='a'), Term(op='constant', parts=(), value='5')), value='')
    """
    if isinstance(tree, exp.And | exp.Or):
        return Term("and" if isinstance(tree, exp.And) else "or", tuple(_flat(tree, type(tree), find)))
    if type(tree) in _BINARY or type(tree) in _CALLS:
        return _chain(tree, find)
    made = _literal(tree) or _special(tree, find)
    if made is None:
        raise ExpressionError(f"{tree.sql(dialect='spark')} has no meaning here", hint=_AT_ONCE)
    return made


def _flat(tree: exp.Expr, kind: type[exp.Expr], find: Find) -> list[Term]:
    """The parts of an AND or OR of any length."""
    out: list[Term] = []
    waiting = [tree]
    while waiting:
        one = waiting.pop()
        if isinstance(one, kind):
            waiting += [one.expression, one.this]
        elif isinstance(one, exp.Paren) and isinstance(one.this, kind):
            waiting.append(one.this)
        else:
            out.append(term_of(one, find))
    return out


def _chain(tree: exp.Expr, find: Find) -> Term:
    """Operators that follow each other, which the parser nests on the left."""
    spine: list[exp.Expr] = []
    while type(tree) in _BINARY or type(tree) in _CALLS:
        spine.append(tree)
        tree = tree.this
    made = term_of(tree, find)
    for node in reversed(spine):
        right = term_of(node.expression, find)
        if isinstance(node, exp.DPipe):
            parts = made.parts if made.op == "call" and made.value == "concat" and made.parts else (made,)
            made = Term("call", (*parts, right), "concat")
        elif type(node) in _CALLS:
            _check_bits(node)
            made = Term("call", (made, right), _CALLS[type(node)])
        else:
            made = Term(_BINARY[type(node)], (made, right))
    return made


def _check_bits(node: exp.Expr) -> None:
    for part in (node.this, node.expression):
        if isinstance(node, _BITS) and isinstance(part, _BITS) and type(part) is not type(node):
            raise ExpressionError(
                f"{node.sql(dialect='spark')} mixes operators on bits", hint="Say with parentheses which comes first."
            )


def _literal(tree: exp.Expr) -> Term | None:
    match tree:
        case exp.Literal():
            return Term("text", value=tree.name) if tree.is_string else constant(_number(tree.name))
        case exp.RawString():
            return Term("text", value=tree.name)
        case exp.Concat() if all(isinstance(one, exp.Literal) for one in tree.expressions):
            return Term("text", value="".join(one.name for one in tree.expressions))
        case exp.Boolean():
            return constant("TRUE" if tree.this else "FALSE")
        case exp.Null():
            return constant("NULL")
        case exp.Neg() if isinstance(tree.this, exp.Literal) and not tree.this.is_string:
            return constant("-" + _number(tree.this.name))
        case exp.HexString():
            return Term("binary", value=tree.name.upper())
        case _:
            return None


def _number(text: str) -> str:
    if re.fullmatch(r"\d+(\.\d*)?([eE][+-]?\d+)?|\.\d+([eE][+-]?\d+)?", text) is None:
        raise ExpressionError(f"{text} is no number", hint="Write 5, 0.5 or 5e-1.")
    return text


def _special(tree: exp.Expr, find: Find) -> Term | None:
    match tree:
        case exp.Paren():
            return term_of(tree.this, find)
        case exp.Column():
            return _column(tree, find)
        case exp.Not():
            return Term("not", (term_of(tree.this, find),))
        case exp.Neg():
            return Term("negative", (term_of(tree.this, find),))
        case exp.BitwiseNot():
            return Term("bit not", (term_of(tree.this, find),))
        case exp.NullSafeNEQ():
            return Term("not", (Term("<=>", (term_of(tree.this, find), term_of(tree.expression, find))),))
        case exp.Is():
            return _is(tree, find)
        case exp.Between() if not tree.args.get("symmetric"):
            parts = (tree.this, tree.args["low"], tree.args["high"])
            return Term("between", tuple(term_of(one, find) for one in parts))
        case exp.In() if tree.expressions:
            return Term("in", tuple(term_of(one, find) for one in (tree.this, *tree.expressions)))
        case exp.Like() | exp.ILike() | exp.Escape():
            return _like(tree, find)
        case exp.TryCast() | exp.Cast():
            op = "try_cast" if tree.args.get("safe") or type(tree) is exp.TryCast else "cast"
            return Term(op, (term_of(tree.this, find),), type_of(tree.to))
        case exp.Case():
            return _case(tree, find)
        case exp.If():
            parts = [tree.this, tree.args["true"], *([tree.args["false"]] if tree.args.get("false") else [])]
            return Term("case", tuple(term_of(one, find) for one in parts))
        case exp.Interval():
            return Term("interval", value=interval_of(tree))
        case exp.Bracket() if len(tree.expressions) == 1:
            return Term("item", (term_of(tree.this, find), term_of(tree.expressions[0], find)))
        case exp.Dot() if isinstance(tree.expression, exp.Identifier):
            return Term("field", (term_of(tree.this, find),), tree.expression.name)
        case _:
            return _call(tree, find)


def _column(tree: exp.Column, find: Find) -> Term:
    if not isinstance(tree.this, exp.Identifier):
        raise ExpressionError("* is not possible inside an expression", hint="Name the columns.")
    name, fields = find([part.name for part in tree.parts])
    made = column(name)
    for one in fields:
        made = Term("field", (made,), one)
    return made


def _is(tree: exp.Is, find: Find) -> Term:
    value, what = term_of(tree.this, find), tree.expression
    if isinstance(what, exp.Null):
        return Term("is null", (value,))
    if isinstance(what, exp.Boolean):  # true or false, and never null
        return Term("<=>", (value, constant("TRUE" if what.this else "FALSE")))
    raise ExpressionError(f"{tree.sql(dialect='spark')} has no meaning here", hint="IS goes with NULL, TRUE or FALSE.")


def _like(tree: exp.Expr, find: Find) -> Term:
    escape: tuple[Term, ...] = ()
    if isinstance(tree, exp.Escape):
        escape, tree = (term_of(tree.expression, find),), tree.this
    if isinstance(tree.expression, exp.All | exp.Any) or not isinstance(tree, exp.Like | exp.ILike):
        raise ExpressionError(f"{tree.sql(dialect='spark')} has no meaning here", hint="Write one LIKE for each.")
    name = "ilike" if isinstance(tree, exp.ILike) else "like"
    made = Term("call", (term_of(tree.this, find), term_of(tree.expression, find), *escape), name)
    return Term("not", (made,)) if tree.args.get("negate") else made


def _case(tree: exp.Case, find: Find) -> Term:
    subject = None if tree.this is None else term_of(tree.this, find)
    parts: list[Term] = []
    for one in tree.args["ifs"]:
        condition = term_of(one.this, find)
        parts += [condition if subject is None else Term("=", (subject, condition)), term_of(one.args["true"], find)]
    if tree.args.get("default") is not None:
        parts.append(term_of(tree.args["default"], find))
    return Term("case", tuple(parts))


def _call(tree: exp.Expr, find: Find) -> Term | None:
    match tree:
        case exp.Extract():
            field = Term("text", value=str(tree.this.name).lower())
            return Term("call", (field, term_of(tree.expression, find)), "date_part")
        case exp.Trim():
            which = {"LEADING": "ltrim", "TRAILING": "rtrim"}.get(str(tree.args.get("position") or "").upper(), "trim")
            source = term_of(tree.this, find)
            if tree.expression is None:
                return Term("call", (source,), which)
            characters = term_of(tree.expression, find)
            return Term("call", (characters, source), which)
        case exp.StrPosition():
            given = [tree.args["substr"], tree.this, *([tree.args["position"]] if tree.args.get("position") else [])]
            return Term("call", tuple(term_of(one, find) for one in given), "locate")
        case exp.Substring():
            given = [tree.this, tree.args.get("start"), tree.args.get("length")]
            return Term("call", tuple(term_of(one, find) for one in given if one is not None), "substring")
        case exp.Anonymous():
            return _named(tree, find)
        case exp.CurrentDate() | exp.CurrentTimestamp() | exp.CurrentDatetime() | exp.CurrentUser():
            check_function(type(tree).__name__.replace("Current", "current_").lower(), 0)
            return None
        case _:
            return None


def _named(tree: exp.Anonymous, find: Find) -> Term:
    given = list(tree.expressions)
    written = tree.name.lower()
    if written == "struct" and given and all(isinstance(one, exp.Alias | exp.Column) for one in given):
        pairs = [(one.alias_or_name, one.this if isinstance(one, exp.Alias) else one) for one in given]
        return Term(
            "call", tuple(p for n, v in pairs for p in (Term("text", value=n), term_of(v, find))), "named_struct"
        )
    name = check_function(written, len(given))
    if written == "if":
        return Term("case", tuple(term_of(one, find) for one in given))
    if written in _UNITS and len(given) == 3 and isinstance(given[0], exp.Column):
        unit = Term("text", value=given[0].name.lower())
        return Term("call", (unit, *(term_of(one, find) for one in given[1:])), name)
    return Term("call", tuple(term_of(one, find) for one in given), name)
