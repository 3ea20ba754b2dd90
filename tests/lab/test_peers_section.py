"""The document says of other engines what was measured, where we win, and why where we do not."""

from typing import Any

from targets import PEERS

from peers.section import section


def run(seconds: float, cpu: float) -> dict[str, Any]:
    return {"seconds": seconds, "cpu_seconds": cpu, "peak_bytes": 2**20, "load": [1.5, 1.0, 1.0]}


def cell(left_out: dict[str, str] | None = None, **runs: tuple[float, float]) -> dict[str, Any]:
    labels = {
        "ours": "millstream-spark",
        "local": "millstream-local",
        "flink": "flink, heap",
        "rocks": "flink, RocksDB",
    }
    return {
        "says": "…",
        "rows_in": 1_000_000,
        "rows_out": 10,
        "runs": {labels.get(name, name): [run(*cost)] for name, cost in runs.items()},
        "left_out": left_out or {},
    }


def figures() -> dict[str, Any]:
    return {
        "machine": {"cores": 2, "python": "3.11", "load_average": [1, 1, 1]},
        "cells": {},
        "again": {},
        "versions": {"flink": {"apache-flink": "2.3.0"}},
        "left_out": {},
    }


def test_ratios_stand_by_workload_with_our_own_cost_beside_them() -> None:
    made = figures()
    made["cells"] = {
        "W4-5/large": cell(ours=(2.0, 3.0), local=(1.0, 1.0), flink=(6.0, 12.0), duckdb=(0.5, 0.3)),
        "W2-60/large": cell({"polars": "no answer in 300 s"}, ours=(2.0, 3.0), local=(1.0, 1.0), flink=(5.0, 6.0)),
    }
    text = section(made, PEERS)

    assert "| flink | apache-flink 2.3.0 | SQL in PyFlink's mini-cluster" in text
    assert "| W2-60 | 1,000,000 | 2.5 / 2 |  | failed | 2 s / 3 µs | 1.5–1.5 |" in text
    assert "| W4-5 | 1,000,000 | 6 / 12 | 0.5 / 0.3 |  | 1 s / 1 µs | 1.5–1.5 |" in text
    assert text.index("| W2-60 | 1,000") < text.index("| W4-5 | 1,000")
    assert "| flink, heap | spark | 2 of 2 | 2 of 2 | 2.5 / 2 (W2-60/large) | 3 / 4 (W4-5/large) |" in text
    assert "takes less than we do" not in text


def test_where_we_lose_the_cause_is_told_and_batch_engines_are_bounds() -> None:
    made = figures()
    made["cells"] = {
        "W2-60/middle": cell(ours=(2.0, 3.0), rocks=(1.0, 6.0), duckdb=(0.1, 0.1)),
        "W4-5/middle": cell(ours=(2.0, 3.0), rocks=(1.0, 1.5)),
    }
    text = section(made, PEERS)

    assert "| flink, RocksDB | spark | 0 of 2 | 0 of 2 |" in text
    profiled, supposed = (line for line in text.splitlines() if "by flink, RocksDB" in line)
    assert profiled.startswith("- The fixed cost of epochs on Spark")
    assert profiled.endswith("So W2-60/middle by flink, RocksDB (÷ spark) 0.5 / 2.")
    assert supposed.startswith("- Supposed, not profiled here")
    assert supposed.endswith("So W4-5/middle by flink, RocksDB (÷ spark) 0.5 / 0.5.")
    assert "by duckdb" not in text


def test_what_is_missing_and_what_was_measured_twice_is_told() -> None:
    made = figures()
    made["cells"] = {"W1/small": cell(local=(1.0, 1.0), bytewax=(30.0, 40.0))}
    made["left_out"] = {"flink": "no javac"}
    made["again"] = {"W1/small": {"apart": [{"label": "bytewax", "host": "local", "wall": 0.081, "cpu": 0.02}]}}
    text = section(made, PEERS)

    assert "- flink is left out: no javac" in text
    assert "| W1/small | bytewax | local | 8% | 2% |" in text
    assert "| W1 | 1,000,000 | 30 / 40 |  |  | 1 s / 1 µs | 1.5–1.5 |" in text
