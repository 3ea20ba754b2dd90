"""Places: what of a plan Spark computes by its own operators, and what kernels do inside its tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from millstream.plan import nodes
from millstream.runtime.program import Program
from millstream.spark.reduce import native_reduce


def places(program: Program, sources: Mapping[str, Any]) -> Callable[[nodes.Node], str]:
    """Where each node of a program is computed.

    A stream that is a data frame is read by Spark. If Spark can reduce the rows too, all up to the aggregate is its
    own, and the aggregate begins there; else kernels take the rows in.
    """
    framed = {id(n) for n in program.nodes if isinstance(n, nodes.Source) and isinstance(sources[n.name], DataFrame)}
    entrances = [node for node in program.nodes if isinstance(node, nodes.Source)]
    native = native_reduce(program) if len(framed) == len(entrances) else None
    by_spark = set() if native is None else {id(program.nodes[i]) for i in (native.source, *native.path)}
    by_both = framed if native is None else {id(program.nodes[native.stop])}

    def place(node: nodes.Node) -> str:
        if id(node) in by_spark:
            return "spark"
        return "spark, then kernel" if id(node) in by_both else "kernel"

    return place
