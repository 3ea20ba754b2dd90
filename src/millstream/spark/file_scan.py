"""Reading the files of an epoch again: `foreachBatch` hands over rows, and a plain scan of their files costs less.

The frame of an epoch is rows that Spark has already planned to read, with all columns. Spark's own log says in which
files they are. A plain scan of these reads only the columns that are asked for, and is compiled with what follows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from millstream.spark.agreement import SPARK
from millstream.spark.paths.frames import tagged
from millstream.state.storage import Storage

_FORMATS = ("parquet", "orc", "json", "csv")
_GLOBS = "*?[{"


@dataclass(frozen=True)
class Folder:
    """What a streaming frame reads: nothing but the files of a folder, as they are."""

    format: str
    path: str
    options: Mapping[str, str]
    """As the stream was given them, but for the path."""
    schema: StructType

    @classmethod
    def of(cls, frame: DataFrame) -> Folder | None:
        """The folder behind a frame; None if there is none, or if something is computed of its rows."""
        try:
            asked: Any = frame  # Spark has no public way to ask for a plan
            plan = asked._jdf.queryExecution().analyzed()
            if plan.getClass().getSimpleName() != "StreamingRelation":
                return None
            source = plan.dataSource()
            name = str(source.className())
            options: dict[str, str] = {}
            pairs = source.options().iterator()
            while pairs.hasNext():
                pair = pairs.next()
                options[str(pair._1())] = str(pair._2())
        except Py4JError:  # another Spark may build its plans in another way
            return None
        path = options.pop("path", "")
        if name not in _FORMATS or not path:
            return None
        return cls(name, path, options, frame.schema)

    def scan(self, session: SparkSession, paths: Sequence[str]) -> DataFrame:
        """Some of its files, as a frame that is no stream."""
        if not paths:
            return session.createDataFrame([], self.schema)
        options = {**self.options, "__globPaths__": "false"}
        if not any(one in self.path for one in _GLOBS):
            options.setdefault("basePath", self.path)
        return session.read.format(self.format).options(**options).schema(self.schema).load(list(paths))


@dataclass(frozen=True)
class Scan:
    """The files of one epoch, by stream."""

    session: SparkSession
    files: Mapping[str, tuple[Folder, Sequence[str]]]

    def frame(self, filters: Mapping[str, str]) -> DataFrame:
        """Their rows, of some streams only those that satisfy a condition."""
        frames = {name: folder.scan(self.session, paths) for name, (folder, paths) in self.files.items()}
        return tagged({name: one.filter(filters[name]) if name in filters else one for name, one in frames.items()})

    def parquet(self, name: str) -> Sequence[str]:
        """The files of a stream that are Parquet files."""
        folder, paths = self.files[name]
        return paths if folder.format == "parquet" else ()


class FileScan:
    """Reads the files of each epoch anew, for all streams of a run."""

    def __init__(self, folders: Sequence[Folder], names: Sequence[str], storage: Storage) -> None:
        self._folders = folders
        self._names = names
        self._storage = storage

    @classmethod
    def of(cls, frames: Mapping[str, DataFrame], storage: Storage) -> FileScan | None:
        """For the frames of a run, in the order of Spark's checkpoint; None if some are more than files."""
        folders = [Folder.of(frame) for frame in frames.values()]
        known = [one for one in folders if one is not None]
        return cls(known, list(frames), storage) if len(known) == len(frames) else None

    def of_epoch(self, session: SparkSession, epoch: int) -> Scan | None:
        """The files of an epoch; None if Spark's log does not say which they are."""
        ends, begins = self._offsets(epoch), self._offsets(epoch - 1)
        if ends is None or (begins is None and epoch > 0):
            return None
        files: dict[str, tuple[Folder, Sequence[str]]] = {}
        for place, (name, folder) in enumerate(zip(self._names, self._folders, strict=True)):
            begin = -1 if begins is None else begins[place]
            paths = self._paths(place, begin, ends[place])
            if paths is None:
                return None
            files[name] = folder, paths
        return Scan(session, files)

    def _offsets(self, epoch: int) -> list[int] | None:
        """By stream: the last entry of its log that belongs to an epoch or to one before."""
        found = None if epoch < 0 else self._storage.get(f"{SPARK}/offsets/{epoch}")
        lines = [] if found is None else found.decode().splitlines()[2:]
        if len(lines) != len(self._folders):
            return None
        try:
            return [-1 if line == "-" else int(json.loads(line)["logOffset"]) for line in lines]
        except (ValueError, KeyError, TypeError):
            return None

    def _paths(self, place: int, begin: int, end: int) -> list[str] | None:
        """The files of a stream's log after one entry, up to another."""
        out: list[str] = []
        for number in range(begin + 1, end + 1):
            key = f"{SPARK}/sources/{place}/{number}"
            found = self._storage.get(key)
            found = self._storage.get(f"{key}.compact") if found is None else found
            if found is None:
                return None
            entries = (json.loads(line) for line in found.decode().splitlines()[1:])
            out += [unquote(entry["path"]) for entry in entries if entry["batchId"] == number]
        return out
