"""The types that an expression may cast to, by their names in SQL."""

from __future__ import annotations

from sqlglot import exp

from millstream.core.errors import ExpressionError

_KIND = exp.DataType.Type
_NAMES = {
    _KIND.TINYINT: "TINYINT", _KIND.SMALLINT: "SMALLINT", _KIND.INT: "INT", _KIND.BIGINT: "BIGINT",
    _KIND.FLOAT: "FLOAT", _KIND.DOUBLE: "DOUBLE", _KIND.TEXT: "STRING", _KIND.BOOLEAN: "BOOLEAN", _KIND.DATE: "DATE",
    _KIND.TIMESTAMP: "TIMESTAMP", _KIND.TIMESTAMPTZ: "TIMESTAMP", _KIND.TIMESTAMPLTZ: "TIMESTAMP",
    _KIND.TIMESTAMPNTZ: "TIMESTAMP_NTZ", _KIND.BINARY: "BINARY",
}  # fmt: skip


def type_of(kind: exp.DataType) -> str:
    """The type's name as Spark writes it.

    >>> type_of(exp.DataType.build("decimal(10, 2)"))
    'DECIMAL(10,2)'
    """
    if kind.this == _KIND.DECIMAL:
        given = [int(one.name) for one in kind.expressions]
        precision, scale = [*given, *(10, 0)[len(given) :]]
        if not 0 < precision <= 38 or not 0 <= scale <= precision:
            raise ExpressionError(
                f"there is no DECIMAL({precision},{scale})",
                hint="It has at most 38 digits, of which some are decimals.",
            )
        return f"DECIMAL({precision},{scale})"
    name = _NAMES.get(kind.this)
    if name is None or kind.expressions:
        raise ExpressionError(
            f"nothing is cast to {kind.sql(dialect='spark')} here",
            hint=f"Cast to one of {', '.join(dict.fromkeys(_NAMES.values()))}, DECIMAL(p, s).",
        )
    return name
