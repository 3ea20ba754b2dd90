SELECT auction, bidder, price, ts
FROM closing
QUALIFY row_number() OVER (PARTITION BY auction, bidder ORDER BY ts DESC) <= 1
