SELECT auction, bidder, price, ts, row_number() OVER (PARTITION BY auction ORDER BY price DESC, ts) AS rank_number
FROM closing
QUALIFY rank_number <= 10
