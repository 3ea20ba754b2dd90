"""Sums that do not fit their type: the result is rejected, and the run goes on."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

import millstream as ms
from support.in_process import engine as engine_on_disk


@pytest.mark.parametrize("on_disk", [False, True], ids=["local", "tasks"])
def test_a_sum_that_does_not_fit_rejects_its_own_result_and_no_other(tmp_path: Path, *, on_disk: bool) -> None:
    made = engine_on_disk(tmp_path, 2) if on_disk else ms.Engine(host="local")
    rows = [{"ts": ts, "k": k, "v": v} for ts, k, v in ((1, "a", 2**62), (2, "a", 2**62), (3, "b", 5), (4, "c", None))]
    schema = pa.schema([("ts", pa.int64()), ("k", pa.string()), ("v", pa.int64())])
    stream = made.stream("s", pa.Table.from_pylist(rows, schema=schema), progress=ms.ordered("ts"))
    query = stream.window("ts", range=10).group_by("k").agg(total=ms.sum("v")).named("q")
    made.start(ms.available_now(), end_of_stream=True).await_termination()
    (rejected,) = query.rejected.table().to_pylist()

    assert {("b", 5), ("c", None)} == {(row["k"], row["total"]) for row in query.table().to_pylist()}
    assert rejected["reason"].startswith(f"total: sum(v) is {2**63}, which does not fit")
    assert "'k': 'a'" in rejected["raw"]
