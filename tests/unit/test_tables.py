"""Tables beside streams: what they are read from, how they are looked into, and which version an epoch reads."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest

import millstream as ms
from millstream.plan import nodes
from support import in_process
from support.spark_driver import Keeper

ITEMS = pa.table({"item": ["lamp", "sofa", "sofa"], "kind": ["light", "seat", "bed"], "least": [3, 5, 9]})
BIDS = [
    {"ts": 1, "item": "lamp", "price": 4},
    {"ts": 2, "item": "sofa", "price": 7},
    {"ts": 3, "item": "vase", "price": 9},
]


def engine_with(rows: Any = BIDS, **options: Any) -> tuple[ms.Engine, ms.Stream]:
    engine = ms.Engine(host="local")
    return engine, engine.stream("bids", rows, progress=ms.ordered("ts"), **options)


def answer(query: ms.Query) -> list[tuple[Any, ...]]:
    query.named("q")
    query.engine.start(ms.available_now()).await_termination()
    return sorted((tuple(row.values()) for row in query.table().to_pylist()), key=repr)


PAIRS = [(1, "lamp", 4, "light", 3), (2, "sofa", 7, "bed", 9), (2, "sofa", 7, "seat", 5)]


def as_csv(folder: Path) -> Path:
    pc.write_csv(ITEMS, folder / "items.csv")
    return folder / "items.csv"


def as_parquet(folder: Path) -> str:
    pq.write_table(ITEMS, folder / "items.parquet")
    return str(folder / "items.parquet")


def as_folder(folder: Path) -> Path:
    (folder / "items").mkdir()
    for i in range(3):
        pq.write_table(ITEMS.slice(i, 1), folder / "items" / f"{i}.parquet")
    return folder / "items"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "an Arrow table": lambda _: ITEMS,
    "dict rows": lambda _: ITEMS.to_pylist(),
    "a callable": lambda _: lambda: ITEMS,
    "a callable of rows": lambda _: ITEMS.to_pylist,
    "a CSV file": as_csv,
    "a Parquet file": as_parquet,
    "a folder": as_folder,
}


@pytest.mark.parametrize("kind", SOURCES)
def test_a_table_is_read_from(kind: str, tmp_path: Path) -> None:
    _, bids = engine_with()

    assert PAIRS == answer(bids.enrich(SOURCES[kind](tmp_path), on="item"))


def test_a_source_of_files_is_read_from_the_start_each_time(tmp_path: Path) -> None:
    engine, bids = engine_with()
    engine.table("items", ms.files(as_folder(tmp_path), "parquet"))
    query = bids.enrich("items", on="item")
    pq.write_table(ITEMS.slice(0, 1), tmp_path / "items" / "4.parquet")
    engine.refresh("items")

    assert sorted([*PAIRS, PAIRS[0]]) == answer(query)


def test_a_table_is_known_by_its_object_and_by_its_name() -> None:
    engine, bids = engine_with()
    items = engine.table("items", ITEMS)

    assert bids.enrich(items, on="item").schema == bids.enrich("items", on="item").schema
    assert PAIRS == answer(bids.enrich("items", on="item"))


def test_rows_without_a_partner_leave_with_nulls() -> None:
    _, bids = engine_with()

    assert sorted([*PAIRS, (3, "vase", 9, None, None)], key=repr) == answer(bids.enrich(ITEMS, on="item", how="left"))


def test_a_condition_is_part_of_the_pair() -> None:
    _, bids = engine_with()

    made = answer(bids.enrich(ITEMS, on="item", how="left", where="price > least AND kind <> 'light'"))

    assert [(1, "lamp", 4, None, None), (2, "sofa", 7, "seat", 5), (3, "vase", 9, None, None)] == made


def test_without_keys_every_row_of_the_table_is_a_partner() -> None:
    _, bids = engine_with(BIDS[:1])

    assert 3 == len(answer(bids.select("ts").enrich(ITEMS)))


@pytest.mark.parametrize("kinds", [(pa.int32(), pa.int64()), (pa.int64(), pa.int8()), (pa.string(), pa.large_string())])
def test_keys_of_other_widths_are_the_same_values(kinds: tuple[pa.DataType, pa.DataType]) -> None:
    engine = ms.Engine(host="local")
    stream = engine.stream("s", pa.table({"k": pa.array([1, 2]).cast(kinds[0])}))
    table = pa.table({"id": pa.array([2, 3]).cast(kinds[1]), "name": ["two", "three"]})

    assert ["two"] == [row[-1] for row in answer(stream.enrich(table, on=[("k", "id")]))]


def test_floats_that_are_no_number_and_both_zeros_find_each_other() -> None:
    engine = ms.Engine(host="local")
    stream = engine.stream("s", pa.table({"k": [float("nan"), 0.0, None]}))

    assert 2 == len(answer(stream.enrich(pa.table({"k": [float("nan"), -0.0, None], "n": [1, 2, 3]}), on="k")))


# --- what is wrong ----------------------------------------------------------------------------------


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    engine, _ = engine_with()

    with pytest.raises(ms.SourceError, match=r"nowhere\.parquet"):
        engine.table("items", tmp_path / "nowhere.parquet")


def test_rows_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    (tmp_path / "items.csv").write_text("item,least\nlamp,3\nsofa,many\n")
    schema = pa.schema({"item": pa.string(), "least": pa.int64()})

    with pytest.raises(ms.SourceError, match="1 rows of the table cannot be read, the first is"):
        engine_with()[0].table("items", tmp_path / "items.csv", schema=schema)


WRONG: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "no such key": ({"on": "id"}, ms.SchemaError, "there is no column 'id'"),
    "no such key of the table": ({"on": [("item", "id")]}, ms.SchemaError, "there is no column 'id'"),
    "another type": (
        {"on": [("price", "kind")]}, ms.SchemaError,
        "price of the stream is int64 and kind of the table 'items' is string",
    ),
    "another kind": ({"on": "item", "how": "full"}, ms.PlanError, "enrich is inner or left, and not 'full'"),
    "no condition": ({"on": "item", "where": "w > 3"}, ms.ExpressionError, 'unknown column "w"'),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_look_into_a_table_is_told_clearly(case: str) -> None:
    engine, bids = engine_with()
    arguments, error, words = WRONG[case]

    with pytest.raises(error, match=words):
        bids.enrich(engine.table("items", ITEMS), **arguments)


def test_a_stream_is_no_table_and_a_table_no_stream() -> None:
    engine, bids = engine_with()
    items = engine.table("items", ITEMS)

    with pytest.raises(ms.PlanError, match="a stream is no table"):
        bids.enrich(bids, on="item")
    with pytest.raises(ms.PlanError, match="'items' is a table, and no stream"):
        bids.join(items, on="item")  # type: ignore[arg-type]  # on purpose
    with pytest.raises(ms.PlanError, match="is of another engine"):
        engine_with()[1].enrich(items, on="item")


def test_names_are_taken_once() -> None:
    engine, bids = engine_with()
    engine.table("items", ITEMS)

    for name in ("items", "bids"):
        with pytest.raises(ms.PlanError, match=f"there is a table, stream or view '{name}' already"):
            engine.table(name, ITEMS)
    with pytest.raises(ms.PlanError, match="there is a table 'items' already"):
        engine.stream("items", BIDS)
    with pytest.raises(ms.PlanError, match="there is no table 'item'"):
        engine.refresh("item")
    assert bids.schema


def test_a_table_that_has_lost_a_column_or_changed_a_type_is_told(tmp_path: Path) -> None:
    engine, _ = engine_with()
    path = Path(as_parquet(tmp_path))
    engine.table("items", path)

    pq.write_table(ITEMS.drop_columns(["kind"]), path)
    with pytest.raises(ms.SchemaError, match="the table 'items' has no column 'kind' any more"):
        engine.refresh("items")
    pq.write_table(ITEMS.set_column(2, "least", pa.array(["x", "y", "z"])), path)
    with pytest.raises(ms.SchemaError, match="'least' of the table 'items' is string now and was int64"):
        engine.refresh("items")


# --- SQL and plans ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "SELECT b.ts, b.item, price, kind, least FROM bids b JOIN items i ON b.item = i.item",
        "SELECT ts, bids.item, price, kind, least FROM bids, items WHERE bids.item = items.item",
        "SELECT ts, item, price, kind, least FROM bids JOIN items USING (item)",
    ],
)
def test_a_join_with_a_table_looks_rows_up(text: str) -> None:
    engine, _ = engine_with()
    engine.table("items", ITEMS)

    assert PAIRS == answer(engine.sql(text))


def test_a_left_join_in_sql_keeps_rows_and_its_condition_is_of_the_pair() -> None:
    engine, _ = engine_with()
    engine.table("items", ITEMS)

    made = answer(
        engine.sql("SELECT ts, kind FROM bids LEFT JOIN items ON bids.item = items.item AND least <= price - 2")
    )

    assert [(1, None), (2, "seat"), (3, None)] == made


def test_the_window_of_a_stream_beside_tables_is_that_of_the_query() -> None:
    engine, _ = engine_with()
    engine.table("items", ITEMS)
    text = "SELECT kind, count(*) AS n FROM bids {0} JOIN items ON bids.item = items.item GROUP BY kind {1}"

    for one in (text.format("[RANGE 10, WATTR ts]", ""), text.format("", "[RANGE 10, WATTR ts]")):
        query = engine.sql(one)
        aggregate = next(node for node in nodes.walk(query.node) if isinstance(node, nodes.Aggregate))
        assert ("ts", ("kind",)) == (aggregate.attribute, aggregate.groups)


def test_a_query_of_with_hides_a_table() -> None:
    engine, _ = engine_with()
    engine.table("items", ITEMS)

    assert 3 == len(answer(engine.sql("WITH items AS (SELECT ts FROM bids) SELECT ts FROM items")))


def test_columns_that_nobody_reads_are_left_behind_and_conditions_of_the_stream_move_below() -> None:
    engine, bids = engine_with()
    bids.enrich(ITEMS, on="item").where("price > 4 AND kind <> 'bed'").select("ts", "kind").named("q")
    plan = engine.host.plan({"q": engine._queries["q"].node})

    enrich = next(node for node in nodes.walk(plan["q"]) if isinstance(node, nodes.Enrich))

    assert ["ts", "kind"] == enrich.schema.names
    assert isinstance(enrich.input, nodes.Select)
    assert "price > 4" == str(enrich.input.condition)
    assert "enrich from table table_1 on item = item" in engine.explain()


def test_books_balance_though_rows_leave_more_than_once() -> None:
    engine, bids = engine_with()
    bids.enrich(ITEMS, on="item").named("q")
    run = engine.start(ms.available_now())
    run.await_termination()

    books = run.progress["queries"]["q"]["books"]
    assert (3, 1, 2) == (books["rows_in"], books["filtered"], books["accepted"])


def test_a_query_with_a_table_keeps_nothing() -> None:
    engine, bids = engine_with()
    bids.enrich(ITEMS, on="item").named("q")

    assert engine.check().safe
    assert () == engine.check()["q"].checked.verdicts


# --- versions ---------------------------------------------------------------------------------------


def stepping(engine: ms.Engine, epochs: list[list[dict[str, Any]]], table: Any) -> tuple[ms.Query, Keeper]:
    """A query that takes one of the epochs each start."""
    stream = engine.stream("s", epochs, schema=pa.schema({"k": pa.int64()}))
    query = stream.enrich(engine.table("t", table, schema=pa.schema({"k": pa.int64(), "v": pa.int64()})), on="k")
    keeper = Keeper()
    return query.named("q").to(keeper), keeper


def go(engine: ms.Engine) -> None:
    engine.start(ms.once()).await_termination()


def rows(value: int) -> list[dict[str, int]]:
    return [{"k": 1, "v": value}]


def test_a_refreshed_table_holds_from_the_next_epoch_and_not_before(tmp_path: Path) -> None:
    for engine in (ms.Engine(host="local"), in_process.engine(tmp_path, 2)):
        now = rows(10)
        _, keeper = stepping(engine, [[{"k": 1}]] * 3, lambda: now)  # noqa: B023 - asked for within the loop
        go(engine)
        now = rows(20)
        go(engine)
        engine.refresh("t")
        go(engine)

        assert [10, 10, 20] == [row["v"] for row in keeper.rows]


def test_a_restart_reads_the_version_that_the_manifest_names_until_it_is_refreshed(tmp_path: Path) -> None:
    engine = in_process.engine(tmp_path, 2)
    _, first = stepping(engine, [[{"k": 1}]], rows(10))
    go(engine)

    engine = in_process.engine(tmp_path, 2)
    _, second = stepping(engine, [[{"k": 1}]] * 3, rows(20))
    go(engine)
    engine.refresh("t")
    go(engine)

    assert [[10], [10, 20]] == [[row["v"] for row in keeper.rows] for keeper in (first, second)]


def broken_after_a_refresh(engine: ms.Engine, keeper: Keeper) -> None:
    """The table is read again, and the epoch that was to use it fails when its tasks have run."""
    engine.refresh("t")
    step = engine.host.jobs.step

    def broken(*arguments: Any) -> Any:
        step(*arguments)
        raise RuntimeError("the power is out")

    engine.host.jobs.step = broken
    with pytest.raises(ms.RunError):
        go(engine)
    engine.host.jobs.step = step
    assert [] == keeper.rows


def test_after_a_crash_a_new_process_reads_the_version_of_the_manifest(tmp_path: Path) -> None:
    engine = in_process.engine(tmp_path, 2)
    stepping(engine, [[{"k": 1}]], rows(10))
    go(engine)
    engine = in_process.engine(tmp_path, 2)
    _, keeper = stepping(engine, [[{"k": 1}]] * 2, rows(20))
    broken_after_a_refresh(engine, keeper)

    engine = in_process.engine(tmp_path, 2)
    _, keeper = stepping(engine, [[{"k": 1}]] * 2, rows(30))
    go(engine)

    # 20 was never committed, and 30 was never asked for by a refresh.
    assert [10] == [row["v"] for row in keeper.rows]


def test_after_a_failure_the_same_process_still_has_its_refresh(tmp_path: Path) -> None:
    engine = in_process.engine(tmp_path, 2)
    stepping(engine, [[{"k": 1}]], rows(10))
    go(engine)
    engine = in_process.engine(tmp_path, 2)
    _, keeper = stepping(engine, [[{"k": 1}]] * 2, rows(20))
    broken_after_a_refresh(engine, keeper)

    go(engine)

    assert [20] == [row["v"] for row in keeper.rows]


def test_versions_are_kept_while_a_manifest_may_need_them_and_no_longer(tmp_path: Path) -> None:
    engine = in_process.engine(tmp_path, 2)
    stepping(engine, [[{"k": 1}]] * 9, rows(10))
    found: list[int] = []
    for refreshed in (False, True, True, False, False, False, False):
        if refreshed:
            engine.refresh("t")
        go(engine)
        found.append(len(list((tmp_path / "tables").glob("*.arrow"))))

    assert [1, 2, 3, 2, 1, 1, 1] == found


def test_a_version_that_is_damaged_is_told_at_a_restart(tmp_path: Path) -> None:
    engine = in_process.engine(tmp_path, 2)
    stepping(engine, [[{"k": 1}]], rows(10))
    go(engine)
    (file,) = (tmp_path / "tables").glob("*.arrow")
    file.write_bytes(file.read_bytes()[:-1])

    engine = in_process.engine(tmp_path, 2)
    stepping(engine, [[{"k": 1}]], rows(10))
    with pytest.raises(ms.StateError, match=r"tables/t-0+\.arrow has \d+ bytes instead of \d+"):
        go(engine)


def test_tables_do_not_travel_with_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: Counter[str] = Counter()
    dumps = in_process.cloudpickle.dumps

    def measured(what: Any) -> bytes:
        out = dumps(what)
        sizes["bytes"] = max(sizes["bytes"], len(out))
        return out

    monkeypatch.setattr(in_process.cloudpickle, "dumps", measured)
    engine = in_process.engine(tmp_path, 2)
    _, keeper = stepping(engine, [[{"k": 1}]], [{"k": i, "v": i} for i in range(100_000)])
    go(engine)

    assert [1] == [row["v"] for row in keeper.rows]
    assert 0 < sizes["bytes"] < 20_000
