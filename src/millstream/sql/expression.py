"""One SQL expression: read in Spark's dialect, its columns found, its meaning checked against their types."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from sqlglot import exp
from sqlglot.errors import SqlglotError

from millstream.core.errors import ExpressionError, nearest
from millstream.core.expression import Expression
from millstream.core.settings import PLAIN, Settings
from millstream.core.term import DEEPEST, depth
from millstream.kernels.expressions.evaluate import as_condition, checked, type_of
from millstream.sql.dialect import AGGREGATES, DIALECT, OTHER_AGGREGATES, words
from millstream.sql.terms import term_of

_FORBIDDEN = (exp.Query, exp.AggFunc, exp.Window, exp.Filter, exp.Distinct)
_SHOWN = 200


def expression(text: str, schema: pa.Schema, settings: Settings = PLAIN) -> Expression:
    """Read and check an expression over rows of a schema.

    >>> prices = pa.schema({"price": pa.int64()})
    >>> expression("price * 2 > 10", prices).spark
    '`price` * 2 > 10'
    >>> expression("prize > 1", prices)
    Traceback (most recent call last):
    ...
    millstream.core.errors.ExpressionError: prize > 1 names the unknown column "prize"
    Hint: Did you mean "price"? Known: price.
    """
    return _meant(parsed(text), text, schema, settings)


def named_expression(text: str, schema: pa.Schema, settings: Settings = PLAIN) -> tuple[str, Expression]:
    """An item of a select list: `expr AS name`, or a column that names itself.

    >>> named_expression("price * 2 AS twice", pa.schema({"price": pa.int64()}))[0]
    'twice'
    """
    tree = parsed(text)
    if isinstance(tree, exp.Alias):
        inner = _meant(tree.this, _without_name(text), schema, settings)
        return tree.alias, inner
    found = _meant(tree, text, schema, settings)
    if found.plain is None:
        raise ExpressionError(f"{text} has no name", hint=f'Write `{text} AS name`, or name="{text}".')
    return found.plain, found


def condition(text: str, schema: pa.Schema, settings: Settings = PLAIN) -> Expression:
    """An expression that is true or false, or null, which is not true."""
    made = as_condition(expression(text, schema, settings), schema)
    kind = type_of(made, schema)
    if not pa.types.is_boolean(kind):
        raise ExpressionError(f"{text} is {kind}, not a condition", hint='Compare something: "price > 10".')
    return made


def _without_name(text: str) -> str:
    """The text of an item without its name: up to the last AS, or the last word."""
    tokens = words(text)
    end = tokens[-1].start
    if len(tokens) > 1 and tokens[-2].text.upper() == "AS":
        end = tokens[-2].start
    return text[:end].strip()


def _meant(tree: exp.Expr, text: str, schema: pa.Schema, settings: Settings) -> Expression:
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    bad = tree.find(*_FORBIDDEN) or next(filter(_is_aggregate, tree.find_all(exp.Anonymous)), None)
    if bad is not None:
        raise ExpressionError(
            f"{shown} has {bad.sql(dialect=DIALECT)}, which is not an expression over one row",
            hint="Aggregates go in agg(…); sub-queries are not allowed here.",
        )
    try:
        term = term_of(tree, lambda parts: _found(parts, schema.names, shown))
        if depth(term) > DEEPEST:
            raise _too_deep(shown)
        return checked(Expression(text, term, settings), schema)
    except RecursionError:
        raise _too_deep(shown) from None
    except ExpressionError as error:
        if shown in error.fact:
            raise
        raise ExpressionError(f"{shown}: {error.fact}", hint=error.hint) from None


def _too_deep(shown: str) -> ExpressionError:
    return ExpressionError(f"{shown} nests more than {DEEPEST} deep", hint="Compute a part of it in a select before.")


def _is_aggregate(call: exp.Anonymous) -> bool:
    return call.name.lower() in AGGREGATES | OTHER_AGGREGATES


def parsed(text: str) -> exp.Expr:
    """The tree of an expression."""
    if not isinstance(text, str) or not text.strip():
        raise ExpressionError(f"{text!r} is not an SQL expression", hint='Write one as text: "price > 10".')
    try:
        found = DIALECT.parser().parse(words(text), text)
    except RecursionError:
        raise _too_deep(text[:_SHOWN]) from None
    except (SqlglotError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ExpressionError(f"{text} does not parse: {reason}", hint="Use Spark SQL's syntax.") from error
    tree = found[0] if len(found) == 1 else None
    if tree is None or (isinstance(tree, exp.Query | exp.Command | exp.DDL) and not isinstance(tree, exp.Alias)):
        raise ExpressionError(
            f"{text} is a statement, not an expression", hint='Write a condition or a value: "price > 10".'
        )
    return tree


def _found(parts: Sequence[str], columns: Sequence[str], text: str) -> tuple[str, Sequence[str]]:
    """The column that a dotted name means: `a.b` is a field of a, unless b is a column itself, of a stream a."""
    if len(parts) > 1 and parts[0] in columns and parts[-1] not in columns:
        return parts[0], parts[1:]
    return _known(parts[-1], columns, text), ()


def _known(name: str, columns: Sequence[str], text: str) -> str:
    if name in columns:
        return name
    alike = [known for known in columns if known.lower() == name.lower()]
    if len(alike) == 1:
        return alike[0]
    raise ExpressionError(f'{text} names the unknown column "{name}"', hint=nearest(name, columns))
