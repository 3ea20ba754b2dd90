"""What a bound expression is made of: nodes that compute a column for the rows of a frame, and say which rows fail."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from millstream.core.settings import Settings

Value = pa.Array
_MANY = 16  # fewer values are not worth telling apart
Flags = np.ndarray


class RowError(Exception):
    """A value that makes its row fail; the reason is what it says."""


@dataclass(frozen=True, slots=True)
class Failed:
    """Which rows fail, and why."""

    rows: Flags
    reasons: np.ndarray
    """By row; None where it does not fail."""

    @classmethod
    def where(cls, rows: Flags, reason: str) -> Failed | None:
        """All these rows for one reason."""
        return cls(rows, _only(rows, reason)) if rows.any() else None

    def but(self, rows: Flags) -> Failed | None:
        """Without some rows."""
        left = self.rows & ~rows
        return Failed(left, _only(left, self.reasons)) if left.any() else None

    def also(self, other: Failed | None) -> Failed:
        """These, and others; a row that fails twice fails for the first reason."""
        if other is None:
            return self
        return Failed(self.rows | other.rows, np.where(self.rows, self.reasons, other.reasons))


def _only(rows: Flags, reasons: Any) -> np.ndarray:
    """The reasons of some rows."""
    nothing: Any = None
    return np.where(rows, reasons, nothing)


Result = tuple[Value, Failed | None]


def both(one: Failed | None, other: Failed | None) -> Failed | None:
    """What fails in either."""
    return other if one is None else one.also(other)


class Frame:
    """Rows to compute on: columns by name, taken only as they are asked for."""

    __slots__ = ("_columns", "_made", "_places", "n")

    def __init__(self, columns: Mapping[str, pa.Array | pa.ChunkedArray], n: int, places: np.ndarray | None = None):
        self._columns = columns
        self._made: dict[str, pa.Array] = {}
        self._places = places
        self.n = n

    def column(self, name: str) -> pa.Array:
        """A column as one array."""
        found = self._made.get(name)
        if found is None:
            whole = self._columns[name]
            found = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
            if self._places is not None:
                found = found.take(pa.array(self._places))
            self._made[name] = found
        return found

    def some(self, rows: Flags) -> Frame:
        """Only some of the rows."""
        places = np.flatnonzero(rows)
        inner = places if self._places is None else self._places[places]
        return Frame(self._columns, len(places), inner)


Run = Callable[[Frame], Result]


@dataclass(frozen=True, slots=True)
class BoundTerm:
    """An expression of a known type."""

    kind: pa.DataType
    run: Run
    total: bool = True
    """Can no row make it fail?"""
    constant: pa.Scalar | None = None
    literal: bool = False
    """Was the constant written as it is? Spark gives whole numbers that are the digits they have."""


def constant(value: Any, kind: pa.DataType, *, literal: bool = False) -> BoundTerm:
    """The same value for each row."""
    scalar = value if isinstance(value, pa.Scalar) else pa.scalar(value, kind)
    return BoundTerm(kind, lambda frame: (repeated(scalar, frame.n), None), constant=scalar, literal=literal)


def repeated(scalar: pa.Scalar, n: int) -> pa.Array:
    """A scalar as an array."""
    return pa.nulls(n, scalar.type) if not scalar.is_valid else pa.repeat(scalar, n)


def folded(node: BoundTerm, parts: Sequence[BoundTerm]) -> BoundTerm:
    """A node of constants is computed at once, unless it fails: then each row that gets there does."""
    if not parts or any(part.constant is None for part in parts):
        return node
    value, failed = node.run(Frame({}, 1))
    return node if failed is not None else constant(value[0], node.kind)


Compute = Callable[..., "Value | Result"]


def strict(kind: pa.DataType, parts: Sequence[BoundTerm], compute: Compute, *, total: bool = True) -> BoundTerm:
    """A function that is null where an argument is; `compute` takes arrays and answers one, and which rows fail."""
    whole = total and all(part.total for part in parts)

    def run(frame: Frame) -> Result:
        values, failed = arguments(parts, frame)
        found = compute(*values)
        value, mine = found if isinstance(found, tuple) else (found, None)
        if mine is not None:
            mine = mine if failed is None else mine.but(failed.rows)
            failed = both(failed, mine)
        return value, failed

    return folded(BoundTerm(kind, run, whole), parts)


def arguments(parts: Sequence[BoundTerm], frame: Frame) -> tuple[list[Value], Failed | None]:
    """The arguments of a call. Where one is null, those after it are not looked at, so they cannot fail."""
    values: list[Value] = []
    failed: Failed | None = None
    missing: Flags | None = None
    for part in parts:
        value, mine = part.run(frame)
        if mine is not None and missing is not None:
            mine = mine.but(missing)
        failed = both(failed, mine)
        values.append(value)
        if value.null_count and len(parts) > 1:
            nulls = is_null(value)
            missing = nulls if missing is None else missing | nulls
    return values, failed


def is_null(value: Value) -> Flags:
    """Which values are null."""
    return pc.is_null(value).to_numpy(zero_copy_only=False)


def scattered(values: Sequence[tuple[Flags, Value]], n: int, kind: pa.DataType) -> Value:
    """Values for rows that were computed apart, each for its rows; the others are null."""
    at = np.full(n, -1, dtype=np.int64)
    offset = 0
    for rows, value in values:
        at[rows] = offset + np.arange(len(value))
        offset += len(value)
    if not values:
        return pa.nulls(n, kind)
    whole = pa.concat_arrays([value if value.type == kind else value.cast(kind) for _, value in values])
    return whole.take(pa.array(at, mask=at < 0))


def spread(failed: Failed | None, rows: Flags) -> Failed | None:
    """Failures among some rows, as failures among all."""
    if failed is None:
        return None
    out, reasons = np.zeros(len(rows), dtype=np.bool_), np.full(len(rows), None, dtype=object)
    out[rows], reasons[rows] = failed.rows, failed.reasons
    return Failed(out, reasons)


def by_row(kind: pa.DataType, fn: Callable[..., Any], *values: Value) -> Result:
    """A Python function of the values of each row, none of them null; one that raises `RowError` makes its row fail.

    It is called once for each different value, if there is one column.
    """
    if len(values) == 1 and len(values[0]) > _MANY and _few_alike(values[0].type):
        coded = values[0].dictionary_encode()
        if isinstance(coded, pa.DictionaryArray) and len(coded.dictionary) * 2 < len(coded):
            inner, failed = by_row(kind, fn, coded.dictionary)
            places = coded.indices
            if failed is not None:
                at = pc.fill_null(places, 0).to_numpy(zero_copy_only=False)
                valid = ~is_null(places)
                failed = Failed(failed.rows[at] & valid, _only(valid, failed.reasons[at]))
                failed = failed if failed.rows.any() else None
            return inner.take(places), failed
    n = len(values[0])
    out: list[Any] = [None] * n
    reasons: dict[int, str] = {}
    for i, row in enumerate(zip(*(plain(value) for value in values), strict=True)):
        if None in row:
            continue
        try:
            out[i] = fn(*row)
        except RowError as error:
            reasons[i] = str(error)
        except (ValueError, ArithmeticError, RecursionError) as error:  # of Python's own: no row stops a run
            reasons[i] = f"{type(error).__name__}: {error}"
    return pa.array(out, kind), _failed(reasons, n)


def _few_alike(kind: pa.DataType) -> bool:
    types = pa.types
    return not (types.is_floating(kind) or types.is_nested(kind) or types.is_decimal(kind) or types.is_boolean(kind))


def _failed(reasons: Mapping[int, str], n: int) -> Failed | None:
    if not reasons:
        return None
    rows, said = np.zeros(n, dtype=np.bool_), np.full(n, None, dtype=object)
    for i, reason in reasons.items():
        rows[i], said[i] = True, reason
    return Failed(rows, said)


def plain(value: Value) -> list[Any]:
    """The values as Python has them; times as whole numbers, since Python has not all of them."""
    types = pa.types
    if types.is_timestamp(value.type):
        return value.cast(pa.int64()).to_pylist()
    if types.is_date32(value.type):
        return value.cast(pa.int32()).to_pylist()
    return value.to_pylist()


def rowwise(kind: pa.DataType, parts: Sequence[BoundTerm], fn: Callable[..., Any], *, total: bool = True) -> BoundTerm:
    """A function of the values of a row, by a Python function; what is constant is handed to it as it is."""
    fixed = {i: plain(repeated(p.constant, 1))[0] for i, p in enumerate(parts) if p.constant is not None}
    if any(value is None for value in fixed.values()):
        return constant(None, kind)
    varying = [part for i, part in enumerate(parts) if i not in fixed]
    if not fixed or not varying:
        return strict(kind, parts, lambda *values: by_row(kind, fn, *values), total=total)

    def filled(*row: Any) -> Any:
        rest = iter(row)
        return fn(*(fixed[i] if i in fixed else next(rest) for i in range(len(parts))))

    return strict(kind, varying, lambda *values: by_row(kind, filled, *values), total=total)


@dataclass(frozen=True, slots=True)
class Binding:
    """What a function is bound to: the settings of its expression."""

    settings: Settings

    @property
    def ansi(self) -> bool:
        """Spark's ANSI mode."""
        return self.settings.ansi

    @property
    def zone(self) -> str:
        """The time zone."""
        return self.settings.zone
