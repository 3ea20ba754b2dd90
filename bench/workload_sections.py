"""The parts of docs/benchmarks.md on the sweeps and on NEXMark."""

from __future__ import annotations

from typing import Any

from markup import conditions, table


def sweeps(figures: dict[str, Any]) -> str:
    """Ever smaller slides, ever more windows."""
    slides = [
        [f"{int(name) / 1000:g} s", one["windows"], one["to_tumbling"], one["to_duckdb"], *_beside(one, "buckets")]
        for name, one in figures["slides"].items()
    ]
    windows = [
        [name, one["windows"], one["to_one"], one["to_duckdb"], *_beside(one, "apart")]
        for name, one in figures["at_once"].items()
    ]
    head = [
        "slide",
        "results",
        "time ÷ slide 60 s",
        "time ÷ DuckDB batch",
        "one bucket per window ÷ ours",
        "published",
    ]
    more = [
        "windows at once",
        "results",
        "time ÷ one",
        "time ÷ DuckDB batch",
        "one query per window ÷ ours",
        "published",
    ]
    return f"""## Slides and windows by the hundred

`bench/sweeps.py`: {figures["rows"]:,} rows of two minutes, out of order by up to a second, sums of one key, in SQL on
the local host, medians of {figures["rounds"]} interleaved runs, each answer equal to DuckDB's. {conditions(figures)}
The published figures compare Scotty with Flink and were read from charts; ours compare with the same kernels without
slices.

A window of 60 s with smaller and smaller slides:

{table(head, slides)}

Tumbling windows of 1 to 20 s, all in one query:

{table(more, windows)}
"""


def nexmark(figures: dict[str, Any]) -> str:
    """The queries that aggregate."""
    rows = [[name, one["rows_out"], one["ratio"]] for name, one in figures["cells"].items()]
    return f"""## NEXMark

`bench/nexmark.py`: the queries that aggregate, in SQL (`bench/queries/nexmark`), over {figures["rows"]:,} rows, out of
order by up to three seconds, in {figures["epochs"]} epochs on the local host; each answer equals that of DuckDB over
all rows. q15 to q17 have windows of a day and read a slower auction house. In q18 and q19, punctuation at the end of
auctions closes the windows. q12, which uses processing time elsewhere, has windows on the time of arrival. The batch
query has all rows at once and is not a stream, so it is an upper bound.
{conditions(figures)}

{table(["query", "rows out", "time ÷ DuckDB batch"], rows)}
"""


def _beside(one: dict[str, Any], name: str) -> list[Any]:
    return ["-" if one[part] is None else one[part] for part in (name, "published")]
