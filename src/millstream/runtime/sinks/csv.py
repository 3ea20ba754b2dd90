"""Results as CSV files."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv as pa_csv

from millstream.runtime.sinks.folder import FolderSink
from millstream.state.storage import Data


class CsvSink(FolderSink):
    """A folder with one CSV file per epoch, whole or absent, each with a header line.

    Text is quoted, null is an empty field without quotes, time stamps are ISO with `Z` for UTC. Lists and
    structs have no CSV form and are refused.

    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> CsvSink(folder).write(pa.table({"k": ["a", None], "n": [1, 2]}), epoch=7)
    >>> print((folder / "part-00000007.csv").read_text())
    "k","n"
    "a",1
    ,2
    """

    suffix = "csv"

    def _encode(self, rows: pa.Table) -> Data:
        out = pa.BufferOutputStream()
        pa_csv.write_csv(rows, out)
        return out.getvalue()
