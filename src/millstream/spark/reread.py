"""Frames that are read again: Spark lists a frame's files when it is made, and they may be others by now."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame


def read_again(frame: DataFrame) -> DataFrame:
    """The same rows as of now: files are listed anew, and a new plan reads them.

    Frames over other things than files are read anew by every action, without help.
    """
    plan: Any = frame._jdf
    leaves = plan.queryExecution().analyzed().collectLeaves()
    for i in range(leaves.size()):
        leaf = leaves.apply(i)
        if leaf.getClass().getSimpleName() == "LogicalRelation":
            relation = leaf.relation()
            if relation.getClass().getSimpleName() == "HadoopFsRelation":
                relation.location().refresh()
    return frame.select("*")
