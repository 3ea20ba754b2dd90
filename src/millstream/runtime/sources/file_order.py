"""In which order the files of a folder are taken: by name, by the time they were written, or by what is in them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from millstream.core.errors import SourceError, nearest

NAME, MODIFIED = "name", "modified"
Read = Callable[[Path], pa.Table]
"""The rows of a file."""


def check_order(order_by: object, schema: pa.Schema) -> None:
    """Refuse an order that is neither a word of ours nor a column."""
    if not isinstance(order_by, str) or order_by not in (NAME, MODIFIED, *schema.names):
        known = ", ".join((NAME, MODIFIED))
        raise SourceError(
            f"files cannot be ordered by {order_by!r}",
            hint=f"Give {known} or a column. {nearest(order_by, schema.names)}",
        )


def in_order(files: Sequence[tuple[str, Path]], order_by: str, read: Read) -> list[str]:
    """The names of files in order; by a column, the file with the least value is first, and one without any is last."""
    if order_by == NAME:
        return [name for name, _ in files]
    if order_by == MODIFIED:
        return [name for name, _ in sorted(files, key=lambda file: (file[1].stat().st_mtime_ns, file[0]))]
    found = [(_least(path, order_by, read), name) for name, path in files]
    some = sorted((least, name) for least, name in found if least is not None)
    return [name for _, name in some] + sorted(name for least, name in found if least is None)


def _least(path: Path, column: str, read: Read) -> Any:
    """The least value of a column in a file: from its statistics, if it has them, else from its rows."""
    if path.suffix in (".parquet", ".pq"):
        known = _from_statistics(path, column)
        if known is not None:
            return known
    return pc.min(read(path)[column]).as_py()


def _from_statistics(path: Path, column: str) -> Any:
    try:
        metadata = pq.read_metadata(path)
    except (OSError, pa.ArrowException):
        return None  # whoever reads the file says what is wrong with it
    names = [metadata.schema.column(i).path for i in range(metadata.num_columns)]
    if column not in names or not metadata.num_row_groups:
        return None
    at = names.index(column)
    found = [metadata.row_group(i).column(at).statistics for i in range(metadata.num_row_groups)]
    if any(one is None or not one.has_min_max for one in found):
        return None
    return min(one.min for one in found)
