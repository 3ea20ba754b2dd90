"""Results as Parquet files."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq

from millstream.runtime.sinks.folder import FolderSink
from millstream.state.storage import Data


class ParquetSink(FolderSink):
    """A folder with one Parquet file per epoch, whole or absent; types are kept.

    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> ParquetSink(folder).write(pa.table({"x": [1, 2]}), epoch=7)
    >>> [file.name for file in folder.iterdir()], pq.read_table(folder)["x"].to_pylist()
    (['part-00000007.parquet'], [1, 2])
    """

    suffix = "parquet"

    def _encode(self, rows: pa.Table) -> Data:
        out = pa.BufferOutputStream()
        pq.write_table(rows, out)
        return out.getvalue()
