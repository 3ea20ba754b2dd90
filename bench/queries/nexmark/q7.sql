-- Highest bid: the bids of each ten seconds that nobody outbid.
WITH highest AS (
  SELECT window_end, max(price) AS maxprice
  FROM TABLE(TUMBLE(TABLE bids, DESCRIPTOR(ts), INTERVAL '10' SECOND))
  GROUP BY window_start, window_end
)
SELECT b.auction, b.price, b.bidder, b.ts
FROM bids b JOIN highest h
  ON b.price = h.maxprice AND b.ts BETWEEN h.window_end - INTERVAL '10' SECOND AND h.window_end
