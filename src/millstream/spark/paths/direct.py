"""Rows straight to where they meet: Spark shuffles them by their keys, and one task takes them in and joins them.

It fits a program whose streams all lead, past nothing but conditions and columns, to one join by equal keys. The
general way (see `runtime/tasks/task.py`) takes rows in where they are and shuffles parcels, which costs a second pass
through Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from millstream.core.generator import BoundedDisorder, Ordered, Step, Supplied
from millstream.kernels.murmur import KINDS
from millstream.plan import nodes
from millstream.runtime.tasks.program import Program, is_stop
from millstream.spark.paths.frames import STREAM, Tags
from millstream.spark.paths.partition import partition

_KINDS = (*KINDS, pa.string(), pa.bool_())
"""Keys that are written alike by Spark and by `kernels.partition`."""


@dataclass(frozen=True)
class Direct:
    """By stream, the columns that its rows meet by."""

    keys: Mapping[str, tuple[str, ...]]
    partitions: int

    def __call__(self, frame: DataFrame, tags: Tags) -> DataFrame:
        """The rows of a tagged frame, each in its partition."""
        column: Column | None = None
        for i, name in enumerate(tags.schemas):
            schema = tags.schemas[name]
            kinds = [schema.field(key).type for key in self.keys[name]]
            here = partition([tags.slots[name][key] for key in self.keys[name]], kinds, self.partitions)
            stream = F.col(STREAM) == i
            column = F.when(stream, here) if column is None else column.when(stream, here)
        assert column is not None
        return frame.repartitionById(self.partitions, column)


def why_not_direct(program: Program) -> Direct | str:
    """How Spark can bring this program's rows to where they meet, or why it cannot."""
    first = list(program.stops(1))
    if len(first) != 1:
        return "rows are not for one join alone"
    stop, join = first[0]
    if not isinstance(join, nodes.Join | nodes.AsOf | nodes.ManyJoin) or not join.meets_on():
        return "rows are not for a join by equal keys"
    keys: dict[str, tuple[str, ...]] = {}
    for i, source in enumerate(program.nodes):
        if isinstance(source, nodes.Source):
            found = _keys(program, i, source, stop, join)
            if found is None:
                return f"Spark cannot tell the keys of {source.name!r} from its rows"
            keys[source.name] = found
    return (
        Direct(keys, program.partitions)
        if len(keys) == len(join.inputs)
        else "the join is not one of different streams"
    )


def _keys(
    program: Program, i: int, source: nodes.Source, stop: int, join: nodes.Join | nodes.AsOf | nodes.ManyJoin
) -> tuple[str, ...] | None:
    """The columns of a stream that are the keys of the join it leads to; None if it leads elsewhere too."""
    if not isinstance(source.progress, Ordered | BoundedDisorder | Step | Supplied):
        return None  # what other generators promise depends on the order of arrival
    names = {name: name for name in source.schema.names}
    while True:
        if len(program.readers[i]) != 1:
            return None
        ((reader, port),) = program.readers[i]
        node = program.nodes[reader]
        if reader == stop:
            break
        if is_stop(node) or not isinstance(node, nodes.Select | nodes.Project):
            return None
        if isinstance(node, nodes.Project):
            plain = {name: e.plain for name, e in node.columns if e.plain is not None}
            names = {name: names[below] for name, below in plain.items() if below in names}
        i = reader
    met = join.meets_on(port)
    found = [names.get(name) for name in met]
    keys = tuple(name for name in found if name is not None)
    kinds = [source.schema.field(name).type for name in keys]
    return keys if len(keys) == len(met) and all(kind in _KINDS for kind in kinds) else None
