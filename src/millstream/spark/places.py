"""Places: what of a plan Spark computes by its own operators, and what kernels do inside its tasks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame

from millstream.plan import nodes
from millstream.runtime.tasks.program import Program
from millstream.spark.paths.direct import why_not_direct
from millstream.spark.paths.reduce import native_reduce, why_not_native
from millstream.spark.paths.row_paths import Entered, Reduced, Straight


def places(program: Program, sources: Mapping[str, Any]) -> Callable[[nodes.Node], str]:
    """Where each node of a program is computed.

    A stream that is a data frame is read by Spark. If Spark can reduce the rows too, all up to the aggregate is its
    own, and the aggregate begins there; else kernels take the rows in.
    """
    framed = {id(n) for n in program.nodes if isinstance(n, nodes.Source) and isinstance(sources[n.name], DataFrame)}
    entrances = [node for node in program.nodes if isinstance(node, nodes.Source)]
    found = native_reduce(program) if len(framed) == len(entrances) else None
    by_spark = {id(program.nodes[i]) for native in found or () for i in (native.source, *native.path)}
    by_both = framed if found is None else {id(program.nodes[native.stop]) for native in found}
    if found is not None:  # a store with one reader is not shown
        by_both |= {id(n) for n in program.nodes if isinstance(n, nodes.Answers) and not n.shared}

    def place(node: nodes.Node) -> str:
        if id(node) in by_spark:
            return "spark"
        return "spark, then kernel" if id(node) in by_both else "kernel"

    return place


def row_path(program: Program, sources: Mapping[str, Any]) -> Callable[[nodes.Source], str | None]:
    """The way that the rows of each stream take, and why not a shorter one."""
    entrances = [node for node in program.nodes if isinstance(node, nodes.Source)]
    held = [node for node in entrances if not isinstance(sources[node.name], DataFrame)]
    native, direct = why_not_native(program), why_not_direct(program)

    def path(node: nodes.Source) -> str | None:
        if node in held:
            return "rows: read by the driver"
        if held:
            return f"rows: {Entered.words}, as the driver reads {held[0].name!r}"
        if not isinstance(native, str):
            return f"rows: {Reduced.words}"
        if not isinstance(direct, str):
            return f"rows: {Straight.words}"
        joined = any(isinstance(one, nodes.Join | nodes.AsOf | nodes.ManyJoin) for one in program.nodes)
        return f"rows: {Entered.words}, as {direct if joined else native}"

    return path
