"""Two hundred small epochs: once windows close, neither files nor bytes of state grow, and nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import millstream as ms
from support.bags import difference
from support.disk import rows_of

pytestmark = [pytest.mark.spark, pytest.mark.survival]

EPOCHS = 200
SCHEMA = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64())])


def table(epoch: int) -> pa.Table:
    """Two ticks, three keys: every epoch is like the one before it."""
    rows = [{"ts": 2 * epoch + tick, "k": key, "v": epoch % 7} for tick in (1, 0) for key in "abc"]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@dataclass
class Sizes:
    """What is on disk between two epochs."""

    files: int
    size: int
    manifests: int
    manifest_size: int
    staged: int
    hidden: int
    folders: int


def measure(root: Path) -> Sizes:
    state = [path for path in (root / "ck" / "state").rglob("*") if path.is_file()]
    manifests = list((root / "ck" / "manifests").glob("*"))
    return Sizes(
        files=len(state),
        size=sum(path.stat().st_size for path in state),
        manifests=len(manifests),
        manifest_size=max((path.stat().st_size for path in manifests), default=0),
        staged=len(list((root / "ck" / "staging").glob("*"))),
        hidden=len(list(root.glob("*/.*"))),
        folders=len([path for path in (root / "ck").rglob("*") if path.is_dir()]),
    )


def ask(engine: ms.Engine, source: Any) -> tuple[Any, Any]:
    stream = engine.stream("s", source, schema=SCHEMA, progress=ms.bounded_disorder("ts", 2))
    tumbling = stream.window("ts", range=10).group_by("k").agg(n=ms.count(), total=ms.sum("v")).named("tumbling")
    sliding = stream.window("ts", range=20, slide=4).agg(n=ms.count(), middle=ms.median("v")).named("sliding")
    return tumbling, sliding


def test_state_stays_flat_over_two_hundred_epochs(spark: Any, tmp_path: Path) -> None:
    seen: list[Sizes] = []

    def source() -> Iterator[pa.Table]:
        for epoch in range(EPOCHS):
            seen.append(measure(tmp_path))  # the source is asked between epochs
            yield table(epoch)

    engine = ms.Engine(spark, checkpoint=tmp_path / "ck", partitions=2)
    tumbling, sliding = ask(engine, source())
    tumbling.to_parquet(tmp_path / "tumbling")
    sliding.to_parquet(tmp_path / "sliding")

    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    first, second = seen[EPOCHS // 10 : EPOCHS // 2], seen[EPOCHS // 2 :]
    assert EPOCHS == len(seen)
    for what in ("files", "size", "folders"):
        most = max(getattr(one, what) for one in first)
        assert 0 < max(getattr(one, what) for one in second) <= most, what
    assert {3} == {one.manifests for one in second}
    # Only the digits of counters grow.
    assert max(one.manifest_size for one in second) < 1.05 * max(one.manifest_size for one in first)
    assert {(0, 0)} == {(one.staged, one.hidden) for one in seen}
    here = ms.Engine(host="local")
    expected = ask(here, [table(epoch) for epoch in range(EPOCHS)])
    here.start(ms.available_now(), end_of_stream=True).await_termination()
    assert {} == difference(expected[0].table().to_pylist(), rows_of(tmp_path / "tumbling"))
    assert {} == difference(expected[1].table().to_pylist(), rows_of(tmp_path / "sliding"))
