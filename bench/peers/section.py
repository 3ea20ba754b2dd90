"""The part of docs/benchmarks.md about other engines, made from the figures of `bench/peers/run.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from markup import conditions, table

from peers.causes import cause
from peers.matrix import HOSTS, SIZES
from peers.ratios import NEAR, Ratio, costs, judged, ratios
from peers.workloads import WORKLOADS

Wanted = Mapping[str, tuple[str, Sequence[str]]]
_ENGINES = {
    "millstream-spark": "on local Spark with two cores, checkpoint on disk; state, progress and results are files",
    "millstream-local": "in one process, without checkpoints",
    "spark": "Structured Streaming, two cores, no-op sink, checkpoint on disk; its HDFS-backed store, and RocksDB",
    "flink": "SQL in PyFlink's mini-cluster, two slots; on heap without checkpoints, and RocksDB with one every second",
    "bytewax": "two processes, its own windows; the join is ours, for it has none by time",
    "duckdb": "batch over the whole files, two threads, windows sliced by hand: an upper bound",
    "polars": "batch over the whole files, two threads: an upper bound",
}
_BATCH = ("duckdb", "polars")


def section(figures: dict[str, Any], wanted: Wanted) -> str:
    """What was measured and how, the ratios, where we win and where we lose."""
    every = [one for name, cell in figures["cells"].items() for one in ratios(name, cell)]
    parts = [
        _how(figures),
        *(_size(figures["cells"], size, host) for size in SIZES for host in HOSTS),
        _wins(every, wanted),
        _losses(every),
        _again(figures["again"]),
    ]
    return "\n".join(part for part in parts if part)


def _how(figures: dict[str, Any]) -> str:
    engines = [
        [name, ", ".join(f"{what} {number}" for what, number in figures["versions"][name].items()), how]
        for name, how in _ENGINES.items()
        if name in figures["versions"]
    ]
    missing = [f"- {name} is left out: {reason}" for name, reason in figures["left_out"].items()]
    asked = [[name, one.says] for name, one in WORKLOADS.items()]
    return f"""## Beside other engines

`make peers` (`bench/peers/run.py`) makes an environment for each engine, the inputs, and these figures; `python
bench/peers/run.py --cells W2-60/large` one cell of them, and `--again W2-60/large --rounds 9` measures it twice; with
fewer rounds the two differ more. All engines read
the same rows, bids and asks that arrive up to a second out of order, and sum their results. If the sums differ from
those of DuckDB over the whole files, nothing is reported. Each engine is one warm process, they take turns, and
medians are compared. Wall time, and CPU of the process tree, are for the running stream: on Spark from the start of
the query to its last result, for Flink as it reports the job, both without planning and submission. Flink reads the
rows as binary numbers, because its wheel has no Parquet format; all others read Parquet. {conditions(figures)}

{table(["engine", "version", "how it runs"], engines)}

{table(["workload", "question"], [list(one) for one in asked])}
{chr(10).join(["", *missing, ""]) if missing else ""}"""


def _size(cells: Mapping[str, Any], size: str, host: str) -> str:
    """Ratios at one size of input by one of our hosts, a line for each workload."""
    chosen = {name: cell for name, cell in cells.items() if name.endswith(f"/{size}") and HOSTS[host] in costs(cell)}
    if not chosen:
        return ""
    labels = [one.label for one in SIZES[size] if one.engine not in HOSTS.values()]
    rows: list[list[Any]] = []
    for name in (f"{workload}/{size}" for workload in WORKLOADS):
        if name not in chosen:
            continue
        cell, ours = chosen[name], costs(chosen[name])[HOSTS[host]]
        found = {one.label: one for one in ratios(name, cell) if one.host == host}
        shown = [
            _both(found[label].wall, found[label].cpu) if label in found else _absent(cell, label) for label in labels
        ]
        own = f"{_short(ours.seconds)} s / {_short(ours.cpu_per_row)} µs"
        rows.append([name.split("/")[0], f"{cell['rows_in']:,}", *shown, own, _loads(cell)])
    where = {"spark": "on Spark", "local": "on the local host"}[host]
    head = ["workload", "rows in", *labels, "ours", "load"]
    return f"""Wall / CPU per row, each ÷ Millstream {where}: above 1, Millstream takes less.

{table(head, rows)}
"""


def _both(wall: float, cpu: float) -> str:
    return f"{_short(wall)} / {_short(cpu)}"


def _short(value: float) -> str:
    """Two digits at least, and no exponent."""
    return f"{value:.2g}" if value < 100 else f"{value:.0f}"


def _absent(cell: Mapping[str, Any], label: str) -> str:
    return "failed" if label in cell["left_out"] else ""


def _loads(cell: Mapping[str, Any]) -> str:
    """The load average before the least and the most disturbed repetition."""
    found = [run["load"][0] for runs in cell["runs"].values() for run in runs]
    return f"{min(found):.1f}–{max(found):.1f}"


def _wins(found: list[Ratio], wanted: Wanted) -> str:
    """For each contender by each host: how many cells, and the least and the most favourable of them."""
    rows: list[list[Any]] = []
    for label, host in sorted({(one.label, one.host) for one in found}):
        group = sorted((one for one in found if (one.label, one.host) == (label, host)), key=lambda one: one.wall)
        aims = [one for one in group if judged(one, wanted)]
        rows.append(
            [
                label,
                host,
                f"{sum(one.ahead for one in group)} of {len(group)}",
                f"{sum(one.ahead for one in aims)} of {len(aims)}" if aims else "",
                f"{_both(group[0].wall, group[0].cpu)} ({group[0].cell})",
                f"{_both(group[-1].wall, group[-1].cpu)} ({group[-1].cell})",
            ]
        )
    head = ["engine", "÷ our host", "we are ahead in", "of the target", "least", "most"]
    return f"""Where Millstream is ahead, which means less wall time and less CPU. Target: ahead of Flink SQL on
Spark, with sliding windows of range/slide 20 and more and with band joins; ahead of Bytewax everywhere, on the local
host.

{table(head, rows)}
"""


def _losses(found: list[Ratio]) -> str:
    """Every ratio below one against an engine that streams, by its cause."""
    by_cause: dict[str, list[str]] = {}
    for one in found:
        if not one.ahead and one.label not in _BATCH:
            where = f"{one.cell} by {one.label} (÷ {one.host}) {_both(one.wall, one.cpu)}"
            by_cause.setdefault(cause(one), []).append(where)
    if not by_cause:
        return ""
    lines = [f"- {why} So {'; '.join(cells)}." for why, cells in by_cause.items()]
    return "\n".join(["Where a streaming engine takes less than we do, in wall time or in CPU:", "", *lines, ""])


def _again(found: Mapping[str, Any]) -> str:
    if not found:
        return ""
    rows: list[list[Any]] = []
    for name, one in found.items():
        rows += [[name, x["label"], x["host"], f"{x['wall']:.0%}", f"{x['cpu']:.0%}"] for x in one["apart"]]
    return f"""Cells measured twice, and how far the two ratios are apart (target: {NEAR:.0%} on a quiet machine):

{table(["cell", "engine", "÷ our host", "wall apart", "CPU apart"], rows)}
"""
