"""Delta tables as sinks: one version per epoch, exactly once across crashes, and nobody else's table is touched."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

import millstream as ms
from millstream.runtime.sinks.delta import DeltaSink
from support.table_sinks import EPOCHS, ask, bag, run, wanted, write_input


def engine(tmp_path: Path, source: Any, name: str = "q", checkpoint: str | None = "ck", **delta: Any) -> Any:
    made = ms.Engine(host="local", checkpoint=None if checkpoint is None else tmp_path / checkpoint)
    query = ask(made, source, name)
    query.to_delta(tmp_path / "out", **delta)
    query.late.to_delta(tmp_path / "late", **delta)
    query.rejected.to_delta(tmp_path / "rejected", **delta)
    return made


def found(tmp_path: Path, name: str) -> pa.Table:
    return DeltaTable(tmp_path / name).to_pyarrow_table()


def same(tmp_path: Path) -> None:
    right = wanted(tmp_path / "in")
    assert right["out"] == bag(found(tmp_path, "out"))
    for name in ("late", "rejected"):
        assert len(right[name]) == found(tmp_path, name).num_rows == 1


@pytest.mark.parametrize("checkpoint", [None, "ck"], ids=["memory", "disk"])
def test_a_table_has_one_version_per_epoch_with_rows(tmp_path: Path, checkpoint: str | None) -> None:
    files = ms.files(str(write_input(tmp_path / "in")), format="parquet")
    run(engine(tmp_path, files, checkpoint=checkpoint), end=True)

    same(tmp_path)
    table = DeltaTable(tmp_path / "out")
    assert table.version() == len(table.file_uris())  # version 0 has the columns, and each other the rows of an epoch
    total = duckdb.connect().execute(f"SELECT sum(n) FROM read_parquet('{tmp_path}/out/*.parquet')").fetchall()
    assert [(60,)] == total


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("crash", range(5))
def test_a_crash_around_a_delivery_loses_nothing_and_repeats_nothing(
    tmp_path: Path, when: str, crash: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, calls = DeltaSink.write, iter(range(10**6))

    def crashing(self: DeltaSink, rows: pa.Table, epoch: int) -> None:
        if (number := next(calls)) == crash and when == "before":
            raise RuntimeError("killed")
        real(self, rows, epoch)
        if number == crash and when == "after":
            raise RuntimeError("killed")

    folder = str(write_input(tmp_path / "in"))
    with monkeypatch.context() as patch:
        patch.setattr(DeltaSink, "write", crashing)
        with pytest.raises(Exception, match="killed"):
            run(engine(tmp_path, ms.files(folder, format="parquet")), end=True)
    with suppress(ms.RunError):  # where the end of the stream was committed, and only its delivery was missing
        run(engine(tmp_path, ms.files(folder, format="parquet")), end=True)

    same(tmp_path)


def test_a_restart_goes_on_with_its_table_and_a_renamed_query_too(tmp_path: Path) -> None:
    write_input(tmp_path / "in", 3)
    run(engine(tmp_path, ms.files(str(tmp_path / "in"), format="parquet")))
    write_input(tmp_path / "in")
    run(engine(tmp_path, ms.files(str(tmp_path / "in"), format="parquet"), name="other"), end=True)

    same(tmp_path)


def test_somebody_else_s_table_is_refused_appended_to_or_replaced(tmp_path: Path) -> None:
    folder = str(write_input(tmp_path / "in"))
    other = pa.table({"window_id": [7], "window_start": [70], "window_end": [80], "k": ["x"], "n": [1], "total": [0.5]})
    write_deltalake(tmp_path / "out", other)

    def again(mode: str) -> list[str]:
        run(engine(tmp_path, ms.files(folder, format="parquet"), checkpoint=f"ck-{mode}", mode=mode), end=True)
        return bag(found(tmp_path, "out"))

    with pytest.raises(ms.SinkError, match="is not that of the results of 'q'"):
        again("error")
    assert sorted([*wanted(tmp_path / "in")["out"], *bag(other)]) == again("append")
    assert wanted(tmp_path / "in")["out"] == again("replace")


def test_columns_that_the_table_lacks_are_refused_or_added(tmp_path: Path) -> None:
    folder = str(write_input(tmp_path / "in"))
    less = pa.table({"window_id": [7], "window_start": [70], "window_end": [80], "k": ["x"], "n": [1]})
    write_deltalake(tmp_path / "out", less)

    with pytest.raises(ms.SinkError, match="has no column 'total'"):
        run(engine(tmp_path, ms.files(folder, format="parquet"), mode="append"), end=True)
    run(engine(tmp_path, ms.files(folder, format="parquet"), checkpoint="b", mode="append", evolve=True), end=True)

    assert [None] == [row["total"] for row in found(tmp_path, "out").to_pylist() if row["k"] == "x"]


def test_two_outputs_of_one_table_are_refused(tmp_path: Path) -> None:
    made = ms.Engine(host="local")
    stream = made.stream("s", EPOCHS[:2], progress=ms.bounded_disorder("ts", 3))
    query = stream.select("ts").named("q").to_delta(tmp_path / "t")
    query.late.to_parquet(tmp_path / "x" / ".." / "t" / "late")
    with pytest.raises(ms.SinkError, match="is the folder of two outputs"):
        run(made)


def test_a_script_writes_delta(tmp_path: Path) -> None:
    folder = write_input(tmp_path / "in")
    made = ms.Engine(host="local")
    made.sql(f"CREATE STREAM s (ts BIGINT, k STRING, v DOUBLE) FROM parquet '{folder}' PROGRESS ON ts WITHIN 3")
    made.sql(f"INSERT INTO delta '{tmp_path / 'out'}' OPTIONS (partition_by 'k') SELECT k, ts FROM s WHERE v > 1")
    run(made, end=True)

    assert 42 == found(tmp_path, "out").num_rows
    assert ["k"] == DeltaTable(tmp_path / "out").metadata().partition_columns
