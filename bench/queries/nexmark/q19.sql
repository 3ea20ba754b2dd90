-- The ten highest bids on each auction, when the auction is over.
SELECT *
FROM (
  SELECT auction, bidder, price, ts, ROW_NUMBER() OVER (PARTITION BY auction ORDER BY price DESC, ts) AS rank_number
  FROM closing
)
WHERE rank_number <= 10
