"""An aggregate of one's own, with partials that overlapping windows share: the range of a price."""

import pyarrow as pa
import pyarrow.compute as pc

import millstream as ms


def ends(prices: pa.Array) -> dict[str, float]:
    """Lift: the least and greatest price of some rows."""
    return {name: pc.min_max(prices)[name].as_py() for name in ("min", "max")}


def wider(a: dict[str, float], b: dict[str, float]) -> dict[str, float]:
    """Combine: the ends of both together."""
    return {"min": min(a["min"], b["min"]), "max": max(a["max"], b["max"])}


spread = ms.udaf_algebraic(
    "price",
    lift=ends,
    combine=wider,
    lower=lambda both: both["max"] - both["min"],
    partial=pa.struct([("min", pa.float64()), ("max", pa.float64())]),
    returns="double",
)

rows = [{"ts": ts, "price": price} for ts, price in [(0, 5.0), (3, 9.0), (1, 4.0), (5, 7.0), (8, 6.0)]]
engine = ms.Engine(host="local")
prices = engine.stream("prices", rows, progress=ms.bounded_disorder("ts", 3))
query = prices.window("ts", range=4, slide=2).agg(spread=spread).named("spread")
engine.start(ms.available_now(), end_of_stream=True).await_termination()

for row in query.table().to_pylist():
    print(f"[{row['window_start']}, {row['window_end']}): {row['spread']}")

# expected:
# [-2, 2): 1.0
# [0, 4): 5.0
# [2, 6): 2.0
# [4, 8): 0.0
# [6, 10): 0.0
# [8, 12): 0.0
