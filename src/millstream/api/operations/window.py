"""From the words of `stream.window(…)` to windows in ticks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import pyarrow as pa

from millstream.core.domain import LONGEST, Domain, Kind
from millstream.core.errors import SchemaError, WindowError, nearest
from millstream.core.flush import Flush
from millstream.core.local_days import LocalDays
from millstream.core.window import Landmark, Rows, Session, SlideByTuple, Sliding, UserDefined, Window
from millstream.kernels.ticks import domain_of
from millstream.runtime.bind_aggregates import ROW_NUMBER

_ARRIVAL = (None, ROW_NUMBER, "row-num")


@dataclass(frozen=True, slots=True)
class MadeWindows:
    """Windows, the attribute they are on, and the attribute to sort by first, if any."""

    attribute: str
    windows: tuple[Window, ...]
    sort_by: str | None = None


def make_windows(
    schema: pa.Schema,
    attribute: str | None,
    *,
    range: Any,
    slide: Any,
    start: Any,
    by: str,
    partition_by: tuple[str, ...],
    per: str | None,
    gap: Any,
    extent: Callable[[int], tuple[int, int]] | None,
    wids: Callable[[int], Iterable[int]] | None,
    zone: str = "UTC",
) -> MadeWindows:
    """The windows that these words mean; whole days of timestamps are those of `zone`, unless a start is given."""
    if by not in ("range", "rows"):
        raise WindowError(f"by={by!r} is not known", hint='Use by="range" or by="rows".')
    if per not in (None, "tuple", "rank"):
        raise WindowError(f"per={per!r} is not known", hint='Use per="tuple" or per="rank".')
    if by == "rows":
        _check_rows(start=start, per=per, gap=gap, extent=extent, wids=wids)
        return _rows(schema, attribute, range, slide, partition_by)
    if attribute is None:
        raise WindowError("a window needs an attribute", hint='Name it first: window("ts", range="1 minute").')
    domain = _domain(schema, attribute)
    _check_kinds(range=range, slide=slide, start=start, per=per, gap=gap, extent=extent, wids=wids)
    if callable(range):
        _check_alone(slide=slide, start=start, per=per)
        return MadeWindows(attribute, (_own_kind(range, domain),))
    if gap is not None:
        return MadeWindows(attribute, (Session(gap=domain.span(gap, what="gap")),))
    if (extent is None) != (wids is None):
        raise WindowError("a user-defined window needs both extent and wids", hint="They must be inverse.")
    if extent is not None and wids is not None:
        return MadeWindows(attribute, (UserDefined(extent_of=extent, wids_of=wids),))
    if range is None:
        raise WindowError("a window needs a range", hint='Give range="1 minute", or gap= for sessions.')
    begin = None if start is None else domain.point(start, what="start")
    if isinstance(range, str) and range.lower() == "all":
        if slide is None:
            raise WindowError('range="all" needs a slide', hint='Say how often to report: slide="1 minute".')
        return MadeWindows(attribute, (Landmark(slide=domain.span(slide, what="slide"), start=begin),))
    if per is not None:
        order: Literal["arrival", "rank"] = "rank" if per == "rank" else "arrival"
        every = _whole(1 if slide is None else slide, "slide")
        return MadeWindows(attribute, (SlideByTuple(size=domain.span(range), every=every, by=order),))
    ranges = list(range) if isinstance(range, list | tuple) else [range]
    if not ranges:
        raise WindowError("a list of ranges is empty", hint='Give at least one: range=["1 hour", "1 day"].')
    made = tuple(_sliding(domain, one, slide, begin) for one in ranges)
    if len(set(made)) < len(made):
        raise WindowError(f"range={ranges!r} names a window twice", hint="Give each range once.")
    days = _local_days(domain, made, zone) if begin is None else None
    return MadeWindows(attribute, made if days is None else (days,))


def _local_days(domain: Domain, windows: Sequence[Sliding], zone: str) -> UserDefined | None:
    """Windows of whole days that begin at local midnight; None where the zone makes no difference."""
    # A timestamp without a zone says the local time already.
    if domain.kind is not Kind.TIMESTAMP or domain.zone is None or domain.unit is None or zone == "UTC":
        return None
    second = _TICKS[domain.unit]
    lengths = [length for window in windows for length in (window.size, window.slide)]
    if not lengths or any(length % (86400 * second) for length in lengths):
        return None
    if len(windows) > 1:
        raise WindowError(
            f"several ranges of whole days cannot share panes in {zone}, where a day may have 23 or 25 hours",
            hint="Ask for each range in a query of its own, or give start= to count 24 hours from there.",
        )
    (window,) = windows
    day = 86400 * second
    made = LocalDays(zone=zone, days=window.size // day, every=window.slide // day, second=second)
    return UserDefined(extent_of=made.extent, wids_of=made.wids)


_TICKS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Ticks in a second, by the unit of a timestamp."""


def check_flush(flush: Any, windows: Sequence[Window]) -> Flush | None:
    """Refuse to hold back the results of windows that do not close one after another."""
    if flush is None:
        return None
    if not isinstance(flush, Flush):
        raise WindowError(f"flush={flush!r} is no flush", hint="Write flush=ms.slow_flush(rows=1000).")
    for window in windows:
        if not isinstance(window, Sliding | Landmark):
            raise WindowError(
                f"a flush does not fit {window.kind}: not every slide closes one window",
                hint="Leave flush out: it is for sliding, tumbling and landmark windows.",
            )
        if flush.windows * window.slide >= LONGEST:
            raise WindowError(
                f"a flush of {flush.windows} windows is too long for a slide of {window.slide} ticks",
                hint="Give fewer windows.",
            )
    return flush


def _check_rows(**given: Any) -> None:
    """Refuse words that mean nothing where rows are counted."""
    others = [name for name, value in given.items() if value is not None]
    if others:
        raise WindowError(
            f'a window by="rows" has no {", ".join(others)}', hint=f'Leave out {", ".join(others)}, or by="rows".'
        )


def _own_kind(make: Callable[[Domain], Any], domain: Domain) -> Window:
    window = make(domain)
    if not isinstance(window, Window):
        raise WindowError(
            f"range made {window!r}, which is no window", hint="Give a function from a domain to a window."
        )
    return window


def _check_alone(**given: Any) -> None:
    """Refuse words beside a window of its own kind."""
    others = [name for name, value in given.items() if value is not None]
    if others:
        raise WindowError(
            f"a window of its own kind has no {', '.join(others)}", hint=f"Leave out {', '.join(others)}."
        )


def _check_kinds(**given: Any) -> None:
    """Refuse words of two kinds of window at once."""
    for kind, allowed in (("gap", {"gap"}), ("extent", {"extent", "wids"}), ("wids", {"extent", "wids"})):
        others = [name for name, value in given.items() if value is not None and name not in allowed]
        if given[kind] is not None and others:
            raise WindowError(
                f"a window with {kind} has no {', '.join(others)}", hint=f"Leave out {', '.join(others)}, or {kind}."
            )


def _sliding(domain: Domain, size: Any, slide: Any, start: int | None) -> Sliding:
    length = domain.span(size, what="range")
    step = length if slide is None else domain.span(slide, what="slide")
    return Sliding(size=length, slide=step, start=start)


def _rows(schema: pa.Schema, attribute: str | None, size: Any, slide: Any, partition_by: Sequence[str]) -> MadeWindows:
    length = _whole(size, "range")
    window = Rows(
        size=length,
        slide=length if slide is None else _whole(slide, "slide"),
        partition_by=tuple(partition_by),
    )
    if attribute in _ARRIVAL and attribute not in schema.names:
        return MadeWindows(ROW_NUMBER, (window,))
    assert attribute is not None
    _domain(schema, attribute)
    return MadeWindows(ROW_NUMBER, (window,), sort_by=attribute)


def _domain(schema: pa.Schema, attribute: str) -> Domain:
    if attribute not in schema.names:
        raise SchemaError(f"there is no column {attribute!r}", hint=nearest(attribute, schema.names))
    return domain_of(schema.field(attribute).type, attribute)


def _whole(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise WindowError(f"{what} {value!r} is not a number of rows", hint=f"Give a whole number, as in {what}=1000.")
    return value
