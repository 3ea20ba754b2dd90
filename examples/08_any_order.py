"""Any order that the promise allows, and any cut into epochs: the same answer, and that of a batch query."""

from datetime import timedelta

import duckdb
import pyarrow as pa

import millstream as ms
from millstream.workload import auction, disorder

ordered = auction.bids(20_000, keys=10, rate=1_000)


def streamed(seed: int, epoch_rows: int) -> pa.Table:
    """The answer for one order of arrival, cut into epochs of one size."""
    arriving = disorder.bounded(ordered, "ts", timedelta(seconds=3), seed=seed)
    engine = ms.Engine(host="local")
    bids = engine.stream("bids", arriving, progress=ms.bounded_disorder("ts", "3 seconds"), epoch_rows=epoch_rows)
    tops = bids.window("ts", range="1 second").group_by("auction").agg(n=ms.count(), top=ms.max("price"))
    tops.named("tops")
    engine.start(ms.available_now(), end_of_stream=True).await_termination()
    return tops.table().select(["window_id", "auction", "n", "top"])


def bag(table: pa.Table) -> list[tuple[int, ...]]:
    """The rows, in an order of their own."""
    return sorted(zip(*table.to_pydict().values(), strict=True))


batch = (
    duckdb.connect()
    .sql("""
    SELECT epoch_us(ts) // 1000000 AS second, auction, count(*) AS n, max(price) AS top
    FROM ordered GROUP BY second, auction
""")
    .to_arrow_table()
)

for seed, epoch_rows in ((1, 20_000), (2, 1_000), (3, 77)):
    print(f"order {seed}, epochs of {epoch_rows:,}:", bag(streamed(seed, epoch_rows)) == bag(batch))

# expected:
# order 1, epochs of 20,000: True
# order 2, epochs of 1,000: True
# order 3, epochs of 77: True
