"""The partition of a row, computed by Spark: the twin of `kernels.partition`."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from millstream.core.quote import quoted
from millstream.kernels.partition import NULL, SEPARATOR, whole


def partition(columns: Sequence[str], kinds: Sequence[pa.DataType], partitions: int) -> Column:
    """The partition of each row of a frame, by some columns of these types."""
    if whole(kinds):
        return F.pmod(F.hash(*[F.col(quoted(name)) for name in columns]), F.lit(partitions))
    texts = [F.coalesce(F.col(quoted(name)).cast("string"), F.lit(NULL)) for name in columns]
    hashed = F.crc32(F.concat_ws(SEPARATOR, *texts).cast("binary"))
    return F.pmod(hashed, F.lit(partitions)).cast("int")
