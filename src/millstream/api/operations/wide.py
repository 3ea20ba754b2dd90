"""Wide results: several ranges side by side, a row for each end of a window and each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from millstream.core.aggregate import AggregateCall
from millstream.core.domain import TICKS_PER_SECOND, Domain, Kind
from millstream.core.errors import PlanError
from millstream.core.window import Sliding
from millstream.sql.statement_expressions import quoted

if TYPE_CHECKING:
    from millstream.api.query import Query

_COUNTS = ("count", "count_distinct", "approx_distinct")
"""Of no rows they say zero, and everything else null."""
_UNITS = (("d", 86400), ("h", 3600), ("m", 60), ("s", 1))


def check_wide(windows: Sequence[Any]) -> None:
    """Refuse to put side by side what is not several ranges."""
    if len(windows) < 2 or not all(isinstance(one, Sliding) for one in windows):
        raise PlanError(
            "wide=True puts several ranges side by side, and here is one window",
            hint='Give a list of ranges: range=["1 minute", "1 hour"].',
        )


def wide(
    long: Query, windows: Sequence[Sliding], domain: Domain, groups: Sequence[str], calls: Mapping[str, AggregateCall]
) -> Query:
    """One row for each window end and group; of each aggregate a column for each range, such as `n_1m` and `n_1h`."""
    _check_fine(domain, windows)
    picked: dict[str, Any] = {}
    leaving = [f"window_start AS {quoted('window_end')}", *map(quoted, groups)]
    for name, call in calls.items():
        for window in windows:
            column = f"{name}_{label(domain, window.size)}"
            if column in picked or column in groups:
                raise PlanError(f"two columns would be named {column!r}", hint="Give the aggregate another name.")
            picked[column] = AggregateCall("first", (quoted(name),), _spans(domain, window.size))
            value = f"coalesce({quoted(column)}, 0)" if call.function in _COUNTS else quoted(column)
            leaving.append(f"{value} AS {quoted(column)}")
    # The rows of one end are complete together: a window of one tick on it gathers them.
    gathered = long.window("window_end", range=_tick(domain)).group_by(*groups).agg(**picked)
    return gathered.select(*leaving)


def _check_fine(domain: Domain, windows: Sequence[Sliding]) -> None:
    """Refuse edges between two microseconds, the finest that a condition can tell apart."""
    if domain.kind is not Kind.TIMESTAMP or domain.unit != "ns":
        return
    for window in windows:
        for what, length in (("range", window.size), ("slide", window.slide), ("start", window.start or 0)):
            if length % 1000:
                raise PlanError(
                    f"wide=True with a {what} of {length} ns, which is no number of microseconds",
                    hint="Leave wide out: the long results have every range.",
                )


def label(domain: Domain, size: int) -> str:
    """A length as part of a column's name.

    >>> time = Domain(kind=Kind.TIMESTAMP)
    >>> [label(time, seconds * 1_000_000) for seconds in (90, 60, 7200, 86400)]
    ['90s', '1m', '2h', '1d']
    >>> label(time, 250_000), label(Domain(kind=Kind.INTEGER), 10), label(Domain(kind=Kind.DECIMAL, scale=1), 25)
    ('250ms', '10', '2_5')
    """
    match domain.kind:
        case Kind.TIMESTAMP:
            per_second = TICKS_PER_SECOND[domain.unit]
            for unit, seconds in _UNITS:
                if size % (seconds * per_second) == 0:
                    return f"{size // (seconds * per_second)}{unit}"
            millis, rest = divmod(size * 1000, per_second)
            return f"{millis}ms" if not rest else f"{size}{domain.unit}"
        case Kind.DATE:
            return f"{size}d"
        case Kind.INTEGER:
            return str(size)
        case Kind.DECIMAL:
            return str(Decimal(size).scaleb(-domain.scale)).replace(".", "_")


def _spans(domain: Domain, size: int) -> str:
    """The condition that a window is of this size."""
    match domain.kind:
        case Kind.TIMESTAMP:
            micros = size * 1_000_000 // TICKS_PER_SECOND[domain.unit]
            if domain.zone is None:
                return f"window_end - INTERVAL '{micros}' MICROSECOND = window_start"
            # Intervals count the days of the clock on the wall, and some of those have 23 or 25 hours.
            return f"unix_micros(window_end) - {micros} = unix_micros(window_start)"
        case Kind.DATE:
            return f"date_sub(window_end, {size}) = window_start"
        case Kind.INTEGER:
            return f"window_end - {size} = window_start"
        case Kind.DECIMAL:
            return f"window_end - {Decimal(size).scaleb(-domain.scale)} = window_start"


def _tick(domain: Domain) -> Any:
    """The shortest length."""
    match domain.kind:
        case Kind.TIMESTAMP:
            return f"1 {domain.unit}"
        case Kind.DECIMAL:
            return str(Decimal(1).scaleb(-domain.scale))
        case Kind.DATE | Kind.INTEGER:
            return 1
