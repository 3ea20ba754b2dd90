"""What window aggregates promise: bounds on the window columns, that the bounds on the rows give."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.core.progress import Progress, meet
from millstream.core.window import Window


@dataclass(frozen=True, slots=True)
class WindowShape:
    """As much of a window aggregate as its promise depends on."""

    attribute: str
    groups: tuple[str, ...]
    windows: tuple[Window, ...]


def promised(shape: WindowShape, now: Progress, rows: int = 0) -> Progress:
    """What follows for the windows from what is promised of the rows; `rows` have come, where windows count them.

    >>> from millstream.core.window import Sliding
    >>> shape = WindowShape("ts", ("k",), (Sliding(size=10, slide=5),))
    >>> promised(shape, Progress({"ts": 12})).linear
    {'window_id': 2, 'window_start': 5, 'window_end': 15}
    """
    return meet([window.promised(shape.attribute, shape.groups, now, rows) for window in shape.windows])
