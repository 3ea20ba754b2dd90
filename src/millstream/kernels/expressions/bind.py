"""Bind: a term meets the types of its columns, and becomes what can be computed."""

from __future__ import annotations

import re
from decimal import Decimal

import pyarrow as pa

from millstream.core.errors import ExpressionError, nearest
from millstream.core.settings import Settings
from millstream.core.term import COMPARISONS, DEEPEST, Term, depth
from millstream.kernels.expressions import functions  # noqa: F401 - registers them
from millstream.kernels.expressions import types as t
from millstream.kernels.expressions.arithmetic import arithmetic, negative
from millstream.kernels.expressions.bound_term import Binding, BoundTerm, Frame, Result, constant
from millstream.kernels.expressions.casts import cast
from millstream.kernels.expressions.compare import comparison, isin
from millstream.kernels.expressions.function_registry import FUNCTIONS
from millstream.kernels.expressions.intervals import moved
from millstream.kernels.expressions.logic import all_of, any_of, case, condition, missing, negation
from millstream.kernels.expressions.nested import field_of, item_of


def bind(term: Term, schema: pa.Schema, settings: Settings) -> BoundTerm:
    """What computes a term over rows of a schema; a term that Spark would not take, or we cannot do, is refused.

    >>> from millstream.core.term import column, constant
    >>> node = bind(Term("+", (column("x"), constant("1"))), pa.schema({"x": pa.int64()}), Settings())
    >>> node.kind, node.total
    (DataType(int64), False)
    """
    if depth(term) > DEEPEST:
        raise ExpressionError(
            f"this expression nests {depth(term)} deep; at most {DEEPEST} are computed",
            hint="Compute a part of it in a select before.",
        )
    return _Binder(schema, Binding(settings)).node(term)


class _Binder:
    def __init__(self, schema: pa.Schema, bound: Binding) -> None:
        self.schema, self.bound = schema, bound

    def node(self, term: Term) -> BoundTerm:
        match term.op:
            case "column":
                return self._column(term.value)
            case "constant":
                return literal(term.value)
            case "text":
                return constant(term.value, t.TEXT, literal=True)
            case "binary":
                digits = term.value if len(term.value) % 2 == 0 else "0" + term.value
                return constant(bytes.fromhex(digits), t.BINARY)
            case "cast" | "try_cast":
                inner, kind = self.node(term.parts[0]), t.type_named(term.value)
                return cast(inner, kind, self.bound, safe=term.op == "try_cast")
            case "and" | "or":
                parts = [condition(self.node(part), self.bound, term.op.upper()) for part in term.parts]
                return all_of(parts) if term.op == "and" else any_of(parts)
            case "not":
                return negation(condition(self.node(term.parts[0]), self.bound, "NOT"))
            case "is null":
                return missing(self.node(term.parts[0]))
            case "negative":
                return negative(self.node(term.parts[0]), self.bound)
            case "+" | "-" | "*" | "/" | "%" | "div":
                return self._arithmetic(term)
            case "between":
                value, low, high = (self.node(part) for part in term.parts)
                return all_of([comparison(">=", value, low, self.bound), comparison("<=", value, high, self.bound)])
            case "in":
                return isin([self.node(part) for part in term.parts], self.bound)
            case "case":
                return case([self.node(part) for part in term.parts], self.bound)
            case "field":
                return field_of(self.node(term.parts[0]), term.value)
            case "item":
                return item_of(self.node(term.parts[0]), self.node(term.parts[1]), self.bound)
            case "call":
                return FUNCTIONS[term.value].bind([self.node(part) for part in term.parts], self.bound)
            case "bit not":
                return FUNCTIONS["~"].bind([self.node(term.parts[0])], self.bound)
            case op if op in COMPARISONS:
                left, right = (self.node(part) for part in term.parts)
                return comparison(op, left, right, self.bound)
            case _:
                raise ExpressionError(
                    "an interval by itself has no value here",
                    hint="Add it to a date or a timestamp: ts + INTERVAL 1 DAY.",
                )

    def _arithmetic(self, term: Term) -> BoundTerm:
        left, right = term.parts
        if term.op in ("+", "-") and "interval" in (left.op, right.op):
            if left.op == "interval":
                if term.op == "-" or right.op == "interval":
                    raise ExpressionError("an interval is taken from nothing", hint="Write ts - INTERVAL 1 DAY.")
                left, right = right, left
            return moved(self.node(left), right.value, self.bound, back=term.op == "-")
        one, other = self.node(left), self.node(right)
        if t.is_time(one.kind) and t.is_time(other.kind) and term.op == "-":
            raise ExpressionError(
                f"{t.name_of(one.kind)} - {t.name_of(other.kind)} is an interval, which no column has",
                hint="Use datediff(a, b) for days, or unix_micros(a) - unix_micros(b).",
            )
        return arithmetic(term.op, one, other, self.bound)

    def _column(self, name: str) -> BoundTerm:
        if name not in self.schema.names:
            raise ExpressionError(f"there is no column {name!r}", hint=nearest(name, self.schema.names))
        held = self.schema.field(name).type
        kind = t.as_spark(held)
        if kind is None:
            raise ExpressionError(
                f"the column {name!r} is {held}, which no expression reads", hint="It can be selected as it is."
            )
        if kind == held:
            return BoundTerm(kind, lambda frame: (frame.column(name), None))

        def run(frame: Frame) -> Result:
            value = frame.column(name)
            if isinstance(value, pa.DictionaryArray):
                value = value.dictionary_decode()
            return value.cast(kind, safe=False), None

        return BoundTerm(kind, run)


def literal(text: str) -> BoundTerm:
    """A constant, of the type that Spark gives it.

    >>> literal("5").kind, literal("5000000000").kind, literal("0.50").kind, literal("5e0").kind
    (DataType(int32), DataType(int64), Decimal128Type(decimal128(2, 2)), DataType(double))
    """
    match text:
        case "TRUE" | "FALSE":
            return constant(text == "TRUE", t.BOOL, literal=True)
        case "NULL":
            return constant(None, t.NOTHING, literal=True)
        case _:
            pass
    if "e" in text or "E" in text:
        return constant(float(text), t.DOUBLE, literal=True)
    if re.fullmatch(r"-?0*\d{1,19}", text):
        number = int(Decimal(text))
        for kind in (t.INT, t.LONG):
            if -(1 << kind.bit_width - 1) <= number < 1 << kind.bit_width - 1:
                return constant(number, kind, literal=True)
    digits = text.removeprefix("-")
    scale = len(digits.partition(".")[2])
    figures = digits.replace(".", "").lstrip("0")
    precision = max(len(figures), scale, 1)
    if precision > t.MOST:
        raise ExpressionError(f"{text} has more than {t.MOST} digits", hint="Write it with an exponent: 1.5e40.")
    return constant(Decimal(text), pa.decimal128(precision, scale), literal=True)
