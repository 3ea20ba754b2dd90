"""The functions that an expression may call: a list, since each must mean here what it means in Spark."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass

from millstream.core.errors import ExpressionError
from millstream.kernels.expressions.bound_term import Binding, BoundTerm

Bind = Callable[[list[BoundTerm], Binding], BoundTerm]
BEFORE = "Apply it on the data frame before engine.stream(…), or compute the column where the rows are made."


@dataclass(frozen=True, slots=True)
class Function:
    """A function: its name, the family that it is listed under, how many arguments it takes, and how it is bound."""

    name: str
    family: str
    least: int
    most: int | None
    bind: Bind
    syntax: bool = False
    """Is it written as an operator, and never called by its name?"""


FUNCTIONS: dict[str, Function] = {}
ALIASES: dict[str, str] = {}

_CLOCK = "its answer would depend on when or where a row is computed"
_ROWS = "it makes several rows, or any number of values, of one"
_REFUSED = {
    **dict.fromkeys(
        ("rand", "random", "randn", "uuid", "shuffle", "randstr", "uniform", "now", "current_date", "curdate",
         "current_timestamp", "current_time", "localtimestamp", "current_timezone", "current_user", "user",
         "session_user", "current_datetime", "monotonically_increasing_id", "spark_partition_id", "input_file_name",
         "version", "current_database", "current_catalog", "current_schema"),
        _CLOCK,
    ),
    **dict.fromkeys(
        ("explode", "explode_outer", "posexplode", "posexplode_outer", "inline", "inline_outer", "stack", "json_tuple",
         "generate_series", "sequence", "range", "unnest", "array_repeat"),
        _ROWS,
    ),
}  # fmt: skip


def function(
    name: str, family: str, arguments: tuple[int, int | None], *aliases: str, syntax: bool = False
) -> Callable[[Bind], Bind]:
    """Register what binds a function to its arguments."""

    def register(bind: Bind) -> Bind:
        FUNCTIONS[name] = Function(name, family, *arguments, bind, syntax)
        ALIASES.update(dict.fromkeys(aliases, name))
        return bind

    return register


def check_function(written: str, given: int) -> str:
    """The name that a function goes by; one that is not there, or takes another number of arguments, is refused.

    >>> check_function("UPPER", 1), check_function("substr", 2)
    ('upper', 'substring')
    """
    name = written.lower()
    if name == "if":
        _check_number(name, 3, 3, given)
        return name
    found = FUNCTIONS.get(ALIASES.get(name, name))
    if found is None or found.syntax:
        raise unknown(name)
    _check_number(name, found.least, found.most, given)
    return found.name


def unknown(name: str) -> ExpressionError:
    """Why a function is not there."""
    if name in _REFUSED:
        return ExpressionError(f"the function {name} is not computed here: {_REFUSED[name]}", hint=BEFORE)
    close = difflib.get_close_matches(name, names(), n=3)
    guess = f"Did you mean {' or '.join(close)}? " if close else ""
    return ExpressionError(
        f'there is no function "{name}"', hint=f"{guess}docs/functions.md lists those that there are. {BEFORE}"
    )


def names() -> list[str]:
    """Every name that can be called, in order.

    >>> "upper" in names(), "rand" in names()
    (True, False)
    """
    called = [one.name for one in FUNCTIONS.values() if not one.syntax]
    return sorted([*called, *ALIASES, "if"])


def _check_number(name: str, least: int, most: int | None, given: int) -> None:
    if given < least or (most is not None and given > most):
        wanted = f"{least}" if least == most else f"at least {least}" if most is None else f"{least} to {most}"
        raise ExpressionError(
            f"{name} takes {wanted} argument{'' if wanted == '1' else 's'}, and not {given}",
            hint="docs/functions.md shows how it is called.",
        )
