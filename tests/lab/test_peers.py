"""Other engines are compared on equal inputs, with equal answers, or not at all."""

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from peers import data, oracle
from peers.digest import pair_row, pair_row_sql, window_row, window_row_sql
from peers.driver import Job
from peers.engines.duckdb_batch import DuckDb
from peers.engines.millstream_local import Local
from peers.matrix import HOSTS, cells
from peers.meter import Meter
from peers.ratios import Mismatch, apart, check, costs, judged, ratios
from peers.stage import Stage
from peers.workloads import COLUMNS, DISORDER, WORKLOADS, Workload


def test_the_same_rows_are_made_every_time_and_stray_less_than_a_second() -> None:
    first, second = data.stream("bids", 5_000, 10), data.stream("bids", 5_000, 10)
    at = first["ts"].to_numpy()

    assert first.equals(second)
    assert list(COLUMNS) == first.column_names
    assert not first.equals(data.stream("asks", 5_000, 10))
    assert 0 < (np.maximum.accumulate(at) - at).max() < DISORDER
    assert first["seq"].to_pylist() == list(range(5_000))


def test_all_forms_of_a_stream_have_the_same_rows(tmp_path: Path) -> None:
    folder = data.make(data.DataSet(1_000, 7), tmp_path) / "bids"
    rows = data.stream("bids", 1_000, 7)
    ended = pa.concat_tables(pq.read_table(path) for path in sorted((folder / "ended").iterdir()))
    dealt = [np.fromfile(path, ">i8").reshape(-1, len(COLUMNS)) for path in sorted((folder / "binary").iterdir())]

    assert rows.equals(pa.concat_tables(pq.read_table(path) for path in sorted((folder / "parquet").iterdir())))
    assert rows.equals(ended.slice(0, 1_000))
    assert 1_001 == ended.num_rows
    assert ended["ts"][-1].as_py() - max(rows["ts"].to_pylist()) > max(w for w, _ in WORKLOADS["W2-60"].windows)
    for i, part in enumerate(dealt):
        assert np.array_equal(np.stack([rows[name].to_numpy()[i::2] for name in COLUMNS], axis=1), part)


def test_files_that_were_made_by_other_code_are_made_again(tmp_path: Path) -> None:
    folder = data.make(data.DataSet(100, 7), tmp_path)
    (folder / "W1.json").write_text("[1, 2]")
    data.make(data.DataSet(100, 7), tmp_path)
    assert (folder / "W1.json").exists()

    (folder / "done").write_text("something else")
    data.make(data.DataSet(100, 7), tmp_path)
    assert not (folder / "W1.json").exists()


def test_a_digest_is_the_same_number_in_python_in_numpy_and_in_sql() -> None:
    numbers = np.random.default_rng(1).integers(0, 2_000_000_000, (200, 3))
    k, e, v = numbers.T
    shown = duckdb.from_arrow(pa.table({"k": k, "e": e, "v": v}))
    found = shown.project(f"{window_row_sql('k', 'e', 'v')} AS w, {pair_row_sql('e', 'v')} AS p").fetchall()

    assert found == list(zip(window_row(k, e, v).tolist(), pair_row(e, v).tolist(), strict=True))
    assert found == [(window_row(*row), pair_row(*row[1:])) for row in numbers.tolist()]


def test_the_oracle_sums_what_windows_and_pairs_are_by_definition(tmp_path: Path) -> None:
    made = data.DataSet(300, 3, ("bids", "asks"))
    folder = data.make(made, tmp_path)
    bids, asks = (data.stream(name, 300, 3).to_pylist() for name in made.streams)
    windows: dict[tuple[int, int], int] = {}
    for row in bids:
        for end in range(row["ts"] // 1000 + 1, row["ts"] // 1000 + 6):
            windows[row["auction"], end] = max(row["price"], windows.get((row["auction"], end), 0))
    pairs = [
        pair_row(bid["seq"], ask["seq"])
        for bid in bids
        for ask in asks
        if bid["auction"] == ask["auction"] and abs(bid["ts"] - ask["ts"]) <= 5_000
    ]

    summed = sum(window_row(key, end, top) for (key, end), top in windows.items())
    assert (len(windows), summed) == oracle.answer(WORKLOADS["W2-5"], folder)
    assert (len(pairs), sum(pairs)) == oracle.answer(WORKLOADS["W4-5"], folder)


@pytest.mark.parametrize("workload", WORKLOADS)
@pytest.mark.parametrize("engine", [DuckDb, Local])
def test_engines_that_need_no_environment_answer_as_the_oracle_does(tmp_path: Path, workload: str, engine: Any) -> None:
    asked = WORKLOADS[workload]
    folder = data.make(data.DataSet(2_000, 10, asked.streams), tmp_path)
    with Meter() as meter:
        answer = engine().answer(Job(workload=workload, folder=folder, rows=2_000), meter)

    assert oracle.answer(asked, folder) == (answer.rows, answer.checksum)
    assert meter.seconds > 0


def test_a_workload_has_either_windows_or_bands() -> None:
    with pytest.raises(ValueError, match="either windows or bands"):
        Workload(says="nothing")


def test_every_cell_has_millstream_in_it_and_a_peer_on_the_same_input() -> None:
    for cell in cells():
        engines = {one.engine for one in cell.contenders}
        assert HOSTS["local"] in engines
        assert engines - set(HOSTS.values())
    large = {cell.workload: cell for cell in cells() if cell.size == "large"}
    assert all(large[name].data.rows >= 4_000_000 for name in ("W2-5", "W2-20", "W2-60"))


def test_cells_and_engines_are_chosen_by_name() -> None:
    assert ["W1/large", "W1/middle", "W1/small"] == [cell.name for cell in cells(["W1"])]
    assert ["W1/small"] == [cell.name for cell in cells(["W1"], ["bytewax"])]
    assert [("W4-5", 1_000_000), ("W4-30", 1_000_000)] == [
        (cell.workload, cell.data.rows) for cell in cells() if cell.size == "stored"
    ]
    (cell,) = cells(["W4-5/large"], ["flink"], most_rows=500)
    assert ["millstream-spark", "millstream-local", "flink, heap"] == [one.label for one in cell.contenders]
    assert (500, 50) == (cell.data.rows, cell.data.keys)
    with pytest.raises(ValueError, match="no cell 'W9'"):
        list(cells(["W9"]))
    with pytest.raises(ValueError, match="no engine 'storm'"):
        list(cells([], ["storm"]))


def run(seconds: float, cpu: float) -> dict[str, Any]:
    return {"seconds": seconds, "cpu_seconds": cpu, "peak_bytes": 2**20, "load": [1.0, 1.0, 1.0]}


def measured(ours: float = 1.0, theirs: float = 3.0) -> dict[str, Any]:
    return {
        "says": "…",
        "rows_in": 1_000_000,
        "rows_out": 10,
        "runs": {
            "millstream-spark": [run(ours, 2.0), run(ours, 2.0), run(50.0, 90.0)],
            "flink, heap": [run(theirs, 1.0)],
            "duckdb": [run(0.1, 0.0)],
        },
        "left_out": {"polars": "it ended without a word"},
    }


def test_ratios_are_of_medians_and_say_how_much_more_a_peer_takes() -> None:
    flink, batch = ratios("W2-60/large", measured())

    assert (3.0, 0.5, "spark") == (flink.wall, flink.cpu, flink.host)
    assert not flink.ahead
    assert 2.0 == costs(measured())["millstream-spark"].cpu_per_row
    assert batch.cpu > 0  # less than can be counted is not nothing
    assert judged(flink, {"flink": ("spark", ("W2-60",))})
    assert not judged(flink, {"flink": ("local", ("W2-60",))})
    assert not judged(batch, {"flink": ("spark", ("W2-60",))})


def test_two_measurements_lie_apart_by_the_larger_over_the_smaller() -> None:
    found = apart(measured(theirs=3.0), measured(theirs=2.4))
    assert {("flink, heap", 0.25, 0.0), ("duckdb", 0.0, 0.0)} == {
        (one["label"], round(one["wall"], 6), round(one["cpu"], 6)) for one in found
    }


def test_another_answer_stops_with_both_values() -> None:
    check("W1/large", "flink, heap", {"rows_out": 3, "checksum": 7}, (3, 7))
    with pytest.raises(
        Mismatch, match=r"W1/large: flink, heap answers 3 rows with the sum 8, .* 3 rows with the sum 7"
    ):
        check("W1/large", "flink, heap", {"rows_out": 3, "checksum": 8}, (3, 7))


def test_the_stage_starts_drivers_and_refuses_a_wrong_answer(tmp_path: Path) -> None:
    (cell,) = cells(["W1/small"], ["duckdb"], most_rows=1_000)
    with Stage(tmp_path, timeout=60) as stage:
        stage.left_out["duckdb"] = "not in this test"
        stage.make_inputs([cell])
        found = stage.measure(cell, rounds=1)
        assert ["millstream-local"] == list(found["runs"])
        assert {"duckdb": "not in this test"} == found["left_out"]
        assert "millstream" in stage.versions["millstream-local"]

        (tmp_path / "data" / cell.data.name / "W1.json").write_text("[1, 1]")
        with pytest.raises(Mismatch, match="the oracle 1 rows with the sum 1"):
            stage.measure(cell, rounds=1)


def test_a_driver_that_breaks_is_left_out_and_the_others_go_on(tmp_path: Path) -> None:
    (cell,) = cells(["W1/small"], ["bytewax"], most_rows=1_000)
    python = tmp_path / "venvs" / "bytewax" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho 'ImportError: no bytewax here' >&2\nexit 1\n")
    python.chmod(0o755)
    with Stage(tmp_path, timeout=60) as stage:
        stage.make_inputs([cell])
        found = stage.measure(cell, rounds=2)
    assert {"bytewax": "ImportError: no bytewax here"} == found["left_out"]
    assert ["millstream-local"] == list(found["runs"])
