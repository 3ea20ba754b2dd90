"""Results handed to a function."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from millstream.core.errors import MillstreamError, SinkError


class CallbackSink:
    """Calls `function(table, epoch)` for every epoch with rows. What it raises stops the run.

    After a run that broke off, the last epoch may come a second time, with the same rows.

    >>> CallbackSink(lambda table, epoch: print(epoch, table.num_rows)).write(pa.table({"x": [1, 2]}), epoch=7)
    7 2
    """

    def __init__(self, function: Callable[[pa.Table, int], object]) -> None:
        if not callable(function):
            raise SinkError(f"{function!r} cannot be called", hint="Give a function of a table and an epoch.")
        self._function = function

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Call the function."""
        try:
            self._function(rows, epoch)
        except MillstreamError:
            raise
        except BaseException as error:  # sys.exit() in a callback ends no thread of ours in silence
            name = getattr(self._function, "__qualname__", type(self._function).__name__)
            raise SinkError(
                f"callback {name} failed in epoch {epoch}: {type(error).__name__}: {error}",
                hint="The cause was raised by the function that was given as the callback.",
            ) from error

    def close(self) -> None:
        """Nothing to let go of."""
