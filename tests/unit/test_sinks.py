from __future__ import annotations

import datetime as dt
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from rich.console import Console

import millstream as ms
from millstream.core.errors import SinkError, StateError
from millstream.runtime.sinks import (
    CallbackSink,
    ConsoleSink,
    CsvSink,
    JsonLinesSink,
    MemorySink,
    ParquetSink,
)
from millstream.runtime.sources import files

INT = pa.schema([("x", pa.int64())])
NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
FOLDERS = [(ParquetSink, "parquet"), (CsvSink, "csv"), (JsonLinesSink, "json")]
RESULT = pa.table(
    {
        "window_start": pa.array([NOON, None], pa.timestamp("us", "UTC")),
        "plain": pa.array([NOON.replace(tzinfo=None), None], pa.timestamp("us")),
        "day": [NOON.date(), None],
        "key": ['say "hé", [red]', ""],
        "n": pa.array([2**60, None], pa.int64()),
        "avg": [0.1, float("-inf")],
        "total": pa.array([Decimal("1.10"), None], pa.decimal128(38, 2)),
        "ok": [True, None],
    }
)


def test_memory_keeps_epochs_in_order_and_replaces_one_that_comes_again() -> None:
    sink = MemorySink()
    assert INT.empty_table() == sink.table(INT)

    sink.write(pa.table({"x": [3]}), epoch=2)
    sink.write(pa.table({"x": [1, 9]}), epoch=0)
    sink.write(pa.table({"x": [1, 2]}), epoch=0)
    sink.close()

    assert [1, 2, 3] == sink.table(INT)["x"].to_pylist()


def test_a_callback_gets_the_table_and_the_epoch() -> None:
    seen: list[tuple[list[int], int]] = []
    sink = CallbackSink(lambda table, epoch: seen.append((table["x"].to_pylist(), epoch)))
    sink.write(pa.table({"x": [1, 2]}), 4)
    sink.close()

    assert [([1, 2], 4)] == seen


def test_a_callback_that_fails_is_named_and_its_error_chained() -> None:
    def deliver(_table: pa.Table, _epoch: int) -> None:
        raise KeyError("no such topic")

    with pytest.raises(SinkError, match=r"callback .*deliver failed in epoch 4: KeyError") as caught:
        CallbackSink(deliver).write(pa.table({"x": [1]}), 4)
    assert isinstance(caught.value.__cause__, KeyError)


def test_an_error_of_ours_goes_through_a_callback_unchanged() -> None:
    def deliver(_table: pa.Table, _epoch: int) -> None:
        raise StateError("segment 3 is gone")

    with pytest.raises(StateError):
        CallbackSink(deliver).write(pa.table({"x": [1]}), 4)


@pytest.mark.parametrize(("sink_type", "suffix"), FOLDERS)
def test_a_folder_gets_one_file_an_epoch_and_no_other(tmp_path: Path, sink_type: Any, suffix: str) -> None:
    folder = tmp_path / "deep" / "out"
    sink = sink_type(folder)
    sink.write(pa.table({"x": [1, 2]}), epoch=0)
    sink.write(pa.table({"x": [9]}), epoch=12)
    sink.write(pa.table({"x": [3]}), epoch=12)
    sink.close()

    names = [f"part-00000000.{suffix}", f"part-00000012.{suffix}"]
    assert names == sorted(path.name for path in folder.iterdir())
    assert [[1, 2], [3]] == [batch.rows["x"].to_pylist() for batch in files(folder).batches()]


@pytest.mark.parametrize(("sink_type", "suffix"), FOLDERS)
def test_what_a_sink_writes_the_source_reads_back(tmp_path: Path, sink_type: Any, suffix: str) -> None:
    sink_type(tmp_path).write(RESULT, epoch=0)
    (batch,) = files(tmp_path, suffix, schema=RESULT.schema).batches()

    assert () == tuple(batch.unreadable)
    assert RESULT.to_pylist() == batch.rows.to_pylist()


@pytest.mark.parametrize(("sink_type", "suffix"), FOLDERS)
def test_a_result_without_rows_leaves_a_folder_that_can_be_read(tmp_path: Path, sink_type: Any, suffix: str) -> None:
    sink = sink_type(tmp_path / "out")
    sink.finish(INT)
    sink.close()

    assert 1 == len(list((tmp_path / "out").iterdir()))
    assert 0 == sum(batch.rows.num_rows for batch in files(tmp_path / "out", suffix, schema=INT).batches())


@pytest.mark.parametrize("sink_type", [ParquetSink, CsvSink, JsonLinesSink])
def test_a_folder_that_cannot_be_made_is_an_error(tmp_path: Path, sink_type: Any) -> None:
    (tmp_path / "out").write_text("a file")

    with pytest.raises(SinkError, match=r'out" cannot be made: .*\nHint: Give the path of a folder') as caught:
        sink_type(tmp_path / "out").write(pa.table({"x": [1]}), epoch=0)
    assert isinstance(caught.value.__cause__, OSError)


@pytest.mark.parametrize(("sink_type", "suffix"), FOLDERS)
def test_a_file_that_cannot_be_placed_is_an_error_and_leaves_nothing_hidden(
    tmp_path: Path, sink_type: Any, suffix: str
) -> None:
    (tmp_path / f"part-00000003.{suffix}").mkdir()

    with pytest.raises(SinkError, match=rf'part-00000003\.{suffix}" cannot be written: .*\nHint: '):
        sink_type(tmp_path).write(pa.table({"x": [1]}), epoch=3)
    assert [f"part-00000003.{suffix}"] == [path.name for path in tmp_path.iterdir()]


def test_a_failed_rewrite_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    sink = CsvSink(tmp_path)
    sink.write(pa.table({"x": [1]}), epoch=0)

    with pytest.raises(SinkError, match=r"cannot be written: Unsupported Type:list") as caught:
        sink.write(pa.table({"x": [[1]]}), epoch=0)
    assert isinstance(caught.value.__cause__, pa.ArrowInvalid)
    assert ["part-00000000.csv"] == [path.name for path in tmp_path.iterdir()]
    assert '"x"\n1\n' == (tmp_path / "part-00000000.csv").read_text()


def test_json_lines_are_strict_json_with_text_for_what_json_lacks(tmp_path: Path) -> None:
    table = pa.table(
        {
            "ts": pa.array([NOON]),
            "ns": pa.array([1], pa.timestamp("ns")),
            "d": [NOON.date()],
            "t": [dt.time(1, 2, 3)],
            "m": [Decimal("1.10")],
            "f": [float("nan")],
            "b": [b"\x00\xff"],
            "l": [[Decimal("2.50")]],
            "s": ["é"],
            "none": pa.nulls(1),
        }
    )
    JsonLinesSink(tmp_path).write(table, epoch=0)
    text = (tmp_path / "part-00000000.json").read_text(encoding="utf-8")

    assert {
        "ts": "2024-01-01T12:00:00.000000Z",
        "ns": "1970-01-01T00:00:00.000000001",
        "d": "2024-01-01",
        "t": "01:02:03",
        "m": "1.10",
        "f": "NaN",
        "b": "AP8=",
        "l": ["2.50"],
        "s": "é",
        "none": None,
    } == json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert text.endswith("}\n")


def show(table: pa.Table, **options: Any) -> list[str]:
    out = io.StringIO()
    sink = ConsoleSink(Console(file=out, width=60), **options)
    sink.write(table, epoch=3)
    sink.close()
    return [" ".join(line.split()) for line in out.getvalue().splitlines()]


def test_the_console_shows_the_first_rows_and_says_how_many_were_left_out() -> None:
    lines = show(pa.table({"k": ["[bold]a", None, "c"], "n": [1, 2, 3]}), rows=2, title="top")

    assert ["top, epoch 3", "k n", "[bold]a 1", "null 2", "1 more row"] == [
        line for line in lines if not line.startswith("─")
    ]


def test_the_console_is_silent_about_nothing_left_out() -> None:
    assert not any("more" in line for line in show(pa.table({"n": [1, 2]}), rows=2))
    assert "2,500 more rows" == show(pa.table({"n": list(range(2500))}), rows=0)[-1]


def test_the_console_refuses_a_negative_number_of_rows() -> None:
    with pytest.raises(SinkError, match="rows=-1 is negative"):
        ConsoleSink(rows=-1)


def test_late_rows_that_nobody_asked_for_do_not_fill_the_memory(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("millstream.api.side.SAMPLE", 25)
    made = ms.Engine(host="local")
    late = [[{"ts": 1000}], *([{"ts": 1}] * 10 for _ in range(20))]
    stream = made.stream("s", late, progress=ms.ordered("ts"))
    sampled = stream.window("ts", range=10).agg(n=ms.count()).named("sampled")
    asked = stream.window("ts", range=20).agg(n=ms.count()).named("asked")
    asked.late.to_memory()
    run = made.start(ms.available_now())
    run.await_termination()

    assert 25 == sampled.late.table().num_rows
    assert 200 == asked.late.table().num_rows
    assert {200} == {query["books"]["late"] for query in run.progress["queries"].values()}
    assert 1 == caplog.text.count("the others are only counted")


@pytest.mark.parametrize("durable", [False, True], ids=["memory", "checkpoint"])
@pytest.mark.parametrize("fails", [False, True], ids=["well", "badly"])
def test_sinks_are_closed_when_a_run_ends(tmp_path: Path, *, durable: bool, fails: bool) -> None:
    class Buffered:
        """Hands over what it has when it is closed."""

        def __init__(self) -> None:
            self.waiting: list[int] = []
            self.written: list[int] = []

        def write(self, rows: pa.Table, epoch: int) -> None:
            if fails and self.waiting:
                raise RuntimeError("full")
            self.waiting += rows["ts"].to_pylist()

        def close(self) -> None:
            self.written, self.waiting = self.written + self.waiting, []

    sink = Buffered()
    engine = ms.Engine(host="local", checkpoint=tmp_path / "ck" if durable else None)
    engine.stream("s", [[{"ts": 1}], [{"ts": 2}]], schema="ts BIGINT", progress=ms.ordered("ts")).named("q").to(sink)
    run = engine.start(ms.available_now())
    if fails:
        with pytest.raises(ms.RunError, match="full"):
            run.await_termination()
    else:
        run.await_termination()

    assert ([1] if fails else [1, 2]) == sink.written


def test_a_sink_that_cannot_be_closed_fails_the_run() -> None:
    class Stuck:
        def write(self, rows: pa.Table, epoch: int) -> None:
            """Takes all."""

        def close(self) -> None:
            raise OSError("no room for the rest")

    engine = ms.Engine(host="local")
    engine.stream("s", [{"ts": 1}], progress=ms.ordered("ts")).named("q").to(Stuck())
    with pytest.raises(ms.RunError, match=r"closing Stuck of .* failed: OSError: no room for the rest"):
        engine.start(ms.available_now()).await_termination()
