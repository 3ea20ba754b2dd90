from __future__ import annotations

import datetime as dt
import gzip
import json
import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.core.errors import SourceError
from millstream.runtime.batch import Batch
from millstream.runtime.epoch_input import Epoch
from millstream.runtime.sources import files, make_source
from millstream.runtime.sources.csv_file import _read_careful, _read_fast
from millstream.runtime.sources.dicts import infer, read_dicts
from support.in_process import engine as engine_on_disk

INT = pa.schema([("x", pa.int64())])
BID = pa.schema([("ts", pa.timestamp("us", "UTC")), ("price", pa.int64()), ("who", pa.string())])
NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)


def values(source: Any) -> list[list[Any]]:
    return [batch.rows.column(0).to_pylist() for batch in source.batches()]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def write_parquet(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path)
    return path


# --- tables, iterables, callables -----------------------------------------------------------------


def test_one_table_is_one_epoch_and_a_second_call_yields_nothing() -> None:
    source = make_source(pa.table({"x": [1, 2, 3]}))

    assert [[1, 2, 3]] == values(source)
    assert [] == values(source)
    assert INT == source.schema


@pytest.mark.parametrize(
    "value",
    [
        pa.table({"x": [1, 2, 3]}),
        pa.RecordBatch.from_pydict({"x": [1, 2, 3]}),
        pd.DataFrame({"x": [1, 2, 3]}),
        [{"x": 1}, {"x": 2}, {"x": 3}],
        Epoch([{"x": 1}, {"x": 2}, {"x": 3}]),
    ],
    ids=["table", "record batch", "pandas", "dicts", "epoch"],
)
def test_whatever_holds_rows_is_cut_by_epoch_rows(value: Any) -> None:
    source = make_source(value, epoch_rows=2)

    assert [[1, 2], [3]] == values(source)
    assert INT == source.schema
    assert source.schema.metadata is None


def test_items_of_an_iterable_are_epochs_whatever_their_kind() -> None:
    items = [
        pa.table({"x": [1]}),
        [{"x": 2}],
        pa.RecordBatch.from_pydict({"x": [3]}),
        Epoch([{"x": 4}], punctuations=[{"x": 5}]),
        {"x": 5},
        pa.RecordBatchReader.from_batches(INT, [pa.RecordBatch.from_pydict({"x": [6]})]),
        Epoch([], punctuations=["end"]),
    ]
    batches = list(make_source(items).batches())

    assert [[1], [2], [3], [4], [5], [6], []] == [batch.rows["x"].to_pylist() for batch in batches]
    assert [{"x": 5}] == batches[3].punctuations
    assert ["end"] == batches[6].punctuations
    assert all(batch.rows.schema == INT for batch in batches)


def test_a_generator_is_read_lazily_and_its_first_item_is_not_lost() -> None:
    asked: list[int] = []

    def generate() -> Iterator[pa.Table]:
        for number in range(5):
            asked.append(number)
            yield pa.table({"x": [number]})

    source = make_source(generate())
    assert [] == asked
    assert INT == source.schema
    assert [0] == asked

    batches = source.batches()
    assert [0] == next(batches).rows["x"].to_pylist()
    assert [1] == next(batches).rows["x"].to_pylist()
    assert [0, 1] == asked
    assert [[2], [3], [4]] == values(source)


def test_a_generator_function_is_called_for_its_items() -> None:
    def generate() -> Iterator[list[dict[str, int]]]:
        yield [{"x": 1}]
        yield [{"x": 2}]

    assert [[1], [2]] == values(make_source(generate))


def test_a_record_batch_reader_is_one_epoch_a_batch() -> None:
    batches = [pa.RecordBatch.from_pydict({"x": [1, 2]}), pa.RecordBatch.from_pydict({"x": [3]})]

    assert [[1, 2], [3]] == values(make_source(pa.RecordBatchReader.from_batches(INT, batches)))


def test_a_callable_is_asked_until_none_and_again_by_a_later_run() -> None:
    waiting: list[Any] = [pa.table({"x": [1]}), [{"x": 2}]]
    source = make_source(lambda: waiting.pop(0) if waiting else None)

    assert [[1], [2]] == values(source)
    waiting.append([{"x": 3}])
    assert [[3]] == values(source)


def test_the_schema_comes_from_the_first_item_that_shows_one() -> None:
    assert [[], [], [7]] == values(make_source([[], Epoch([], ["p"]), [{"x": 7}]]))


def test_without_rows_a_schema_must_be_given() -> None:
    with pytest.raises(SourceError, match=r"no rows to tell its schema from\nHint: Give schema="):
        _ = make_source(lambda: None).schema

    assert [[]] == values(make_source([], schema=INT))


def test_a_missing_column_names_itself_and_the_epoch() -> None:
    batches = make_source([pa.table({"x": [1]}), pa.table({"y": [1]})]).batches()
    next(batches)

    with pytest.raises(SourceError, match='epoch 1 has no column "x"\nHint: Known: y'):
        next(batches)


def test_columns_are_reordered_and_extra_ones_ignored() -> None:
    first = pa.table({"a": [1], "b": ["p"]})
    later = pa.table({"z": [0], "b": ["q"], "a": [2]})
    rows = pa.concat_tables(batch.rows for batch in make_source([first, later]).batches())

    assert [{"a": 1, "b": "p"}, {"a": 2, "b": "q"}] == rows.to_pylist()


def test_a_column_that_comes_twice_is_an_error() -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])

    with pytest.raises(SourceError, match='epoch 0 has 2 columns "x"'):
        values(make_source(twice, schema=INT))


def test_values_that_cannot_be_cast_set_their_rows_apart() -> None:
    later = pa.table({"x": ["10", "ten", None, "12"], "who": ["a", "b", "c", "d"]})
    _, batch = make_source([pa.table({"x": [1], "who": ["z"]}), later]).batches()

    assert [10, None, 12] == batch.rows["x"].to_pylist()
    assert ["a", "c", "d"] == batch.rows["who"].to_pylist()
    (bad,) = batch.unreadable
    assert {"x": "ten", "who": "b"} == json.loads(bad.raw)
    assert 'epoch 1, row 1: column "x": "ten" is not int64' == bad.reason


@pytest.mark.parametrize(
    ("column", "kind", "kept", "raw"),
    [
        (pa.array([1.0, 2.5]), pa.int64(), [1], 2.5),
        (pa.array([1, 300]), pa.int8(), [1], 300),
        (pa.array([1, 2]), pa.bool_(), [True], 2),
        (pa.array([1.25, 1.005]), pa.decimal128(5, 2), [Decimal("1.25")], 1.005),
        (
            pa.array([0, 3600], pa.timestamp("s")),
            pa.date32(),
            [dt.date(1970, 1, 1)],
            "1970-01-01T01:00:00",
        ),
        (
            pa.array([0, 1], pa.timestamp("ns")),
            pa.timestamp("us"),
            [dt.datetime(1970, 1, 1)],  # noqa: DTZ001 - a column without a zone
            "1970-01-01T00:00:00.000000001",
        ),
    ],
    ids=["fraction", "overflow", "truth", "digits", "hour", "nanosecond"],
)
def test_a_cast_that_would_lose_something_is_refused(
    column: pa.Array, kind: pa.DataType, kept: list[Any], raw: Any
) -> None:
    (batch,) = make_source(pa.table({"x": column}), schema=pa.schema([("x", kind)])).batches()

    assert kept == batch.rows["x"].to_pylist()
    assert {"x": raw} == json.loads(batch.unreadable[0].raw)
    assert f"is not {kind}" in batch.unreadable[0].reason


def test_a_type_without_any_cast_is_an_error() -> None:
    with pytest.raises(SourceError, match=r'epoch 0: column "x" is list<.*>, which has no cast to int64'):
        values(make_source(pa.table({"x": [[1]]}), schema=INT))


def test_many_bad_values_are_all_found() -> None:
    texts = [str(n) if n % 3 else "bad" for n in range(1000)]
    (batch,) = make_source(pa.table({"x": texts}), schema=INT).batches()

    assert [n for n in range(1000) if n % 3] == batch.rows["x"].to_pylist()
    assert [f"epoch 0, row {n}:" for n in range(0, 1000, 3)] == [
        bad.reason.partition(" column")[0] for bad in batch.unreadable
    ]


def test_a_null_where_the_schema_allows_none_sets_its_row_apart() -> None:
    schema = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    (batch,) = make_source(pa.table({"x": [1, None]}), schema=schema).batches()

    assert [1] == batch.rows["x"].to_pylist()
    assert "is null, which the schema does not allow" in batch.unreadable[0].reason


def test_unreadable_rows_come_once_and_punctuation_after_the_last_row() -> None:
    rows = [{"x": 1}, {"x": "no"}, {"x": 2}, {"x": 3}]
    batches = list(make_source([Epoch(rows, ["p"])], schema=INT, epoch_rows=2).batches())

    assert [([1, 2], 1, ()), ([3], 0, ["p"])] == [
        (batch.rows["x"].to_pylist(), len(batch.unreadable), batch.punctuations) for batch in batches
    ]


def test_an_item_without_rows_is_named() -> None:
    with pytest.raises(SourceError, match="epoch 1 is int, which holds no rows"):
        values(make_source([pa.table({"x": [1]}), 5]))


def test_what_the_callers_code_raises_is_chained() -> None:
    def fail() -> None:
        raise RuntimeError("socket closed")

    with pytest.raises(SourceError, match="failed in epoch 0: RuntimeError: socket closed") as caught:
        values(make_source(fail, schema=INT))
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.parametrize("value", [7, None, {"x": [1]}, b"bytes"], ids=repr)
def test_what_is_no_source_is_refused_with_a_hint(value: Any) -> None:
    with pytest.raises(SourceError, match=r"is not a source\nHint: Give a pyarrow table"):
        make_source(value)


def test_a_source_is_passed_on_and_takes_no_options() -> None:
    source = make_source(pa.table({"x": [1]}))

    assert source is make_source(source)
    with pytest.raises(SourceError, match="is a source already"):
        make_source(source, epoch_rows=3)


@pytest.mark.parametrize("epoch_rows", [0, -1])
def test_epoch_rows_must_be_positive(epoch_rows: int) -> None:
    with pytest.raises(SourceError, match=f"epoch_rows={epoch_rows} is not positive"):
        make_source(pa.table({"x": [1]}), epoch_rows=epoch_rows)


def test_a_position_survives_json_and_resumes_in_the_middle_of_an_epoch() -> None:
    tables = [pa.table({"x": [1, 2, 3]}), pa.table({"x": [4, 5, 6]})]
    source: Any = make_source(tables, epoch_rows=2)
    batches = source.batches()
    taken = [next(batches).rows["x"].to_pylist() for _ in range(3)]
    position = json.loads(json.dumps(source.position))
    again: Any = make_source(tables, epoch_rows=2)
    again.seek(position)

    assert [[1, 2], [3], [4, 5]] == taken
    assert {"epochs": 1, "rows": 2} == position
    assert [[6]] == values(again)
    again.seek({"epochs": 0, "rows": 0})
    assert [[1, 2], [3], [4, 5], [6]] == values(again)


def test_a_generator_cannot_go_back_nor_beyond_its_end() -> None:
    source: Any = make_source(pa.table({"x": [n]}) for n in range(3))
    values(source)

    with pytest.raises(SourceError, match="position 1 is behind: 3 epochs were taken"):
        source.seek({"epochs": 1, "rows": 0})
    with pytest.raises(SourceError, match="ends after 3 epochs, before position 9"):
        source.seek({"epochs": 9, "rows": 0})


# --- dict rows ------------------------------------------------------------------------------------


def test_types_are_inferred_from_python_values() -> None:
    naive = NOON.replace(tzinfo=None)
    rows = [
        {"i": 1, "f": 1, "s": "a", "b": True, "z": NOON, "n": naive, "d": NOON.date(), "m": Decimal("1.5")},
        {"f": 2.5, "m": Decimal("2.25"), "l": [1]},
    ]
    kinds = {
        "i": pa.int64(),
        "f": pa.float64(),
        "s": pa.string(),
        "b": pa.bool_(),
        "z": pa.timestamp("us", "UTC"),
        "n": pa.timestamp("us"),
        "d": pa.date32(),
        "m": pa.decimal128(38, 2),
        "l": pa.list_(pa.int64()),
    }
    schema = infer(rows)
    assert pa.schema(list(kinds.items())) == schema

    batch = read_dicts(rows, schema, "epoch 0")
    assert () == tuple(batch.unreadable)
    assert [1, None] == batch.rows["i"].to_pylist()
    assert [1.0, 2.5] == batch.rows["f"].to_pylist()
    assert [NOON, None] == batch.rows["z"].to_pylist()
    assert [naive, None] == batch.rows["n"].to_pylist()
    assert [Decimal("1.50"), Decimal("2.25")] == batch.rows["m"].to_pylist()


def test_an_aware_time_of_another_zone_is_the_same_instant() -> None:
    east = NOON.astimezone(dt.timezone(dt.timedelta(hours=5)))
    (batch,) = make_source([{"ts": east}]).batches()

    assert pa.timestamp("us", "UTC") == batch.rows.schema.field("ts").type
    assert [NOON] == batch.rows["ts"].to_pylist()


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (pa.int64(), 2.0, 1.5),  # Arrow alone would cut it to 1
        (pa.int64(), 5, "5"),
        (pa.int64(), 5, True),
        (pa.int64(), 5, 2**63),
        (pa.int64(), 5, 2**70),
        (pa.float64(), "NaN", "1.5"),
        (pa.float64(), 1, True),
        (pa.float64(), 1.5, True),  # Arrow alone would make it 1.0
        (pa.string(), "a", 5),
        (pa.bool_(), True, 1),
        (pa.date32(), dt.date(2024, 1, 1), NOON),  # Arrow alone would drop the hour
        (pa.date32(), "2024-01-01", "2024-02-31"),
        (pa.timestamp("us", "UTC"), "2024-01-01", "noon"),
        (pa.timestamp("s"), NOON, NOON.replace(microsecond=5)),
        (pa.decimal128(5, 2), 1.25, Decimal("1.005")),
        (pa.decimal128(5, 2), "1.10", "1,10"),
        (pa.list_(pa.int64()), [1], 1),
    ],
)
def test_a_value_that_does_not_fit_sets_only_its_row_apart(kind: pa.DataType, good: Any, bad: Any) -> None:
    rows = [{"k": 0, "v": good}, {"k": 1, "v": bad}, {"k": 2, "v": None}]
    batch = read_dicts(rows, pa.schema([("k", pa.int64()), ("v", kind)]), "epoch 0")

    assert [0, 2] == batch.rows["k"].to_pylist()
    assert batch.rows["v"].to_pylist()[0] is not None
    (row,) = batch.unreadable
    assert row.raw.startswith('{"k": 1, "v": ')
    assert row.reason.startswith('epoch 0, row 1: column "v": ')
    assert row.reason.endswith(f" is not {kind}")


def test_dates_among_time_stamps_keep_their_hours() -> None:
    batch = read_dicts(
        [{"t": NOON.date()}, {"t": NOON}, {"t": NOON.replace(tzinfo=None)}],
        pa.schema([("t", pa.timestamp("us", "UTC"))]),
        "epoch 0",
    )

    assert [NOON.replace(hour=0), NOON, NOON] == batch.rows["t"].to_pylist()


def test_rows_that_are_no_dicts_are_set_apart_and_extra_keys_ignored() -> None:
    (batch,) = make_source([{"x": 1}, [2], None, {"x": 3, "y": 4}, {}], schema=INT).batches()

    assert [1, 3, None] == batch.rows["x"].to_pylist()
    assert [
        ("[2]", "epoch 0, row 1: [2] is list, not a dict"),
        ("null", "epoch 0, row 2: null is NoneType, not a dict"),
    ] == [(row.raw, row.reason) for row in batch.unreadable]


def test_a_later_epoch_keeps_the_types_of_the_first() -> None:
    first, second = make_source([[{"x": 1}], [{"x": "one"}, {"x": 2}]]).batches()

    assert [1] == first.rows["x"].to_pylist()
    assert [2] == second.rows["x"].to_pylist()
    assert 'epoch 1, row 0: column "x": "one" is not int64' == second.unreadable[0].reason


# --- files and folders ----------------------------------------------------------------------------


def test_a_folder_is_read_by_name_one_file_an_epoch(tmp_path: Path) -> None:
    for name, number in [("b", 2), ("a", 1), ("c", 3), (".hidden", 9), ("_tmp", 9)]:
        write_parquet(tmp_path / f"{name}.parquet", x=[number, number])
    (tmp_path / "_SUCCESS").touch()

    assert [[1, 1], [2, 2], [3, 3]] == values(make_source(str(tmp_path)))
    assert [[1, 1, 2, 2], [3, 3]] == values(files(tmp_path, "parquet", epoch_files=2))
    assert [[1], [1], [2], [2], [3], [3]] == values(files(tmp_path, epoch_rows=1))
    assert [[2, 2]] == values(files(tmp_path, pattern="b*"))


def test_one_file_is_a_source_by_its_suffix(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2]})
    pq.write_table(table, tmp_path / "a.pq")
    write(tmp_path / "a.csv", "x\n1\n2\n")
    write(tmp_path / "a.jsonl", '{"x": 1}\n{"x": 2}\n')
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"x\n1\n2\n"))

    for name in ("a.pq", "a.csv", "a.jsonl", "a.csv.gz"):
        (batch,) = make_source(tmp_path / name).batches()
        assert table == batch.rows


def test_a_pattern_reaches_folders_below(tmp_path: Path) -> None:
    for day in ("day=1", "day=2", "_old"):
        (tmp_path / day).mkdir()
        write(tmp_path / day / "part.csv", f"d\n{day}\n")

    assert [["day=1"], ["day=2"]] == values(files(tmp_path, pattern="**/*.csv"))


def test_a_second_run_takes_only_files_that_arrived_since(tmp_path: Path) -> None:
    write(tmp_path / "b.csv", "x\n1\n")
    source = files(tmp_path)
    assert [[1]] == values(source)
    assert [] == values(source)

    write(tmp_path / "a.csv", "x\n2\n")
    write(tmp_path / "c.csv", "x\n3\n")
    assert [[2], [3]] == values(source)


def test_a_file_position_survives_json_and_resumes_in_the_middle(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        write(tmp_path / f"{number}.csv", f"x\n{number}0\nbad\n{number}1\n{number}2\n")
    source = files(tmp_path, schema=INT, epoch_files=2, epoch_rows=4)
    first = next(source.batches())
    position = json.loads(json.dumps(source.position))
    again = files(tmp_path, schema=INT, epoch_files=2, epoch_rows=4)
    again.seek(position)
    rest = list(again.batches())

    assert [10, 11, 12, 20] == first.rows["x"].to_pylist()
    assert {"done": {}, "current": ["1.csv", "2.csv"], "rows": 4} == position
    assert [[21, 22], [30, 31, 32]] == [batch.rows["x"].to_pylist() for batch in rest]
    assert [2, 0, 1] == [len(batch.unreadable) for batch in [first, *rest]]
    assert [[21, 22], [30, 31, 32]] == values(source)


def test_files_are_read_only_when_their_epoch_is_asked_for(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", x=[1])
    bad = write(tmp_path / "b.parquet", b"PAR1 this is not Parquet")
    source = files(tmp_path)
    batches = source.batches()

    assert [1] == next(batches).rows["x"].to_pylist()
    with pytest.raises(SourceError, match=r"b\.parquet"):
        next(batches)

    write_parquet(bad, x=[2])
    assert [[2]] == values(source)


@pytest.mark.parametrize("keep", [0, 4, 100, -1])
def test_a_truncated_parquet_file_stops_the_run_and_is_named(tmp_path: Path, keep: int) -> None:
    whole = write_parquet(tmp_path / "a.parquet", x=list(range(1000)))
    data = whole.read_bytes()
    write(tmp_path / "a.parquet", data[:keep])

    with pytest.raises(SourceError, match=r'a\.parquet" cannot be read: .*\nHint: The run stopped before'):
        values(files(tmp_path, schema=INT))
    with pytest.raises(SourceError, match=r'a\.parquet" cannot be read'):
        _ = files(tmp_path).schema


def test_parquet_files_follow_the_rule_for_tables(tmp_path: Path) -> None:
    write_parquet(tmp_path / "a.parquet", x=[1], s=["a"])
    write_parquet(tmp_path / "b.parquet", s=["b", "c"], extra=[0, 0], x=["2", "two"])
    write_parquet(tmp_path / "c.parquet", s=["d"])
    batches = files(tmp_path).batches()
    next(batches)
    second = next(batches)

    assert [{"x": 2, "s": "b"}] == second.rows.to_pylist()
    assert 'b.parquet, row 1: column "x": "two" is not int64' == second.unreadable[0].reason
    with pytest.raises(SourceError, match=r'c\.parquet has no column "x"\nHint: .* Nothing of it was taken'):
        next(batches)


def test_a_missing_path_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r'nowhere" does not exist\nHint: The current folder is'):
        make_source(tmp_path / "nowhere", schema=INT)


def test_an_empty_folder_needs_a_schema(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"has no files to tell a schema from\nHint: Give schema="):
        _ = files(tmp_path, "csv").schema
    with pytest.raises(SourceError, match="no files that could tell their format"):
        make_source(tmp_path)

    source = files(tmp_path, "csv", schema=INT)
    assert [] == values(source)
    write(tmp_path / "a.csv", "x\n1\n")
    assert [[1]] == values(source)


def test_a_format_must_be_known_and_one(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match='no file format "parket"\nHint: Did you mean "parquet"'):
        files(tmp_path, "parket")
    write(tmp_path / "a.txt", "x\n1\n")
    with pytest.raises(SourceError, match=r'a\.txt" is not known from its suffix "\.txt"'):
        make_source(tmp_path / "a.txt")
    assert [[1]] == values(files(tmp_path / "a.txt", "csv"))
    (tmp_path / "a.txt").rename(tmp_path / "a.csv")
    write(tmp_path / "b.json", "{}")
    with pytest.raises(SourceError, match=r"several formats: csv \(a\.csv\), json \(b\.json\)"):
        make_source(tmp_path)


def test_epoch_files_must_be_positive(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="epoch_files=0 is not positive"):
        files(tmp_path, "csv", epoch_files=0)


# --- CSV ------------------------------------------------------------------------------------------


def test_csv_types_are_inferred_with_microseconds_and_zones(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.csv",
        "zoned,plain,day,n,f,s,ok,none\n"
        "2024-01-01T12:00:00Z,2024-01-01 12:00:00.5,2024-01-01,1,1.5,a,true,\n"
        "2024-01-01T13:00:00+01:00,2024-01-01 12:00:00,2024-01-02,,2,,false,\n",
    )
    kinds = {
        "zoned": pa.timestamp("us", "UTC"),
        "plain": pa.timestamp("us"),
        "day": pa.date32(),
        "n": pa.int64(),
        "f": pa.float64(),
        "s": pa.string(),
        "ok": pa.bool_(),
        "none": pa.string(),
    }
    source = files(path)
    (batch,) = source.batches()

    assert pa.schema(list(kinds.items())) == source.schema
    assert [NOON, NOON] == batch.rows["zoned"].to_pylist()
    assert [500_000, 0] == [stamp.microsecond for stamp in batch.rows["plain"].to_pylist()]
    assert [1, None] == batch.rows["n"].to_pylist()
    assert ["a", None] == batch.rows["s"].to_pylist()


def test_malformed_csv_rows_are_set_apart_with_file_line_and_text(tmp_path: Path) -> None:
    path = write(
        tmp_path / "bids.csv",
        b"ts,price,who\n"
        b"2024-01-01T12:00:00Z,1,a\n"
        b"2024-01-01T12:00:00Z,2\n"
        b"\n"
        b'2024-01-01T12:00:00Z,3,"c\nd"\n'
        b"2024-01-01T12:00:00Z,four,e\n"
        b"noon,5,f\n"
        b"2024-01-01T12:00:00Z,6,\xff\n"
        b'2024-01-01T12:00:00Z,7,"g\n'
        b"2024-01-01T12:00:00, 8 ,\n"
        b"2024-01-01T12:00:00Z,9,h,i\n",
    )
    (batch,) = files(path, schema=BID).batches()

    assert [
        {"ts": NOON, "price": 1, "who": "a"},
        {"ts": NOON, "price": 3, "who": "c\nd"},
        {"ts": NOON, "price": 8, "who": None},
    ] == batch.rows.to_pylist()
    assert [
        ("2024-01-01T12:00:00Z,2", "bids.csv line 3: 2 fields where the header has 3"),
        ("2024-01-01T12:00:00Z,four,e", 'bids.csv line 7: column "price": "four" is not int64'),
        ("noon,5,f", 'bids.csv line 8: column "ts": "noon" is not timestamp[us, tz=UTC]'),
        ("2024-01-01T12:00:00Z,6,\\xff", "bids.csv line 9: the text is not UTF-8"),
        ('2024-01-01T12:00:00Z,7,"g', "bids.csv line 10: a quote is not closed"),
        ("2024-01-01T12:00:00Z,9,h,i", "bids.csv line 12: 4 fields where the header has 3"),
    ] == [(row.raw, row.reason) for row in batch.unreadable]


def test_a_stray_quote_does_not_swallow_the_rows_after_it(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'x,s\n1,"a\n2,b\n3,"c\n4,"d"\n')
    (batch,) = files(path).batches()

    assert [2, 4] == batch.rows["x"].to_pylist()
    assert ['1,"a', '3,"c'] == [row.raw for row in batch.unreadable]


def test_both_ways_of_reading_csv_agree() -> None:
    data = (
        b'\nts,price,who,rate,ok,paid\r\n2024-01-01T12:00:00Z, 1 ,"",1e3,true,1.1\r\n'
        b'2024-01-01T13:00:00+01:00,,,nan,0,\r\n2024-01-01 12:00:00.25Z,-3,"a,""b""",-inf,FALSE,2.25\r\n'
        b'2024-01-01T12:00:00Z,4,"q"z,.5,1,3\r\n2024-01-01T12:00:00,5,5 x,7,1,"4"'
    ).lstrip()
    more = [("rate", pa.float64()), ("ok", pa.bool_()), ("paid", pa.decimal128(9, 2))]
    schema = pa.schema([*BID, *[pa.field(name, kind) for name, kind in more]])
    fast = _read_fast(data, schema)
    careful = _read_careful(data, schema, "a.csv")

    assert fast is not None
    assert 5 == fast.num_rows
    assert () == tuple(careful.unreadable)
    assert repr(fast.to_pylist()) == repr(careful.rows.to_pylist())  # repr: NaN is not equal to itself
    assert ["", None, 'a,"b"', "qz", "5 x"] == fast["who"].to_pylist()


def test_csv_headers_are_checked(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "y,z\n1,2\n")
    with pytest.raises(SourceError, match=r'a\.csv line 1 has no column "x"\nHint: Known: y, z'):
        values(files(tmp_path, schema=INT))
    write(tmp_path / "a.csv", "x,x\n1,2\n")
    with pytest.raises(SourceError, match=r'a\.csv line 1 has 2 columns "x"'):
        values(files(tmp_path, schema=INT))
    write(tmp_path / "a.csv", "\ufeffz,x\n1,2\n")
    assert [[2]] == values(files(tmp_path, schema=INT))


def test_an_empty_text_file_has_no_rows_and_shows_no_schema(tmp_path: Path) -> None:
    for suffix in ("csv", "json"):
        folder = tmp_path / suffix
        folder.mkdir()
        write(folder / f"a.{suffix}", "")
        assert [[]] == values(files(folder, schema=INT))
        with pytest.raises(SourceError, match="has no rows to tell a schema from"):
            _ = files(folder).schema
    write(tmp_path / "csv" / "b.csv", "x\n1\n")
    assert [[], [1]] == values(files(tmp_path / "csv"))


def test_a_packed_file_that_is_cut_off_stops_the_run(tmp_path: Path) -> None:
    write(tmp_path / "a.csv.gz", gzip.compress(b"x\n" + b"1\n" * 10_000)[:-20])

    with pytest.raises(SourceError, match=r'a\.csv\.gz" cannot be read'):
        values(files(tmp_path, schema=INT))


# --- JSON lines -----------------------------------------------------------------------------------


def test_json_types_are_inferred_with_microseconds_and_zones(tmp_path: Path) -> None:
    rows = [
        {
            "zoned": "2024-01-01T12:00:00Z",
            "plain": "2024-01-01T12:00:00.5",
            "day": "2024-01-01",
            "n": 1,
            "s": "a",
        },
        {"zoned": "2024-01-01T13:00:00+01:00", "plain": None, "n": 2.5, "l": [1]},
    ]
    source = files(write(tmp_path / "a.json", "\n".join(map(json.dumps, rows))))
    kinds = {
        "zoned": pa.timestamp("us", "UTC"),
        "plain": pa.timestamp("us"),
        "day": pa.date32(),
        "n": pa.float64(),
        "s": pa.string(),
        "l": pa.list_(pa.int64()),
    }
    (batch,) = source.batches()

    assert pa.schema(list(kinds.items())) == source.schema
    assert [NOON, NOON] == batch.rows["zoned"].to_pylist()
    assert [dt.date(2024, 1, 1), None] == batch.rows["day"].to_pylist()
    assert [1.0, 2.5] == batch.rows["n"].to_pylist()
    assert [None, [1]] == batch.rows["l"].to_pylist()


def test_json_types_are_inferred_from_what_can_be_read(tmp_path: Path) -> None:
    text = '{"t": "2024-01-01T12:00:00Z", "n": 1, "none": null}\n'
    kinds = [("t", pa.timestamp("us", "UTC")), ("n", pa.int64()), ("none", pa.null())]
    whole, spoiled = write(tmp_path / "a.json", text), write(tmp_path / "b.json", "oops\n" + text)

    assert pa.schema(kinds) == files(whole).schema
    assert pa.schema(kinds) == files(spoiled).schema


def test_malformed_json_lines_are_set_apart_with_file_line_and_text(tmp_path: Path) -> None:
    lines = [
        b'{"ts": "2024-01-01T12:00:00Z", "price": 1, "who": "a", "extra": 0}',
        b'{"ts": "2024-01-01T12:00:00Z", "price": 2',
        b"",
        b"[3]",
        b'{"ts": "2024-01-01T12:00:00", "price": 4.0}',
        b'{"ts": "2024-01-01T12:00:00Z", "price": 5.5}',
        b'{"ts": "2024-01-01T12:00:00Z", "who": "\xff"}',
    ]
    path = write(tmp_path / "bids.json", b"\r\n".join(lines))
    (batch,) = files(path, schema=BID).batches()

    assert [
        {"ts": NOON, "price": 1, "who": "a"},
        {"ts": NOON, "price": 4, "who": None},
    ] == batch.rows.to_pylist()
    assert [
        "bids.json line 2: not JSON: Expecting ',' delimiter: line 1 column 42 (char 41)",
        "bids.json line 4: the line is not a JSON object but list",
        'bids.json line 6: column "price": 5.5 is not int64',
        "bids.json line 7: the text is not UTF-8",
    ] == [row.reason for row in batch.unreadable]
    assert lines[1].decode() == batch.unreadable[0].raw
    assert '{"ts": "2024-01-01T12:00:00Z", "who": "\\xff"}' == batch.unreadable[3].raw


@pytest.mark.parametrize("spoil", ["", "oops\n"], ids=["fast", "careful"])
def test_json_decimals_keep_every_digit_and_zones_count(tmp_path: Path, spoil: str) -> None:
    schema = pa.schema(
        [("p", pa.decimal128(20, 2)), ("f", pa.float64()), ("t", pa.timestamp("us")), ("d", pa.date32())]
    )
    text = '{"p": 123456789012345678.25, "f": 0.1, "t": "2024-01-01T13:00:00+01:00", "d": "2024-01-01"}\n'
    text += '{"p": "1.5", "f": "NaN", "t": "2024-01-01", "d": null}\n'
    path = write(tmp_path / "a.json", text + spoil)
    (batch,) = files(path, schema=schema).batches()
    naive = NOON.replace(tzinfo=None)

    assert [Decimal("123456789012345678.25"), Decimal("1.50")] == batch.rows["p"].to_pylist()
    assert "[0.1, nan]" == str(batch.rows["f"].to_pylist())
    assert [naive, naive.replace(hour=0)] == batch.rows["t"].to_pylist()
    assert [dt.date(2024, 1, 1), None] == batch.rows["d"].to_pylist()
    assert (1 if spoil else 0) == len(batch.unreadable)


def test_two_objects_on_one_line_are_not_json_lines(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", '{"x": 1}{"x": 2}\n{"x": 3}\n')
    (batch,) = files(path, schema=INT).batches()

    assert [3] == batch.rows["x"].to_pylist()
    assert ['{"x": 1}{"x": 2}'] == [row.raw for row in batch.unreadable]


# --- order, change and restarts -------------------------------------------------------------------------


def three_files(folder: Path) -> None:
    for i, (name, low) in enumerate([("a", 20), ("b", 0), ("c", 10)]):
        pq.write_table(pa.table({"ts": [low + 5, low], "k": ["x", "y"]}), folder / f"{name}.parquet")
        os.utime(folder / f"{name}.parquet", (1000 - i, 1000 - i))


@pytest.mark.parametrize(("order_by", "expected"), [("name", "abc"), ("modified", "cba"), ("ts", "bca")])
@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_files_are_taken_in_the_order_that_is_asked_for(
    tmp_path: Path, order_by: str, expected: str, suffix: str
) -> None:
    three_files(tmp_path)
    if suffix == "csv":
        for path in list(tmp_path.iterdir()):
            written = path.with_suffix(".csv")
            pa_csv.write_csv(pq.read_table(path), written)
            os.utime(written, (path.stat().st_mtime, path.stat().st_mtime))
            path.unlink()
    first = {20: "a", 0: "b", 10: "c"}
    found = [first[min(batch.rows["ts"].to_pylist())] for batch in files(tmp_path, order_by=order_by).batches()]

    assert expected == "".join(found)


def test_an_order_that_is_none_is_refused(tmp_path: Path) -> None:
    three_files(tmp_path)
    with pytest.raises(SourceError, match="files cannot be ordered by 'tz'"):
        files(tmp_path, order_by="tz")


def test_a_file_that_changes_after_it_was_read_is_told_of_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    three_files(tmp_path)
    source = files(tmp_path)
    assert 3 == len(list(source.batches()))
    pq.write_table(pa.table({"ts": [1, 2, 3], "k": ["x", "y", "z"]}), tmp_path / "b.parquet")
    again = files(tmp_path)
    again.seek(source.position)
    for _ in range(2):
        assert [] == list(again.batches())

    assert 1 == caplog.text.count("have changed since they were read, and are not read again: b.parquet.")


class Counting:
    """A source that knows of no position."""

    schema = pa.schema([("ts", pa.int64())])

    def batches(self) -> Any:
        yield Batch(pa.table({"ts": [1, 2, 3]}))


class Live(Counting):
    """A source that hands over only what nobody has taken."""

    live = True


def test_a_source_that_cannot_go_on_where_it_was_is_not_read_twice_in_silence(tmp_path: Path) -> None:
    for life in range(2):
        made = engine_on_disk(tmp_path / "ck", 1)
        made.stream("s", Counting(), progress=ms.ordered("ts")).select("ts").named("q")
        run = made.start(ms.available_now())
        if life == 0:
            run.await_termination()
            continue
        with pytest.raises(SourceError, match="a Counting, cannot go on where it was"):
            run.await_termination()
    for _ in range(2):
        made = engine_on_disk(tmp_path / "live", 1)
        made.stream("s", Live(), progress=ms.ordered("ts")).select("ts").named("q")
        made.start(ms.available_now()).await_termination()


def test_many_late_rows_of_a_back_fill_are_told_of_at_its_end(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    three_files(tmp_path)
    late = {}
    for order_by in ("name", "ts"):
        made = ms.Engine(host="local")
        stream = made.stream("s", files(tmp_path, order_by=order_by), progress=ms.bounded_disorder("ts", 5))
        query = stream.window("ts", range=10).agg(n=ms.count()).named("q")
        made.start(ms.available_now()).await_termination()
        late[order_by] = query.late.table().num_rows
        assert (order_by == "name") == ("4 of 6 rows of stream 's' were late" in caplog.text)
        caplog.clear()

    assert {"name": 4, "ts": 0} == late
