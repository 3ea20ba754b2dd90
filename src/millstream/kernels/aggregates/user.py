"""User-defined aggregates: Python functions over Arrow arrays.

`UserBag` calls one function on all rows of a cell. `UserAlgebra` is given lift, combine and lower, so that
partials can be kept and shared between windows. Rows with a null argument are skipped, as in SQL. Where a function
raises, or answers what does not fit, the cell has no answer: its result is rejected, and no other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from millstream.core.errors import AggregateError
from millstream.kernels.aggregates.base import Holistic, Work
from millstream.kernels.aggregates.parts.failed import ERROR, VALUE, NoValue, failing, packed
from millstream.kernels.aggregates.parts.objects import Objects, slices


class UserBag(Holistic):
    """The answer of a function that is called once per cell with the cell's rows, in no promised order.

    A cell without rows is null, and the function is not called.

    >>> def width(prices):
    ...     return max(prices.to_pylist()) - min(prices.to_pylist())
    >>> spread = UserBag(width, [pa.int64()], pa.int64())
    >>> spread.evaluate([pa.array([3, 8, 5])], np.ones(3, int), np.array([0, 0, 1]), 3).to_pylist()
    [5, 0, None]
    """

    countable = False

    def __init__(self, fn: Callable[..., Any], kinds: Sequence[pa.DataType], returns: pa.DataType | str) -> None:
        """`fn` takes one array for each of `kinds` and answers a value of type `returns`."""
        self.fn = fn
        self.value_types = tuple(kinds)
        self.result_type = arrow_type(returns)

    def evaluate(self, values: Sequence[pa.Array], weights: np.ndarray, cells: np.ndarray, n: int) -> pa.Array:
        """Call the function on the rows of each cell."""
        if np.any(weights != 1):
            index = np.repeat(np.arange(len(cells)), weights)
            values, cells = [array.take(pa.array(index)) for array in values], cells[index]
        answers = _call_by_cell(self.fn, values, cells, n)
        return _answers(self.fn, answers, self.result_type)


class UserAlgebra(Objects):
    """An aggregate by its own lift, combine and lower; its partial is a value of an Arrow type.

    `lift` takes the arrays of some rows. `combine` and `lower` take partials as Python has them: a list for a
    list, a dict for a struct. `combine` must be associative and commutative, and must return a new value
    rather than change one it was given. A lift that answers None means: nothing here.

    >>> product = UserAlgebra(
    ...     lift=lambda x: float(np.prod(x.to_numpy())),
    ...     combine=lambda a, b: a * b,
    ...     lower=lambda p: p,
    ...     partial="double",
    ...     returns="double",
    ... )
    >>> work = product.gather([pa.array([2.0, 3.0, None, 5.0])], np.array([0, 0, 1, 2]), 3)
    >>> product.lower(product.close(work)).to_pylist()
    [6.0, None, 5.0]
    """

    def __init__(
        self,
        *,
        lift: Callable[..., Any],
        combine: Callable[[Any, Any], Any],
        lower: Callable[[Any], Any],
        partial: pa.DataType | str,
        returns: pa.DataType | str,
    ) -> None:
        """The three functions, and the types of what `lift` and `combine`, and what `lower` answer."""
        self._lift, self._combine, self._lower = lift, combine, lower
        self._partial = arrow_type(partial)
        self.partial_types = (failing(self._partial),)
        self.result_type = arrow_type(returns)

    def gather(self, arguments: Sequence[pa.Array], cells: np.ndarray, n: int) -> Work:
        """Lift the rows of each cell together."""
        parts = _call_by_cell(self._lift, arguments, cells, n)
        # Through Arrow and back, so that combine sees the same forms here as from stored state.
        return self.open([packed(_fitting(self._lift, parts, self._partial), self._partial)])

    def merge(self, parts: Sequence[Any]) -> Any:
        """Combine one after the other."""
        whole = parts[0]
        for part in parts[1:]:
            if isinstance(whole, NoValue) or isinstance(part, NoValue):
                return whole if isinstance(whole, NoValue) else part
            whole = _call(self._combine, whole, part)
        return whole

    def store(self, part: Any) -> Any:
        """The value itself."""
        return part

    def restore(self, stored: Any) -> Any:
        """The value itself, or why there is none."""
        return stored[VALUE] if stored[ERROR] is None else NoValue(stored[ERROR])

    def close(self, work: Work) -> list[pa.Array]:
        """As the declared type."""
        return [packed(_fitting(self._combine, list(work.columns[0]), self._partial), self._partial)]

    def lower(self, partials: Sequence[pa.Array]) -> pa.Array:
        """The answers, null for nothing."""
        (parts,) = self.open(partials).columns
        answers = [part if part is None or isinstance(part, NoValue) else _call(self._lower, part) for part in parts]
        return _answers(self._lower, answers, self.result_type)


def arrow_type(kind: pa.DataType | str) -> pa.DataType:
    """An Arrow type from its name, or as it is.

    >>> arrow_type("double")
    DataType(double)
    """
    if isinstance(kind, pa.DataType):
        return kind
    try:
        return pa.type_for_alias(kind)
    except (ValueError, TypeError, AttributeError) as error:
        raise AggregateError(
            f'"{kind}" is no Arrow type',
            hint='Give a pyarrow type, or a name such as "double", "int64", "string".',
        ) from error


def function_name(fn: Callable[..., Any]) -> str:
    """What to call a user's function in a message.

    >>> function_name(max)
    'max'
    """
    return getattr(fn, "__name__", None) or type(fn).__name__


def _call_by_cell(fn: Callable[..., Any], arguments: Sequence[pa.Array], cells: np.ndarray, n: int) -> list[Any]:
    rows, edges = slices(arguments, cells, n)
    ordered = [array.take(pa.array(rows)) for array in arguments]
    answers: list[Any] = [None] * n
    for cell in np.flatnonzero(edges[1:] > edges[:-1]):
        start, length = int(edges[cell]), int(edges[cell + 1] - edges[cell])
        answers[cell] = _call(fn, *(array.slice(start, length) for array in ordered))
    return answers


def _call(fn: Callable[..., Any], *arguments: Any) -> Any:
    try:
        answer = fn(*arguments)
    except Exception as error:  # noqa: BLE001 - a user's function may raise anything
        return NoValue(f"{function_name(fn)} raised {type(error).__name__}: {error}")
    return answer.as_py() if isinstance(answer, pa.Scalar) else answer


def _fitting(fn: Callable[..., Any], answers: list[Any], kind: pa.DataType) -> list[Any]:
    """The answers, those that are not of the declared type as failures."""
    try:
        pa.array([None if isinstance(one, NoValue) else one for one in answers], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return [_fitted(fn, one, kind) for one in answers]
    return answers


def _fitted(fn: Callable[..., Any], answer: Any, kind: pa.DataType) -> Any:
    if answer is None or isinstance(answer, NoValue):
        return answer
    try:
        pa.array([answer], kind)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        return NoValue(f"{function_name(fn)} answered what does not fit {kind}: {error}")
    return answer


def _answers(fn: Callable[..., Any], answers: list[Any], kind: pa.DataType) -> pa.Array:
    fitting = _fitting(fn, answers, kind)
    failed = any(isinstance(one, NoValue) for one in fitting)
    return packed(fitting, kind) if failed else pa.array(fitting, kind)
