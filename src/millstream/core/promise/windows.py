"""What window aggregates promise: bounds on the window columns, that the bounds on the rows give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millstream.core.domain import BOTTOM
from millstream.core.progress import Progress, meet
from millstream.core.punctuation import Punctuation
from millstream.core.window import Landmark, Rows, Session, SlideByTuple, Sliding, Window

Bounds = Callable[[int], dict[str, int]]
"""For a bound on the attribute: for each window column, the least value that a later result can have."""


@dataclass(frozen=True, slots=True)
class WindowShape:
    """As much of a window aggregate as its promise depends on."""

    attribute: str
    groups: tuple[str, ...]
    windows: tuple[Window, ...]


def promised(shape: WindowShape, now: Progress, rows: int = 0) -> Progress:
    """What follows for the windows from what is promised of the rows; `rows` have come, where windows count them.

    >>> shape = WindowShape("ts", ("k",), (Sliding(size=10, slide=5),))
    >>> promised(shape, Progress({"ts": 12})).linear
    {'window_id': 2, 'window_start': 5, 'window_end': 15}
    """
    first = shape.windows[0]
    if isinstance(first, Rows):
        return _of_rows(first, now, rows)
    if isinstance(first, SlideByTuple):
        return _of_row_ends(first, shape.attribute, now)
    return meet([_of(shape, window_bounds([window]), now) for window in shape.windows])


def window_bounds(windows: Sequence[Window]) -> Bounds:
    """The bounds on the columns of some windows of one kind."""
    first = windows[0]
    if isinstance(first, Sliding | Rows):
        sliding = [
            one.by_number if isinstance(one, Rows) else one for one in windows if isinstance(one, Sliding | Rows)
        ]
        return lambda bound: _of_sliding(sliding, bound)
    if isinstance(first, Landmark):
        return lambda bound: _of_landmark(first, bound)
    if isinstance(first, Session):
        # An open session's last row is at or after bound − gap; where it began is not known.
        return lambda bound: {"window_end": bound}
    if isinstance(first, SlideByTuple):
        return lambda bound: {"window_id": bound, "window_start": bound - first.size, "window_end": bound}
    # Nothing is known of the ids of a user's windows to come; but one that ends at or below the bound is out.
    return lambda bound: {"window_end": bound + 1}


def _of(shape: WindowShape, bounds: Bounds, now: Progress) -> Progress:
    """Bounds, linear and group-wise."""
    if now.ended:
        return Progress(ended=True)
    out = Progress()
    if now.bound(shape.attribute) > BOTTOM:
        for name, bound in bounds(now.bound(shape.attribute)).items():
            out.accept(Punctuation.linear(name, bound))
    for (name, keys), found in now.grouped.items():
        if name == shape.attribute and set(keys) <= set(shape.groups):
            for key, bound in found.items():
                group = dict(zip(keys, key, strict=True))
                for column, value in bounds(bound).items():
                    out.accept(Punctuation.group_wise(column, value, group))
    for keys, over in now.over.items():
        if set(keys) <= set(shape.groups):
            out.over[keys] = set(over)
    return out


def _of_rows(window: Rows, now: Progress, rows: int) -> Progress:
    """Windows of an unpartitioned stream close in order; those of partitions only when a partition is over."""
    if now.ended:
        return Progress(ended=True)
    if window.partition_by:
        return Progress(over={k: set(v) for k, v in now.over.items() if set(k) <= set(window.partition_by)})
    return Progress(window_bounds([window])(rows + 1))


def _of_row_ends(window: SlideByTuple, attribute: str, now: Progress) -> Progress:
    """Only what holds for everybody: a group that is done still has answers in windows that others' rows end."""
    bound = now.bound(attribute)
    if now.ended or bound <= BOTTOM:
        return Progress(ended=now.ended)
    return Progress(window_bounds([window])(bound))


def _of_sliding(windows: Sequence[Sliding], bound: int) -> dict[str, int]:
    opens = [window.first_open(bound) for window in windows]
    extents = [window.extent(wid) for window, wid in zip(windows, opens, strict=True)]
    return {
        "window_id": min(opens),
        "window_start": min(low for low, _ in extents),
        "window_end": min(high for _, high in extents),
    }


def _of_landmark(window: Landmark, bound: int) -> dict[str, int]:
    wid = window.first_open(bound)
    return {"window_id": wid, "window_end": window.extent(wid)[1]}
