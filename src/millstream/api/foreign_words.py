"""Words of Spark's data frames that have another name here: who writes one is told ours."""

from __future__ import annotations

from typing import Never

from millstream.core.errors import WordError

_OURS = {
    "agg": '.window("ts", range=…).agg(n=ms.count()), or .group_by("k").agg(n=ms.count())',
    "count": '.window("ts", range=…).agg(n=ms.count())',
    "drop": '.select("a", "b"), with the columns that stay',
    "dropDuplicates": '.distinct("k", "ts")',
    "drop_duplicates": '.distinct("k", "ts")',
    "dropDuplicatesWithinWatermark": '.distinct("k", "ts")',
    "exceptAll": ".difference(other)",
    "groupBy": '.group_by("k")',
    "groupby": '.group_by("k")',
    "limit": '.top(3, per="window_end", by="n DESC")',
    "orderBy": '.sort("ts")',
    "selectExpr": '.select("a", "a + b AS c")',
    "show": ".to_console()",
    "subtract": ".difference(other)",
    "toPandas": '.named("q"), and after the run query.table().to_pandas()',
    "unionAll": ".union(other)",
    "unionByName": ".union(other)",
    "withColumn": '.with_columns(total="price * n")',
    "withColumnRenamed": '.select("a AS b", "c")',
    "withColumns": '.with_columns(total="price * n")',
    "withWatermark": 'progress=ms.bounded_disorder("ts", "5 seconds") of engine.stream',
    "writeStream": '.to_parquet("out"), and engine.start(…)',
    "write": '.to_parquet("out"), and engine.start(…)',
}


def refuse_word(what: str, name: str) -> Never:
    """The error for a name that `what` does not have.

    >>> refuse_word("Stream", "groupBy")
    Traceback (most recent call last):
    millstream.core.errors.WordError: a stream has no 'groupBy' here
    Hint: Write .group_by("k").
    """
    if name in _OURS:
        raise WordError(f"a stream has no {name!r} here", hint=f"Write {_OURS[name]}.")
    raise AttributeError(f"{what!r} object has no attribute {name!r}")
