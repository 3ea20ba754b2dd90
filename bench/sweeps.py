"""The sweeps by which slicing of windows is measured: ever smaller slides, ever more windows at once.

    python bench/sweeps.py [--rows 1000000] [--rounds 3]

A window of 60 s whose slide goes from 60 s to 0.25 s, and 1 to 1000 tumbling windows of 1 to 20 s at once: sums, one
key, in SQL, on the local host, out of order by up to a second. Every answer is DuckDB's before any time is printed.
Slides are compared with a bucket for every window, which is how engines without slices do it, and windows at once with
a query for each. Where published figures stand beside, they are of Scotty against Flink on their own machines.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from harness import interleave, load, save, show

import millstream as ms

SLIDES = (60_000, 30_000, 10_000, 5_000, 1_000, 500, 250)
"""Milliseconds."""
WINDOWS = (1, 5, 10, 20, 40, 80, 500, 1000)
SECONDS = 120
PUBLISHED = {500: 20.0}
"""Slices against buckets, read off the published charts: by slide."""
PUBLISHED_WINDOWS = {80: 60.0}
START = 1_700_000_000_000_000
BUCKETS_UP_TO = 60
"""Windows a row is in, beyond which a bucket for each takes minutes."""
APART_UP_TO = 80
"""Windows, beyond which a query for each takes minutes."""


def stream(rows: int, seed: int = 0) -> pa.Table:
    """Values over two minutes, in order of arrival."""
    rng = np.random.default_rng(seed)
    ts = START + np.arange(rows) * (SECONDS * 1_000_000) // rows
    order = np.argsort(ts + rng.integers(0, 1_000_000, rows), kind="stable")
    at = pa.array(ts[order]).cast(pa.timestamp("us", "UTC"))
    return pa.table({"ts": at, "v": rng.integers(0, 1_000, rows)})


def stream_of(data: pa.Table) -> ms.Stream:
    """The rows as the stream `s` of a new engine, in ten epochs."""
    promise, rows = ms.bounded_disorder("ts", "1 second"), max(1, data.num_rows // 10)
    return ms.Engine(host="local").stream("s", data, progress=promise, epoch_rows=rows)


def sliding(data: pa.Table, slide: int, strategy: str = "auto") -> pa.Table:
    """Sums of 60 s every `slide` milliseconds."""
    made = stream_of(data)
    if strategy == "auto":
        text = f"SELECT sum(v) AS total FROM s [RANGE 60 seconds, SLIDE {slide} ms, WATTR ts]"
        query = made.engine.sql(text, name="q")
    else:
        cut = made.window("ts", range="60 seconds", slide=f"{slide} ms")
        query = cut.agg(total=ms.sum("v"), strategy=strategy).named("q")
    made.engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return query.table()


def sliding_by_duckdb(data: pa.Table, slide: int) -> pa.Table:
    """The same from sums of each slide, which divides the range."""
    text = f"""
        WITH parts AS (SELECT epoch_us(ts) // {1_000 * slide} AS part, sum(v) AS v FROM data GROUP BY 1)
        SELECT part + i AS window_id, sum(v)::BIGINT AS total FROM parts, range({60_000 // slide}) AS of(i) GROUP BY 1
    """
    return _duckdb(data, text)[0]


def sizes(many: int, seed: int = 333) -> list[int]:
    """The lengths of windows, in milliseconds, each once."""
    return random.Random(seed).sample(range(1_000, 20_001), many)


def at_once(data: pa.Table, many: int) -> pa.Table:
    """So many windows in one query."""
    engine = stream_of(data).engine
    ranges = ", ".join(f"{size} ms" for size in sizes(many))
    query = engine.sql(f"SELECT sum(v) AS total FROM s [RANGE {ranges}, WATTR ts]", name="q")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return query.table()


def apart(data: pa.Table, many: int) -> list[pa.Table]:
    """A query for each."""
    engine = stream_of(data).engine
    texts = [f"SELECT sum(v) AS total FROM s [RANGE {size} ms, WATTR ts]" for size in sizes(many)]
    queries = [engine.sql(text, name=f"q{i}") for i, text in enumerate(texts)]
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return [query.table() for query in queries]


def at_once_by_duckdb(data: pa.Table, many: int) -> pa.Table:
    """The same, window by window."""
    text = "SELECT make_timestamp({0} * (epoch_us(ts) // {0})) AS window_start, {0} AS size, sum(v)::BIGINT AS total"
    return pa.concat_tables(_duckdb(data, *(f"{text} FROM data GROUP BY 1".format(1_000 * one) for one in sizes(many))))


def same(found: pa.Table, wanted: pa.Table) -> int:
    """The number of windows, if both have the same."""
    columns = wanted.schema.names
    mine, theirs = (
        one.select(columns).sort_by([(name, "ascending") for name in columns]).to_pydict() for one in (found, wanted)
    )
    assert mine == theirs, "the answers differ"
    return found.num_rows


def with_size(found: pa.Table) -> pa.Table:
    """Windows by start and length, as DuckDB's are here."""
    start, end = (found[name].cast(pa.int64()).to_numpy() for name in ("window_start", "window_end"))
    at = pa.array(start).cast(pa.timestamp("us"))
    return pa.table({"window_start": at, "size": end - start, "total": found["total"]})


def by_slide(data: pa.Table, rounds: int) -> dict[str, Any]:
    """Slices against a bucket for every window, slide by slide."""
    out: dict[str, Any] = {}
    for slide in SLIDES:
        windows = same(sliding(data, slide), sliding_by_duckdb(data, slide))
        sides: dict[str, Callable[[], Any]] = {
            "slices": lambda slide=slide: sliding(data, slide),
            "first": lambda: sliding(data, SLIDES[0]),
            "duckdb": lambda slide=slide: sliding_by_duckdb(data, slide),
        }
        if 60_000 // slide <= BUCKETS_UP_TO:
            same(sliding(data, slide, "wid"), sliding_by_duckdb(data, slide))
            sides["buckets"] = lambda slide=slide: sliding(data, slide, "wid")
        taken = interleave(sides, rounds)
        out[str(slide)] = {
            "windows": windows,
            "to_tumbling": taken["slices"] / taken["first"],
            "to_duckdb": taken["slices"] / taken["duckdb"],
            "buckets": taken["buckets"] / taken["slices"] if "buckets" in taken else None,
            "published": PUBLISHED.get(slide),
        }
        rows = [
            (
                f"{int(one) / 1000:g} s",
                c["windows"],
                c["to_tumbling"],
                c["to_duckdb"],
                c["buckets"] or "-",
                c["published"] or "-",
            )
            for one, c in out.items()
        ]
        columns = ("slide", "windows", "time ÷ slide 60 s", "÷ DuckDB", "buckets ÷ slices", "published")
        show(f"60 s windows, {data.num_rows} rows ({load()})", columns, rows)
    return out


def by_windows(data: pa.Table, rounds: int, most: int) -> dict[str, Any]:
    """More and more windows at once."""
    out: dict[str, Any] = {}
    for many in (one for one in WINDOWS if one <= most):
        windows = same(with_size(at_once(data, many)), at_once_by_duckdb(data, many))
        sides: dict[str, Callable[[], Any]] = {
            "ours": lambda many=many: at_once(data, many),
            "one": lambda: at_once(data, 1),
            "duckdb": lambda many=many: at_once_by_duckdb(data, many),
        }
        if many <= APART_UP_TO:
            same(pa.concat_tables([with_size(one) for one in apart(data, many)]), at_once_by_duckdb(data, many))
            sides["apart"] = lambda many=many: apart(data, many)
        taken = interleave(sides, rounds)
        out[str(many)] = {
            "windows": windows,
            "to_one": taken["ours"] / taken["one"],
            "to_duckdb": taken["ours"] / taken["duckdb"],
            "apart": taken["apart"] / taken["ours"] if "apart" in taken else None,
            "published": PUBLISHED_WINDOWS.get(many),
        }
        rows = [
            (int(one), c["windows"], c["to_one"], c["to_duckdb"], c["apart"] or "-", c["published"] or "-")
            for one, c in out.items()
        ]
        columns = ("windows at once", "results", "time ÷ one", "÷ DuckDB", "a query each ÷ at once", "published")
        show(f"tumbling windows of 1 to 20 s at once, {data.num_rows} rows ({load()})", columns, rows)
    return out


def _duckdb(data: pa.Table, *texts: str) -> list[pa.Table]:
    with duckdb.connect() as connection:
        connection.register("data", data)
        return [connection.sql(text).to_arrow_table() for text in texts]


def main() -> None:
    """Both sweeps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--most", type=int, default=WINDOWS[-1], help="the greatest number of windows at once")
    options = parser.parse_args()
    data = stream(options.rows)
    found = {"rows": options.rows, "rounds": options.rounds, "slides": by_slide(data, options.rounds)}
    found["at_once"] = by_windows(data, options.rounds, options.most)
    save("sweeps", found)


if __name__ == "__main__":
    main()
