"""Failures inside Spark, said in one readable error: the cause, without the pages around it."""

from __future__ import annotations

import re

from millstream.core import errors
from millstream.core.errors import MillstreamError, RunError

_LONGEST = 300
_AGAIN = "The checkpoint is that of the epoch before; start again to continue from there."
_FILE = "Repair the file or move it away, then start again: nothing of this epoch was taken."
_OURS = re.compile(r"millstream\.core\.errors\.(\w+): (.+?)(?:\nHint: (.+?))?(?:\n|$)")
_PYTHON = re.compile(r"^(?:[A-Za-z_]\w*\.)*(\w*(?:Error|Exception|Interrupt|Exit|Iteration)(?:: .+)?)$", re.MULTILINE)
_JAVA = re.compile(r"^: (?:[a-z]\w*\.)*(.+)$", re.MULTILINE)
_UNDER = re.compile(r"^Caused by: (?:[a-z]\w*\.)*(\w+: .+)$", re.MULTILINE)


def readable(error: BaseException, epoch: int) -> MillstreamError:
    r"""Our own error that a task raised, or a RunError with the cause in a line.

    >>> text = "Traceback…\n  File …\nmillstream.core.errors.SinkError: disk full\nHint: Make room.\n SQLSTATE: 38000"
    >>> print(readable(RuntimeError(text), 3))
    disk full
    Hint: Make room.
    >>> print(readable(RuntimeError("[FAILED_READ_FILE.NO_HINT] Error while reading file:///in/1.csv."), 3))
    epoch 3 failed in Spark: [FAILED_READ_FILE.NO_HINT] Error while reading file:///in/1.csv.
    Hint: Repair the file or move it away, then start again: nothing of this epoch was taken.
    """
    if isinstance(error, MillstreamError):
        return error
    text = str(error).split("\n=== Streaming Query ===")[0]
    ours = _OURS.search(text)
    if ours and hasattr(errors, ours[1]):
        found = getattr(errors, ours[1])(ours[2], hint=ours[3])
    else:
        hint = _FILE if "FAILED_READ_FILE" in text else _AGAIN
        found = RunError(f"epoch {epoch} failed in Spark: {_cause(text) or type(error).__name__}", hint=hint)
    found.__cause__ = error
    return found


def _cause(text: str) -> str:
    r"""The line that says what happened: the end of a Python traceback, or the head of a Java one and its root.

    >>> _cause("PythonException: …\nTraceback (most recent call last):\n  File …\nKeyError: 'x'\n")
    "KeyError: 'x'"
    >>> job = "org.apache.spark.SparkException: Job aborted: Lost task 1.0 in stage 7.0 (TID 1) (host): "
    >>> _cause(
    ...     f"An error occurred.\n: {job}a.b.IOException: no route.  SQLSTATE: 0\n\tat x.y\nCaused by: a.Root: cut\n"
    ... )
    'IOException: no route. (Root: cut)'
    """
    python = _PYTHON.findall(text) if "Traceback (most recent call last)" in text else []
    if python:
        return _short(python[-1])
    head = _JAVA.search(text)
    if head is None:
        return _short((text.splitlines() or [""])[0].split("terminated with exception: ")[-1])
    said = re.sub(r"^.*Lost task [^:]*\): (?:[a-z]\w*\.)*", "", head[1])
    under = _UNDER.findall(text)
    return _short(said) + (f" ({_short(under[-1])})" if under and under[-1] not in said else "")


def _short(line: str) -> str:
    line = re.sub(r"\s+SQLSTATE: \w+", "", line).strip()
    return line if len(line) <= _LONGEST else line[:_LONGEST] + "…"
