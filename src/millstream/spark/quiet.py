"""A quiet start of Spark: what its Java process says while it starts is shown only if the start fails."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

log = logging.getLogger("millstream.spark")


@contextmanager
def quiet_start(conf: SparkConf) -> Iterator[None]:
    """Start Java for a context that is made in here, unless there is one.

    Afterwards what Java and the Python workers below it write on the error stream is passed on as it comes.
    """
    if SparkContext._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        yield
        return
    said = _Said()
    try:
        gateway = launch_gateway(conf, popen_kwargs={"stderr": said.writing})
        said.follow()
        SparkContext._ensure_initialized(gateway=gateway, conf=conf)
        yield
    except BaseException:
        said.started(show=True)
        raise
    said.started(show=False)


class _Said:
    """The lines of a pipe: held back until Spark has started, then passed on."""

    def __init__(self) -> None:
        reading, self.writing = os.pipe()
        self._reading: IO[bytes] = os.fdopen(reading, "rb", buffering=0)
        self._held: list[bytes] | None = []
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._pass_on, name="millstream-spark-stderr", daemon=True)
        self._thread.start()

    def follow(self) -> None:
        """Java has the writing end now: with its last process the pipe ends."""
        if self.writing >= 0:
            os.close(self.writing)
            self.writing = -1

    def started(self, *, show: bool) -> None:
        """Nothing is held back from now on; what was is shown, or goes to the log."""
        self.follow()
        if show:  # what is on its way is part of the reason
            self._thread.join(0.5)
        with self._lock:
            held, self._held = b"".join(self._held or ()), None
        if show:
            _write(held)
        elif held:
            log.debug("Spark said while it started:\n%s", held.decode(errors="replace"))

    def _pass_on(self) -> None:
        with self._reading:
            while some := self._reading.read(65536):
                with self._lock:
                    if self._held is not None:
                        self._held.append(some)
                        continue
                _write(some)


def _write(some: bytes) -> None:
    try:
        sys.stderr.write(some.decode(errors="replace"))
        sys.stderr.flush()
    except (OSError, ValueError):  # nobody listens any more
        return
