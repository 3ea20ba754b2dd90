"""Sources of the local host: whatever a user gave, as batches of one schema."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

import pyarrow as pa

from millstream.core.errors import SourceError
from millstream.runtime.batch import Source
from millstream.runtime.epoch_input import Epoch
from millstream.runtime.sources.conform import as_table, own_schema
from millstream.runtime.sources.file_source import FileSource, files
from millstream.runtime.sources.in_memory import CallableSource, IterableSource, TableSource

__all__ = ["CallableSource", "FileSource", "IterableSource", "TableSource", "check_unseekable", "files", "make_source"]


def make_source(value: Any, *, schema: pa.Schema | None = None, epoch_rows: int | None = None) -> Source:
    """The source that `value` stands for.

    >>> make_source([{"x": 1}, {"x": 2}]).schema
    x: int64
    >>> make_source(7)
    Traceback (most recent call last):
    millstream.core.errors.SourceError: int is not a source
    Hint: Give a pyarrow table, a list of dicts, an iterable of either, a callable, or the path of ...
    """
    if schema is not None and not isinstance(schema, pa.Schema):
        raise SourceError(f"schema is {type(schema).__name__}", hint="Give a pa.schema([(name, type), …]).")
    if _is_source(value):
        if schema is not None or epoch_rows is not None:
            raise SourceError(
                f"{type(value).__name__} is a source already, so schema and epoch_rows cannot be changed",
                hint="Give them where the source is made, as in files(path, schema=…, epoch_rows=…).",
            )
        return cast(Source, value)
    if isinstance(value, str | Path):
        return FileSource(value, schema=schema, epoch_rows=epoch_rows)
    if isinstance(value, pa.RecordBatchReader):  # one batch per epoch, so a long stream is never held whole
        return IterableSource(value, schema=schema or own_schema(value.schema), epoch_rows=epoch_rows)
    if isinstance(value, Epoch) or _is_rows(value):
        return TableSource(value, schema=schema, epoch_rows=epoch_rows)
    if (table := as_table(value)) is not None:
        return TableSource(table, schema=schema, epoch_rows=epoch_rows)
    if inspect.isgeneratorfunction(value):
        return IterableSource(value(), schema=schema, epoch_rows=epoch_rows)
    if callable(value):
        return CallableSource(value, schema=schema, epoch_rows=epoch_rows)
    if isinstance(value, Iterable) and not isinstance(value, Mapping | bytes | bytearray):
        return IterableSource(value, schema=schema, epoch_rows=epoch_rows)
    raise SourceError(
        f"{type(value).__name__} is not a source",
        hint="Give a pyarrow table, a list of dicts, an iterable of either, a callable, "
        "or the path of a file or folder.",
    )


def check_unseekable(name: str, source: Any, *, known: bool) -> None:
    """Refuse to go on with a source that cannot be put where it was: it would hand its rows over a second time.

    One that says `live = True` is not refused: it hands over only rows that nobody has taken before.
    """
    if known and not getattr(source, "live", False):
        raise SourceError(
            f"the source of stream {name!r}, a {type(source).__name__}, cannot go on where it was: it has no position "
            "and no seek(position)",
            hint="Give it both. If it only hands over rows that nobody has taken yet, say so with `live = True`.",
        )


def _is_source(value: Any) -> bool:
    return hasattr(value, "schema") and callable(getattr(value, "batches", None))


def _is_rows(value: Any) -> bool:
    """Whether a list holds rows, so is one epoch, rather than epochs."""
    if not isinstance(value, list | tuple) or any(_is_epoch(item) for item in value):
        return False
    return not value or any(isinstance(item, Mapping) for item in value)


def _is_epoch(item: Any) -> bool:
    return isinstance(item, Epoch | pa.RecordBatch) or hasattr(item, "__arrow_c_stream__")
