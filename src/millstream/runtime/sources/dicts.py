"""Dict rows to Arrow, with a schema given or guessed from the first of them.

A missing key is a null, a key the schema does not name is ignored, and a row that is not a dict, or holds a
value that does not fit its column, is set apart.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from millstream.runtime.batch import Batch, Unreadable
from millstream.runtime.sources.convert import REFUSALS, from_values
from millstream.runtime.sources.raw import row_json, shown
from millstream.runtime.sources.to_schema import fit


def infer(rows: Sequence[Any]) -> pa.Schema | None:
    """The schema that these rows show, or None if they show none.

    The first value of a column decides its sort; numbers of several sorts share the wider one. Decimals get
    the greatest scale seen. A column that is null throughout has type null, and accepts nothing else later.

    >>> infer([{"a": 1, "b": None}, {"a": 2.5, "c": dt.datetime(2024, 1, 1, tzinfo=dt.UTC)}])
    a: double
    b: null
    c: timestamp[us, tz=UTC]
    """
    seen: dict[str, list[Any]] = {}
    for row in rows:
        if isinstance(row, Mapping):
            for name, value in row.items():
                if isinstance(name, str):
                    seen.setdefault(name, []).append(value)
    if not seen:
        return None
    return pa.schema([pa.field(name, _type_of(values)) for name, values in seen.items()])


def read_dicts(rows: Sequence[Any], schema: pa.Schema, where: str) -> Batch:
    """The rows as `schema` has them; `where` names them in reasons.

    >>> batch = read_dicts([{"x": 1}, {"x": "one"}, 7], pa.schema([("x", pa.int64())]), "epoch 0")
    >>> batch.rows.num_rows
    1
    >>> for row in batch.unreadable:
    ...     print(row.raw, "|", row.reason)
    {"x": "one"} | epoch 0, row 1: column "x": "one" is not int64
    7 | epoch 0, row 2: 7 is int, not a dict
    """
    table, bad = fit_dicts(rows, schema)
    return Batch(table, [Unreadable(row_json(rows[i]), f"{where}, row {i}: {why}") for i, why in bad.items()])


def fit_dicts(rows: Sequence[Any], schema: pa.Schema) -> tuple[pa.Table, dict[int, str]]:
    """The rows that fit, and why each of the others does not, by row number."""
    bad = {i: _not_a_dict(row) for i, row in enumerate(rows) if not isinstance(row, Mapping)}
    numbers = [i for i in range(len(rows)) if i not in bad] if bad else range(len(rows))
    dicts = [rows[i] for i in numbers] if bad else rows
    columns = {name: [row.get(name) for row in dicts] for name in schema.names}
    fitted = fit(columns, schema, len(dicts), from_values)
    bad.update({numbers[i]: reason for i, reason in fitted.bad.items()})
    return fitted.rows, dict(sorted(bad.items()))


def _not_a_dict(row: Any) -> str:
    return f"{shown(row)} is {type(row).__name__}, not a dict"


def _type_of(values: list[Any]) -> pa.DataType:
    known = [value for value in values if value is not None]
    numbers = [value for value in known if _is_number(value)]
    for value in known:
        if _is_number(value):
            return _number_type(numbers)
        kind = _plain_type(value)
        if kind is not None:
            return kind
    return pa.null()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | Decimal) and not isinstance(value, bool)


def _number_type(numbers: list[Any]) -> pa.DataType:
    if any(isinstance(number, float) for number in numbers):
        return pa.float64()
    decimals = [number for number in numbers if isinstance(number, Decimal) and number.is_finite()]
    if not decimals:
        return pa.int64()
    places = max(0, *(-int(number.as_tuple().exponent) for number in decimals))
    return pa.decimal128(38, min(places, 38))


def _plain_type(value: Any) -> pa.DataType | None:
    match value:
        case bool():
            return pa.bool_()
        case str():
            return pa.string()
        case dt.datetime():
            return pa.timestamp("us", None if value.tzinfo is None else "UTC")
        case dt.date():
            return pa.date32()
        case _:
            try:
                return pa.array([value]).type
            except REFUSALS:
                return None
