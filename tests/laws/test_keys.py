"""One definition of equality: a query by floats answers as the same query by the texts that name them."""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from support.bags import difference
from support.in_process import engine as engine_on_disk

ODD_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000123))[0]
VALUES = st.sampled_from([float("nan"), ODD_NAN, 0.0, -0.0, -0.5, float("inf"), None])


def name_of(value: float | None) -> str | None:
    """The text that names a key: one for all that are equal."""
    if value is None:
        return None
    return "nan" if value != value else str(value + 0.0)


ASKS: dict[str, Callable[[ms.Stream], ms.Query]] = {
    "groups": lambda s: s.window("ts", range=6, slide=3).group_by("k").agg(n=ms.count(), v=ms.sum("v")),
    "sessions": lambda s: s.window("ts", gap=3).group_by("k").agg(n=ms.count()),
    "distinct": lambda s: s.select("k").distinct("k"),
    "distinct keys": lambda s: s.distinct("k", "ts").select("k", "ts"),
    "row windows": lambda s: s.window(by="rows", range=3, slide=2, partition_by="k").group_by("k").agg(v=ms.sum("v")),
    "wid": lambda s: s.window("ts", range=4).group_by("k").agg(v=ms.sum("v"), strategy="wid"),
    "adaptive": lambda s: s.window("ts", range=6, slide=2).group_by("k").agg(n=ms.count(), strategy="adaptive"),
    "distinct values": lambda s: s.window("ts", range=9).agg(n=ms.count_distinct("k")),
    "landmark": lambda s: s.window("ts", range="all", slide=5).group_by("k").agg(n=ms.count()),
}


def answer(
    ask: Callable[[ms.Stream], ms.Query], rows: list[dict[str, Any]], kind: pa.DataType, progress: Any, *, on_disk: bool
) -> list[dict[str, Any]]:
    schema = pa.schema([("ts", pa.int64()), ("k", kind), ("v", pa.int64())])
    cut = max(1, len(rows) // 3)
    tables = [pa.Table.from_pylist(rows[at : at + cut], schema=schema) for at in range(0, len(rows), cut)]
    with TemporaryDirectory() as root:
        made = engine_on_disk(Path(root), 3) if on_disk else ms.Engine(host="local")
        query = ask(made.stream("s", tables, schema=schema, progress=progress)).named("q")
        run = made.start(ms.available_now(), end_of_stream=True, allow_unbounded=True)
        run.await_termination()
        books = run.progress["queries"]["q"]["books"] if run.progress else {"unaccounted": 0}
        assert 0 == books["unaccounted"]
        found = query.table().to_pylist()
        late = query.late.table().drop_columns(["epoch", "punctuation"]).to_pylist()
    out = [*found, *({**row, "late": True} for row in late)]
    if kind == pa.string():
        return out
    return [{**row, "k": name_of(row["k"])} if "k" in row else row for row in out]


@pytest.mark.parametrize("on_disk", [False, True], ids=["local", "tasks"])
@pytest.mark.parametrize("ask", ASKS)
@settings(max_examples=settings().max_examples * 3 // 5)
@given(rows=st.lists(st.tuples(st.integers(0, 15), VALUES, st.integers(0, 9)), max_size=25))
def test_floats_are_keys_as_the_texts_that_name_them(
    ask: str,
    rows: list[tuple[int, Any, int]],
    on_disk: bool,  # noqa: FBT001 - a parameter
) -> None:
    rows.sort(key=lambda row: row[0])
    floats = [{"ts": ts, "k": k, "v": v} for ts, k, v in rows]
    texts = [{**row, "k": name_of(row["k"])} for row in floats]

    for progress in (ms.ordered("ts"), None):
        expected = answer(ASKS[ask], texts, pa.string(), progress, on_disk=on_disk)
        assert {} == difference(expected, answer(ASKS[ask], floats, pa.float64(), progress, on_disk=on_disk))


@pytest.mark.parametrize("on_disk", [False, True], ids=["local", "tasks"])
@settings(max_examples=settings().max_examples * 3 // 5)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 15), VALUES.filter(lambda value: value is not None), st.integers(0, 9)), max_size=25
    )
)
def test_progress_of_each_float_is_that_of_the_text_that_names_it(
    rows: list[tuple[int, Any, int]],
    on_disk: bool,  # noqa: FBT001 - a parameter
) -> None:
    floats = [{"ts": ts, "k": k, "v": v} for ts, k, v in rows]
    texts = [{**row, "k": name_of(row["k"])} for row in floats]
    progress = ms.per_group("k", ms.bounded_disorder("ts", 2))

    expected = answer(ASKS["groups"], texts, pa.string(), progress, on_disk=on_disk)
    assert {} == difference(expected, answer(ASKS["groups"], floats, pa.float64(), progress, on_disk=on_disk))


@pytest.mark.parametrize("on_disk", [False, True], ids=["local", "tasks"])
@pytest.mark.parametrize("how", ["inner", "left", "full", "semi", "anti"])
@settings(max_examples=max(1, settings().max_examples * 3 // 10))
@given(
    left=st.lists(st.tuples(st.integers(0, 9), VALUES, st.integers(0, 9)), max_size=12),
    right=st.lists(st.tuples(st.integers(0, 9), VALUES, st.integers(0, 9)), max_size=12),
)
def test_joins_by_floats(
    how: str,
    left: list[tuple[int, Any, int]],
    right: list[tuple[int, Any, int]],
    on_disk: bool,  # noqa: FBT001 - a parameter
) -> None:
    def joined(kind: pa.DataType) -> list[dict[str, Any]]:
        schema = pa.schema([("ts", pa.int64()), ("k", kind), ("v", pa.int64())])
        named = (lambda k: k) if kind != pa.string() else name_of
        with TemporaryDirectory() as root:
            made = engine_on_disk(Path(root), 3) if on_disk else ms.Engine(host="local")
            sides = [
                made.stream(
                    name,
                    pa.Table.from_pylist([{"ts": t, "k": named(k), "v": v} for t, k, v in some], schema=schema),
                    progress=ms.bounded_disorder("ts", 20),
                )
                for name, some in (("a", left), ("b", right))
            ]
            query = sides[0].join(sides[1], on="k", within=3, how=how).named("q")
            made.start(ms.available_now(), end_of_stream=True).await_termination()
            found = query.table().to_pylist()
        return [{name: name_of(v) if isinstance(v, float) else v for name, v in row.items()} for row in found]

    assert {} == difference(joined(pa.string()), joined(pa.float64()))


@pytest.mark.parametrize("on_disk", [False, True], ids=["local", "tasks"])
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.decimal128(5, 1), pa.decimal128(9, 3)),
        (pa.int32(), pa.int64()),
        (pa.int8(), pa.int64()),
        (pa.float32(), pa.float64()),
        (pa.string(), pa.large_string()),
        (pa.timestamp("ms", "UTC"), pa.timestamp("us", "UTC")),
    ],
    ids=str,
)
def test_keys_of_other_widths_meet_or_are_refused(
    one: pa.DataType,
    other: pa.DataType,
    on_disk: bool,  # noqa: FBT001 - a parameter
    tmp_path: Path,
) -> None:
    """Equal values meet in whatever type each side has them; a pair of types that cannot is refused in words."""
    values: list[Any] = [Decimal("1.5"), Decimal("2.0")] if pa.types.is_decimal(one) else [1, 2]
    if pa.types.is_string(one):
        values = ["a", "b"]
    if pa.types.is_floating(one):
        values = [1.5, 2.0]
    made = engine_on_disk(tmp_path, 3) if on_disk else ms.Engine(host="local")
    sides = [
        made.stream(
            name,
            pa.table({"ts": pa.array([1, 2], pa.int64()), "k": pa.array(values).cast(kind)}),
            progress=ms.ordered("ts"),
        )
        for name, kind in (("a", one), ("b", other))
    ]
    try:
        query = sides[0].join(sides[1], on="k", within=3).named("q")
    except ms.MillstreamError as error:
        assert "k" in str(error)  # noqa: PT017 - refused in words, or the join must be right
        return
    made.start(ms.available_now(), end_of_stream=True).await_termination()

    assert 2 == query.table().num_rows


def test_as_of_takes_nan_for_the_greatest_of_equals() -> None:
    made = ms.Engine(host="local")
    left = made.stream("l", [{"ts": 5, "k": "a"}], progress=ms.ordered("ts"))
    quotes = [{"ts": 3, "k": "a", "price": price} for price in (1.0, float("nan"), float("inf"), None)]
    right = made.stream("r", pa.Table.from_pylist(quotes), progress=ms.ordered("ts"))
    query = left.join_as_of(right, on="k").named("q")
    made.start(ms.available_now(), end_of_stream=True).await_termination()
    (row,) = query.table().to_pylist()

    assert row["price"] != row["price"]


def test_top_takes_nan_for_the_greatest() -> None:
    made = ms.Engine(host="local")
    rows = [{"ts": 1, "x": x} for x in (1.0, float("nan"), float("inf"), None)]
    stream = made.stream("s", pa.Table.from_pylist(rows), progress=ms.ordered("ts"))
    stream.window("ts", range=10).agg(n=ms.count())
    query = made.sql(
        "SELECT window_start, x, count(*) AS n FROM s [RANGE 10, WATTR ts] GROUP BY x ORDER BY x DESC LIMIT 2", name="q"
    )
    made.start(ms.available_now(), end_of_stream=True).await_termination()

    assert [True, False] == [value != value for value in query.table()["x"].to_pylist()]


def test_a_late_row_is_told_the_same_whichever_zero_came_first() -> None:
    said = set()
    for zeros in ((0.0, -0.0), (-0.0, 0.0)):
        made = ms.Engine(host="local")
        rows = [[{"ts": 9, "k": zero} for zero in zeros], [{"ts": 1, "k": zeros[0]}]]
        stream = made.stream("s", rows, progress=ms.per_group("k", ms.ordered("ts")))
        query = stream.window("ts", range=5).group_by("k").agg(n=ms.count()).named("q")
        made.start(ms.available_now()).await_termination()
        said |= set(query.late.table()["punctuation"].to_pylist())

    assert {"k = 0.0, ts < 9"} == said


ASKED: dict[str, Callable[[ms.Stream], ms.Query]] = {
    "a window": lambda s: s.window("ts", range=5).group_by("k").agg(n=ms.count()),
    "differential": lambda s: s.window("ts", range=6, slide=2).group_by("k").agg(n=ms.count(), strategy="differential"),
    "a session": lambda s: s.window("ts", gap=3).group_by("k").agg(n=ms.count()),
    "a window of rows": lambda s: s.window("ts", range=2, by="rows", partition_by="k").agg(n=ms.count()),
    "no window": lambda s: s.group_by("k").agg(n=ms.count()),
    "distinct": lambda s: s.distinct("k"),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_group_is_shown_the_same_whichever_zero_came_first(name: str) -> None:
    shown = set()
    for zeros in ((0.0, -0.0), (-0.0, 0.0)):
        made = ms.Engine(host="local")
        stream = made.stream("s", [[{"ts": at, "k": zero}] for at, zero in enumerate(zeros)], progress=ms.ordered("ts"))
        query = ASKED[name](stream).named("q")
        made.start(ms.available_now(), end_of_stream=True).await_termination()
        shown |= set(map(str, query.table()["k"].to_pylist()))

    assert {"0.0"} == shown
