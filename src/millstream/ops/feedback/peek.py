"""A look ahead: operators go on as if something had happened, and are then as they were.

An operator's memory is its store and the progress that it was told. So whatever it does can be undone.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, cast

from millstream.ops.operator import Meter, Operator
from millstream.state.store import Store


@contextmanager
def undone(operators: Iterable[Operator]) -> Generator[None]:
    """What these operators do in the block is undone at its end. What it costs to finish is left out."""
    every = [one for operator in operators for one in _with_parts(operator)]
    back = [_saved(one) for one in every]
    for one in every:
        one.skip_costly()
    try:
        yield
    finally:
        for restore in back:
            restore()


def _with_parts(operator: Operator) -> Iterator[Operator]:
    """The operator, and those that it is made of."""
    yield operator
    for value in vars(operator).values():
        for one in _items(value):
            if isinstance(one, Operator):
                yield from _with_parts(one)


def _items(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return cast("dict[Any, Any]", value).values()
    return cast("list[Any]", value) if isinstance(value, tuple | list) else (value,)


def _saved(operator: Operator) -> Callable[[], None]:
    """Brings the operator back to where it is now."""
    fields = dict(vars(operator))
    held: list[Any] = [one for one in fields.values() if isinstance(one, Store | Meter | list | dict)]
    held += operator.stores
    inner = [_contents(value) for value in held]

    def restore() -> None:
        vars(operator).clear()
        vars(operator).update(fields)
        for one in inner:
            one()

    return restore


def _contents(value: Any) -> Callable[[], None]:
    """Brings what can be changed in place back to what it holds now."""
    match value:
        case Store():
            segments, facts = list(value.segments), deepcopy(value.facts)

            def of_store() -> None:
                value.segments, value.facts = segments, facts

            return of_store
        case Meter():
            figures = value.figures()

            def of_meter() -> None:
                for name, figure in figures.items():
                    setattr(value, name, figure)

            return of_meter
        case list():
            items = list(value)  # type: ignore[arg-type]  # of anything

            def of_list() -> None:
                value[:] = items

            return of_list
        case _:
            pairs = dict(value)

            def of_dict() -> None:
                value.clear()
                value.update(pairs)

            return of_dict
