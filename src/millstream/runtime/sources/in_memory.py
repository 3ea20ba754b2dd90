"""Sources that live in this process: a table, an iterable, a callable. One item is one epoch."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from millstream.core.errors import MillstreamError, SourceError
from millstream.runtime.batch import Batch
from millstream.runtime.epoch_input import Epoch
from millstream.runtime.sources.items import as_epoch, read_epoch, schema_of
from millstream.runtime.sources.pieces import Pieces

END: Any = object()
"""No item is left."""


class EpochSource(ABC):
    """Items in turn, each handed over once.

    Every batch has one schema: the one given, or that of the first item that shows one; that item is looked
    at and not lost. `position` counts what was handed over, and `seek` resumes there.
    """

    empty_is_epoch = True
    """Is an item without rows and punctuations an epoch like others? If not, it says that there is nothing now."""

    def __init__(self, schema: pa.Schema | None, epoch_rows: int | None) -> None:
        """With `epoch_rows`, an item with more rows is cut into several epochs."""
        self._schema = schema
        self._pieces = Pieces(epoch_rows)
        self._ahead: deque[Epoch] = deque()
        self._done = 0

    @abstractmethod
    def _take(self) -> Any:
        """The next item, or `END`."""

    @property
    def schema(self) -> pa.Schema:
        """The schema of every batch."""
        if self._schema is None:
            self._schema = self._look_ahead()
        return self._schema

    @property
    def position(self) -> dict[str, int]:
        """Epochs handed over whole, and rows of the one after them."""
        return {"epochs": self._done, "rows": self._pieces.taken}

    def seek(self, position: Mapping[str, Any]) -> None:
        """Go on from `position`. What lies before it is produced again and passed over."""
        self._rewind(position["epochs"])
        while self._done < position["epochs"]:
            if self._peek() is END:
                raise SourceError(
                    f"the source ends after {self._done} epochs, before position {position['epochs']}",
                    hint="A source that is resumed must produce the same epochs again, from the first.",
                )
            self._pass_over()
        self._pieces.clear(position["rows"])

    def _rewind(self, epochs: int) -> None:
        if epochs < self._done:
            raise SourceError(
                f"position {epochs} is behind: {self._done} epochs were taken and cannot be had again",
                hint="Give a list of tables, or make the source anew, to read from the start.",
            )

    def batches(self) -> Iterator[Batch]:
        """What was not handed over yet, one item after the other; the next is asked for only when needed."""
        schema = self.schema
        while True:
            if not self._pieces.loaded:
                item = self._peek()
                if item is END:
                    return
                if not self.empty_is_epoch and _is_empty(item):
                    self._pass_over()
                    return
                self._pieces.load(read_epoch(item, schema, f"epoch {self._done}"))
            piece = self._pieces.take()
            if not self._pieces.loaded:
                self._pass_over()
            yield piece

    def _pass_over(self) -> None:
        self._ahead.popleft()
        self._done += 1

    def _peek(self) -> Any:
        """The next item, which stays until it was handed over; `END` does not stay, more may come."""
        if self._ahead:
            return self._ahead[0]
        item = self._fetch()
        if item is not END:
            self._ahead.append(item)
        return item

    def _fetch(self) -> Any:
        where = f"epoch {self._done + len(self._ahead)}"
        try:
            item = self._take()
        except MillstreamError:
            raise
        except Exception as error:
            raise SourceError(
                f"the source failed in {where}: {type(error).__name__}: {error}",
                hint="The cause was raised by the code that was given as the source.",
            ) from error
        return item if item is END else as_epoch(item, where)

    def _look_ahead(self) -> pa.Schema:
        for item in self._ahead:
            if (schema := schema_of(item)) is not None:
                return schema
        while (item := self._fetch()) is not END:
            self._ahead.append(item)
            if (schema := schema_of(item)) is not None:
                return schema
            if not self.empty_is_epoch and _is_empty(item):
                break  # it may say so for ever
        raise SourceError("the source has no rows to tell its schema from", hint="Give schema=pa.schema([…]).")


def _is_empty(item: Epoch) -> bool:
    return not len(item.rows) and not item.punctuations


class IterableSource(EpochSource):
    """The items of an iterable; a second run goes on where the first stopped.

    >>> source = IterableSource([pa.table({"x": [1, 2]}), [{"x": 3}]])
    >>> [batch.rows["x"].to_pylist() for batch in source.batches()], list(source.batches())
    ([[1, 2], [3]], [])
    """

    def __init__(self, items: Iterable[Any], *, schema: pa.Schema | None = None, epoch_rows: int | None = None) -> None:
        super().__init__(schema, epoch_rows)
        self._items = items
        self._iterator = iter(items)

    def _take(self) -> Any:
        return next(self._iterator, END)

    def _rewind(self, epochs: int) -> None:
        if epochs < self._done and self._iterator is not self._items:  # a list can be read again
            self._iterator = iter(self._items)
            self._ahead.clear()
            self._done = 0
        super()._rewind(epochs)


class TableSource(IterableSource):
    """One table: one epoch, or epochs of `epoch_rows` rows.

    >>> source = TableSource(pa.table({"x": [1, 2, 3]}), epoch_rows=2)
    >>> [batch.rows["x"].to_pylist() for batch in source.batches()]
    [[1, 2], [3]]
    """

    def __init__(self, table: Any, *, schema: pa.Schema | None = None, epoch_rows: int | None = None) -> None:
        super().__init__((table,), schema=schema, epoch_rows=epoch_rows)


class CallableSource(EpochSource):
    """What a function returns, once per epoch, until it returns None or no rows; later it is asked again.

    >>> waiting = [[{"x": 1}], [{"x": 2}]]
    >>> source = CallableSource(lambda: waiting.pop(0) if waiting else None)
    >>> [batch.rows["x"].to_pylist() for batch in source.batches()]
    [[1], [2]]
    """

    empty_is_epoch = False

    def __init__(
        self, function: Callable[[], Any], *, schema: pa.Schema | None = None, epoch_rows: int | None = None
    ) -> None:
        super().__init__(schema, epoch_rows)
        self._function = function

    def _take(self) -> Any:
        item = self._function()
        return END if item is None else item
