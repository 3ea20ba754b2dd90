-- The last bid of each bidder on each auction, when the auction is over.
SELECT auction, bidder, price, ts
FROM closing
QUALIFY ROW_NUMBER() OVER (PARTITION BY auction, bidder ORDER BY ts DESC) <= 1
