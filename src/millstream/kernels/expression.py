"""SQL expressions over Arrow tables, evaluated by DuckDB: the one embedded engine.

Text reaches this module already parsed, checked and written in DuckDB's dialect (see `sql/expression.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb
import numpy as np
import pyarrow as pa

from millstream.core.errors import ExpressionError
from millstream.core.expression import Expression

_idle: list[duckdb.DuckDBPyConnection] = []


def evaluate(expressions: Sequence[Expression], rows: pa.Table) -> list[pa.Array]:
    """The value of each expression for each row, in order.

    >>> double = Expression("x * 2", "`x` * 2", '"x" * 2', ("x",))
    >>> evaluate([double], pa.table({"x": [1, 2]}))[0].to_pylist()
    [2, 4]
    """
    computed = [one for one in expressions if one.plain is None]
    values: dict[int, pa.Array] = {}
    names = list(dict.fromkeys(name for one in computed for name in one.columns))
    if len({name.lower() for name in names}) < len(names):  # DuckDB would take one for the other
        if len(computed) > 1:
            return [evaluate([one], rows)[0] for one in expressions]
        raise ExpressionError(
            f"{computed[0].text} has columns whose names differ in capitals only: {', '.join(sorted(names))}",
            hint='Rename one of them first: select("K AS k2", …).',
        )
    if computed:
        source = rows.select(names) if names else pa.table({"": np.zeros(rows.num_rows, dtype=np.int8)})
        items = ", ".join(f'({one.duck}) AS "e{i}"' for i, one in enumerate(computed))
        try:
            with _connection() as connection:
                table = connection.from_arrow(source).project(items).to_arrow_table()
        except duckdb.Error as error:
            shown = "; ".join(one.text for one in computed)
            raise ExpressionError(
                f"cannot evaluate {shown}: {str(error).splitlines()[0]}",
                hint="Check the types of the columns, and that functions exist.",
            ) from error
        values = {id(one): table[f"e{i}"].combine_chunks() for i, one in enumerate(computed)}
    return [rows[one.plain].combine_chunks() if one.plain is not None else values[id(one)] for one in expressions]


def type_of(expression: Expression, schema: pa.Schema) -> pa.DataType:
    """The type of the expression's value over rows of a schema.

    >>> type_of(Expression("x > 1", "`x` > 1", '"x" > 1', ("x",)), pa.schema({"x": pa.int64()}))
    DataType(bool)
    """
    return evaluate([expression], schema.empty_table())[0].type


@contextmanager
def _connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection for one thread at a time: they are not shared safely, and cost a millisecond to make.

    They are handed round and never closed. One that ended with its thread, as a thread-local does, would abort the
    process if the interpreter ends at that moment.
    """
    try:
        found = _idle.pop()
    except IndexError:
        found = duckdb.connect()
        found.execute("SET TimeZone = 'UTC'")
    try:
        yield found
    finally:
        _idle.append(found)
