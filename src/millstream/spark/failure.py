"""Failures inside Spark, said in one readable error: the cause, without the pages around it."""

from __future__ import annotations

import re

from millstream.core import errors
from millstream.core.errors import MillstreamError, RunError

_LAST = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit)?): (?P<text>.+)$")


def readable(error: BaseException, epoch: int) -> MillstreamError:
    r"""Our own error that a task raised, or a RunError with the cause in a line.

    >>> text = "Traceback…\n  File …\nmillstream.core.errors.SinkError: disk full\nHint: Make room.\n SQLSTATE: 38000"
    >>> print(readable(RuntimeError(text), 3))
    disk full
    Hint: Make room.
    """
    if isinstance(error, MillstreamError):
        return error
    text = str(error)
    ours = re.search(r"millstream\.core\.errors\.(\w+): (.+?)(?:\nHint: (.+?))?(?:\n|$)", text)
    if ours and hasattr(errors, ours[1]):
        found = getattr(errors, ours[1])(ours[2], hint=ours[3])
    else:
        lines = [line.strip() for line in text.splitlines() if _LAST.match(line.strip())]
        cause = lines[-1] if lines else (text.splitlines() or [type(error).__name__])[0]
        found = RunError(
            f"epoch {epoch} failed in Spark: {cause}",
            hint="The checkpoint is that of the epoch before; start again to continue from there.",
        )
    found.__cause__ = error
    return found
