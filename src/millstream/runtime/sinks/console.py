"""Results shown in the terminal."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from millstream.core.errors import SinkError


class ConsoleSink:
    """Prints one table per epoch: its first `rows` rows, and how many were left out.

    >>> sink = ConsoleSink(Console(width=40), rows=2, title="top")
    >>> sink.write(pa.table({"k": ["a", "b", "c"], "n": [1, None, 3]}), epoch=7)
    top, epoch 7
     k      n
    ──────────
     a      1
     b   null
    1 more row
    """

    def __init__(self, console: Console | None = None, *, rows: int = 20, title: str = "result") -> None:
        if rows < 0:
            raise SinkError(f"rows={rows} is negative", hint="Give 0 to see only how many rows came.")
        self._console = console or Console()
        self._rows = rows
        self._title = title

    def write(self, rows: pa.Table, epoch: int) -> None:
        """Print the rows of an epoch."""
        view = Table(box=box.SIMPLE_HEAD, show_edge=False)
        for field in rows.schema:
            view.add_column(Text(field.name), justify="right" if _is_number(field.type) else "left")
        first = rows.slice(0, self._rows)
        columns = [_shown(column) for column in first.columns]
        for cells in zip(*columns, strict=True):
            view.add_row(*cells)
        self._console.print(Text(f"{self._title}, epoch {epoch}", style="italic"))
        self._console.print(view)
        left = rows.num_rows - first.num_rows
        if left:
            self._console.print(Text(f"{left:,} more {'row' if left == 1 else 'rows'}"))

    def close(self) -> None:
        """Nothing to let go of."""


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _shown(column: pa.ChunkedArray) -> list[Text]:
    # Text, not str: rich would read [brackets] in a value as markup.
    values: list[Any] = (column.cast(pa.string()) if _is_time(column.type) else column).to_pylist()
    return [Text("null", style="dim") if value is None else Text(str(value)) for value in values]


def _is_time(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) or pa.types.is_date(kind)
