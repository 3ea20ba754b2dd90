"""Every aggregate and its synonyms: the same answer as the fluent API gives."""

from __future__ import annotations

import pytest

import millstream as ms
from sql.auction import by_hand, by_sql

WINDOW = "[RANGE 1 minute, WATTR ts]"

AGGREGATES = {
    "count(*)": ms.count(),
    "count(1)": ms.count(),
    "count(price)": ms.count("price"),
    "count(DISTINCT bidder)": ms.count_distinct("bidder"),
    "count_distinct(bidder)": ms.count_distinct("bidder"),
    "count_if(price > 10)": ms.count(filter="price > 10"),
    "sum(price)": ms.sum("price"),
    "sum(price * 2 + bidder)": ms.sum("price * 2 + bidder"),
    "avg(price)": ms.avg("price"),
    "mean(price)": ms.avg("price"),
    "min(price)": ms.min("price"),
    "max(item)": ms.max("item"),
    "variance(price)": ms.variance("price"),
    "var_samp(price)": ms.variance("price"),
    "var_pop(price)": ms.var_pop("price"),
    "stddev(price)": ms.stddev("price"),
    "stddev_samp(price)": ms.stddev("price"),
    "stddev_pop(price)": ms.stddev_pop("price"),
    "min_by(bidder, price)": ms.min_by("bidder", "price"),
    "max_by(bidder, price)": ms.max_by("bidder", "price"),
    "first(price)": ms.first("price"),
    "first_value(price)": ms.first("price"),
    "last(price) IGNORE NULLS": ms.last("price"),
    "bool_and(price > 5)": ms.bool_and("price > 5"),
    "every(price > 5)": ms.bool_and("price > 5"),
    "bool_or(price > 20)": ms.bool_or("price > 20"),
    "approx_count_distinct(bidder)": ms.approx_distinct("bidder"),
    "approx_distinct(bidder, 10)": ms.approx_distinct("bidder", lg_k=10),
    "median(price)": ms.median("price"),
    "percentile(price, 0.9)": ms.quantile("price", 0.9),
    "quantile(price, 0.9)": ms.quantile("price", 0.9),
    "percentile_cont(0.9) WITHIN GROUP (ORDER BY price)": ms.quantile("price", 0.9),
    "percentile_approx(price, 0.9)": ms.approx_quantile("price", 0.9),
    "approx_quantile(price, 0.9, 300)": ms.approx_quantile("price", 0.9, k=300),
    "mode(item)": ms.mode("item"),
    "heavy_hitters(item, 0.4)": ms.heavy_hitters("item", 0.4),
    "approx_heavy_hitters(item, 0.4)": ms.approx_heavy_hitters("item", 0.4),
    "sum(price) FILTER (WHERE item = 'lamp')": ms.sum("price", filter="item = 'lamp'"),
    'count(*) FILTER (WHERE item = "lamp" OR bidder IN (1, 2))': ms.count(filter="item = 'lamp' OR bidder IN (1, 2)"),
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY price) FILTER (WHERE bidder > 1)": ms.median(
        "price", filter="bidder > 1"
    ),
}


@pytest.mark.parametrize("call", AGGREGATES)
def test_every_aggregate(call: str) -> None:
    hand = by_hand(lambda s: s.window("ts", range="1 minute").group_by("item").agg(x=AGGREGATES[call]))

    assert hand == by_sql(f"SELECT item, {call} AS x FROM bids {WINDOW} GROUP BY item")


def test_every_aggregate_of_the_registry_is_tried() -> None:
    from millstream.kernels.aggregates.aggregate_registry import FUNCTIONS  # noqa: PLC0415
    from millstream.sql.dialect import AGGREGATES as KNOWN  # noqa: PLC0415

    tried = {call.partition("(")[0] for call in AGGREGATES}
    assert set(FUNCTIONS) - {"user"} <= KNOWN
    assert set(FUNCTIONS) - {"user"} <= tried | {"approx_percentile"}
