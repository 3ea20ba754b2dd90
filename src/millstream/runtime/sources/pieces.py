"""One batch cut into epochs of at most so many rows, with a place to resume from."""

from __future__ import annotations

from millstream.core.errors import SourceError
from millstream.runtime.batch import Batch


class Pieces:
    """What is left of the batch at hand.

    The rows that could not be read go with the first piece; the punctuations go with the last, because they
    hold only once all rows are in.

    >>> import pyarrow as pa
    >>> pieces = Pieces(2)
    >>> pieces.load(Batch(pa.table({"x": [1, 2, 3]}), punctuations=["end"]))
    >>> [(p.rows["x"].to_pylist(), p.punctuations) for p in (pieces.take(), pieces.take())]
    [([1, 2], ()), ([3], ['end'])]
    >>> pieces.loaded
    False
    """

    def __init__(self, epoch_rows: int | None) -> None:
        """Cut to `epoch_rows` rows, or not at all."""
        if epoch_rows is not None and (not isinstance(epoch_rows, int) or epoch_rows < 1):
            raise SourceError(
                f"epoch_rows={epoch_rows!r} is not positive", hint="Give a whole number of rows per epoch, or None."
            )
        self._epoch_rows = epoch_rows
        self._batch: Batch | None = None
        self.taken = 0
        """Rows of the batch at hand that were handed over; 0 between batches."""

    @property
    def whole(self) -> bool:
        """Are batches handed over as they are?"""
        return self._epoch_rows is None

    @property
    def loaded(self) -> bool:
        """Whether a batch is at hand."""
        return self._batch is not None

    def load(self, batch: Batch) -> None:
        """Take up a batch; the first `taken` rows of it are passed over."""
        self._batch = batch

    def clear(self, taken: int = 0) -> None:
        """Forget the batch at hand; the next one resumes after `taken` rows."""
        self._batch = None
        self.taken = taken

    def take(self) -> Batch:
        """The next piece; after the last one nothing is loaded."""
        batch = self._batch
        if batch is None:
            raise SourceError("no batch is loaded", hint="Call load() before take().")
        start = self.taken
        size = self._epoch_rows or batch.rows.num_rows
        end = start + size
        last = end >= batch.rows.num_rows
        if start == 0 and last:
            piece = batch
        else:
            piece = Batch(
                batch.rows.slice(start, size),
                batch.unreadable if start == 0 else (),
                batch.punctuations if last else (),
            )
        if last:
            self.clear()
        else:
            self.taken = end
        return piece
