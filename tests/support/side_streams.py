"""Questions over the late and the rejected rows of a query, and what a quiet run on the local host answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import millstream as ms
from support.bags import difference
from support.disk import rows_of

FOLDERS = ("out", "by_key", "late", "twice", "bad")


def ask(stream: Any) -> dict[str, Any]:
    """A query whose results fail where a sum is 0, and four questions over what it sets apart."""
    summed = stream.window("ts", range=stream_range(stream)).group_by("k").agg(n=ms.count(), total=ms.sum("v"))
    query = summed.select("k", "window_id", "n", share="10 / (total - total % 2)").named("out")
    late = query.late.stream()
    bad = query.rejected.stream("wrong")
    bad_too = bad.select("reason", part="v / (v - v)")
    return {
        "out": query,
        "by_key": late.group_by("k").agg(n=ms.count(), least=ms.min("v")).named("by_key"),
        "late": late.where("v > 1").select("k", "v", "punctuation").named("late"),
        "twice": bad_too.named("twice"),
        "bad": bad.union(bad_too.rejected.stream("worse").select(*bad.node.schema.names))
        .group_by("reason").agg(n=ms.count()).named("bad"),
    }  # fmt: skip


def stream_range(stream: Any) -> Any:
    """Ten: seconds, or of whatever the number is."""
    return 10 if str(stream.node.schema.field("ts").type) == "int64" else "10 seconds"


def to_folders(queries: dict[str, Any], root: Path) -> None:
    """Every answer in a folder of its name."""
    for name, query in queries.items():
        query.to_parquet(root / name)


def check(root: Path, source: Any, **how: Any) -> None:
    """The folders hold what a quiet run on the local host gives, and something at all."""
    engine = ms.Engine(host="local")
    queries = ask(engine.stream("s", source, **how))
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    for name, query in queries.items():
        assert {} == difference(query.table().to_pylist(), rows_of(root / name)), name
        assert query.table().num_rows, name
