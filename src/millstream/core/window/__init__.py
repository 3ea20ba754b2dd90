"""Windows: which rows belong together, said in ticks of the windowing attribute.

`extent` says which values a window holds, `wids` which windows a value is in; they are inverse, and
tests/laws/test_window.py holds every kind of window to that. Extents are half-open [low, high), except
slide-by-tuple, whose windows end *at* a row: (low, high]. Floors everywhere: a value before the start
must round down too.

A window that declares a `start` begins with window 0 and has no earlier ones: values before the start
still count in the windows that reach back to them, and in no other. Without a start, windows are aligned to
tick 0 (for a timestamp the epoch) and ids may be negative.

One file for each kind; what all of them are is in `base`.
"""

from millstream.core.window.base import WINDOW_COLUMNS, Context, Window, context
from millstream.core.window.grid import Grid
from millstream.core.window.landmark import Landmark
from millstream.core.window.rows import Rows
from millstream.core.window.session import Session
from millstream.core.window.slide_by_tuple import SlideByTuple
from millstream.core.window.sliding import Sliding, common_pane
from millstream.core.window.user_defined import WHOLE, Labelled, UserDefined

__all__ = [
    "WHOLE",
    "WINDOW_COLUMNS",
    "Context",
    "Grid",
    "Labelled",
    "Landmark",
    "Rows",
    "Session",
    "SlideByTuple",
    "Sliding",
    "UserDefined",
    "Window",
    "common_pane",
    "context",
]
