"""NEXMark's queries that aggregate, in SQL, each checked against DuckDB before it is timed.

    python bench/nexmark.py [--rows 500000] [--rounds 3] [--queries q5,q7] [--spark]

The rows are made in memory, out of order by up to three seconds. Prints Millstream's time ÷ that of the batch query in
DuckDB over the same tables, which is an upper bound: it has all rows at once and gives its answer once. With `--spark`
the same streams are asked on Spark too, epoch by epoch, which only checks the answers.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from auction_house import PACE, House, answer, ask, differences, house, names
from harness import interleave, load, save, show

import millstream as ms

EPOCHS = 10


def run(engine: ms.Engine, name: str, data: House) -> Any:
    """The query's answer, when all streams have ended."""
    query = ask(engine, name, data, max(1, data.rows // EPOCHS))
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return query.table()


def checked(name: str, data: House, engine: ms.Engine) -> int:
    """The number of rows of the answer, which is DuckDB's too."""
    found, wanted = run(engine, name, data), answer(name, data)
    apart = differences(found, wanted)
    assert not apart, f"{name}: {apart} rows of {found.num_rows} and {wanted.num_rows} differ from DuckDB's"
    return found.num_rows


def main() -> None:
    """Run the queries, and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--queries", default=",".join(names()))
    parser.add_argument("--spark", action="store_true")
    options = parser.parse_args()
    houses: dict[float, House] = {}
    cells: dict[str, Any] = {}
    for name in options.queries.split(","):
        rate = PACE.get(name, 10_000)
        data = houses.setdefault(rate, house(options.rows, rate=rate))
        rows = checked(name, data, ms.Engine(host="local"))
        if options.spark:
            began = time.perf_counter()
            checked(name, data, ms.Engine(partitions=2))
            print(
                f"{name} on Spark: the same {rows} rows, {time.perf_counter() - began:.0f} s with what is made for it"
            )
        taken = interleave(
            {
                "millstream": lambda name=name, data=data: run(ms.Engine(host="local"), name, data),
                "duckdb": lambda name=name, data=data: answer(name, data),
            },
            options.rounds,
        )
        cells[name] = {"rows_out": rows, "ratio": taken["millstream"] / taken["duckdb"]}
        shown = [(one, cell["rows_out"], cell["ratio"]) for one, cell in cells.items()]
        show(f"NEXMark, {options.rows} rows ({load()})", ("query", "rows out", "Millstream ÷ DuckDB batch"), shown)
    save("nexmark", {"rows": options.rows, "rounds": options.rounds, "epochs": EPOCHS, "cells": cells})


if __name__ == "__main__":
    main()
