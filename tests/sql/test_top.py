"""Top-n: the same for any arrival order and any cut into epochs, complete windows only, and little state."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.ops.top import Top
from support.harness import SCHEMA, cut, punctuated, some_rows

TEXT = "SELECT k, count(*) AS n, max(v) AS m FROM s [RANGE 10, SLIDE 5, WATTR ts] GROUP BY k ORDER BY n DESC, m LIMIT 2"


@given(st.integers(0, 2**32))
def test_top_does_not_depend_on_arrival(seed: int) -> None:
    rnd = random.Random(seed)
    rows = some_rows(rnd, 40, 60, keys=["a", "b", "c", "d", None])
    arriving = list(rows)
    rnd.shuffle(arriving)
    engine = ms.Engine(host="local")
    epochs = punctuated(cut(arriving, rnd), rnd)
    engine.stream("s", epochs or [ms.Epoch(SCHEMA.empty_table())], schema=SCHEMA, progress=ms.supplied("ts"))
    query = engine.sql(TEXT, name="q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()

    found = sorted(((r["window_id"], r["k"], r["n"], r["m"]) for r in query.table().to_pylist()), key=repr)

    assert sorted(naive(rows), key=repr) == found


@pytest.mark.parametrize("ends", ["window_end", "window_end AS closed", "*"])
def test_the_first_rows_of_each_window_can_be_cut_into_windows_again(ends: str) -> None:
    engine = ms.Engine(host="local")
    engine.stream("s", [], schema=SCHEMA, progress=ms.ordered("ts"))
    columns = "k, count(*) AS n" if ends == "*" else f"{ends}, k, count(*) AS n"
    first = f"SELECT {columns} FROM s [RANGE 10, WATTR ts] GROUP BY k ORDER BY n DESC, window_end LIMIT 2"
    again = ends.split()[-1].replace("*", "window_end")
    engine.sql(f"SELECT max(n) AS m FROM ({first}) [RANGE 50, WATTR {again}]", name="q")

    assert engine.check().safe


def naive(rows: list[dict[str, object]]) -> list[tuple[object, ...]]:
    cells: dict[int, dict[object, list[dict[str, object]]]] = {}
    for row in rows:
        ts = row["ts"]
        assert isinstance(ts, int)
        for wid in range(ts // 5, (ts + 10) // 5):
            cells.setdefault(wid, {}).setdefault(row["k"], []).append(row)
    out: list[tuple[object, ...]] = []
    for wid, groups in cells.items():
        results = []
        for key, mine in groups.items():
            values = [row["v"] for row in mine if isinstance(row["v"], int)]
            results.append((key, len(mine), max(values, default=None)))
        results.sort(key=lambda one: (-one[1], one[2] is None, one[2] or 0, one[0] is None, one[0] or ""))
        out += [(wid, *one) for one in results[:2]]
    return out


def test_top_holds_no_more_than_it_may_need() -> None:
    top = Top(("id", "start", "end"), {"end"}, (("n", True),), limit=3)
    rows = {"id": [1] * 50 + [2] * 50, "start": [0] * 100, "end": [10] * 50 + [20] * 50, "n": list(range(100))}

    top.take(0, pa.table(rows))

    assert 6 == top.store.rows
    assert 94 == top.meter.filtered
