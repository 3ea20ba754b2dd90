"""A driver as the runner sees it: a process that is asked, answers in time, or is ended."""

from __future__ import annotations

import json
import os
import queue
import re
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

_BENCH = Path(__file__).parents[1]
_GOODBYE = 15  # seconds
_TELLING = re.compile(r"^(Caused by: )?[\w.$]+(Error|Exception): ")


class Failed(Exception):  # noqa: N818 - it says what is wrong, not that something is
    """A driver broke, or took too long."""


class Process:
    """A driver of one engine; its errors go to a log."""

    def __init__(self, python: Path, module: str, log: Path, variables: Mapping[str, str]) -> None:
        """Start it; it opens its engine while nobody waits."""
        log.parent.mkdir(parents=True, exist_ok=True)
        self._log = log
        self._lines: queue.Queue[str | None] = queue.Queue()
        with log.open("w") as errors:
            self._process = subprocess.Popen(
                [str(python), "-m", module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                env={**os.environ, **variables, "PYTHONPATH": str(_BENCH)},
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def ask(self, job: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        """The line of one repetition; after a failure the process is no more."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(job) + "\n")
            self._process.stdin.flush()
            line = self._lines.get(timeout=seconds)
        except queue.Empty:
            self.end()
            raise Failed(f"no answer in {seconds:g} s") from None
        except OSError:
            line = None
        if line is None:
            self.end()
            raise Failed(self._last_words())
        return json.loads(line)

    def end(self) -> None:
        """Let it go, with all its children."""
        family = _family(self._process.pid)
        assert self._process.stdin is not None
        with suppress(OSError):  # it may be gone already
            self._process.stdin.close()
        try:
            self._process.wait(_GOODBYE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for one in family:
            with suppress(psutil.NoSuchProcess):
                one.kill()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(None)

    def _last_words(self) -> str:
        return last_words(self._log.read_text(errors="replace"))


def last_words(log: str) -> str:
    r"""The line of a log that says what went wrong: the last that names an error, or the last of all.

    >>> last_words("Traceback …\njava.lang.IllegalStateException: no slots\n\tat some.Class\n... 14 more")
    'java.lang.IllegalStateException: no slots'
    """
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    telling = [line for line in lines if _TELLING.search(line)]
    return ([*lines, *telling] or ["it ended without a word"])[-1][:300]


def _family(pid: int) -> list[psutil.Process]:
    try:
        return psutil.Process(pid).children(recursive=True)
    except psutil.NoSuchProcess:
        return []
