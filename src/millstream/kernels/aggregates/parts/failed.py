"""Answers that could not be computed: beside each value stands why there is none, until the result is rejected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

VALUE, ERROR = "value", "__ms_error"


class NoValue(str):
    """In place of a partial or an answer: why there is none."""

    __slots__ = ()


def failing(kind: pa.DataType) -> pa.DataType:
    """The type of values that may have failed."""
    return pa.struct([pa.field(VALUE, kind), pa.field(ERROR, pa.string())])


def marked(kind: pa.DataType) -> bool:
    """Is it such a type?

    >>> marked(failing(pa.int64())), marked(pa.struct([("x", pa.int64())]))
    (True, False)
    """
    return pa.types.is_struct(kind) and kind.get_field_index(ERROR) >= 0


def packed(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values and failures as one array.

    >>> packed([1, NoValue("no")], pa.int64()).to_pylist()
    [{'value': 1, '__ms_error': None}, {'value': None, '__ms_error': 'no'}]
    """
    plain = pa.array([None if isinstance(one, NoValue) else one for one in values], kind)
    why = pa.array([str(one) if isinstance(one, NoValue) else None for one in values], pa.string())
    return pa.StructArray.from_arrays([plain, why], fields=list(failing(kind)))
