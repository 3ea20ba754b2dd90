"""Folders of results: each is one output's alone, on both hosts, whatever path leads there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.core.errors import SinkError, StateError
from support.in_process import engine as engine_on_disk

ROWS = [{"ts": ts, "k": "ab"[ts % 2]} for ts in range(10)]
HOSTS = ["local", "tasks"]


def made(host: str, root: Path, name: str = "ck") -> ms.Engine:
    return engine_on_disk(root / name, 2) if host == "tasks" else ms.Engine(host="local")


def asked(engine: ms.Engine, rows: list[Any] = ROWS, name: str = "q") -> ms.Query:
    stream = engine.stream("s", pa.Table.from_pylist(rows), progress=ms.bounded_disorder("ts", 2))
    return stream.window("ts", range=2).group_by("k").agg(n=ms.count()).named(name)


def finished(engine: ms.Engine, *, end: bool = True) -> None:
    engine.start(ms.available_now(), end_of_stream=end).await_termination()


def total(folder: Path) -> int:
    return sum(ds.dataset(folder, format="parquet").to_table()["n"].to_pylist())


@pytest.mark.parametrize("host", HOSTS)
def test_a_folder_that_another_run_wrote_is_refused_unless_told_what_to_do(tmp_path: Path, host: str) -> None:
    out = tmp_path / "out"
    first = made(host, tmp_path)
    asked(first).to_parquet(out)
    finished(first)

    second = made(host, tmp_path, "other")
    asked(second).to_parquet(out)
    with pytest.raises(SinkError, match="from another run or checkpoint; 'q' would mix"):
        finished(second)
    assert 10 == total(out)

    appending = made(host, tmp_path, "third")
    asked(appending).to_parquet(out, mode="append")
    finished(appending)
    assert 20 == total(out)

    replacing = made(host, tmp_path, "fourth")
    asked(replacing, ROWS[:4]).to_parquet(out, mode="replace")
    finished(replacing)
    assert 4 == total(out)


@pytest.mark.parametrize("host", HOSTS)
def test_files_that_no_query_wrote_are_not_mixed_with(tmp_path: Path, host: str) -> None:
    out = tmp_path / "out"
    out.mkdir()
    pq.write_table(pa.table({"x": [1]}), out / "mine.parquet")
    engine = made(host, tmp_path)
    asked(engine).to_parquet(out)

    with pytest.raises(SinkError, match="files that no query here has written"):
        finished(engine)


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("other", ["out", "x/../out", "link", "out/below"])
def test_two_outputs_in_one_folder_are_refused(tmp_path: Path, host: str, other: str) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "x").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "out")
    engine = made(host, tmp_path)
    query = asked(engine).to_parquet(tmp_path / "out")
    query.late.to_parquet(tmp_path / other)

    with pytest.raises(SinkError, match=r"is the folder of two outputs.*: the results of 'q' and the late rows of 'q'"):
        finished(engine)
    assert [] == list((tmp_path / "out").iterdir())


@pytest.mark.parametrize("host", HOSTS)
def test_the_same_engine_goes_on_in_its_folder(tmp_path: Path, host: str) -> None:
    engine = made(host, tmp_path)
    parts = [[{"ts": ts, "k": "a"}] for ts in range(6)]
    stream = engine.stream("s", lambda: parts.pop(0) if parts else None, progress=ms.ordered("ts"))
    stream.window("ts", range=1).agg(n=ms.count()).named("q").to_parquet(tmp_path / "out")
    engine.start(ms.once()).await_termination()
    finished(engine)

    assert 6 == total(tmp_path / "out")


def test_a_restart_goes_on_in_its_folder_and_a_moved_checkpoint_too(tmp_path: Path) -> None:
    for name in ("ck", "moved"):
        engine = made("tasks", tmp_path, name)
        asked(engine).to_parquet(tmp_path / "out")
        finished(engine, end=False)
        if name == "ck":
            (tmp_path / "ck").rename(tmp_path / "moved")

    assert 6 == total(tmp_path / "out")


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("sink", ["to_parquet", "to_csv", "to_json"])
def test_a_folder_without_rows_is_readable(tmp_path: Path, host: str, sink: str) -> None:
    engine = made(host, tmp_path)
    query = asked(engine).to_memory()
    getattr(query.late, sink)(tmp_path / "late")
    getattr(query.rejected, sink)(tmp_path / "rejected")
    finished(engine)

    if sink == "to_parquet":
        found = ds.dataset(tmp_path / "late", format="parquet").to_table()
        assert query.late.schema.names == found.schema.names
        assert 0 == found.num_rows
    assert [f"part-schema.{sink.removeprefix('to_')}"] == [path.name for path in (tmp_path / "rejected").glob("part-*")]


@pytest.mark.parametrize("host", HOSTS)
def test_folders_of_values(tmp_path: Path, host: str) -> None:
    engine = made(host, tmp_path)
    rows = [{"ts": i, "k": k} for i, k in enumerate(["a", "b/c", None, "", "ü=1", "a"])]
    stream = engine.stream("s", pa.Table.from_pylist(rows), progress=ms.ordered("ts"))
    stream.select("ts", "k").named("q").to_parquet(tmp_path / "out", partition_by="k")
    finished(engine)

    folders = sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_dir())
    assert ["k=__HIVE_DEFAULT_PARTITION__", "k=a", "k=b%2Fc", "k=ü%3D1"] == folders
    read = ds.dataset(tmp_path / "out", format="parquet", partitioning="hive").to_table().to_pylist()
    assert {(0, "a"), (1, "b/c"), (2, None), (3, None), (4, "ü=1"), (5, "a")} == {(r["ts"], r["k"]) for r in read}


def test_partition_by_names_columns_of_the_result(tmp_path: Path) -> None:
    for wrong in ("nix", ["window_id", "window_start", "window_end", "k", "n"]):
        engine = made("local", tmp_path)
        asked(engine).to_parquet(tmp_path / "out", partition_by=wrong)
        with pytest.raises(SinkError, match="partition_by"):
            finished(engine)


# --- paths ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["s3a://bucket/x", "hdfs://host/x", "dbfs:/x", "gs://b", Path("s3://b/x"), "", "  "])
def test_what_is_no_path_of_this_machine_is_refused(path: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    engine = made("local", tmp_path)
    with pytest.raises(SinkError):
        asked(engine).to_parquet(path)
    if path not in ("", "  "):
        with pytest.raises(ms.MillstreamError, match="no path of this machine"):
            engine_on_disk(path, 1)
    with pytest.raises(ms.MillstreamError):
        engine.stream("t", path, schema=pa.schema([("x", pa.int64())]))
    assert [] == list(tmp_path.iterdir())


def test_file_uris_and_relative_paths_are_what_they_were_at_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    monkeypatch.chdir(tmp_path / "one")
    pq.write_table(pa.table({"ts": [1, 2, 3], "k": ["a", "b", "a"]}), "in.parquet")
    engine = made("local", tmp_path)
    stream = engine.stream("s", "in.parquet", progress=ms.ordered("ts"))
    query = stream.window("ts", range=2).agg(n=ms.count()).named("q").to_parquet("out")
    query.to_csv((tmp_path / "as csv").as_uri())
    os.chdir(tmp_path / "two")
    finished(engine)

    assert 3 == total(tmp_path / "one" / "out")
    assert 2 == len(list((tmp_path / "as csv").glob("part-*.csv")))
    assert [] == list((tmp_path / "two").iterdir())


# --- what a manifest may say -----------------------------------------------------------------------------


def rewritten(checkpoint: Path, change: Any) -> None:
    """Change the newest manifest, and sign it again."""
    import hashlib  # noqa: PLC0415

    path = max((checkpoint / "manifests").glob("*.json"))
    body = json.loads(json.loads(path.read_text())["body"])
    change(body)
    text = json.dumps(body)
    path.write_text(json.dumps({"format": 1, "sha256": hashlib.sha256(text.encode()).hexdigest(), "body": text}))


@pytest.mark.parametrize("where", ["hidden", "visible", "folder"])
def test_a_manifest_cannot_have_other_files_overwritten(tmp_path: Path, where: str) -> None:
    engine = made("tasks", tmp_path)
    asked(engine).to_parquet(tmp_path / "out")
    finished(engine, end=False)
    victim = tmp_path / "elsewhere" / "victim"
    victim.parent.mkdir()
    victim.write_text("precious")
    evil = {"sink": "folder", "folder": str(tmp_path / "out"), "hidden": ".part-x.tmp", "visible": "part-x"}
    evil[where] = str(victim.parent) if where == "folder" else "../elsewhere/victim"
    (victim.parent / ".part-x.tmp").write_text("evil")
    rewritten(tmp_path / "ck", lambda body: body["outputs"].append(evil))

    again = made("tasks", tmp_path)
    asked(again).to_parquet(tmp_path / "out")
    with pytest.raises(StateError, match="the manifest would have"):
        finished(again)
    assert "precious" == victim.read_text()
    assert not (victim.parent / "part-x").exists()


def test_a_manifest_cannot_name_state_outside_of_its_checkpoint(tmp_path: Path) -> None:
    engine = made("tasks", tmp_path)
    asked(engine)
    finished(engine, end=False)

    def outside(body: Any) -> None:
        table = next(iter(body["segments"][0]["tables"].values()))
        table["path"] = "../../etc/passwd"

    rewritten(tmp_path / "ck", outside)
    again = made("tasks", tmp_path)
    asked(again)
    with pytest.raises(StateError, match="not in the checkpoint"):
        finished(again)


def test_what_a_manifest_says_beyond_what_is_known_is_an_error_in_words(tmp_path: Path) -> None:
    engine = made("tasks", tmp_path)
    asked(engine)
    finished(engine, end=False)
    rewritten(tmp_path / "ck", lambda body: body.update(guards=[]))

    again = made("tasks", tmp_path)
    asked(again)
    with pytest.raises(StateError, match=r"does not understand.*guards"):
        finished(again)


# --- two drivers -----------------------------------------------------------------------------------------


def test_a_second_driver_on_a_checkpoint_is_refused_while_the_first_runs(tmp_path: Path) -> None:
    first, second = made("tasks", tmp_path), made("tasks", tmp_path)
    asked(first)
    asked(second)
    run = first.start(ms.every("50 ms"))
    try:
        assert run.process_all_available(30)
        with pytest.raises(StateError, match="is in use by process"):
            finished(second)
        assert run.is_active
    finally:
        run.stop()
    finished(second)


def test_a_driver_that_another_one_has_overtaken_takes_up_what_that_one_left(tmp_path: Path) -> None:
    parts = [[{"ts": ts, "k": "a"}] for ts in range(6)]
    engines = [made("tasks", tmp_path) for _ in range(2)]
    for engine in engines:
        stream = engine.stream("s", list(parts), progress=ms.ordered("ts"))
        stream.window("ts", range=1).agg(n=ms.count()).named("q").to_parquet(tmp_path / "out")
    for engine in (*engines, *engines, *engines):
        engine.start(ms.once()).await_termination()
    finished(engines[0])

    assert 6 == total(tmp_path / "out")
    assert 6 == ds.dataset(tmp_path / "out", format="parquet").count_rows()


def test_a_manifest_that_another_driver_wrote_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    engine = made("tasks", tmp_path)
    parts = [[{"ts": ts, "k": "a"}] for ts in range(3)]

    def source() -> Any:
        if len(parts) == 1:  # somebody commits the very epoch
            manifests = tmp_path / "ck" / "manifests"
            newest = max(manifests.glob("*.json"))
            (manifests / f"{int(newest.stem) + 1:08d}.json").write_text(newest.read_text())
        return parts.pop(0) if parts else None

    stream = engine.stream("s", source, schema=pa.schema([("ts", pa.int64()), ("k", pa.string())]))
    stream.select("ts").named("q")
    with pytest.raises(StateError, match="another driver has committed this epoch"):
        finished(engine, end=False)


# --- compaction ------------------------------------------------------------------------------------------


def many_files(folder: Path, sink: str, **options: Any) -> None:
    engine = ms.Engine(host="local")
    parts = [[{"ts": ts, "k": "ab"[ts % 2], "t": "x,\ny"}] for ts in range(20)]
    stream = engine.stream("s", parts, progress=ms.ordered("ts"))
    getattr(stream.select("ts", "k", "t").named("q"), sink)(folder, **options)
    finished(engine)


def read_back(folder: Path, kind: str) -> list[Any]:
    options = {"partitioning": "hive"} if kind == "parquet" else {}
    if kind == "csv":
        parsed = pa_csv.ParseOptions(newlines_in_values=True)
        options["format"] = ds.CsvFileFormat(parse_options=parsed)
    rows = ds.dataset(folder, **{"format": kind, **options}).to_table().to_pylist()
    return sorted((row["ts"], row["k"], row["t"]) for row in rows)


@pytest.mark.parametrize(("kind", "partition_by"), [("parquet", ()), ("parquet", "k"), ("csv", ()), ("json", ())])
def test_small_files_become_few_with_the_same_rows(tmp_path: Path, kind: str, partition_by: Any) -> None:
    out = tmp_path / "out"
    many_files(out, f"to_{kind}", partition_by=partition_by)
    before = read_back(out, kind)
    gone = ms.compact(out)

    assert 20 - (2 if partition_by else 1) == gone
    assert before == read_back(out, kind)
    assert 0 == ms.compact(out)


def test_a_compaction_that_is_cut_off_is_finished_by_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "out"
    many_files(out, "to_parquet")
    before = read_back(out, "parquet")
    unlink, left = Path.unlink, [5]

    def cut_off(self: Path, *args: Any, **named: Any) -> None:
        left[0] -= 1
        if not left[0]:
            raise KeyboardInterrupt
        unlink(self, *args, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", cut_off)
        with pytest.raises(KeyboardInterrupt):
            ms.compact(out)
    ms.compact(out)

    assert before == read_back(out, "parquet")
    assert 1 == len(list(out.glob("part-*")))


def test_only_folders_of_results_are_compacted(tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        with pytest.raises(SinkError, match="is no folder that a query has written to"):
            ms.compact(folder)


# --- the same in SQL -------------------------------------------------------------------------------------


def by_script(root: Path, insert: str) -> None:
    (root / "in").mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(ROWS), root / "in" / "a.parquet")
    script = ms.Script(
        f"""CREATE STREAM s FROM parquet '{root / "in"}' PROGRESS ORDERED ON ts;
        {insert} SELECT k, count(*) AS n FROM s [RANGE 2, WATTR ts] GROUP BY k;"""
    )
    engine = ms.Engine(host="local")
    script.bind(engine)
    finished(engine)


def test_overwrite_append_and_folders_of_values_in_sql(tmp_path: Path) -> None:
    out = tmp_path / "out"
    by_script(tmp_path, f"INSERT INTO parquet '{out}'")
    with pytest.raises(SinkError, match="INSERT OVERWRITE"):
        by_script(tmp_path, f"INSERT INTO parquet '{out}'")
    by_script(tmp_path, f"INSERT INTO parquet '{out}' OPTIONS (mode 'append')")
    assert 20 == total(out)
    by_script(tmp_path, f"INSERT OVERWRITE parquet '{out}'")
    assert 10 == total(out)
    by_script(tmp_path, f"INSERT OVERWRITE parquet '{out}' OPTIONS (partition_by 'k')")
    assert ["k=a", "k=b"] == sorted(path.name for path in out.glob("k=*"))
    assert 10 == total(out)


@pytest.mark.parametrize(
    ("insert", "said"),
    [
        ("INSERT OVERWRITE console", "OVERWRITE is for folders"),
        ("INSERT INTO parquet 'out' OPTIONS (moed 'append')", 'there is no option "moed"'),
        ("INSERT INTO parquet 'out' OPTIONS (mode 'apend')", "there is no mode 'apend'"),
    ],
)
def test_wrong_options_of_a_sink_are_told_clearly(tmp_path: Path, insert: str, said: str) -> None:
    with pytest.raises(ms.SqlError, match=said):
        by_script(tmp_path, insert)


@pytest.mark.parametrize("checkpoint", [False, True])
@pytest.mark.parametrize(
    ("pattern", "folder", "refused"),
    [("*", "in", True), ("*", "x/../in", True), ("**/*.parquet", "in/out", True), ("*/*", "in/out", True),
     ("*", "in/out", False), ("**/*.csv", "in/out", False), ("*", "out", False)],
)  # fmt: skip
def test_a_query_does_not_read_its_own_results(
    tmp_path: Path, pattern: str, folder: str, *, refused: bool, checkpoint: bool
) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"ts": [1, 2]}), tmp_path / "in" / "a.parquet")
    made = ms.Engine(host="local", checkpoint=tmp_path / "ck" if checkpoint else None)
    rows = made.stream("s", ms.files(tmp_path / "in", pattern=pattern, format="parquet", schema="ts BIGINT"))
    rows.where("ts > 1").named("q").to_parquet(tmp_path / folder, mode="append")
    run = made.start(ms.available_now())
    if refused:
        with pytest.raises(ms.MillstreamError, match=r"the results of 'q' would go to .* where the stream 's'"):
            run.await_termination()
    else:
        assert run.await_termination()
