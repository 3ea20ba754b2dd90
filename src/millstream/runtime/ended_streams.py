"""Streams that have ended: rows that come after all would be late, every one of them, so a run says so instead."""

from __future__ import annotations

from collections.abc import Mapping

from millstream.core.errors import RunError
from millstream.core.progress import Progress

_GO_ON = (
    "Begin anew: another engine, and another checkpoint if there is one. Next time leave end_of_stream=True out "
    "(--end on the command line) while more rows may come."
)


def refuse_start(streams: Mapping[str, Progress], *, end_of_stream: bool) -> None:
    """Refuse to go on where every stream has ended; to end them once more, which does nothing, is no mistake.

    >>> refuse_start({"bids": Progress(), "asks": Progress(ended=True)}, end_of_stream=False)
    """
    if streams and not end_of_stream and all(progress.ended for progress in streams.values()):
        raise RunError(f"{_named(list(streams))} ended in an earlier run, and cannot go on", hint=_GO_ON)


def refuse_rows(streams: Mapping[str, Progress], rows: Mapping[str, int]) -> None:
    """Refuse rows of a stream that has ended.

    >>> refuse_rows({"bids": Progress(ended=True)}, {"bids": 2})
    Traceback (most recent call last):
    ...
    millstream.core.errors.RunError: 2 rows came in the stream 'bids', which ended in an earlier run
    Hint: Begin anew: another engine, ...
    """
    for name, count in rows.items():
        if count and name in streams and streams[name].ended:
            raise RunError(
                f"{count:,} {'row' if count == 1 else 'rows'} came in {_named([name])}, which ended in an earlier run",
                hint=_GO_ON,
            )


def _named(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return f"the stream {shown}" if len(names) == 1 else f"the streams {shown}"
