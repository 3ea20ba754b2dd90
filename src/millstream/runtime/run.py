"""A run: a host at work in a thread, with the habits of a `StreamingQuery`."""

from __future__ import annotations

import atexit
import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol
from weakref import WeakSet

from millstream.core.errors import MillstreamError, RunError
from millstream.runtime.outputs.late_rows import warnings
from millstream.runtime.query import HostQuery
from millstream.runtime.reports.display import watch
from millstream.runtime.trigger import Trigger

if TYPE_CHECKING:
    from rich.console import Console


log = logging.getLogger("millstream.runtime")
Listener = Callable[[dict[str, Any]], object]
"""Hears the report of each epoch."""
_PATIENCE = 5.0
"""Seconds that the end of the process waits for an epoch under way."""


class Host(Protocol):
    """What a run drives."""

    @property
    def epoch(self) -> int:
        """The epoch under way, or the next one."""
        ...

    @property
    def begun(self) -> bool:
        """Is the run past its start, so that what fails from now on fails in an epoch?"""
        ...

    @property
    def queries(self) -> Mapping[str, HostQuery]:
        """The queries that run, by name."""
        ...

    def so_far(self) -> dict[str, Any] | None:
        """The report of the last epoch of earlier runs; None before the first, or as long as it is not known."""
        ...

    def run(
        self,
        trigger: Trigger,
        *,
        end_of_stream: bool,
        stopping: Callable[[], bool],
        report: Callable[[dict[str, Any]], None],
        quiet: Callable[[float], None],
    ) -> None:
        """Take epochs until done or told to stop.

        `quiet(when)` says that a look for input that began at `when`, by the monotonic clock, found nothing to read.
        """
        ...

    def read_all(self, timeout: float | None) -> bool:
        """Wait until a reader outside this process has handed over what is there now; True if that came in time."""
        ...


class Run:
    """A started engine. It stops by itself, when told to, or when something fails."""

    def __init__(
        self,
        host: Host,
        trigger: Trigger,
        *,
        end_of_stream: bool,
        name: str,
        before: dict[str, Any] | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        """To be begun; `before` is the report until there is one, `listeners` hear each."""
        self.name = name
        self.id = str(uuid.uuid4())
        self._host = host
        self._stop = threading.Event()
        # An event of our own, not Thread.join: a Ctrl-C inside join makes a thread look ended that is not.
        self._done = threading.Event()
        self._error: MillstreamError | None = None
        self._reports: deque[dict[str, Any]] = deque(maxlen=100)
        self.telling: int | None = None
        """The thread in which listeners hear of an epoch, while they do: on Spark it is not the run's own."""
        self._before = before or {}
        self._listeners = listeners
        self._quiet = float("-inf")
        self._thread = threading.Thread(
            target=self._work, args=(trigger, end_of_stream), name=f"millstream-{name}", daemon=True
        )

    def begin(self) -> Run:
        """Start, in the background. Who may be asked for the run by its callbacks must know it before."""
        _runs.add(self)
        self._thread.start()
        return self

    def _work(self, trigger: Trigger, end_of_stream: bool) -> None:  # noqa: FBT001 - a thread's arguments
        try:
            self._host.run(
                trigger,
                end_of_stream=end_of_stream,
                stopping=self._stop.is_set,
                report=self._note,
                quiet=self._is_quiet,
            )
            for said in warnings(self.progress):
                log.warning("%s", said)
        except MillstreamError as error:
            if self._host.begun:
                error.add_note(f"in epoch {self._host.epoch} of {self.name!r}")
            self._error = error
        # sys.exit() in somebody's sink or source too: whatever it was, the one who waits must hear of it.
        except BaseException as error:  # noqa: BLE001
            what = f"epoch {self._host.epoch}" if self._host.begun else "the start"
            failure = RunError(
                f"{what} of {self.name!r} failed: {type(error).__name__}: {error}",
                hint="The cause is chained below; state and results of earlier epochs are intact.",
            )
            failure.__cause__ = error
            self._error = failure
        finally:
            self._close_sinks()
            self._before = (not self._reports and self._host.so_far()) or self._before
            self._done.set()

    def _close_sinks(self) -> None:
        """The run is over, well or not: sinks let go of what they hold."""
        some = [sink for query in self._host.queries.values() for sinks in query.outputs().values() for sink in sinks]
        for sink in {id(sink): sink for sink in some}.values():
            try:
                sink.close()
            except BaseException as error:  # noqa: BLE001 - sys.exit() in somebody's sink too
                if self._error is None:
                    self._error = RunError(
                        f"closing {type(sink).__name__} of {self.name!r} failed: {type(error).__name__}: {error}",
                        hint="The cause is chained below; all epochs are done.",
                    )
                    self._error.__cause__ = error

    def _note(self, report: dict[str, Any]) -> None:
        for name, query in report["queries"].items():
            if query["books"]["unaccounted"]:
                log.error("the books of query %r do not balance: %s", name, query["books"])
        self._reports.append(report)
        self.telling = threading.get_ident()
        try:
            self._tell(report)
        finally:
            self.telling = None

    def _tell(self, report: dict[str, Any]) -> None:
        for listener in self._listeners:
            try:
                listener(report)
            except MillstreamError:
                raise
            except Exception as error:
                called = getattr(listener, "__qualname__", type(listener).__name__)
                raise RunError(
                    f"the callback {called} failed after epoch {report['epoch']}: {type(error).__name__}: {error}",
                    hint="The cause was raised by the function that was given to on_epoch. The epoch itself is done.",
                ) from error

    def _is_quiet(self, when: float) -> None:
        self._quiet = when

    @property
    def is_active(self) -> bool:
        """Is it still at work?"""
        return not self._done.is_set()

    @property
    def exception(self) -> MillstreamError | None:
        """Why it failed, if it did."""
        return self._error

    @property
    def progress(self) -> dict[str, Any]:
        """The report of the last finished epoch, in an earlier run if this one had nothing to do.

        Before the first epoch it has the same shape with zeros, and epoch -1.
        """
        return self._reports[-1] if self._reports else self._before

    @property
    def recent_progress(self) -> list[dict[str, Any]]:
        """The reports of the last hundred epochs."""
        return list(self._reports)

    def stop(self) -> None:
        """Finish the epoch under way, and stop. From a callback, it is that epoch which goes on to its end."""
        self._stop.set()
        if threading.current_thread() is not self._thread:
            self._done.wait()

    def await_termination(self, timeout: float | None = None) -> bool:
        """Wait for the end; True if it came in time. A failure is raised here."""
        _check_seconds(timeout)
        ended = self._done.wait(timeout)
        if self._error is not None:
            raise self._error
        return ended

    def watch(self, console: Console | None = None) -> None:
        """Show rows, progress and state on the terminal until the end; silent where there is no terminal."""
        watch(self, console)

    def process_all_available(self, timeout: float | None = None) -> bool:
        """Wait until everything that is there now has been read; True if that came in time.

        The run must look for input after the call and find nothing: a look that began before it does not count.
        """
        _check_seconds(timeout)
        began = time.monotonic()
        limit = float("inf") if timeout is None else began + timeout
        asked = self._host.read_all(timeout)
        while self.is_active and asked and self._quiet < began and time.monotonic() < limit:
            self._done.wait(0.01)
        if self._error is not None:
            raise self._error
        return not self.is_active or (asked and self._quiet >= began)


def _check_seconds(timeout: object) -> None:
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, int | float)):
        raise RunError(f"timeout {timeout!r} is not a number of seconds", hint="Give a number, or None to wait on.")


_runs: WeakSet[Run] = WeakSet()


@atexit.register
def _stop_runs() -> None:
    """A thread that the end of the process cuts off inside DuckDB or Arrow takes the process down with it."""
    for run in list(_runs):
        run._stop.set()
    for run in list(_runs):
        run._thread.join(_PATIENCE)
