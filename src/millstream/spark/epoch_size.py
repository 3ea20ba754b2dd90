"""How much an epoch takes while a run catches up: as many files as fit a limit, unless the stream says otherwise."""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

from millstream.spark.file_scan import Folder

BYTES_PER_CORE = 128 << 20
"""Bytes of files for each core: some seconds of work, and a part of a worker's memory when they are unpacked."""
LIMIT = "maxBytesPerTrigger"
_TOLD = {"maxfilespertrigger", "maxbytespertrigger"}


def bytes_per_epoch(session: SparkSession) -> int:
    """How many bytes of files an epoch takes."""
    return BYTES_PER_CORE * max(1, session.sparkContext.defaultParallelism)


def limited(frame: DataFrame) -> DataFrame:
    """The stream with such a limit; as it is, if it has one, or if it is more than the files of a folder.

    Without a limit, all files of a backlog would be one epoch, whatever they need of memory.
    """
    folder = Folder.of(frame)
    if folder is None or _TOLD & {name.lower() for name in folder.options}:
        return frame
    session = frame.sparkSession
    options = {**folder.options, LIMIT: str(bytes_per_epoch(session))}
    return session.readStream.format(folder.format).options(**options).schema(folder.schema).load(folder.path)
